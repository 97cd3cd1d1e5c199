//! What the retries of a client are paid from.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

/// What time brings is kept for as many seconds.
const SECONDS: f64 = 10.0;
/// What calls bring is kept of as many calls.
const CALLS: f64 = 100.0;

/// A bucket of retries. Calls and time fill it, so that a service in trouble gets
/// little more than the usual load, however many callers try again.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    per_second: f64,
    per_call: f64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    retries: f64,
    /// Up to when time has brought its part.
    at: SystemTime,
}

impl RetryBudget {
    /// A budget with what ten seconds bring in it.
    pub(crate) fn new(per_second: u32, per_call: f32, now: SystemTime) -> Self {
        let per_second = f64::from(per_second);
        let per_call = f64::from(per_call);
        Self {
            per_second,
            // No number is below nothing, and nobody means that one.
            per_call: if per_call > 0.0 { per_call } else { 0.0 },
            state: Mutex::new(State {
                retries: per_second * SECONDS,
                at: now,
            }),
        }
    }

    /// A call is made.
    pub(crate) fn deposit(&self) {
        self.add(&mut self.lock(), self.per_call);
    }

    /// Whether a retry can be paid, and pays it.
    pub(crate) fn withdraw(&self, now: SystemTime) -> bool {
        let mut state = self.lock();
        // A clock that was set back brings nothing, and does not hold up what follows.
        let passed = now.duration_since(state.at).unwrap_or(Duration::ZERO);
        state.at = now;
        self.add(&mut state, self.per_second * passed.as_secs_f64());
        let enough = state.retries >= 1.0;
        if enough {
            state.retries -= 1.0;
        }
        enough
    }

    fn add(&self, state: &mut State, retries: f64) {
        let most = self.per_second * SECONDS + self.per_call * CALLS;
        state.retries = (state.retries + retries).min(most);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is a single number; a panic elsewhere leaves a good state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: SystemTime = SystemTime::UNIX_EPOCH;

    fn at(seconds: f64) -> SystemTime {
        START + Duration::from_secs_f64(seconds)
    }

    /// How many retries can be paid at one moment.
    fn paid(budget: &RetryBudget, now: SystemTime) -> usize {
        (0..10_000).take_while(|_| budget.withdraw(now)).count()
    }

    #[test]
    fn time_brings_so_many_a_second_and_ten_seconds_are_kept() {
        let budget = RetryBudget::new(10, 0.0, START);
        assert_eq!(paid(&budget, at(0.0)), 100);
        assert_eq!(paid(&budget, at(0.5)), 5);
        assert_eq!(paid(&budget, at(0.5)), 0);
        assert_eq!(paid(&budget, at(3600.0)), 100);
    }

    #[test]
    fn calls_bring_their_share_and_a_hundred_are_kept() {
        let budget = RetryBudget::new(0, 0.25, START);
        assert_eq!(paid(&budget, START), 0);
        for _ in 0..3 {
            budget.deposit();
        }
        assert_eq!(paid(&budget, START), 0);
        budget.deposit();
        assert_eq!(paid(&budget, START), 1);
        for _ in 0..1000 {
            budget.deposit();
        }
        assert_eq!(paid(&budget, START), 25);
    }

    #[test]
    fn a_clock_that_is_set_back_neither_pays_nor_stops_paying() {
        let budget = RetryBudget::new(1, 0.0, at(1000.0));
        assert_eq!(paid(&budget, at(1000.0)), 10);
        assert_eq!(paid(&budget, at(0.0)), 0);
        assert_eq!(paid(&budget, at(2.0)), 2);
    }

    #[test]
    fn odd_shares_are_none() {
        for share in [f32::NAN, -1.0, f32::NEG_INFINITY] {
            let budget = RetryBudget::new(0, share, START);
            budget.deposit();
            assert_eq!(paid(&budget, START), 0, "{share}");
        }
        let budget = RetryBudget::new(0, f32::INFINITY, START);
        budget.deposit();
        assert!(budget.withdraw(START));
    }
}
