//! `bayes_opt_search`: a Gaussian process is fitted to what has been tried, and the next point is
//! where it promises most.
//!
//! The settings `kind`, `kappa` and `xi` are those of the Python package bayesian-optimization,
//! whose kernel (Matérn 5/2) is used, too. The linear algebra is a dozen lines: a crate for it
//! would be larger than all of this search.

use std::borrow::Cow;

use fastrand::Rng;

use crate::tuning::{
    linear_algebra::{Triangle, bell, below},
    search::{Known, Point, Searcher},
};

/// What "most" means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The upper confidence bound.
    Ucb,
    /// The expected improvement.
    Ei,
    /// The probability of an improvement.
    Poi,
}

#[derive(Debug)]
pub(crate) struct Bayes {
    pub(crate) kind: Kind,
    pub(crate) kappa: f64,
    pub(crate) xi: f64,
    /// As many points are drawn at random first.
    pub(crate) first: usize,
}

/// How many points are looked at, at random, and around the best one.
const SCATTERED: usize = 512;
const NEAR: usize = 128;
/// How far "around" is, in steps that get smaller.
const REACH: [f64; 3] = [0.1, 0.03, 0.01];
/// The lengths over which rewards may be alike; the likeliest is taken.
const SCALES: [f64; 5] = [0.05, 0.1, 0.2, 0.4, 0.8];
/// The most trials that it is fitted to.
const MOST: usize = 300;
/// Added to the diagonal, so that equal points do no harm.
const NOISE: f64 = 1e-6;

impl Searcher for Bayes {
    fn next(&self, known: Known<'_>, rng: &mut Rng) -> Point {
        if known.tried.len() < self.first.max(2) {
            return known.random(rng);
        }
        let telling = telling(known.tried);
        let known = Known {
            tried: &telling,
            ..known
        };
        let fits = SCALES
            .iter()
            .filter_map(|scale| Process::fit(known, *scale));
        let Some(process) = fits.max_by(|a, b| a.likelihood.total_cmp(&b.likelihood)) else {
            return known.random(rng);
        };
        let mut points: Vec<Point> = (0..SCATTERED).map(|_| known.random(rng)).collect();
        let best = known.tried.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((best, _)) = best {
            for index in 0..NEAR {
                let reach = REACH[index % REACH.len()];
                let near = |x: &f64| (x + reach * (2.0 * rng.f64() - 1.0)).clamp(0.0, 1.0);
                points.push(best.iter().map(near).collect());
            }
        }
        let promises = points
            .into_iter()
            .map(|point| (self.promise(&process, &point), point));
        let most = promises.max_by(|a, b| a.0.total_cmp(&b.0));
        most.map_or_else(|| known.random(rng), |(_, point)| point)
    }
}

/// What is fitted to: the time for it grows with the cube of their number. The better half are the
/// best of all, the others the latest.
fn telling(tried: &[(Point, f64)]) -> Cow<'_, [(Point, f64)]> {
    if tried.len() <= MOST {
        return Cow::Borrowed(tried);
    }
    let mut order: Vec<usize> = (0..tried.len()).collect();
    order.sort_by(|a, b| tried[*b].1.total_cmp(&tried[*a].1));
    let (best, others) = order.split_at_mut(MOST / 2);
    others.sort_unstable();
    let latest = &others[others.len() - (MOST - best.len())..];
    let chosen = best.iter().chain(latest);
    chosen.map(|index| tried[*index].clone()).collect()
}

impl Bayes {
    fn promise(&self, process: &Process, point: &Point) -> f64 {
        let (mean, deviation) = process.predict(point);
        let above = mean - process.best - self.xi;
        match self.kind {
            Kind::Ucb => mean + self.kappa * deviation,
            Kind::Ei => above * below(above / deviation) + deviation * bell(above / deviation),
            Kind::Poi => below(above / deviation),
        }
    }
}

/// Rewards in units of their deviation, and what follows for all other points.
struct Process {
    points: Vec<Point>,
    scale: f64,
    /// The Cholesky factor of the kernel matrix.
    factor: Triangle,
    /// The matrix's inverse times the rewards.
    weights: Vec<f64>,
    best: f64,
    likelihood: f64,
}

impl Process {
    /// None if the matrix is singular.
    fn fit(known: Known<'_>, scale: f64) -> Option<Self> {
        let count = known.tried.len() as f64;
        let mean = known.tried.iter().map(|(_, reward)| reward).sum::<f64>() / count;
        let variance = known
            .tried
            .iter()
            .map(|(_, reward)| (reward - mean).powi(2));
        let deviation = (variance.sum::<f64>() / count).sqrt();
        let unit = if deviation > 0.0 { deviation } else { 1.0 };
        let mut points: Vec<Point> = Vec::new();
        let mut rewards = Vec::new();
        for (point, reward) in known.tried {
            points.push(point.clone());
            rewards.push((reward - mean) / unit);
        }
        let best = rewards.iter().copied().fold(f64::MIN, f64::max);
        // What is being tried counts as average, so that it is not tried twice at a time.
        points.extend_from_slice(known.running);
        rewards.resize(points.len(), 0.0);
        let factor = Triangle::of(points.len(), |row, column| {
            let noise = if row == column { NOISE } else { 0.0 };
            alike(&points[row], &points[column], scale) + noise
        })?;
        let weights = factor.solve_back(&factor.solve(&rewards));
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
            .map(|other| alike(point, other, self.scale))
            .collect();
        let mean = near.iter().zip(&self.weights).map(|(a, b)| a * b).sum();
        let explained: f64 = self.factor.solve(&near).iter().map(|x| x * x).sum();
        (mean, (1.0 - explained).max(1e-12).sqrt())
    }
}

/// The kernel, Matérn 5/2: 1 for the same point, less the farther away.
fn alike(a: &Point, b: &Point, scale: f64) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
    let distance = 5f64.sqrt() * squares.sum::<f64>().sqrt() / scale;
    (1.0 + distance + distance.powi(2) / 3.0) * (-distance).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousand trials are as quickly fitted to as a few hundred, and nothing good is forgotten.
    #[test]
    fn of_many_trials_the_best_and_the_latest_count() {
        let tried = |count: usize| -> Vec<(Point, f64)> {
            (0..count)
                .map(|at| (vec![at as f64 / count as f64], -(at as f64)))
                .collect()
        };
        let few = tried(MOST);
        assert!(matches!(telling(&few), Cow::Borrowed(all) if *all == few[..]));
        let many = tried(10_000);
        let chosen = telling(&many);
        assert_eq!(chosen.len(), MOST);
        assert_eq!(chosen[..MOST / 2], many[..MOST / 2]);
        assert_eq!(chosen[MOST / 2..], many[10_000 - MOST / 2..]);
    }
}
