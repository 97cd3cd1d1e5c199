//! Charts of the hyper-parameter analysis of a search, one for each parameter: values on the x
//! axis, rewards on the y axis.

use std::{fs, io, ops::RangeInclusive};

use png::Encoder;

use crate::{
    files::{confined_dir::ConfinedDir, obs_path::ObsPath},
    job::{
        channel::DataSource,
        request::{JobRequest, LogExport},
    },
    tuning::{importance::points, trial::Trial},
};

/// Folder of the charts, relative to the log directory or, for a job without log export, to its
/// first output in OBS.
const FOLDER: &str = "hyperparameter-analysis/fanova";

const WIDTH: usize = 320;
const HEIGHT: usize = 240;
const MARGIN: usize = 16;
/// Half the width of a dot, in pixels.
const DOT: usize = 2;

const WHITE: u8 = 255;
const GREY: u8 = 160;
const BLACK: u8 = 0;

/// Returns the OBS path of a parameter's chart, or `None` if the job has neither log export nor
/// outputs in OBS.
pub(crate) fn place(request: &JobRequest, name: &str) -> Option<String> {
    let directory = chart_directory(request)?.to_string();
    let directory = directory.trim_end_matches('/');
    Some(format!("{directory}/{FOLDER}/{name}.png"))
}

fn chart_directory(request: &JobRequest) -> Option<&ObsPath> {
    if let LogExport::To(path) = &request.log_export {
        return Some(path);
    }
    request
        .outputs
        .iter()
        .find_map(|output| match &output.source {
            DataSource::Obs(path) => Some(path),
            DataSource::DataSet { .. } => None,
        })
}

/// Stores the charts of all parameters in OBS.
pub(super) fn draw_all(
    obs: &ConfinedDir,
    request: &JobRequest,
    trials: &[Trial],
) -> io::Result<()> {
    let (Some(directory_path), Some(tuning)) = (chart_directory(request), &request.tuning) else {
        return Ok(());
    };
    let directory = obs.directory(&directory_path.relative().join(FOLDER))?;
    for name in tuning.space.names() {
        let path = directory.join(format!("{name}.png"));
        // A symbolic link with this name is replaced, not followed.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = fs::File::create_new(path)?;
        // The encoder's defaults are grayscale and eight bits.
        let mut writer = Encoder::new(file, WIDTH as u32, HEIGHT as u32).write_header()?;
        writer.write_image_data(&draw(&points(trials, name)))?;
        writer.finish()?;
    }
    Ok(())
}

/// Draws both axes, and a square for each point.
fn draw(points: &[(f64, f64)]) -> Vec<u8> {
    let mut pixels = vec![WHITE; WIDTH * HEIGHT];
    let mut fill = |x: RangeInclusive<usize>, y: RangeInclusive<usize>, shade: u8| {
        for y in y {
            let row = (HEIGHT - 1 - y) * WIDTH;
            pixels[row + x.start()..=row + x.end()].fill(shade);
        }
    };
    fill(MARGIN..=WIDTH - MARGIN, MARGIN..=MARGIN, GREY);
    fill(MARGIN..=MARGIN, MARGIN..=HEIGHT - MARGIN, GREY);
    let right = positions(points.iter().map(|point| point.0), WIDTH);
    let up = positions(points.iter().map(|point| point.1), HEIGHT);
    for (x, y) in right.zip(up) {
        fill(x - DOT..=x + DOT, y - DOT..=y + DOT, BLACK);
    }
    pixels
}

/// Returns the pixel positions of numbers on an axis that spans their range.
fn positions(
    numbers: impl Iterator<Item = f64> + Clone,
    length: usize,
) -> impl Iterator<Item = usize> {
    let low = numbers.clone().fold(f64::MAX, f64::min);
    let range = numbers.clone().fold(f64::MIN, f64::max) - low;
    let room = (length - 4 * MARGIN) as f64;
    numbers.map(move |number| {
        let share = if range > 0.0 {
            (number - low) / range
        } else {
            0.5
        };
        2 * MARGIN + (share * room) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_where_they_belong() {
        let pixels = draw(&[(0.0, 1.0), (2.0, 3.0), (1.0, 1.0)]);
        let shade = |x: usize, y: usize| pixels[(HEIGHT - 1 - y) * WIDTH + x];
        let (left, right) = (2 * MARGIN, WIDTH - 2 * MARGIN);
        let (low, high) = (2 * MARGIN, HEIGHT - 2 * MARGIN);
        for (x, y, expected) in [
            (left, low, BLACK),
            (right, high, BLACK),
            (WIDTH / 2, low, BLACK),
            (left, high, WHITE),
            (MARGIN, high, GREY),
        ] {
            assert_eq!(shade(x, y), expected, "{x} {y}");
        }
        assert_eq!(draw(&[]).iter().filter(|shade| **shade == BLACK).count(), 0);
        assert_eq!(
            draw(&[(1.0, 1.0)])
                .iter()
                .filter(|shade| **shade == BLACK)
                .count(),
            25
        );
    }
}
