//! How long to wait between two looks.

use std::time::Duration;

/// No pause is longer: it would never end, and longer ones cannot be multiplied.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// How much longer each pause is than the one before, while nothing happens.
const GROWTH: f64 = 1.3;

/// Pauses that are short when something happens, and grow while nothing does.
#[derive(Clone, Debug)]
pub(crate) struct PollInterval {
    shortest: Duration,
    longest: Duration,
    /// The next pause; there is none before the first look.
    pause: Option<Duration>,
}

impl PollInterval {
    pub(crate) fn new(shortest: Duration, longest: Duration) -> Self {
        Self {
            shortest: shortest.min(LONGEST),
            longest: longest.max(shortest).min(LONGEST),
            pause: None,
        }
    }

    /// The next pause, give or take a tenth: many waits that began together should not
    /// look together.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let jitter = 0.9 + 0.2 * fastrand::f64();
        self.pause.map(|pause| pause.mul_f64(jitter))
    }

    /// Something happened.
    pub(crate) fn reset(&mut self) {
        self.pause = Some(self.shortest);
    }

    /// Nothing happened.
    pub(crate) fn back_off(&mut self) {
        let pause = self.pause.unwrap_or(self.shortest).mul_f64(GROWTH);
        self.pause = Some(pause.min(self.longest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pause without what is left to chance.
    fn pause(pace: &PollInterval) -> f64 {
        let (exact, told) = (pace.pause.unwrap(), pace.pause().unwrap());
        assert!(told >= exact.mul_f64(0.89) && told <= exact.mul_f64(1.11));
        exact.as_secs_f64()
    }

    #[test]
    fn pauses_grow_until_something_happens() {
        let mut pace = PollInterval::new(Duration::from_secs(10), Duration::from_secs(15));
        assert_eq!(pace.pause(), None);
        pace.reset();
        assert!((pause(&pace) - 10.0).abs() < 1e-6);
        pace.back_off();
        assert!((pause(&pace) - 13.0).abs() < 1e-6);
        pace.back_off();
        assert!((pause(&pace) - 15.0).abs() < 1e-6);
        pace.reset();
        assert!((pause(&pace) - 10.0).abs() < 1e-6);
    }

    #[test]
    fn a_pause_that_would_never_end_is_a_day() {
        for longest in [Duration::ZERO, Duration::MAX] {
            let mut pace = PollInterval::new(Duration::MAX, longest);
            pace.back_off();
            assert!((pause(&pace) - 86400.0).abs() < 1e-6);
            pace.back_off();
            pace.reset();
            assert!((pause(&pace) - 86400.0).abs() < 1e-6);
        }
    }
}
