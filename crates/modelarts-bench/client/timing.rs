//! Processor time and elapsed time of rounds, and medians.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Processor time and elapsed time of one round, in microseconds per call.
#[derive(Clone, Copy)]
pub struct Spent {
    pub cpu: f64,
    pub elapsed: f64,
}

/// Measurement of a round in progress.
pub struct Round {
    cpu: Duration,
    begin: Instant,
}

impl Round {
    pub fn start() -> Self {
        let begin = Instant::now();
        Self { cpu: cpu(), begin }
    }

    pub fn end(self, calls: u32) -> Spent {
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(calls);
        let elapsed = micros(self.begin.elapsed());
        let cpu = micros(cpu().saturating_sub(self.cpu));
        Spent { cpu, elapsed }
    }
}

/// Returns the processor time of this thread. The server runs on another thread.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the median of a figure of the rounds, or NaN if there are no rounds.
pub fn median<T>(rounds: &[T], figure: impl Fn(&T) -> f64) -> f64 {
    let mut figures: Vec<_> = rounds.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
