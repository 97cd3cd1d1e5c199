//! `Curve`: values that a script prints, such as `step 10 loss=0.31`, as points of a chart.

use std::{collections::HashMap, sync::LazyLock};

use regex::Regex;
use serde::Serialize;

/// Maximum number of points of a curve. If a log has more, every second one is left out.
const MAX_POINTS: usize = 1_000;
/// Maximum number of names with several values, and of names that have occurred once, such as the
/// settings that a program prints at its start.
const MAX_NAMES: usize = 40;
const MAX_SINGLE: usize = 2_000;
/// Names of numbers that count the steps of a training, the finest first.
const STEPS: [&str; 6] = ["global_step", "step", "iteration", "iter", "batch", "epoch"];
/// A name and a number, separated by a colon, an equals sign or a space.
const PAIR: &str = r#"(?i)(?:^|[\s,;|(\[{])['"]?([a-z_][\w./-]{0,39})['"]?\s*([:=\s])\s*['"]?([-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|[-+]?inf)"#;

/// Values of one name in the order of their lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curve {
    pub(crate) name: String,
    /// Values, each with the number of the training step in its line, or else its own number.
    pub(crate) points: Vec<(f64, f64)>,
    /// `true` if the first numbers of the points are training steps.
    pub(crate) has_steps: bool,
    /// Number of values in the log, and the last, least and greatest of them.
    count: u64,
    last: f64,
    least: f64,
    most: f64,
    /// Number of values per point.
    stride: u64,
}

/// Reader of the values of a log.
#[derive(Clone, Default)]
pub(crate) struct CurveReader {
    curves: Vec<Curve>,
    by_name: HashMap<String, usize>,
    /// First values of names that have one value.
    single: HashMap<String, (Option<f64>, f64)>,
}

impl CurveReader {
    /// Reads the values in a line.
    pub(crate) fn add(&mut self, line: &str) {
        static PAIRS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(PAIR).ok());
        let mut step: Option<(usize, f64)> = None;
        let mut values: Vec<(&str, f64)> = Vec::new();
        for found in PAIRS.iter().flat_map(|pairs| pairs.captures_iter(line)) {
            let [Some(name), Some(separator), Some(number)] =
                [1, 2, 3].map(|group| found.get(group))
            else {
                continue;
            };
            // Times, versions, paths and parts of longer numbers are no values.
            let mut rest = line[number.end()..].chars();
            let (next, second) = (rest.next().unwrap_or(' '), rest.next().unwrap_or(' '));
            let is_end = ".,".contains(next) && !second.is_alphanumeric();
            if next.is_alphanumeric() || !is_end && ":./-_,".contains(next) {
                continue;
            }
            let text = number.as_str().replace(',', "").to_lowercase();
            let Ok(value) = text.parse::<f64>() else { continue };
            let name = name.as_str();
            if let Some(rank) = STEPS.iter().position(|known| known.eq_ignore_ascii_case(name)) {
                if step.is_none_or(|(known, _)| rank < known) {
                    step = Some((rank, value));
                }
            } else if !separator.as_str().trim().is_empty() || text.contains(['.', 'e', 'n']) {
                values.push((name, value));
            }
        }
        for (name, value) in values {
            self.push(name, step.map(|(_, step)| step), value);
        }
    }

    fn push(&mut self, name: &str, step: Option<f64>, value: f64) {
        if let Some(index) = self.by_name.get(name) {
            return self.curves[*index].push(step, value);
        }
        let Some((first_step, first)) = self.single.remove(name) else {
            if self.single.len() < MAX_SINGLE {
                self.single.insert(name.to_owned(), (step, value));
            }
            return;
        };
        if self.curves.len() < MAX_NAMES {
            let mut curve = Curve {
                name: name.to_owned(),
                has_steps: true,
                stride: 1,
                last: f64::NAN,
                least: f64::NAN,
                most: f64::NAN,
                ..Curve::default()
            };
            curve.push(first_step, first);
            curve.push(step, value);
            self.by_name.insert(name.to_owned(), self.curves.len());
            self.curves.push(curve);
        }
    }

    /// Returns the last value of each name as text.
    pub(crate) fn last_values(self) -> HashMap<String, String> {
        let single = self.single.into_iter().map(|(name, (_, value))| (name, text(value)));
        let curves = self.curves.into_iter().map(|curve| (curve.name, text(curve.last)));
        single.chain(curves).collect()
    }

    /// Returns the names with more than one value.
    pub(crate) fn curves(self) -> Vec<Curve> {
        let mut curves = self.curves;
        for curve in &mut curves {
            // Steps that begin again in each epoch are no axis.
            let are_sorted = curve.points.is_sorted_by(|one, other| one.0 < other.0);
            if !(curve.has_steps && are_sorted) {
                curve.has_steps = false;
                let stride = curve.stride as f64;
                for (number, point) in curve.points.iter_mut().enumerate() {
                    point.0 = 1.0 + number as f64 * stride;
                }
            }
        }
        curves
    }
}

impl Curve {
    fn push(&mut self, step: Option<f64>, value: f64) {
        self.has_steps &= step.is_some();
        // The least of a number and NaN is the number.
        (self.last, self.least, self.most) = (value, self.least.min(value), self.most.max(value));
        if self.count.is_multiple_of(self.stride) {
            self.points.push((step.unwrap_or_default(), value));
        }
        self.count += 1;
        if self.points.len() > MAX_POINTS {
            let mut number = 0_u32;
            self.points.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride *= 2;
        }
    }
}

