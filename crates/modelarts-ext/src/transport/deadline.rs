//! The time limit of a wait, or of a method that makes several calls.

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

/// When a wait or a method ends whatever has or has not happened by then, an answer that
/// does not come included.
pub(crate) struct Deadline {
    started: SystemTime,
    timeout: Option<Duration>,
    /// It begins with the first use: a timer can only be made where it can run.
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

    /// How much time is left; `None` is any amount.
    pub(crate) fn left(&self, clock: &dyn Clock) -> Option<Duration> {
        let left = |timeout: Duration| timeout.saturating_sub(since(clock, self.started));
        self.timeout.map(left)
    }

    /// What comes of this, if it comes in time. What is there without waiting always
    /// does.
    pub(crate) async fn keep<T>(
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

    /// As [`keep`](Self::keep), for a step that can fail.
    ///
    /// # Errors
    /// That of the step, or that time ran out while `doing`.
    pub(crate) async fn limit<T>(
        &self,
        clock: &dyn Clock,
        doing: &str,
        step: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let done = self.keep(clock, step).await;
        done.unwrap_or_else(|| Err(self.passed(doing)))
    }

    /// The error that says what was being done when time ran out.
    pub(crate) fn passed(&self, doing: &str) -> Error {
        let limit = self.timeout.unwrap_or_default();
        Error::new(
            ErrorKind::Timeout,
            format!("not finished within {limit:?}: time ran out while {doing}"),
        )
    }
}
