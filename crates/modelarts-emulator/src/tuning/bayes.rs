//! `bayes_opt_search`: a Gaussian process is fitted to what has been tried, and the next point is
//! where its acquisition function is largest.
//!
//! The settings `kind`, `kappa` and `xi` are those of the Python package bayesian-optimization,
//! whose kernel (Matérn 5/2) is used, too. The linear algebra is a dozen lines: a crate for it
//! would be larger than all of this search.

use std::borrow::Cow;

use fastrand::Rng;

use crate::tuning::{
    linear_algebra::{Cholesky, normal_density, normal_distribution},
    search::{Point, SearchHistory, Searcher},
};

/// The acquisition function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acquisition {
    /// The upper confidence bound.
    Ucb,
    /// The expected improvement.
    Ei,
    /// The probability of an improvement.
    Poi,
}

#[derive(Debug)]
pub(crate) struct Bayes {
    pub(crate) kind: Acquisition,
    pub(crate) kappa: f64,
    pub(crate) xi: f64,
    /// As many points are drawn at random first.
    pub(crate) first: usize,
}

/// How many points are looked at, at random, and around the best one.
const RANDOM_CANDIDATES: usize = 512;
const LOCAL_CANDIDATES: usize = 128;
/// How far "around" is, in steps that get smaller.
const LOCAL_RADII: [f64; 3] = [0.1, 0.03, 0.01];
/// The lengths over which rewards may be alike; the likeliest is taken.
const LENGTH_SCALES: [f64; 5] = [0.05, 0.1, 0.2, 0.4, 0.8];
/// The most trials that it is fitted to.
const MAX_OBSERVATIONS: usize = 300;
/// Added to the diagonal, so that equal points do no harm.
const NOISE: f64 = 1e-6;

impl Searcher for Bayes {
    fn next(&self, history: SearchHistory<'_>, rng: &mut Rng) -> Point {
        if history.tried.len() < self.first.max(2) {
            return history.random(rng);
        }
        let observations = select_observations(history.tried);
        let history = SearchHistory {
            tried: &observations,
            ..history
        };
        let fits = LENGTH_SCALES
            .iter()
            .filter_map(|scale| GaussianProcess::fit(history, *scale));
        let Some(process) = fits.max_by(|a, b| a.likelihood.total_cmp(&b.likelihood)) else {
            return history.random(rng);
        };
        let mut points: Vec<Point> = (0..RANDOM_CANDIDATES)
            .map(|_| history.random(rng))
            .collect();
        let best = history.tried.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((best, _)) = best {
            for index in 0..LOCAL_CANDIDATES {
                let radius = LOCAL_RADII[index % LOCAL_RADII.len()];
                let near = |x: &f64| (x + radius * (2.0 * rng.f64() - 1.0)).clamp(0.0, 1.0);
                points.push(best.iter().map(near).collect());
            }
        }
        let acquisitions = points
            .into_iter()
            .map(|point| (self.acquisition(&process, &point), point));
        let most = acquisitions.max_by(|a, b| a.0.total_cmp(&b.0));
        most.map_or_else(|| history.random(rng), |(_, point)| point)
    }
}

/// The observations for the fit, whose time grows with the cube of their number. Half of them are
/// the best of all, the others the latest.
fn select_observations(tried: &[(Point, f64)]) -> Cow<'_, [(Point, f64)]> {
    if tried.len() <= MAX_OBSERVATIONS {
        return Cow::Borrowed(tried);
    }
    let mut order: Vec<usize> = (0..tried.len()).collect();
    order.sort_by(|a, b| tried[*b].1.total_cmp(&tried[*a].1));
    let (best, others) = order.split_at_mut(MAX_OBSERVATIONS / 2);
    others.sort_unstable();
    let latest = &others[others.len() - (MAX_OBSERVATIONS - best.len())..];
    let chosen = best.iter().chain(latest);
    chosen.map(|index| tried[*index].clone()).collect()
}

