//! Clock that tests advance.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::clock::{Clock, Sleep};

/// Clock whose time changes only when it is [advanced](ManualClock::advance).
#[derive(Debug)]
pub struct ManualClock(Arc<Mutex<ManualState>>);

#[derive(Debug)]
struct ManualState {
    now: SystemTime,
    /// Sleepers, ordered by wake-up time and then by the start of their sleep.
    sleepers: BTreeMap<(SystemTime, u64), Sleeper>,
    last_number: u64,
}

#[derive(Debug)]
struct Sleeper {
    wake: oneshot::Sender<()>,
    is_limit: bool,
}

impl ManualClock {
    /// Creates a clock whose current time is `now`.
    #[must_use]
    pub fn at(now: SystemTime) -> Self {
        Self(Arc::new(Mutex::new(ManualState { now, sleepers: BTreeMap::new(), last_number: 0 })))
    }

    /// Returns the number of sleepers on this clock, excluding those that wait for a time limit. A
    /// test can wait for a sleeper to appear before it advances the clock, so that the sleep has
    /// certainly begun.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        let manual = self.0.lock();
        let sleepers = manual.sleepers.values();
        sleepers.filter(|sleeper| !sleeper.is_limit).count()
    }

    /// Moves the clock forward in one step, and wakes all sleepers that are due. Their next actions
    /// are dated after the step. [`Emulator::advance`](crate::emulator::Emulator::advance) instead
    /// stops at each due time.
    pub fn advance(&self, duration: Duration) {
        let mut manual = self.0.lock();
        let now = manual.now + duration;
        manual.now = now;
        let waiting = manual.sleepers.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut manual.sleepers, waiting);
        drop(manual);
        for sleeper in due.into_values() {
            // The receiver is gone if the sleeper has been dropped.
            let _ = sleeper.wake.send(());
        }
    }

    fn add_sleeper(&self, duration: Duration, is_limit: bool) -> Sleep {
        if duration.is_zero() {
            return Box::pin(std::future::ready(()));
        }
        let (wake, woken) = oneshot::channel();
        let mut manual = self.0.lock();
        // A sleep beyond the range of the clock never completes.
        let Some(at) = manual.now.checked_add(duration) else {
            return Box::pin(std::future::pending());
        };
        manual.last_number += 1;
        let key = (at, manual.last_number);
        manual.sleepers.insert(key, Sleeper { wake, is_limit });
        drop(manual);
        let pending = PendingSleep { clock: Arc::downgrade(&self.0), key };
        Box::pin(async move {
            let _pending = pending;
            if woken.await.is_err() {
                // If the clock is dropped, the sleep never completes.
                std::future::pending::<()>().await;
            }
        })
    }
}

impl Clock for ManualClock {
    fn now(&self) -> SystemTime {
        self.0.lock().now
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        self.add_sleeper(duration, false)
    }

    fn limit(&self, duration: Duration) -> Sleep {
        self.add_sleeper(duration, true)
    }

    fn leap(&self, duration: Duration) -> bool {
        self.advance(duration);
        true
    }

    fn next_wake(&self) -> Option<SystemTime> {
        let manual = self.0.lock();
        manual.sleepers.first_key_value().map(|((at, _), _)| *at)
    }
}

/// Guard that removes the sleeper from the clock when the sleep ends or is dropped.
struct PendingSleep {
    clock: Weak<Mutex<ManualState>>,
    key: (SystemTime, u64),
}

impl Drop for PendingSleep {
    fn drop(&mut self) {
        if let Some(clock) = self.clock.upgrade() {
            clock.lock().sleepers.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[tokio::test]
    async fn a_manual_clock_wakes_due_sleepers() {
        let clock = ManualClock::at(UNIX_EPOCH);
        let soon = clock.sleep(Duration::from_secs(1));
        let mut later = clock.sleep(Duration::from_secs(10));
        assert_eq!(clock.sleepers(), 2);
        clock.advance(Duration::from_secs(5));
        soon.await;
        assert_eq!(clock.sleepers(), 1);
        assert!(futures::poll!(&mut later).is_pending());
        clock.advance(Duration::from_secs(5));
        later.await;
        assert_eq!(clock.now(), UNIX_EPOCH + Duration::from_secs(10));
    }

    #[test]
    fn a_manual_clock_removes_dropped_sleepers() {
        let clock = ManualClock::at(UNIX_EPOCH);
        let short = clock.sleep(Duration::from_secs(1));
        let _long = clock.sleep(Duration::from_secs(2));
        assert_eq!(clock.next_wake(), Some(UNIX_EPOCH + Duration::from_secs(1)));
        drop(short);
        assert_eq!(clock.sleepers(), 1);
        assert_eq!(clock.next_wake(), Some(UNIX_EPOCH + Duration::from_secs(2)));
        assert!(futures::FutureExt::now_or_never(clock.sleep(Duration::MAX)).is_none());
        assert_eq!(clock.sleepers(), 1);
    }

    #[tokio::test]
    async fn a_limit_is_woken_like_a_sleeper_and_not_counted_as_one() {
        let clock = ManualClock::at(UNIX_EPOCH);
        let limit = clock.limit(Duration::from_secs(2));
        assert_eq!(clock.sleepers(), 0);
        clock.advance(Duration::from_secs(2));
        limit.await;
    }
}
