//! Interruption of a job's copies, by requests to stop and by time limits.

use std::io;

use futures::{FutureExt, future::Shared};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::system::Sleep,
    execution::driver::{Driver, Ending, GraceEnd, stop_request},
};

/// Completes when the preparation of a job has taken too long.
pub(super) type PrepareLimit = Shared<Sleep>;

/// Copies until `end` completes. An interrupted copy is waited for, because it could otherwise
/// overwrite a newer file later.
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
    /// Runs a copy or an installation before the start of the code. It ends with any request to
    /// stop, and at the time limit of the preparation.
    pub(super) async fn copy_in_time<F: Future<Output = io::Result<()>>>(
        &self,
        limit: &PrepareLimit,
        copy: impl FnOnce(CancellationToken) -> F,
    ) -> Result<io::Result<()>, Ending> {
        let interrupt = self.state.copy_cancellation.child_token();
        let copy = Box::pin(copy(interrupt.clone()));
        copy_until(self.wait_for_interruption(limit), &interrupt, copy).await
    }

    /// Completes when the preparation of the job is to be interrupted.
    pub(super) async fn wait_for_interruption(&self, limit: &PrepareLimit) -> Ending {
        let mut requests = self.stop.clone();
        tokio::select! {
            biased;
            stop = stop_request(&mut requests) => stop.into(),
            () = limit.clone() => Ending::PrepareTimedOut,
        }
    }

    /// Runs a copy after the end of the code. A request to stop leaves it the grace period, so that
    /// results are kept. Copies with the same `end` share one grace period. Returns `false` if the
    /// copy was interrupted or the grace period is over.
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
        // The end of the emulator interrupts the copy as well.
        copied.is_ok() && !interrupt.is_cancelled()
    }
}
