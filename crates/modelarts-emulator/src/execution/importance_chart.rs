//! Charts of the analysis of a search, one for each parameter: values on the x axis, rewards on the
//! y axis.

use std::{fs, io};

use png::{BitDepth, ColorType, Encoder};

use crate::{
    files::{confined_dir::ConfinedDir, obs_path::ObsPath},
    job::{
        channel::DataSource,
        request::{JobRequest, LogExport},
    },
    tuning::{importance::points, trial::Trial},
};

/// Folder below the directory of logs or, without one, of the first output.
const FOLDER: &str = "hyperparameter-analysis/fanova";

const WIDTH: usize = 320;
const HEIGHT: usize = 240;
const MARGIN: usize = 16;
/// Half the width of a dot.
const DOT: usize = 2;

const WHITE: u8 = 255;
const GREY: u8 = 160;
const BLACK: u8 = 0;

/// The OBS path of a parameter's chart. `None` if the job stores nothing in OBS.
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

/// Draws the charts of all parameters.
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
        // A link is replaced, not followed.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = fs::File::create_new(path)?;
        let mut encoder = Encoder::new(file, WIDTH as u32, HEIGHT as u32);
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        let pixels = draw(&points(trials, name));
        writer.write_image_data(&pixels).map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)?;
    }
    Ok(())
}

fn draw(points: &[(f64, f64)]) -> Vec<u8> {
    let mut pixels = vec![WHITE; WIDTH * HEIGHT];
    let mut dot = |x: usize, y: usize, shade: u8| pixels[(HEIGHT - 1 - y) * WIDTH + x] = shade;
    for x in MARGIN..WIDTH - MARGIN {
        dot(x, MARGIN, GREY);
    }
    for y in MARGIN..HEIGHT - MARGIN {
        dot(MARGIN, y, GREY);
    }
    let values = points.iter().map(|point| point.0);
    let rewards = points.iter().map(|point| point.1);
    let right = axis(values, WIDTH);
    let up = axis(rewards, HEIGHT);
    for (x, y) in right.iter().zip(&up) {
        for x in x - DOT..=x + DOT {
            for y in y - DOT..=y + DOT {
                dot(x, y, BLACK);
            }
        }
    }
    pixels
}

/// Positions of numbers on an axis that spans their range.
fn axis(numbers: impl Iterator<Item = f64>, length: usize) -> Vec<usize> {
    let numbers: Vec<f64> = numbers.collect();
    let low = numbers.iter().copied().fold(f64::MAX, f64::min);
    let high = numbers.iter().copied().fold(f64::MIN, f64::max);
    let room = (length - 4 * MARGIN) as f64;
    let place = |number: &f64| {
        let share = if high > low {
            (number - low) / (high - low)
        } else {
            0.5
        };
        2 * MARGIN + (share * room) as usize
    };
    numbers.iter().map(place).collect()
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
