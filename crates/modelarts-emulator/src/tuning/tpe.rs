//! `tpe_search`: a tree of Parzen estimators, here of independent parameters.
//!
//! Good points and all others each get a density; the next point is where the first is largest
//! against the second. `gamma` is the share of good points, as in the paper that proposed the
//! algorithm (Bergstra and others, 2011). Numbers without a source are those of hyperopt's
//! `tpe.suggest`, which has the documented settings.

use fastrand::Rng;

use crate::tuning::search::{Known, Point, Searcher};

/// How many points are drawn from the density of the good ones.
const CANDIDATES: usize = 24;
/// No more points than this are good.
const MOST_GOOD: usize = 25;

#[derive(Debug)]
pub(crate) struct Tpe {
    pub(crate) gamma: f64,
    /// `n_initial_points`: as many are drawn at random first.
    pub(crate) first: usize,
}

impl Searcher for Tpe {
    fn next(&self, known: Known<'_>, rng: &mut Rng) -> Point {
        let count = known.tried.len();
        if count == 0 || count < self.first {
            return known.random(rng);
        }
        let mut ranked: Vec<_> = known.tried.iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let good = (self.gamma * count as f64).ceil() as usize;
        let (good, others) = ranked.split_at(good.clamp(1, MOST_GOOD).min(count));
        (0..known.dimensions)
            .map(|axis| {
                let density = |points: &[&(Point, f64)]| {
                    Density::of(points.iter().map(|(point, _)| point[axis]).collect())
                };
                let (good, others) = (density(good), density(others));
                let worth = |x: f64| good.at(x).ln() - others.at(x).ln();
                let candidates = (0..CANDIDATES).map(|_| good.draw(rng));
                let best = candidates.max_by(|a, b| worth(*a).total_cmp(&worth(*b)));
                best.unwrap_or(0.5)
            })
            .collect()
    }
}

/// A mixture of a bell over the whole of 0 to 1, and one around each point, as wide as it is far
/// from its neighbours.
struct Density(Vec<(f64, f64)>);

impl Density {
    fn of(mut centers: Vec<f64>) -> Self {
        centers.sort_by(f64::total_cmp);
        let narrowest = 1.0 / (1.0 + centers.len() as f64).min(100.0);
        let mut bells = vec![(0.5, 1.0)];
        for (index, center) in centers.iter().enumerate() {
            let left = index.checked_sub(1).map_or(0.0, |before| centers[before]);
            let right = centers.get(index + 1).copied().unwrap_or(1.0);
            let width = (center - left).max(right - center);
            bells.push((*center, width.clamp(narrowest, 1.0)));
        }
        Self(bells)
    }

    /// Up to a factor, which is the same everywhere.
    fn at(&self, x: f64) -> f64 {
        let bell =
            |(center, width): &(f64, f64)| (-0.5 * ((x - center) / width).powi(2)).exp() / width;
        let sum: f64 = self.0.iter().map(bell).sum();
        sum / self.0.len() as f64
    }

    fn draw(&self, rng: &mut Rng) -> f64 {
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
