//! Retry budget: a token bucket that all calls of a client share.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

/// Capacity of the bucket for tokens that accumulate with time, in seconds.
const CAPACITY_SECONDS: f64 = 10.0;
/// Capacity of the bucket for tokens that accumulate with calls, in calls.
const CAPACITY_CALLS: f64 = 100.0;

/// Token bucket for retries. Both calls and time add tokens, so that an overloaded service receives
/// little more than the usual load, regardless of the number of callers that retry.
#[derive(Debug)]
pub(super) struct RetryBudget {
    per_second: f64,
    per_call: f64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    tokens: f64,
    /// Time of the last refill.
    filled_at: SystemTime,
}

impl RetryBudget {
    /// Creates a budget that contains the tokens of ten seconds.
    pub(super) fn new(per_second: u32, per_call: f32, now: SystemTime) -> Self {
        let per_second = f64::from(per_second);
        let per_call = f64::from(per_call);
        Self {
            per_second,
            // NaN and negative shares are replaced by zero.
            per_call: if per_call > 0.0 { per_call } else { 0.0 },
            state: Mutex::new(State { tokens: per_second * CAPACITY_SECONDS, filled_at: now }),
        }
    }

    /// Adds the tokens for one call.
    pub(super) fn deposit(&self) {
        self.add(&mut self.lock(), self.per_call);
    }

    /// Withdraws the token of one retry. Returns `false` if the budget is empty.
    pub(super) fn withdraw(&self, now: SystemTime) -> bool {
        let mut state = self.lock();
        // After the clock was set back, no tokens are added for the difference, and later tokens
        // are not delayed.
        let passed = now.duration_since(state.filled_at).unwrap_or(Duration::ZERO);
        state.filled_at = now;
        self.add(&mut state, self.per_second * passed.as_secs_f64());
        let enough = state.tokens >= 1.0;
        if enough {
            state.tokens -= 1.0;
        }
        enough
    }

    fn add(&self, state: &mut State, tokens: f64) {
        let capacity = self.per_second * CAPACITY_SECONDS + self.per_call * CAPACITY_CALLS;
        state.tokens = (state.tokens + tokens).min(capacity);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is a single number, so the state is valid even after a panic of another
        // thread.
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

    /// Withdraws all available tokens at this time, and returns their number.
    fn withdraw_all(budget: &RetryBudget, now: SystemTime) -> usize {
        (0..10_000).take_while(|_| budget.withdraw(now)).count()
    }

    #[test]
    fn time_brings_so_many_a_second_and_ten_seconds_are_kept() {
        let budget = RetryBudget::new(10, 0.0, START);
        assert_eq!(withdraw_all(&budget, at(0.0)), 100);
        assert_eq!(withdraw_all(&budget, at(0.5)), 5);
        assert_eq!(withdraw_all(&budget, at(0.5)), 0);
        assert_eq!(withdraw_all(&budget, at(3600.0)), 100);
    }

    #[test]
    fn calls_bring_their_share_and_a_hundred_are_kept() {
        let budget = RetryBudget::new(0, 0.25, START);
        assert_eq!(withdraw_all(&budget, START), 0);
        for _ in 0..3 {
            budget.deposit();
        }
        assert_eq!(withdraw_all(&budget, START), 0);
        budget.deposit();
        assert_eq!(withdraw_all(&budget, START), 1);
        for _ in 0..1000 {
            budget.deposit();
        }
        assert_eq!(withdraw_all(&budget, START), 25);
    }

    #[test]
    fn a_clock_that_is_set_back_neither_pays_nor_stops_paying() {
        let budget = RetryBudget::new(1, 0.0, at(1000.0));
        assert_eq!(withdraw_all(&budget, at(1000.0)), 10);
        assert_eq!(withdraw_all(&budget, at(0.0)), 0);
        assert_eq!(withdraw_all(&budget, at(2.0)), 2);
    }

    #[test]
    fn invalid_shares_count_as_zero() {
        for share in [f32::NAN, -1.0, f32::NEG_INFINITY] {
            let budget = RetryBudget::new(0, share, START);
            budget.deposit();
            assert_eq!(withdraw_all(&budget, START), 0, "{share}");
        }
        let budget = RetryBudget::new(0, f32::INFINITY, START);
        budget.deposit();
        assert!(budget.withdraw(START));
    }
}
