//! Interruption of the copies that a job needs: by requests to stop, and by limits of time.

use std::io;

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::system::Sleep,
    execution::driver::{Driver, Ending, GraceEnd, stop_request},
};

/// Ready when the preparation of a job has taken too long.
pub(super) type PrepareLimit = Shared<Sleep>;

/// Copies until `end`. If that comes first, the copy is interrupted and waited for: a file that it
/// put in place later could be older than one that is there.
async fn copy_until<T, E>(
    end: impl Future<Output = E>,
    interrupt: &CancellationToken,
    copy: impl Future<Output = T>,
) -> Result<T, E> {
    tokio::pin!(copy);
    let end = tokio::select! {
        biased;
        copied = &mut copy => return Ok(copied),
        end = end => end,
    };
    interrupt.cancel();
    copy.await;
    Err(end)
}

impl Driver {
    /// A copy or an installation before the code starts, which ends with any request to stop, and
    /// when the preparation of the job has taken too long.
    pub(super) async fn copy_in_time<'a>(
        &self,
        limit: &PrepareLimit,
        copy: impl FnOnce(CancellationToken) -> BoxFuture<'a, io::Result<()>>,
    ) -> Result<io::Result<()>, Ending> {
        let interrupt = self.state.copy_cancellation.child_token();
        let copy = copy(interrupt.clone());
        copy_until(self.wait_for_interruption(limit), &interrupt, copy).await
    }

    /// Ready when the preparation of the job is to end before it is done.
    pub(super) async fn wait_for_interruption(&self, limit: &PrepareLimit) -> Ending {
        let mut requests = self.stop.clone();
        tokio::select! {
            biased;
            stop = stop_request(&mut requests) => stop.into(),
            () = limit.clone() => Ending::PrepareTimedOut,
        }
    }

    /// A copy after the end of the code: what a job has made is kept, so a request to stop leaves
    /// it the grace. All copies with the same `end` have one grace together. False if it was
    /// interrupted, or the grace has passed before.
    pub(super) async fn within_grace(
        &self,
        end: &GraceEnd,
        interrupt: &CancellationToken,
        copy: impl Future<Output = ()>,
    ) -> bool {
        if let Some(end) = end.get()
            && end.clone().now_or_never().is_some()
        {
            return false;
        }
        let mut requests = self.stop.clone();
        let grace = async {
            stop_request(&mut requests).await;
            end.get_or_init(|| self.grace_period().shared())
                .clone()
                .await;
        };
        let copied = copy_until(grace, interrupt, copy).await;
        // Also by the end of the emulator.
        copied.is_ok() && !interrupt.is_cancelled()
    }
}
