//! The time limit of a wait.

use std::{
    pin::pin,
    sync::OnceLock,
    time::{Duration, SystemTime},
};

use futures::future::{self, Either, FutureExt, Shared};
use modelarts_api::BoxFuture;

use crate::clock::{Clock, since};

/// When a wait ends whatever has or has not happened by then, an answer that does not
/// come included.
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
}