impl Bayes {
    fn acquisition(&self, process: &GaussianProcess, point: &Point) -> f64 {
        let (mean, deviation) = process.predict(point);
        let above = mean - process.best - self.xi;
        match self.kind {
            Acquisition::Ucb => mean + self.kappa * deviation,
            Acquisition::Ei => {
                above * normal_distribution(above / deviation)
                    + deviation * normal_density(above / deviation)
            }
            Acquisition::Poi => normal_distribution(above / deviation),
        }
    }
}

/// Rewards in units of their deviation, and what follows for all other points.
struct GaussianProcess {
    points: Vec<Point>,
    scale: f64,
    /// The Cholesky factor of the kernel matrix.
    factor: Cholesky,
    /// The matrix's inverse times the rewards.
    weights: Vec<f64>,
    best: f64,
    likelihood: f64,
}

impl GaussianProcess {
    /// None if the matrix is singular.
    fn fit(history: SearchHistory<'_>, scale: f64) -> Option<Self> {
        let count = history.tried.len() as f64;
        let mean = history.tried.iter().map(|(_, reward)| reward).sum::<f64>() / count;
        let variance = history
            .tried
            .iter()
            .map(|(_, reward)| (reward - mean).powi(2));
        let deviation = (variance.sum::<f64>() / count).sqrt();
        let unit = if deviation > 0.0 { deviation } else { 1.0 };
        let mut points: Vec<Point> = Vec::new();
        let mut rewards = Vec::new();
        for (point, reward) in history.tried {
            points.push(point.clone());
            rewards.push((reward - mean) / unit);
        }
        let best = rewards.iter().copied().fold(f64::MIN, f64::max);
        // A point that is being tried counts as average, so that it is not tried twice at a time.
        points.extend_from_slice(history.running);
        rewards.resize(points.len(), 0.0);
        let factor = Cholesky::of(points.len(), |row, column| {
            let noise = if row == column { NOISE } else { 0.0 };
            matern_kernel(&points[row], &points[column], scale) + noise
        })?;
        let weights = factor.solve_transposed(&factor.solve(&rewards));
        let agreement: f64 = rewards.iter().zip(&weights).map(|(a, b)| a * b).sum();
        Some(Self {
            likelihood: -0.5 * agreement - factor.half_log_determinant(),
            points,
            scale,
            factor,
            weights,
            best,
        })
    }

    /// Mean and deviation at a point.
    fn predict(&self, point: &Point) -> (f64, f64) {
        let near: Vec<f64> = self
            .points
            .iter()
            .map(|other| matern_kernel(point, other, self.scale))
            .collect();
        let mean = near.iter().zip(&self.weights).map(|(a, b)| a * b).sum();
        let explained: f64 = self.factor.solve(&near).iter().map(|x| x * x).sum();
        (mean, (1.0 - explained).max(1e-12).sqrt())
    }
}

/// The kernel, Matérn 5/2: 1 for the same point, less the farther away.
fn matern_kernel(a: &Point, b: &Point, scale: f64) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
    let distance = 5f64.sqrt() * squares.sum::<f64>().sqrt() / scale;
    (1.0 + distance + distance.powi(2) / 3.0) * (-distance).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousand trials are as quickly fitted to as a few hundred, and nothing good is
    /// forgotten.
    #[test]
    fn of_many_trials_the_best_and_the_latest_count() {
        let tried = |count: usize| -> Vec<(Point, f64)> {
            (0..count)
                .map(|at| (vec![at as f64 / count as f64], -(at as f64)))
                .collect()
        };
        let few = tried(MAX_OBSERVATIONS);
        assert!(matches!(select_observations(&few), Cow::Borrowed(all) if *all == few[..]));
        let many = tried(10_000);
        let chosen = select_observations(&many);
        assert_eq!(chosen.len(), MAX_OBSERVATIONS);
        assert_eq!(chosen[..MAX_OBSERVATIONS / 2], many[..MAX_OBSERVATIONS / 2]);
        assert_eq!(
            chosen[MAX_OBSERVATIONS / 2..],
            many[10_000 - MAX_OBSERVATIONS / 2..]
        );
    }
}
