//! The deadline of a wait, or of a method that makes several calls.

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

/// The time at which a wait or a method ends, even while a response is pending.
pub(crate) struct Deadline {
    started: SystemTime,
    timeout: Option<Duration>,
    /// Created on first use: tokio timers require a runtime.
    timer: OnceLock<Shared<BoxFuture<'static, ()>>>,
}

impl Deadline {
    pub(crate) fn new(clock: &dyn Clock, timeout: Option<Duration>) -> Self {
        Self {
            started: clock.now(),
            timeout,
            timer: OnceLock::new(),
        }
    }

    /// The remaining time; `None` without a limit.
    pub(crate) fn left(&self, clock: &dyn Clock) -> Option<Duration> {
        let left = |timeout: Duration| timeout.saturating_sub(since(clock, self.started));
        self.timeout.map(left)
    }

    /// Returns the result of `work`, or `None` if the deadline passes first. Work that is ready at
    /// once always returns its result.
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

    /// Like [`run`](Self::run), for a step that can fail.
    ///
    /// # Errors
    /// The error of the step, or a timeout that names `doing`.
    pub(crate) async fn limit<T>(
        &self,
        clock: &dyn Clock,
        doing: &str,
        step: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let done = self.run(clock, step).await;
        done.unwrap_or_else(|| Err(self.timeout_error(doing)))
    }

    /// The error for a deadline that passed while `doing`.
    pub(crate) fn timeout_error(&self, doing: &str) -> Error {
        let limit = self.timeout.unwrap_or_default();
        Error::new(
            ErrorKind::Timeout,
            format!("not finished within {limit:?}: time ran out while {doing}"),
        )
    }
}
