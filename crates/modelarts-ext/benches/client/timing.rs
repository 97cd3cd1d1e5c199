//! Processor time and elapsed time of rounds, and their medians.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// Processor time and elapsed time of one round.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    pub wall: Duration,
    pub cpu: Duration,
}

/// Measurement of a round in progress.
pub struct Round {
    wall: Instant,
    cpu: Duration,
}

impl Round {
    pub fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu: cpu(),
        }
    }

    pub fn end(self) -> Spent {
        Spent {
            wall: self.wall.elapsed(),
            cpu: cpu().saturating_sub(self.cpu),
        }
    }
}

/// Returns the processor time of this process.
fn cpu() -> Duration {
    // The call cannot fail: the clock exists on every system for which this code compiles.
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Returns the median of the figures; NaN for an empty list.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Ratios of the times of two programs: medians of the ratios of paired rounds.
pub struct Ratio {
    pub wall: f64,
    pub cpu: f64,
}

impl Ratio {
    pub fn of(ours: &[Spent], floor: &[Spent]) -> Self {
        let ratio = |part: fn(&Spent) -> Duration| {
            let pairs = ours.iter().zip(floor);
            median(
                pairs
                    .map(|(a, b)| part(a).as_secs_f64() / part(b).as_secs_f64())
                    .collect(),
            )
        };
        Self {
            wall: ratio(|spent| spent.wall),
            cpu: ratio(|spent| spent.cpu),
        }
    }
}

/// Returns the median over all rounds of the time per call, in microseconds.
pub fn micros(rounds: &[Spent], calls: u32, part: fn(&Spent) -> Duration) -> f64 {
    median(
        rounds
            .iter()
            .map(|spent| part(spent).as_secs_f64() * 1e6 / f64::from(calls))
            .collect(),
    )
}