/// A chart with the curves of one name, from several logs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CurveChart {
    pub(crate) title: String,
    /// Label of the axis: `step`, or `value` if the points are numbered.
    pub(crate) axis: &'static str,
    pub(crate) times: Vec<f64>,
    pub(crate) series: Vec<CurveSeries>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CurveSeries {
    pub(crate) label: String,
    /// Values at the points of the axis; `None` where this log has no value.
    pub(crate) values: Vec<Option<f64>>,
    #[serde(skip)]
    pub(crate) count: u64,
    #[serde(skip)]
    pub(crate) last: String,
    #[serde(skip)]
    pub(crate) least: String,
    #[serde(skip)]
    pub(crate) most: String,
}

/// Returns a chart for each name, with a line for each log that has it.
pub(crate) fn charts(logs: &[(String, Vec<Curve>)]) -> Vec<CurveChart> {
    let mut names: Vec<&str> = Vec::new();
    for curve in logs.iter().flat_map(|(_, curves)| curves) {
        if !names.contains(&curve.name.as_str()) {
            names.push(&curve.name);
        }
    }
    names.into_iter().map(|name| chart(name, logs)).collect()
}

fn chart(name: &str, logs: &[(String, Vec<Curve>)]) -> CurveChart {
    let found = logs.iter().filter_map(|(label, curves)| {
        Some((label, curves.iter().find(|curve| curve.name == name)?))
    });
    let found: Vec<(&String, &Curve)> = found.collect();
    let has_steps = found.iter().all(|(_, curve)| curve.has_steps);
    let point_of = |curve: &Curve, index: usize| match has_steps {
        true => curve.points[index].0,
        false => 1.0 + index as f64 * curve.stride as f64,
    };
    let points = found.iter().flat_map(|(_, curve)| {
        (0..curve.points.len()).map(|index| point_of(curve, index)).collect::<Vec<_>>()
    });
    let mut times: Vec<f64> = points.collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let series = found.iter().map(|(label, curve)| {
        let mut values = vec![None; times.len()];
        for (index, (_, value)) in curve.points.iter().enumerate() {
            let at = times.binary_search_by(|time| time.total_cmp(&point_of(curve, index)));
            if let Ok(at) = at {
                values[at] = Some(*value).filter(|value| value.is_finite());
            }
        }
        CurveSeries {
            label: (*label).clone(),
            values,
            count: curve.count,
            last: text(curve.last),
            least: text(curve.least),
            most: text(curve.most),
        }
    });
    CurveChart {
        title: name.to_owned(),
        axis: if has_steps { "step" } else { "value" },
        series: series.collect(),
        times,
    }
}

/// Returns a number with at most six significant digits.
fn text(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 1e6 || (size < 1e-4 && size > 0.0) => return format!("{value:.3e}"),
        size if size >= 1.0 => 5_usize.saturating_sub(size.log10() as usize),
        _ => 6,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Vec<Curve> {
        let mut reader = CurveReader::default();
        lines.iter().for_each(|line| reader.add(line));
        reader.curves()
    }

    #[test]
    fn pairs_of_names_and_numbers_are_values() {
        let all = read(&[
            "2026-01-15 08:30:00,123 INFO:root: step 10 loss 0.5 lr=1e-3 (acc: 0.25)",
            "version: 1.8.0 at 10:30 {'step': 20, 'loss': -0.25, 'acc': .5, 'lr': 1e-3}",
            "line 41 of file 3",
            "samples: 12,800, seed: 42",
            "samples: 1,234.5. loss nan",
        ]);
        let curves = all.iter().filter(|curve| curve.name != "loss");
        let read: Vec<_> = curves.map(|curve| (&*curve.name, &*curve.points)).collect();
        assert_eq!(
            read,
            [
                ("acc", &[(10.0, 0.25), (20.0, 0.5)][..]),
                ("lr", &[(10.0, 0.001), (20.0, 0.001)]),
                ("samples", &[(1.0, 12_800.0), (2.0, 1234.5)]),
            ]
        );
        // The last value has no step, and is no number.
        let loss = all.iter().find(|curve| curve.name == "loss").unwrap();
        assert_eq!((loss.count, loss.least, loss.most, loss.has_steps), (3, -0.25, 0.5, false));
    }

    #[test]
    fn steps_that_begin_again_are_no_axis() {
        let curves = read(&["step 1 loss=3", "step 2 loss=2", "step 1 loss=1"]);
        assert_eq!(curves[0].points, [(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]);
        let lines = ["epoch=1 step=1 loss=3", "epoch=1 step=2 loss=2"];
        assert!(read(&lines)[0].has_steps);
    }

    #[test]
    fn a_long_log_keeps_its_shape() {
        let mut reader = CurveReader::default();
        (0..10_000).for_each(|step| reader.add(&format!("step={step} loss={}", step * 2)));
        let curve = reader.curves().remove(0);
        assert!((500..=MAX_POINTS).contains(&curve.points.len()));
        assert!(curve.points.iter().all(|(step, value)| *value == step * 2.0));
        assert_eq!((curve.count, curve.points[0]), (10_000, (0.0, 0.0)));
    }

    #[test]
    fn logs_share_a_chart_and_its_axis() {
        let one = read(&["step=1 loss=1", "step=3 loss=nan"]);
        let other = read(&["step=2 loss=0.5", "step=3 loss=0.25"]);
        let charts = charts(&[("a".to_owned(), one), ("b".to_owned(), other)]);
        assert_eq!((charts[0].axis, &*charts[0].times), ("step", &[1.0, 2.0, 3.0][..]));
        assert_eq!(charts[0].series[0].values, [Some(1.0), None, None]);
        assert_eq!(charts[0].series[1].values, [None, Some(0.5), Some(0.25)]);
        assert_eq!(charts[0].series[1].least, "0.25");
        assert_eq!([1234.5678, 0.1, 1e-7, 3.0].map(text), ["1234.57", "0.1", "1.000e-7", "3"]);
    }
}
