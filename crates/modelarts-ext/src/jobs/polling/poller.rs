//! `Poller`: rounds of requests, the pauses between rounds, and the errors that are tolerated.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{
    clock::{self, Clock},
    error::{Error, ErrorKind},
    transport::deadline::Deadline,
};

/// Maximum pause between polls: one day. Longer pauses could overflow in a multiplication.
const MAX_PAUSE: Duration = Duration::from_secs(24 * 3600);
const GROWTH: f64 = 1.3;
/// Maximum jitter, as a fraction of a pause, so that simultaneous waits poll at different times.
const JITTER: f64 = 0.1;

/// Pauses between rounds: short after a change, growing while nothing changes.
#[derive(Clone, Debug)]
pub(crate) struct PollInterval {
    shortest: Duration,
    longest: Duration,
    jitter: f64,
    pause: Option<Duration>,
}

impl PollInterval {
    pub(crate) fn new(shortest: Duration, longest: Duration) -> Self {
        Self {
            shortest: shortest.min(MAX_PAUSE),
            longest: longest.max(shortest).min(MAX_PAUSE),
            jitter: JITTER,
            pause: None,
        }
    }

    pub(crate) fn fixed(pause: Duration) -> Self {
        Self { jitter: 0.0, ..Self::new(pause, pause) }
    }

    fn next(&mut self, is_change: bool) -> Duration {
        let pause = match self.pause {
            Some(pause) if !is_change => pause.mul_f64(GROWTH).min(self.longest),
            _ => self.shortest,
        };
        self.pause = Some(pause);
        self.with_jitter(pause)
    }

    fn with_jitter(&self, pause: Duration) -> Duration {
        pause.mul_f64(1.0 + self.jitter * (2.0 * fastrand::f64() - 1.0))
    }
}

#[derive(Debug, PartialEq)]
enum Step {
    Read,
    Sleep(Duration),
    TimeOut,
}

pub(crate) struct Poller {
    /// Time at which the last round ended, and the pause after that round.
    pause: Option<(SystemTime, Duration)>,
    interval: PollInterval,
    pub(crate) deadline: Arc<Deadline>,
}

impl Poller {
    pub(crate) fn new(
        clock: &Arc<dyn Clock>,
        interval: PollInterval,
        timeout: Option<Duration>,
    ) -> Self {
        Self { pause: None, interval, deadline: Arc::new(Deadline::new(clock, timeout)) }
    }

    fn step(&mut self, now: SystemTime, left: Option<Duration>) -> Step {
        if left.is_some_and(|left| left.is_zero()) {
            return Step::TimeOut;
        }
        let rest = self.rest_of_pause(now);
        // A clock that is set back during the sleep does not extend the pause.
        self.pause = None;
        match rest.is_zero() {
            true => Step::Read,
            false => Step::Sleep(left.map_or(rest, |left| rest.min(left))),
        }
    }

    fn rest_of_pause(&self, now: SystemTime) -> Duration {
        self.pause.map_or(Duration::ZERO, |(since, pause)| {
            pause.saturating_sub(now.duration_since(since).unwrap_or_default())
        })
    }

    /// Waits for the pause after the last round, and runs the requests of the next round. Returns
    /// `None` if the time limit is reached.
    pub(crate) async fn round<T>(&mut self, requests: impl Future<Output = T>) -> Option<T> {
        loop {
            match self.step(self.deadline.clock().now(), self.deadline.left()) {
                Step::Read => return self.deadline.run(requests).await,
                Step::Sleep(pause) => clock::pause(self.deadline.clock(), pause).await,
                Step::TimeOut => return None,
            }
        }
    }

    /// Ends a round. The next pause is at least `retry_after`.
    pub(crate) fn end_round(&mut self, now: SystemTime, is_change: bool, retry_after: Duration) {
        let pause = self.interval.next(is_change).max(retry_after);
        self.pause = Some((now, pause));
    }

