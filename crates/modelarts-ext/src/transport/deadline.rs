//! Deadline of a wait, or of a method that makes several calls.

use std::{
    pin::pin,
    sync::OnceLock,
    time::{Duration, SystemTime},
};

use futures::future::{self, Either, FutureExt, Shared};
use modelarts_api::BoxFuture;

use crate::{
    clock::{Clock, since},
    error::{Error, ErrorKind},
};

/// Time at which a wait or a method ends, even while a response is pending.
pub(crate) struct Deadline {
    started: SystemTime,
    timeout: Option<Duration>,
    /// Timer of the deadline, created on first use because tokio timers require a runtime.
    timer: OnceLock<Shared<BoxFuture<'static, ()>>>,
}

impl Deadline {
    pub(crate) fn new(clock: &dyn Clock, timeout: Option<Duration>) -> Self {
        Self { started: clock.now(), timeout, timer: OnceLock::new() }
    }

    /// Returns the remaining time, or `None` if the deadline has no limit.
    pub(crate) fn left(&self, clock: &dyn Clock) -> Option<Duration> {
        let left = |timeout: Duration| timeout.saturating_sub(since(clock, self.started));
        self.timeout.map(left)
    }

    /// Returns the result of `work`, or `None` if the deadline passes first. If `work` completes
    /// immediately, its result is always returned.
    pub(crate) async fn run<T>(
        &self,
        clock: &dyn Clock,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let Some(left) = self.left(clock) else {
            return Some(work.await);
        };
        let timer = self.timer.get_or_init(|| clock.sleep(left).shared());
        match future::select(pin!(work), timer.clone()).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }

    /// Runs a fallible step until the deadline, like [`run`](Self::run).
    ///
    /// # Errors
    /// Returns the error of the step, or a timeout error that names the action `doing`.
    pub(crate) async fn limit<T>(
        &self,
        clock: &dyn Clock,
        doing: &str,
        step: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let done = self.run(clock, step).await;
        done.unwrap_or_else(|| Err(self.timeout_error(doing)))
    }

    /// Returns the error for a deadline that passed during the action `doing`.
    pub(crate) fn timeout_error(&self, doing: &str) -> Error {
        let limit = self.timeout.unwrap_or_default();
        Error::new(
            ErrorKind::Timeout,
            format!("not finished within {limit:?}: time ran out while {doing}"),
        )
    }
}
