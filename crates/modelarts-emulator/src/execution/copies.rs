//! Uploads of outputs and logs, and interruption of all copies by stop requests and time limits.

use std::io;

use futures::{FutureExt, future::Shared};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Sleep,
    execution::driver::{Driver, Ending, SharedLimit},
    job::{event::EventKind, request::LogExport, worker::Worker},
    runner::worker_files::Transfer,
};

/// Time limit of a preparation: a future that completes when the limit is reached.
pub(super) type PrepareLimit = Shared<Sleep>;

/// Runs a copy until `end` completes. Waits until an interrupted copy has ended, because it could
/// otherwise overwrite a newer file later.
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
    /// Runs a copy before the code, which stop requests and the limit of the preparation interrupt.
    pub(super) async fn copy_in_time<F: Future<Output = io::Result<()>>>(
        &self,
        limit: &PrepareLimit,
        copy: impl FnOnce(CancellationToken) -> F,
    ) -> Result<io::Result<()>, Ending> {
        let interrupt = self.state.work.copy_cancellation.child_token();
        let copy = Box::pin(copy(interrupt.clone()));
        copy_until(self.preparation_end(limit), &interrupt, copy).await
    }

    pub(super) async fn preparation_end(&self, limit: &PrepareLimit) -> Ending {
        tokio::select! {
            biased;
            stop = self.stop_request() => stop.into(),
            () = limit.clone() => Ending::PrepareTimedOut,
        }
    }

    /// Runs a copy after the code. After a stop request, the copy may continue for the grace
    /// period, which copies with the same `end` share. Returns `false` if the copy was interrupted.
    pub(super) async fn within_grace(
        &self,
        end: &SharedLimit,
        interrupt: &CancellationToken,
        copy: impl Future<Output = ()>,
    ) -> bool {
        if let Some(end) = end.get()
            && end.clone().now_or_never().is_some()
        {
            return false;
        }
        let grace = async {
            self.stop_request().await;
            let end = end.get_or_init(|| self.grace_period().shared());
            end.clone().await;
        };
        let copied = copy_until(grace, interrupt, copy).await;
        // The end of the emulator interrupts the copy as well.
        copied.is_ok() && !interrupt.is_cancelled()
    }

    /// Uploads outputs and logs, regardless of the exit code. The logs report incomplete outputs,
    /// and therefore have a separate grace period. Returns `false` if an upload was interrupted.
    pub(crate) async fn upload(&self) -> bool {
        let interrupt = self.state.work.copy_cancellation.child_token();
        let copy = self.upload_outputs(&interrupt);
        let outputs = self.within_grace(&self.upload_end, &interrupt, copy).await;
        let interrupt = self.state.work.copy_cancellation.child_token();
        let copy = async {
            self.export_logs(&interrupt).await;
            self.export_other_logs(&interrupt).await;
        };
        let logs = self.within_grace(&self.export_end, &interrupt, copy).await;
        outputs && logs
    }

    async fn upload_outputs(&self, interrupt: &CancellationToken) {
        let runner = &self.state.work.runner;
        for worker in &self.workers {
            for (index, output) in worker.request.outputs.iter().enumerate() {
                let (task, parameter) = (worker.task(), output.name.clone());
                self.note(EventKind::OutputUploading {
                    task: task.clone(),
                    parameter: parameter.clone(),
                });
                let has_files = runner.has_output(worker.clone(), index).await;
                if has_files && self.is_refused(worker, &format!("output {parameter}")).await {
                    continue;
                }
                let begin = self.now();
                let output = Transfer::Output(index);
                let upload = runner.copy(worker.clone(), output, interrupt.clone());
                let Err(error) = upload.await else {
                    let seconds = self.now().seconds_since(begin);
                    self.note(EventKind::OutputUploaded { task, seconds, parameter });
                    continue;
                };
                // The event catalogue (SOURCES F1) has no text for a failed upload.
                tracing::warn!(job = self.id, output = parameter, %error, "an output cannot be \
                     uploaded");
                if interrupt.is_cancelled() {
                    let line = format!(
                        "[ModelArts Service Log] output {parameter}: incomplete, because the job \
                         was stopped and the upload took longer than the grace period\n"
                    );
                    // The failed upload has been reported above.
                    let _ = runner.write_log(worker.clone(), line).await;
                }
            }
        }
    }

    /// Applies a fault rule without limit for uploads to OBS, as of a full bucket: the copies of the
    /// platform do not pass through the server. Writes a line to the log and returns `true` if a
    /// rule rejects this one.
    pub(super) async fn is_refused(&self, worker: &Worker, what: &str) -> bool {
        let Some(code) = self.state.traffic.faults.lasting_code("obs.PutObject") else {
            return false;
        };
        let line = format!(
            "[ModelArts Service Log][ERROR][{}] {what}: not uploaded to OBS: OBS_ERR_{code}\n",
            self.now().rfc3339()
        );
        if let Err(error) = self.state.work.runner.write_log(worker.clone(), line).await {
            tracing::debug!(job = self.id, %error, "a line of the platform cannot be written");
        }
        true
    }

    /// Copies the files beside the logs of the workers, such as the process logs of Ascend. Only at
    /// the end, because they can be large.
    async fn export_other_logs(&self, interrupt: &CancellationToken) {
        for worker in &self.workers {
            let LogExport::To(path) = &worker.request.log_export else {
                continue;
            };
            if self.state.traffic.faults.lasting_code("obs.PutObject").is_none() {
                let runner = &self.state.work.runner;
                let export =
                    runner.export_other_logs(worker.clone(), path.clone(), interrupt.clone());
                if let Err(error) = export.await {
                    tracing::debug!(job = self.id, %error, "files beside a log cannot be exported");
                }
            }
        }
    }

    pub(super) async fn export_logs(&self, interrupt: &CancellationToken) {
        for worker in &self.workers {
            let LogExport::To(path) = &worker.request.log_export else {
                continue;
            };
            if self.is_refused(worker, "log").await {
                continue;
            }
            let runner = &self.state.work.runner;
            let export = runner.export_log(worker.clone(), path.clone(), interrupt.clone());
            match export.await {
                // The log is empty, so its file does not exist.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => tracing::warn!(job = self.id, %error, "a log cannot be exported"),
                Ok(()) => {}
            }
        }
    }
}
