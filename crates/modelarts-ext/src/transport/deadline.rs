//! Deadline of a wait or of a method with several calls, and rate limit of calls.

use std::{
    collections::BTreeSet,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, SystemTime},
};

use futures::future::{self, Either, FutureExt, Shared};
use modelarts_api::BoxFuture;

use crate::{
    clock::{self, Clock, since},
    error::{Error, ErrorKind},
};

/// Time limit of a wait, or of a method with several calls.
pub(crate) struct Deadline {
    clock: Arc<dyn Clock>,
    started: SystemTime,
    timeout: Option<Duration>,
    /// Timer of the deadline. Created on first use, because tokio timers require a runtime.
    timer: OnceLock<Shared<BoxFuture<'static, ()>>>,
}

impl Deadline {
    pub(crate) fn new(clock: &Arc<dyn Clock>, timeout: Option<Duration>) -> Self {
        let started = clock.now();
        Self { clock: Arc::clone(clock), started, timeout, timer: OnceLock::new() }
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn left(&self) -> Option<Duration> {
        let elapsed = since(&*self.clock, self.started);
        self.timeout.map(|timeout| timeout.saturating_sub(elapsed))
    }

    /// Runs `work` until the deadline. Returns `None` if the deadline passes before completion.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let Some(left) = self.left() else {
            return Some(work.await);
        };
        let timer = self.timer.get_or_init(|| self.clock.sleep(left).shared());
        match future::select(pin!(work), timer.clone()).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }

    /// Runs a step until the deadline. The error at the deadline contains the action `doing`.
    pub(crate) async fn limit<T>(
        &self,
        doing: &str,
        step: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let done = self.run(step).await;
        done.unwrap_or_else(|| Err(self.timeout_error(doing)))
    }

    pub(crate) fn timeout_error(&self, doing: &str) -> Error {
        let limit = self.timeout.unwrap_or_default();
        Error::new(
            ErrorKind::Timeout,
            format!("not finished within {limit:?}: time ran out while {doing}"),
        )
    }
}

/// Maximum time between two calls: one day. A longer time could overflow when multiplied.
const MAX_SPACING: Duration = Duration::from_secs(24 * 3600);
/// Maximum pause for a `Retry-After`, after which calls continue.
const MAX_HOLD: Duration = Duration::from_secs(5 * 60);
/// Maximum delay of a call after its turn. A call that is polled later needs another turn.
const MAX_LATENESS: Duration = Duration::from_millis(100);

/// Rate limit of requests, including retries (generic cell rate algorithm). Calls get their turns in
/// the order of their arrival; a turn of a dropped call is used by the next call that arrives.
#[derive(Debug)]
pub(crate) struct RateLimit {
    spacing: Duration,
    burst: u32,
    turns: Mutex<Turns>,
    /// Start and length of the pause that the service requested with `Retry-After`.
    hold: Mutex<(SystemTime, Duration)>,
    /// Limit of the whole client, which the calls of this limit must keep too.
    outer: Option<Arc<Self>>,
}

/// Turns of the calls.
#[derive(Debug)]
struct Turns {
    /// Turn after the last reserved one.
    next: SystemTime,
    /// Time of the last reservation.
    reserved_at: SystemTime,
    /// Later turns of calls that were dropped while they waited.
    free: BTreeSet<SystemTime>,
}

/// Reserved turn, which another call gets if it is dropped before it was used.
struct Turn<'a> {
    limit: &'a RateLimit,
    at: SystemTime,
    is_used: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.is_used {
            self.limit.turns().free.insert(self.at);
        }
    }
}

impl RateLimit {
    /// Creates a limit of `per_second` calls per second. `burst` calls may be made at once.
    pub(crate) fn new(per_second: f64, burst: u32) -> Result<Self, Error> {
        if per_second.is_nan() || per_second <= 0.0 {
            return Err(Error::invalid(format!(
                "rate_limit: {per_second} calls a second; must be above 0"
            )));
        }
        let spacing = Duration::try_from_secs_f64(per_second.recip());
        Ok(Self {
            spacing: spacing.unwrap_or(MAX_SPACING).min(MAX_SPACING),
            burst: burst.max(1),
            turns: Mutex::new(Turns {
                next: SystemTime::UNIX_EPOCH,
                reserved_at: SystemTime::UNIX_EPOCH,
                free: BTreeSet::new(),
            }),
            hold: Mutex::new((SystemTime::UNIX_EPOCH, Duration::ZERO)),
            outer: None,
        })
    }

    /// Limits the calls by `outer` too.
    pub(crate) fn within(self, outer: Option<Arc<Self>>) -> Self {
        Self { outer, ..self }
    }

    pub(crate) fn hold(&self, now: SystemTime, pause: Duration) {
        let mut hold = self.hold.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = pause.min(MAX_HOLD);
        if pause > rest(*hold, now) {
            *hold = (now, pause);
        }
        if let Some(outer) = &self.outer {
            outer.hold(now, pause);
        }
    }

    /// Returns the pause between two calls if the limit is reached.
    pub(crate) fn spacing(&self) -> Duration {
        self.outer.as_ref().map_or(self.spacing, |outer| self.spacing.max(outer.spacing))
    }

    /// Waits until a call may be made. If not polled in time, waits for another turn.
    pub(crate) async fn await_permit(&self, clock: &dyn Clock) {
        self.await_turn(clock).await;
        if let Some(outer) = &self.outer {
            outer.await_turn(clock).await;
        }
    }

