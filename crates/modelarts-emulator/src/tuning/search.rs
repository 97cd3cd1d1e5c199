//! The interface of the search algorithms.

use fastrand::Rng;

/// A point of the unit cube, one number for each parameter that is varied.
pub(crate) type Point = Vec<f64>;

/// The trials so far, from which a search algorithm chooses the next point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchHistory<'a> {
    /// Points with their rewards; more is better.
    pub(crate) tried: &'a [(Point, f64)],
    /// Points that are being tried.
    pub(crate) running: &'a [Point],
    pub(crate) dimensions: usize,
}

impl SearchHistory<'_> {
    pub(super) fn random(&self, rng: &mut Rng) -> Point {
        (0..self.dimensions).map(|_| rng.f64()).collect()
    }
}

/// Chooses where to try next.
pub(crate) trait Searcher: Send + Sync {
    fn next(&self, history: SearchHistory<'_>, rng: &mut Rng) -> Point;
}
