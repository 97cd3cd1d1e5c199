//! How much each parameter matters.
//!
//! The service calls its own analysis fANOVA, and shows mean and deviation for each parameter.
//! Here it is the share of the rewards' variance that the parameter alone explains: trials are
//! put into bins by its value, and the variance between the bins is divided by the whole. Mean and
//! deviation are those over trials drawn again and again from the same ones (bootstrap).

use fastrand::Rng;

use crate::tuning::trial::Trial;

const BOOTSTRAP_DRAWS: usize = 50;
const BINS: usize = 4;

/// Mean and deviation of a parameter's share; none before two trials have a reward.
pub(crate) fn importance(trials: &[Trial], name: &str) -> Option<(f64, f64)> {
    let mut points_by_value = points(trials, name);
    if points_by_value.len() < 2 {
        return None;
    }
    points_by_value.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Equal values share a bin, and bins are about equally full.
    let count = points_by_value.len();
    let mut binned: Vec<(usize, f64)> = Vec::with_capacity(count);
    for (rank, (value, reward)) in points_by_value.iter().enumerate() {
        let bin = match rank.checked_sub(1) {
            Some(before) if points_by_value[before].0 == *value => binned[before].0,
            _ => rank * BINS / count,
        };
        binned.push((bin, *reward));
    }
    let mut rng = Rng::with_seed(1);
    let draw = |rng: &mut Rng| -> Vec<(usize, f64)> {
        (0..count).map(|_| binned[rng.usize(..count)]).collect()
    };
    let shares: Vec<f64> = (0..BOOTSTRAP_DRAWS)
        .map(|_| explained_share(&draw(&mut rng)))
        .collect();
    let mean = shares.iter().sum::<f64>() / BOOTSTRAP_DRAWS as f64;
    let variance = shares
        .iter()
        .map(|share| (share - mean).powi(2))
        .sum::<f64>()
        / BOOTSTRAP_DRAWS as f64;
    Some((mean, variance.sqrt()))
}

/// Values, or for texts their numbers in the order of their appearance, with rewards.
pub(crate) fn points(trials: &[Trial], name: &str) -> Vec<(f64, f64)> {
    let mut texts: Vec<&str> = Vec::new();
    let mut points = Vec::new();
    for trial in trials {
        let (Some(value), Some(reward)) = (trial.values.get(name), trial.reward()) else {
            continue;
        };
        let value = value.as_f64().or_else(|| {
            let text = value.as_str()?;
            let known = texts.iter().position(|known| *known == text);
            let at = known.unwrap_or_else(|| {
                texts.push(text);
                texts.len() - 1
            });
            Some(at as f64)
        });
        if let Some(value) = value {
            points.push((value, reward));
        }
    }
    points
}

fn explained_share(binned: &[(usize, f64)]) -> f64 {
    let mean = |rewards: &[f64]| rewards.iter().sum::<f64>() / rewards.len() as f64;
    let all: Vec<f64> = binned.iter().map(|(_, reward)| *reward).collect();
    let center = mean(&all);
    let whole: f64 = all.iter().map(|reward| (reward - center).powi(2)).sum();
    if whole == 0.0 {
        return 0.0;
    }
    let between = (0..BINS).map(|bin| {
        let inside = binned.iter().filter(|(own, _)| *own == bin);
        let inside: Vec<f64> = inside.map(|(_, reward)| *reward).collect();
        if inside.is_empty() {
            return 0.0;
        }
        inside.len() as f64 * (mean(&inside) - center).powi(2)
    });
    between.sum::<f64>() / whole
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{clock::timestamp::Timestamp, tuning::trial::TrialStatus};

    #[test]
    fn what_decides_matters_most() {
        let mut rng = Rng::with_seed(3);
        let at = Timestamp::from_millis(0);
        let trials: Vec<Trial> = (0..40)
            .map(|index| {
                let (lr, kind) = (rng.f64(), ["a", "b"][rng.usize(..2)]);
                let mut trial = Trial {
                    id: index.to_string(),
                    index,
                    pid: None,
                    values: json!({"lr": lr, "kind": kind}).as_object().unwrap().clone(),
                    status: TrialStatus::Terminated,
                    started: at,
                    ended: Some(at),
                    iterations: 0,
                    reports: Vec::new(),
                    stop: false,
                    changed: false,
                };
                trial.report(vec![(3.0 * lr).to_string()], true, at);
                trial
            })
            .collect();
        let (lr, _) = importance(&trials, "lr").unwrap();
        let (kind, deviation) = importance(&trials, "kind").unwrap();
        assert!(lr > 0.85 && lr <= 1.0, "{lr}");
        assert!(kind < 0.2 && deviation < 0.2, "{kind}/{deviation}");
        assert_eq!(importance(&trials[..1], "lr"), None);
        assert_eq!(importance(&trials, "none"), None);
    }
}