    async fn await_turn(&self, clock: &dyn Clock) {
        loop {
            let rest = self.rest_of_hold(clock.now());
            if !rest.is_zero() {
                clock::pause(clock, rest).await;
                continue;
            }
            let reserved_at = clock.now();
            let at = self.reserve(reserved_at);
            let pause = self.pause(at, reserved_at);
            let mut turn = Turn { limit: self, at, is_used: pause.is_zero() };
            if turn.is_used {
                return;
            }
            clock::pause(clock, pause).await;
            turn.is_used = true;
            let lateness = since(clock, reserved_at).saturating_sub(pause);
            // A pause of the service may have begun since the reservation.
            let is_held = !self.rest_of_hold(clock.now()).is_zero();
            if lateness <= self.spacing.max(MAX_LATENESS) && !is_held {
                return;
            }
        }
    }

    fn rest_of_hold(&self, now: SystemTime) -> Duration {
        rest(*self.hold.lock().unwrap_or_else(PoisonError::into_inner), now)
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves the next free turn.
    fn reserve(&self, now: SystemTime) -> SystemTime {
        let mut turns = self.turns();
        if now < turns.reserved_at {
            // The clock was set back. The calls that wait keep their distance to the clock.
            let ahead = turns.next.duration_since(turns.reserved_at).unwrap_or_default();
            (turns.next, turns.free) = (now + ahead, BTreeSet::new());
        }
        turns.reserved_at = now;
        turns.free = turns.free.split_off(&now);
        if let Some(at) = turns.free.pop_first() {
            return at;
        }
        let at = turns.next.max(now);
        turns.next = at + self.spacing;
        at
    }

    /// Returns the pause before a turn. A burst may use its turns at once.
    fn pause(&self, at: SystemTime, now: SystemTime) -> Duration {
        let ahead = at.duration_since(now).unwrap_or_default();
        ahead.saturating_sub(self.spacing * (self.burst - 1))
    }
}

/// Returns the rest of a pause, which is zero if the clock was set back before its start.
fn rest((since, pause): (SystemTime, Duration), now: SystemTime) -> Duration {
    let elapsed = now.duration_since(since).unwrap_or(pause);
    pause.saturating_sub(elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pauses in milliseconds before calls at these times, in milliseconds.
    fn pauses(limit: &RateLimit, times: &[u64]) -> Vec<u128> {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let pauses = times.iter().map(|at| {
            let now = start + Duration::from_millis(*at);
            limit.pause(limit.reserve(now), now).as_millis()
        });
        pauses.collect()
    }

    #[test]
    fn calls_are_spread_evenly() {
        let limit = RateLimit::new(2.0, 1).unwrap();
        assert_eq!(limit.spacing(), Duration::from_millis(500));
        // Time without calls permits no burst.
        assert_eq!(pauses(&limit, &[0, 0, 600, 5000, 5100, 5500]), [0, 500, 400, 0, 400, 500]);
    }

    #[test]
    fn a_burst_is_possible_after_a_time_without_calls() {
        let limit = RateLimit::new(1.0, 3).unwrap();
        assert_eq!(
            pauses(&limit, &[0, 0, 0, 0, 4000, 4000, 60_000, 60_000, 60_000, 60_000]),
            [0, 0, 0, 1000, 0, 0, 0, 0, 0, 1000]
        );
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_stop_the_calls() {
        let limit = RateLimit::new(1.0, 1).unwrap();
        assert_eq!(pauses(&limit, &[9_000_000, 9_000_000, 0, 0]), [0, 1000, 2000, 3000]);
        // The clock is set back and then right again.
        assert_eq!(pauses(&limit, &[9_000_000]), [0]);
    }

    #[test]
    fn the_turn_of_a_dropped_call_is_used_again() {
        let limit = RateLimit::new(1.0, 1).unwrap();
        assert_eq!(pauses(&limit, &[0, 0, 0, 0]), [0, 1000, 2000, 3000]);
        // The third call is dropped, and its turn has not passed.
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_002);
        drop(Turn { limit: &limit, at, is_used: false });
        assert_eq!(pauses(&limit, &[500, 500]), [1500, 3500]);
        drop(Turn { limit: &limit, at, is_used: false });
        assert_eq!(pauses(&limit, &[2500, 2500]), [2500, 3500]);
    }

    #[test]
    fn hundreds_of_waiting_calls_keep_the_limit() {
        let limit = RateLimit::new(1.0, 1).unwrap();
        let expected: Vec<_> = (0..500).map(|call| call * 1000).collect();
        assert_eq!(pauses(&limit, &[0; 500]), expected);
    }

    #[test]
    fn a_pause_of_the_service_holds_all_calls() {
        let limit = RateLimit::new(1.0, 1).unwrap();
        let at = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        let rest = |second| rest(*limit.hold.lock().unwrap(), at(second)).as_secs();
        assert_eq!(rest(1000), 0);
        limit.hold(at(1000), Duration::from_secs(40));
        // A shorter pause does not end a longer one.
        limit.hold(at(1010), Duration::from_secs(5));
        assert_eq!([1000, 1010, 1039, 1040].map(rest), [40, 30, 1, 0]);
        limit.hold(at(1010), Duration::from_secs(60));
        assert_eq!([1010, 1069, 1070, 900].map(rest), [60, 1, 0, 0]);
    }

    #[test]
    fn a_rate_must_be_above_zero() {
        for wrong in [0.0, -0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            let error = RateLimit::new(wrong, 1).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("rate_limit: {wrong} calls a second; must be above 0")
            );
        }
        // Slower rates count as one call a day.
        let slow = RateLimit::new(f64::MIN_POSITIVE, 1).unwrap();
        assert_eq!(slow.spacing(), MAX_SPACING);
        let unlimited = RateLimit::new(f64::INFINITY, 1).unwrap();
        assert_eq!(pauses(&unlimited, &[0, 0, 0]), [0, 0, 0]);
    }
}
