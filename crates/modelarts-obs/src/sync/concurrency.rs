//! Number of concurrent tasks of a synchronization, which grows while this makes them faster.

use std::time::{Duration, Instant};

/// Number of concurrent tasks at the beginning.
const FIRST: usize = 16;
/// Maximum number that a synchronization reaches by itself.
pub(super) const MOST: usize = 256;
/// Minimum time of a measurement, which also takes twice as many tasks as run concurrently.
const WINDOW: Duration = Duration::from_millis(250);
/// Minimum ratio of the speeds with a number and with half of it, for which the number is kept.
const GAIN: f64 = 1.2;
/// Time for which further throttled requests do not count.
const SETTLE: Duration = Duration::from_secs(1);
/// Time after which a higher number is tried again.
const REST: Duration = Duration::from_secs(10);

/// Number of concurrent tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Concurrency {
    /// The caller set the number.
    Fixed(usize),
    /// The speed with this number is measured.
    Growing {
        number: usize,
        /// Tasks per second with half the number, or zero.
        before: f64,
        /// Start of the measurement, and the number of tasks that completed since.
        window: Option<(Instant, usize)>,
    },
    /// A higher number did not help, or requests were throttled. It is tried again later.
    Resting {
        number: usize,
        until: Instant,
        /// Time from which throttled requests count again: those in flight are throttled together.
        settled: Instant,
    },
}

impl Default for Concurrency {
    fn default() -> Self {
        Self::Growing { number: FIRST, before: 0.0, window: None }
    }
}

impl Concurrency {
    pub(crate) fn number(self) -> usize {
        let (Self::Fixed(number) | Self::Growing { number, .. } | Self::Resting { number, .. }) =
            self;
        number
    }

    /// Returns the maximum of the number in the future.
    pub(crate) fn most(self) -> usize {
        match self {
            Self::Fixed(number) => number,
            _ => MOST,
        }
    }

    /// Returns the state after a completed task. `is_throttled` is `true` if the service throttled a
    /// request since the task before.
    pub(crate) fn after_task(self, now: Instant, is_throttled: bool) -> Self {
        let rest = |number: usize| Self::Resting { number, until: now + REST, settled: now };
        match self {
            Self::Fixed(_) => self,
            Self::Resting { settled, .. } if is_throttled && now < settled => self,
            _ if is_throttled => {
                let number = (self.number() / 2).max(1);
                Self::Resting { number, until: now + REST, settled: now + SETTLE }
            }
            Self::Resting { number, until, .. } if now >= until => {
                Self::Growing { number, before: 0.0, window: None }
            }
            Self::Resting { .. } => self,
            Self::Growing { number, before, window: None } => {
                Self::Growing { number, before, window: Some((now, 0)) }
            }
            Self::Growing { number, before, window: Some((since, done)) } => {
                let (done, time) = (done + 1, now.saturating_duration_since(since));
                if time < WINDOW || done < 2 * number {
                    return Self::Growing { number, before, window: Some((since, done)) };
                }
                let speed = done as f64 / time.as_secs_f64();
                match speed >= GAIN * before {
                    true if number < MOST => {
                        let number = (2 * number).min(MOST);
                        Self::Growing { number, before: speed, window: None }
                    }
                    true => rest(number),
                    false => rest(number / 2),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs tasks for some seconds, with a speed that depends on their number, and returns the
    /// numbers. The request at each of the times in milliseconds is throttled.
    fn run(speed: impl Fn(usize) -> f64, seconds: u64, throttled: &[u64]) -> Vec<usize> {
        let start = Instant::now();
        let (mut now, mut state, mut numbers) = (start, Concurrency::default(), vec![FIRST]);
        let mut throttled =
            throttled.iter().map(|at| start + Duration::from_millis(*at)).peekable();
        while now < start + Duration::from_secs(seconds) {
            now += Duration::from_secs_f64(1.0 / speed(state.number()));
            state = state.after_task(now, throttled.next_if(|at| *at <= now).is_some());
            if numbers.last() != Some(&state.number()) {
                numbers.push(state.number());
            }
        }
        numbers
    }

    #[test]
    fn the_number_grows_while_this_helps() {
        let latency = |number: usize| number as f64 / 0.02;
        assert_eq!(run(latency, 9, &[]), [16, 32, 64, 128, 256]);
        // Beyond 50 tasks, the processor or the network is the limit.
        assert_eq!(run(|number| latency(number.min(50)), 9, &[]), [16, 32, 64, 128, 64]);
        assert_eq!(run(|_| 900.0, 9, &[]), [16, 32, 16]);
    }

    #[test]
    fn a_higher_number_is_tried_again_after_a_rest() {
        assert_eq!(run(|_| 900.0, 20, &[]), [16, 32, 16, 32, 16]);
    }

    #[test]
    fn the_number_falls_when_requests_are_throttled() {
        let latency = |number: usize| number as f64 / 0.02;
        let throttled = [2000, 2001, 2002, 3500];
        assert_eq!(run(latency, 5, &throttled), [16, 32, 64, 128, 256, 128, 64]);
        let seconds: Vec<u64> = (0..9).map(|second| 1001 * second).collect();
        assert_eq!(run(latency, 9, &seconds), [16, 8, 4, 2, 1]);
    }

    #[test]
    fn a_number_of_the_caller_does_not_change() {
        let fixed = Concurrency::Fixed(7);
        assert_eq!(fixed.after_task(Instant::now(), true), fixed);
        assert_eq!((fixed.number(), fixed.most()), (7, 7));
    }
}
