//! Importance of the parameters of a search. Instead of the fANOVA of the service, the emulator
//! returns the correlation ratio (η²), which is the share of the variance of the rewards due to
//! differences between groups of trials with similar values, and its large-sample standard error.

use serde_json::Value;

use crate::tuning::trial::Trial;

/// Number of groups of values. The groups are of about the same size.
const GROUPS: usize = 4;

/// Returns the ratio and its standard error, or `None` if fewer than two trials have a reward.
pub(crate) fn importance(trials: &[Trial], name: &str) -> Option<(f64, f64)> {
    let mut points = points(trials, name);
    if points.len() < 2 {
        return None;
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let count = points.len() as f64;
    let mean = points.iter().map(|(_, reward)| reward).sum::<f64>() / count;
    // For each group, the number of trials and the sum of their deviations from the mean.
    let mut groups = [(0.0, 0.0); GROUPS];
    let mut group = 0;
    for (rank, (value, reward)) in points.iter().enumerate() {
        // Trials with equal values belong to the same group.
        if rank > 0 && points[rank - 1].0 != *value {
            group = rank * GROUPS / points.len();
        }
        groups[group].0 += 1.0;
        groups[group].1 += reward - mean;
    }
    let groups = groups.iter().filter(|(number, _)| *number > 0.0);
    let between: f64 = groups.map(|(number, sum)| sum * sum / number).sum();
    let total: f64 = points.iter().map(|point| (point.1 - mean).powi(2)).sum();
    let share = if total > 0.0 { (between / total).clamp(0.0, 1.0) } else { 0.0 };
    Some((share, 2.0 * share.sqrt() * (1.0 - share) / count.sqrt()))
}

/// Returns the value and the reward of each trial with both. Texts are numbered as they occur.
fn points(trials: &[Trial], name: &str) -> Vec<(f64, f64)> {
    let mut texts: Vec<&str> = Vec::new();
    let mut points = Vec::new();
    for trial in trials {
        let (Some(value), Some(reward)) = (trial.values.get(name), trial.reward()) else {
            continue;
        };
        let value = match value {
            Value::String(text) => {
                let known = texts.iter().position(|known| known == text);
                let number = known.unwrap_or(texts.len());
                if known.is_none() {
                    texts.push(text);
                }
                Some(number as f64)
            }
            value => value.as_f64(),
        };
        points.extend(value.map(|value| (value, reward)));
    }
    points
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
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
                let values = json!({"lr": lr, "kind": kind}).as_object().unwrap().clone();
                let mut trial = Trial::new(index.to_string(), index, None, values, at);
                trial.status = TrialStatus::Terminated;
                trial.ended = Some(at);
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
