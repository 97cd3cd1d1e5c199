//! `tpe_search`: a tree of Parzen estimators, here of independent parameters.
//!
//! Good points and all others each get a density; the next point is where the first is largest
//! against the second. `gamma` is the share of good points, as in the paper that proposed the
//! algorithm (Bergstra and others, 2011). Numbers without a source are those of hyperopt's
//! `tpe.suggest`, which has the settings of the example (SOURCES X).

use fastrand::Rng;

use crate::tuning::search::{Point, SearchHistory, Searcher};

/// How many points are drawn from the density of the good ones.
const CANDIDATES: usize = 24;
/// No more points than this are good.
const MAX_GOOD: usize = 25;

#[derive(Debug)]
pub(super) struct Tpe {
    pub(super) gamma: f64,
    /// `n_initial_points`: as many are drawn at random first.
    pub(super) first: usize,
}

impl Searcher for Tpe {
    fn next(&self, history: SearchHistory<'_>, rng: &mut Rng) -> Point {
        let count = history.tried.len();
        if count == 0 || count < self.first {
            return history.random(rng);
        }
        let mut ranked: Vec<_> = history.tried.iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let good = (self.gamma * count as f64).ceil() as usize;
        let (good, others) = ranked.split_at(good.clamp(1, MAX_GOOD).min(count));
        (0..history.dimensions)
            .map(|axis| {
                let density = |points: &[&(Point, f64)]| {
                    Density::of(points.iter().map(|(point, _)| point[axis]).collect())
                };
                let (good, others) = (density(good), density(others));
                let log_ratio = |x: f64| good.density(x).ln() - others.density(x).ln();
                let candidates = (0..CANDIDATES).map(|_| good.sample(rng));
                let best = candidates.max_by(|a, b| log_ratio(*a).total_cmp(&log_ratio(*b)));
                best.unwrap_or(0.5)
            })
            .collect()
    }
}

/// A mixture of a normal density over the whole of 0 to 1, and one around each point, as wide as it
/// is far from its neighbours.
struct Density(Vec<(f64, f64)>);

impl Density {
    fn of(mut centers: Vec<f64>) -> Self {
        centers.sort_by(f64::total_cmp);
        let narrowest = 1.0 / (1.0 + centers.len() as f64).min(100.0);
        let mut components = vec![(0.5, 1.0)];
        for (index, center) in centers.iter().enumerate() {
            let left = index.checked_sub(1).map_or(0.0, |before| centers[before]);
            let right = centers.get(index + 1).copied().unwrap_or(1.0);
            let width = (center - left).max(right - center);
            components.push((*center, width.clamp(narrowest, 1.0)));
        }
        Self(components)
    }

    /// Up to a factor, which is the same everywhere.
    fn density(&self, x: f64) -> f64 {
        let component_density =
            |(center, width): &(f64, f64)| (-0.5 * ((x - center) / width).powi(2)).exp() / width;
        let sum: f64 = self.0.iter().map(component_density).sum();
        sum / self.0.len() as f64
    }

    fn sample(&self, rng: &mut Rng) -> f64 {
        let (center, width) = self.0[rng.usize(..self.0.len())];
        loop {
            // Box and Muller; 1 - x is not 0.
            let length = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
            let x = center + width * length * (std::f64::consts::TAU * rng.f64()).cos();
            if (0.0..=1.0).contains(&x) {
                return x;
            }
        }
    }
}
