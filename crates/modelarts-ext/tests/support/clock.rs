//! A clock that does not make anybody wait.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use futures::future::BoxFuture;
use tokio::sync::watch;

/// Sleeps that are shorter than this are pauses; all others are time limits.
const LIMIT: Duration = Duration::from_secs(60);
/// No test makes so many pauses; without a limit, what never ends would hang.
const MOST: usize = 1000;

/// Stands still, but for the pauses of the client: a pause ends at once and moves
/// the clock on. Time limits only expire when a test [advances](Self::advance) it.
///
/// The emulator goes by the same clock, or signatures would be too old.
#[derive(Clone)]
pub(crate) struct TestClock(Arc<Inner>);

struct Inner {
    now: watch::Sender<SystemTime>,
    slept: Mutex<Vec<Duration>>,
    steps: Mutex<VecDeque<BoxFuture<'static, ()>>>,
}

impl TestClock {
    /// It is 2026-01-15T08:30:45Z.
    pub(crate) fn new() -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_465_845);
        Self(Arc::new(Inner {
            now: watch::Sender::new(start),
            slept: Mutex::default(),
            steps: Mutex::default(),
        }))
    }

    /// Happens during the next pause for which nothing has been said yet.
    pub(crate) fn step(&self, step: impl Future<Output = ()> + Send + 'static) {
        self.0.steps.lock().unwrap().push_back(Box::pin(step));
    }

    /// The steps that have not happened.
    pub(crate) fn steps_left(&self) -> usize {
        self.0.steps.lock().unwrap().len()
    }

    /// The pauses that were made.
    pub(crate) fn slept(&self) -> Vec<Duration> {
        self.0.slept.lock().unwrap().clone()
    }

    pub(crate) fn advance(&self, duration: Duration) {
        self.0.now.send_modify(|now| *now += duration);
    }

    pub(crate) fn set_back(&self, duration: Duration) {
        self.0.now.send_modify(|now| *now -= duration);
    }

    fn time(&self) -> SystemTime {
        *self.0.now.borrow()
    }

    async fn reaches(self, time: SystemTime) {
        let mut now = self.0.now.subscribe();
        let _ = now.wait_for(|now| *now >= time).await;
    }

    async fn pause(self, duration: Duration) {
        {
            let mut slept = self.0.slept.lock().unwrap();
            slept.push(duration);
            assert!(
                slept.len() < MOST,
                "this does not come to an end: {slept:?}"
            );
        }
        tokio::task::yield_now().await;
        let step = self.0.steps.lock().unwrap().pop_front();
        if let Some(step) = step {
            step.await;
        }
        self.advance(duration);
    }
}

impl fmt::Debug for TestClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestClock")
    }
}

impl modelarts_ext::clock::Clock for TestClock {
    fn now(&self) -> SystemTime {
        self.time()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        if duration < LIMIT {
            Box::pin(clock.pause(duration))
        } else {
            let end = self.time() + duration;
            Box::pin(clock.reaches(end))
        }
    }
}

impl modelarts_emulator::clock::Clock for TestClock {
    fn now(&self) -> SystemTime {
        self.time()
    }

    fn sleep(&self, duration: Duration) -> modelarts_emulator::clock::Sleep {
        if duration < LIMIT {
            // With `Timing::instant` that is zero, or the grace of a process, which
            // lives in real time.
            modelarts_emulator::clock::Clock::sleep(
                &modelarts_emulator::clock::SystemClock,
                duration,
            )
        } else {
            let end = self.time() + duration;
            Box::pin(self.clone().reaches(end))
        }
    }
}

pub(crate) fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
