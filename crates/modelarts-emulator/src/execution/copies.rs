//! The copies that a job needs, and the requests to stop that interrupt them.

use std::io;
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::system::Sleep,
    execution::driver::{Driver, Ending, asked_to_stop},
    job::{event::EventKind, request::LogExport},
};

/// The end of the grace for copies after the end of the code; set by the first of them that a request
/// to stop meets.
pub(crate) type GraceEnd = OnceLock<Shared<Sleep>>;

/// Ready when the preparation of a job has taken too long.
pub(crate) type Limit = Shared<Sleep>;

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
    pub(crate) async fn in_time<'a>(
        &self,
        limit: &Limit,
        copy: impl FnOnce(CancellationToken) -> BoxFuture<'a, io::Result<()>>,
    ) -> Result<io::Result<()>, Ending> {
        let interrupt = self.core.copies.child_token();
        let copy = copy(interrupt.clone());
        copy_until(self.cut_short(limit), &interrupt, copy).await
    }

    /// Ready when the preparation of the job is to end before it is done.
    pub(crate) async fn cut_short(&self, limit: &Limit) -> Ending {
        let mut requests = self.stop.clone();
        tokio::select! {
            biased;
            stop = asked_to_stop(&mut requests) => stop.into(),
            () = limit.clone() => Ending::PrepareTimedOut,
        }
    }

    /// A copy after the end of the code: what a job has made is kept, so a request to stop leaves
    /// it the grace. All copies with the same `end` have one grace together. False if it was
    /// interrupted, or the grace has passed before.
    async fn within_grace(
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
            asked_to_stop(&mut requests).await;
            end.get_or_init(|| self.patience().shared()).clone().await;
        };
        let copied = copy_until(grace, interrupt, copy).await;
        // Also by the end of the emulator.
        copied.is_ok() && !interrupt.is_cancelled()
    }

    /// Copies outputs and logs back, whatever the exit code was. The logs have a grace of their own:
    /// they say which outputs are not complete. False if it was interrupted.
    pub(crate) async fn upload(&self) -> bool {
        let interrupt = self.core.copies.child_token();
        let outputs = self
            .within_grace(
                &self.upload_end,
                &interrupt,
                self.upload_outputs(&interrupt),
            )
            .await;
        let interrupt = self.core.copies.child_token();
        let logs = self
            .within_grace(&self.export_end, &interrupt, self.export_logs(&interrupt))
            .await;
        outputs && logs
    }

    async fn upload_outputs(&self, interrupt: &CancellationToken) {
        let runner = Arc::clone(&self.core.runner);
        for worker in &self.workers {
            let task = worker.task();
            for (index, output) in worker.request.outputs.iter().enumerate() {
                let (parameter, task) = (output.name.clone(), task.clone());
                self.note(EventKind::OutputUploading {
                    task: task.clone(),
                    parameter: parameter.clone(),
                });
                let begin = self.now();
                let upload = runner.upload_output(worker.clone(), index, interrupt.clone());
                let result = upload.await;
                let seconds = self.now().seconds_since(begin);
                match result {
                    Ok(()) => self.note(EventKind::OutputUploaded {
                        task,
                        seconds,
                        parameter,
                    }),
                    // The catalogue has no text for it.
                    Err(error) => {
                        tracing::warn!(job = self.id, output = parameter, %error, "an output is not uploaded");
                        if interrupt.is_cancelled() {
                            let line = format!(
                                "[ModelArts Service Log] output {parameter}: not all uploaded, because the job was stopped and the upload took longer than the grace\n"
                            );
                            // It has been said above.
                            let _ = runner.write_log(worker.clone(), line).await;
                        }
                    }
                }
            }
        }
    }

    /// Scratch directories are emptied when the job ends, and not before it runs again in its place.
    pub(crate) async fn clear_scratch(&self) {
        for worker in &self.workers {
            if let Err(error) = self.core.runner.clear_scratch(worker.clone()).await {
                tracing::warn!(job = self.id, %error, "a scratch directory is not emptied");
            }
        }
    }

    /// Copies the logs to where the job wants them kept, if it does.
    pub(crate) async fn export_logs(&self, interrupt: &CancellationToken) {
        for worker in &self.workers {
            let LogExport::To(path) = &worker.request.log_export else {
                continue;
            };
            let runner = &self.core.runner;
            let export = runner.export_log(worker.clone(), path.clone(), interrupt.clone());
            match export.await {
                // Nothing has been written so far.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => tracing::warn!(job = self.id, %error, "a log is not exported"),
                Ok(()) => {}
            }
        }
    }
}
