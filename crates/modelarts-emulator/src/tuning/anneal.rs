//! `anneal_search`: a random walk around good points, in ever smaller circles.
//!
//! The settings are those of hyperopt's `anneal.suggest`, and so is what they do.

use fastrand::Rng;

use crate::tuning::search::{Point, SearchHistory, Searcher};

#[derive(Debug)]
pub(crate) struct Anneal {
    /// `avg_best_idx`: the mean rank, counted from the best, of the point to start from; above 0.
    pub(crate) best: f64,
    /// `shrink_coef`: how fast the circle shrinks with the number of trials.
    pub(crate) shrink: f64,
}

impl Searcher for Anneal {
    fn next(&self, history: SearchHistory<'_>, rng: &mut Rng) -> Point {
        let mut ranked: Vec<_> = history.tried.iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let Some(last) = ranked.len().checked_sub(1) else {
            return history.random(rng);
        };
        // A geometric distribution: good points often, others sometimes.
        let stay = 1.0 / self.best.max(1.0);
        let mut rank = 0;
        while rank < last && rng.f64() > stay {
            rank += 1;
        }
        let half = 0.5 / (1.0 + history.tried.len() as f64 * self.shrink);
        let start = &ranked[rank].0;
        start
            .iter()
            .map(|center| {
                let (low, high) = ((center - half).max(0.0), (center + half).min(1.0));
                low + (high - low) * rng.f64()
            })
            .collect()
    }
}