    /// Sleeps for the usual pause, but at least `retry_after`, and not beyond the time limit.
    pub(crate) async fn sleep(&self, retry_after: Duration) {
        let pause = self.interval.pause.unwrap_or(self.interval.shortest);
        let pause = self.interval.with_jitter(pause).max(retry_after);
        let left = self.deadline.left().unwrap_or(pause);
        clock::pause(self.deadline.clock(), pause.min(left)).await;
    }

    pub(crate) fn is_due(&self, now: SystemTime) -> bool {
        self.rest_of_pause(now).is_zero()
    }

    pub(crate) fn is_late(&self) -> bool {
        self.deadline.left().is_some_and(|left| left.is_zero())
    }
}

/// Time after which polling ends with the error, if all requests in this time failed.
const MAX_FAILING_TIME: Duration = Duration::from_secs(15 * 60);

/// Maximum pause for a `Retry-After`, which allows several requests before [`MAX_FAILING_TIME`].
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5 * 60);

/// Counter of tolerated errors. Errors other than throttling are not tolerated if they persist.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorTolerance {
    failing_since: Option<SystemTime>,
    pub(crate) errors: u32,
    retry_after: Duration,
}

impl ErrorTolerance {
    pub(crate) fn reset(&mut self) {
        self.failing_since = None;
    }

    pub(crate) fn take_retry_after(&mut self) -> Duration {
        std::mem::take(&mut self.retry_after)
    }

    /// Returns an error that is not transient or persists for too long. Counts any other error.
    pub(crate) fn tolerate(&mut self, error: Error, now: SystemTime) -> Result<(), Error> {
        // The load balancer may temporarily not find the service.
        let is_unrouted = error.status() == Some(404) && error.code().is_none();
        let is_unrouted = is_unrouted && error.kind() == ErrorKind::Service;
        let is_transient = error.is_retryable() || error.kind() == ErrorKind::Decode || is_unrouted;
        // A clock that was set back must not extend the tolerated time.
        let failing_since = self.failing_since.unwrap_or(now).min(now);
        self.failing_since = (!error.is_throttled()).then_some(failing_since);
        let failing_time = self.failing_since.and_then(|since| now.duration_since(since).ok());
        if !is_transient || failing_time.is_some_and(|time| time > MAX_FAILING_TIME) {
            return Err(error);
        }
        tracing::debug!(%error, "transient error, polling continues");
        self.errors += 1;
        let retry_after = error.retry_after().unwrap_or_default().min(MAX_RETRY_AFTER);
        self.retry_after = self.retry_after.max(retry_after);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(second: u32) -> SystemTime {
        SystemTime::UNIX_EPOCH + SECOND * (1_000_000 + second)
    }

    fn poller(pause: Option<(SystemTime, Duration)>) -> Poller {
        let interval = PollInterval::fixed(10 * SECOND);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        Poller { pause, ..Poller::new(&clock, interval, None) }
    }

    #[test]
    fn each_pause_has_its_step() {
        let pausing = Some((at(100), 10 * SECOND));
        let sleep = |seconds| Step::Sleep(SECOND * seconds);
        for (pause, now, left, step, next) in [
            (None, 0, None, Step::Read, None),
            (None, 0, Some(1), Step::Read, None),
            (None, 0, Some(0), Step::TimeOut, None),
            (pausing, 100, None, sleep(10), None),
            (pausing, 104, None, sleep(6), None),
            (pausing, 104, Some(7), sleep(6), None),
            (pausing, 104, Some(5), sleep(5), None),
            (pausing, 104, Some(0), Step::TimeOut, pausing),
            (pausing, 110, None, Step::Read, None),
            (pausing, 200, Some(1), Step::Read, None),
            // The clock was set back.
            (pausing, 50, None, sleep(10), None),
        ] {
            let mut poller = poller(pause);
            assert_eq!(poller.is_due(at(now)), pause.is_none() || now >= 110);
            let left: Option<u32> = left;
            let found = poller.step(at(now), left.map(|left| SECOND * left));
            assert_eq!((found, poller.pause), (step, next), "{pause:?} {now} {left:?}");
        }
    }

    #[test]
    fn a_round_ends_with_a_pause() {
        for (retry_after, pause) in [(0, 10), (9, 10), (45, 45)] {
            let mut poller = poller(None);
            poller.end_round(at(5), true, SECOND * retry_after);
            assert_eq!(poller.pause, Some((at(5), SECOND * pause)));
        }
    }

    #[test]
    fn pauses_grow_until_something_changes() {
        let day = 86400.0;
        for (shortest, longest, pauses) in [
            (10 * SECOND, 15 * SECOND, [10.0, 13.0, 15.0, 10.0, 13.0]),
            // A pause that would never end is a day.
            (Duration::MAX, Duration::ZERO, [day; 5]),
            (Duration::MAX, Duration::MAX, [day; 5]),
        ] {
            let mut interval = PollInterval::new(shortest, longest);
            for (expected, is_change) in pauses.into_iter().zip([false, false, false, true, false])
            {
                let jittered = interval.next(is_change).as_secs_f64();
                let exact = interval.pause.unwrap().as_secs_f64();
                assert!((exact - expected).abs() < 1e-6, "{exact} {expected}");
                assert!((jittered / exact - 1.0).abs() <= JITTER + 1e-9, "{jittered}");
            }
        }
        let mut fixed = PollInterval::fixed(10 * SECOND);
        let pauses = [false, false, true].map(|is_change| fixed.next(is_change));
        assert_eq!(pauses, [10 * SECOND; 3]);
    }
}

#[cfg(test)]
mod tolerance_tests {
    use super::*;

