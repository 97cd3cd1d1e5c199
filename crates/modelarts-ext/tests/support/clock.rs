//! Test clock on which pauses end immediately.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use futures::future::BoxFuture;
use tokio::sync::watch;

/// Minimum duration of a time limit. Shorter sleeps are pauses.
const LIMIT: Duration = Duration::from_secs(60);
/// Maximum number of pauses. A test that reaches it fails, instead of running forever.
const MOST: usize = 1000;

/// Clock that advances only by the pauses of the client. A pause ends immediately and advances the
/// clock by its duration. Time limits expire only when a test [advances](Self::advance) the clock.
///
/// The emulator uses the same clock; otherwise it would reject signatures as too old.
#[derive(Clone)]
pub(crate) struct TestClock(Arc<Inner>);

struct Inner {
    now: watch::Sender<SystemTime>,
    slept: Mutex<Vec<Duration>>,
    steps: Mutex<VecDeque<BoxFuture<'static, ()>>>,
}

impl TestClock {
    /// Creates a clock at 2026-01-15T08:30:45Z.
    pub(crate) fn new() -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_465_845);
        Self(Arc::new(Inner {
            now: watch::Sender::new(start),
            slept: Mutex::default(),
            steps: Mutex::default(),
        }))
    }

    /// Queues an action that runs during a pause of the client: one action per pause, in order.
    pub(crate) fn step(&self, step: impl Future<Output = ()> + Send + 'static) {
        self.0.steps.lock().unwrap().push_back(Box::pin(step));
    }

    /// Returns the number of actions that have not run yet.
    pub(crate) fn steps_left(&self) -> usize {
        self.0.steps.lock().unwrap().len()
    }

    /// Returns the pauses of the client so far.
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
            assert!(slept.len() < MOST, "this does not come to an end: {slept:?}");
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
            // With `Timing::instant`, the duration is zero, or the grace period of a process in
            // real time.
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
