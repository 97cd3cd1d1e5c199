//! Hyper-parameter search: what a job asks for (`algorithm.policies.auto_search`), the search
//! algorithms, and the trials.
//!
//! Documented are the three algorithms with their settings, the form of the tables, and that the
//! reward is found in the log by a regular expression. Decided here, because no document says it:
//! without `algo_configs` it is a `bayes_opt_search`; four trials run at a time, as in the
//! documented template, or `max_concurrent` of the settings; the first of `reward_attrs` leads; a
//! regular expression is tried on each line, and its first group, or else all it matches, is the
//! value; a job is Completed if one of its trials ended with 0.

mod anneal;
mod bayes;
pub(crate) mod importance;
mod linear_algebra;
mod settings;
mod space;
mod tpe;
pub(crate) mod trial;

pub(crate) use crate::execution::importance_chart::place as picture_place;
pub(crate) use crate::handlers::jobs::trial_table::{all as trials_table, one as trial_table};
pub(crate) use crate::tuning::importance::importance;
pub(crate) use crate::tuning::settings::{Tuning, documented};
pub(crate) use crate::tuning::trial::{Trial, TrialStatus};

use fastrand::Rng;

/// A point of the unit cube, one number for each parameter that is varied.
pub(crate) type Point = Vec<f64>;

/// What a search algorithm knows when it is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    /// Points with their rewards; more is better.
    pub(crate) tried: &'a [(Point, f64)],
    /// Points that are being tried.
    pub(crate) running: &'a [Point],
    pub(crate) dimensions: usize,
}

impl Known<'_> {
    fn random(&self, rng: &mut Rng) -> Point {
        (0..self.dimensions).map(|_| rng.f64()).collect()
    }
}

/// Chooses where to try next.
pub(crate) trait Searcher: Send + Sync {
    fn next(&self, known: Known<'_>, rng: &mut Rng) -> Point;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hill with its top, 0, at (0.7, 0.2).
    fn hill(point: &Point) -> f64 {
        -((point[0] - 0.7).powi(2) + (point[1] - 0.2).powi(2))
    }

    struct AtRandom;

    impl Searcher for AtRandom {
        fn next(&self, known: Known<'_>, rng: &mut Rng) -> Point {
            known.random(rng)
        }
    }

    /// The rewards of a search of the hill, in order.
    fn climb(searcher: &dyn Searcher, seed: u64, samples: usize) -> Vec<f64> {
        let mut rng = Rng::with_seed(seed);
        let mut tried = Vec::new();
        for _ in 0..samples {
            let known = Known {
                tried: &tried,
                running: &[],
                dimensions: 2,
            };
            let point = searcher.next(known, &mut rng);
            assert!(point.iter().all(|x| (0.0..=1.0).contains(x)), "{point:?}");
            let reward = hill(&point);
            tried.push((point, reward));
        }
        tried.into_iter().map(|(_, reward)| reward).collect()
    }

    fn best(rewards: &[f64]) -> f64 {
        rewards.iter().copied().fold(f64::MIN, f64::max)
    }

    #[test]
    fn each_algorithm_finds_more_than_its_first_points_and_than_chance() {
        let bayes = |kind| bayes::Bayes {
            kind,
            kappa: 2.5,
            // Without it the probability of an improvement stays near what it has.
            xi: if kind == bayes::Kind::Poi { 0.2 } else { 0.0 },
            first: 5,
        };
        let searchers: [(&str, Box<dyn Searcher>); 5] = [
            ("ucb", Box::new(bayes(bayes::Kind::Ucb))),
            ("ei", Box::new(bayes(bayes::Kind::Ei))),
            ("poi", Box::new(bayes(bayes::Kind::Poi))),
            (
                "tpe",
                Box::new(tpe::Tpe {
                    gamma: 0.25,
                    first: 5,
                }),
            ),
            (
                "anneal",
                Box::new(anneal::Anneal {
                    best: 2.0,
                    shrink: 0.1,
                }),
            ),
        ];
        const SAMPLES: usize = 30;
        const SEEDS: u64 = 6;
        let mean = |searcher: &dyn Searcher| {
            let total: f64 = (1..=SEEDS)
                .map(|seed| best(&climb(searcher, seed, SAMPLES)))
                .sum();
            total / SEEDS as f64
        };
        let chance = mean(&AtRandom);
        for (name, searcher) in searchers {
            let rewards = climb(searcher.as_ref(), 1, SAMPLES);
            assert!(best(&rewards) > best(&rewards[..5]), "{name}: {rewards:?}");
            let found = mean(searcher.as_ref());
            assert!(found > chance / 2.0, "{name}: {found}, by chance {chance}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_search() {
        let tpe = tpe::Tpe {
            gamma: 0.25,
            first: 5,
        };
        assert_eq!(climb(&tpe, 7, 20), climb(&tpe, 7, 20));
        assert_ne!(climb(&tpe, 7, 20), climb(&tpe, 8, 20));
    }
}