    fn at(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + second)
    }

    fn status(status: u16) -> Error {
        Error::new(ErrorKind::Service, "busy").with_status(status)
    }

    #[test]
    fn errors_are_tolerated_by_kind_and_by_time() {
        let decode = || Error::new(ErrorKind::Decode, "not JSON");
        let minutes = |count: u64| 60 * count;
        // The times and errors of requests, `None` for success, and the number of tolerated errors.
        for (requests, tolerated) in [
            (vec![(0, Some(status(503)))], Some(1)),
            (vec![(0, Some(status(404)))], Some(1)),
            (vec![(0, Some(decode()))], Some(1)),
            (vec![(0, Some(status(403)))], None),
            (vec![(0, Some(status(404).with_code(Some("x".into()))))], None),
            (vec![(0, Some(status(503))), (minutes(15), Some(status(503)))], Some(2)),
            (vec![(0, Some(status(503))), (minutes(15) + 1, Some(status(503)))], None),
            // A success and throttling restart the tolerated time.
            (
                vec![(0, Some(status(503))), (minutes(9), None), (minutes(16), Some(decode()))],
                Some(2),
            ),
            (
                vec![
                    (0, Some(status(503))),
                    (minutes(16), Some(status(429))),
                    (minutes(17), Some(status(503))),
                ],
                Some(3),
            ),
            // A clock that is set back does not extend the tolerated time.
            (
                vec![
                    (minutes(60), Some(status(503))),
                    (0, Some(status(503))),
                    (minutes(16), Some(status(503))),
                ],
                None,
            ),
        ] {
            let mut tolerance = ErrorTolerance::default();
            let results: Result<Vec<()>, Error> = requests
                .iter()
                .map(|(time, error)| match error {
                    None => {
                        tolerance.reset();
                        Ok(())
                    }
                    Some(error) => tolerance.tolerate(error.clone(), at(*time)),
                })
                .collect();
            let errors = results.is_ok().then_some(tolerance.errors);
            assert_eq!(errors, tolerated, "{requests:?}");
        }
    }

    #[test]
    fn a_retry_after_of_ten_years_is_five_minutes() {
        let ten_years = 10 * 365 * 24 * 3600;
        for (seconds, pause) in [(vec![ten_years], 300), (vec![70], 70), (vec![70, 20], 70)] {
            let mut tolerance = ErrorTolerance::default();
            for seconds in seconds {
                let error = status(429).with_retry_after(Some(Duration::from_secs(seconds)));
                tolerance.tolerate(error, at(0)).unwrap();
            }
            assert_eq!(tolerance.take_retry_after(), Duration::from_secs(pause));
            assert_eq!(tolerance.take_retry_after(), Duration::ZERO);
        }
    }
}
