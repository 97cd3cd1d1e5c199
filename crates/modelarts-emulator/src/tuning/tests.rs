//! Searches of a function with a known top.

use fastrand::Rng;

use crate::tuning::{
    anneal, bayes,
    search::{Point, SearchHistory, Searcher},
    tpe,
};

/// A hill with its top, 0, at (0.7, 0.2).
fn hill(point: &Point) -> f64 {
    -((point[0] - 0.7).powi(2) + (point[1] - 0.2).powi(2))
}

struct AtRandom;

impl Searcher for AtRandom {
    fn next(&self, history: SearchHistory<'_>, rng: &mut Rng) -> Point {
        history.random(rng)
    }
}

/// The rewards of a search of the hill, in order.
fn climb(searcher: &dyn Searcher, seed: u64, samples: usize) -> Vec<f64> {
    let mut rng = Rng::with_seed(seed);
    let mut tried = Vec::new();
    for _ in 0..samples {
        let history = SearchHistory {
            tried: &tried,
            running: &[],
            dimensions: 2,
        };
        let point = searcher.next(history, &mut rng);
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
        xi: if kind == bayes::Acquisition::Poi {
            0.2
        } else {
            0.0
        },
        first: 5,
    };
    let searchers: [(&str, Box<dyn Searcher>); 5] = [
        ("ucb", Box::new(bayes(bayes::Acquisition::Ucb))),
        ("ei", Box::new(bayes(bayes::Acquisition::Ei))),
        ("poi", Box::new(bayes(bayes::Acquisition::Poi))),
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
