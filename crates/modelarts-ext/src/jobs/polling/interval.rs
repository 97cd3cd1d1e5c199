//! Poll interval: the pauses between requests, which grow while nothing changes.

use std::time::Duration;

use crate::{
    clock::Clock,
    jobs::polling::{MAX_PAUSE, tolerance::ErrorTolerance},
    transport::deadline::Deadline,
};

/// Growth factor of a pause while nothing changes.
const GROWTH: f64 = 1.3;

/// Pauses between polls, which are short after a change and grow while nothing changes.
#[derive(Clone, Debug)]
pub(crate) struct PollInterval {
    shortest: Duration,
    longest: Duration,
    /// The next pause; `None` before the first request.
    pause: Option<Duration>,
}

impl PollInterval {
    pub(crate) fn new(shortest: Duration, longest: Duration) -> Self {
        Self {
            shortest: shortest.min(MAX_PAUSE),
            longest: longest.max(shortest).min(MAX_PAUSE),
            pause: None,
        }
    }

    /// Returns the next pause, with a jitter of a tenth, so that waits that began together do not
    /// poll simultaneously.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let jitter = 0.9 + 0.2 * fastrand::f64();
        self.pause.map(|pause| pause.mul_f64(jitter))
    }

    /// Sleeps until the next request, but not beyond the deadline.
    pub(crate) async fn sleep(
        &self,
        clock: &dyn Clock,
        tolerance: &mut ErrorTolerance,
        deadline: &Deadline,
    ) {
        if let Some(pause) = self.pause() {
            let pause = tolerance.pause(pause);
            let left = deadline.left(clock).unwrap_or(pause);
            clock.sleep(pause.min(left)).await;
        }
    }

    /// Resets the pause after a change.
    pub(crate) fn reset(&mut self) {
        self.pause = Some(self.shortest);
    }

    /// Increases the pause after a poll without a change.
    pub(crate) fn back_off(&mut self) {
        let pause = self.pause.unwrap_or(self.shortest).mul_f64(GROWTH);
        self.pause = Some(pause.min(self.longest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pause without its jitter.
    fn pause(interval: &PollInterval) -> f64 {
        let (exact, jittered) = (interval.pause.unwrap(), interval.pause().unwrap());
        assert!(jittered >= exact.mul_f64(0.89) && jittered <= exact.mul_f64(1.11));
        exact.as_secs_f64()
    }

    #[test]
    fn pauses_grow_until_something_happens() {
        let mut interval = PollInterval::new(Duration::from_secs(10), Duration::from_secs(15));
        assert_eq!(interval.pause(), None);
        interval.reset();
        assert!((pause(&interval) - 10.0).abs() < 1e-6);
        interval.back_off();
        assert!((pause(&interval) - 13.0).abs() < 1e-6);
        interval.back_off();
        assert!((pause(&interval) - 15.0).abs() < 1e-6);
        interval.reset();
        assert!((pause(&interval) - 10.0).abs() < 1e-6);
    }

    #[test]
    fn a_pause_that_would_never_end_is_a_day() {
        for longest in [Duration::ZERO, Duration::MAX] {
            let mut interval = PollInterval::new(Duration::MAX, longest);
            interval.back_off();
            assert!((pause(&interval) - 86400.0).abs() < 1e-6);
            interval.back_off();
            interval.reset();
            assert!((pause(&interval) - 86400.0).abs() < 1e-6);
        }
    }
}
