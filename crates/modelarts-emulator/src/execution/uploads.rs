//! Uploads of results: outputs after the code has ended, logs also while it runs.

use std::io;

use tokio_util::sync::CancellationToken;

use crate::{
    execution::driver::Driver,
    job::{event::EventKind, request::LogExport},
    runner::worker_files::Transfer,
};

impl Driver {
    /// Uploads outputs and logs, with any exit code. Logs have a grace period of their own, because
    /// they say which outputs are incomplete. Returns `false` if the upload was interrupted.
    pub(crate) async fn upload(&self) -> bool {
        let interrupt = self.state.copy_cancellation.child_token();
        let outputs = self
            .within_grace(
                &self.upload_end,
                &interrupt,
                self.upload_outputs(&interrupt),
            )
            .await;
        let interrupt = self.state.copy_cancellation.child_token();
        let logs = self
            .within_grace(&self.export_end, &interrupt, self.export_logs(&interrupt))
            .await;
        outputs && logs
    }

    async fn upload_outputs(&self, interrupt: &CancellationToken) {
        let runner = &self.state.runner;
        for worker in &self.workers {
            let task = worker.task();
            for (index, output) in worker.request.outputs.iter().enumerate() {
                let (parameter, task) = (output.name.clone(), task.clone());
                self.note(EventKind::OutputUploading {
                    task: task.clone(),
                    parameter: parameter.clone(),
                });
                let begin = self.now();
                let output = Transfer::Output(index);
                let result = runner.copy(worker.clone(), output, interrupt.clone()).await;
                let seconds = self.now().seconds_since(begin);
                match result {
                    Ok(()) => self.note(EventKind::OutputUploaded {
                        task,
                        seconds,
                        parameter,
                    }),
                    // The catalogue of events has no text for this.
                    Err(error) => {
                        tracing::warn!(job = self.id, output = parameter, %error, "an output cannot be uploaded");
                        if interrupt.is_cancelled() {
                            let line = format!(
                                "[ModelArts Service Log] output {parameter}: incomplete, because the job was stopped and the upload took longer than the grace period\n"
                            );
                            // Reported above.
                            let _ = runner.write_log(worker.clone(), line).await;
                        }
                    }
                }
            }
        }
    }

    /// Copies the logs to the export path of the job, if it has one.
    pub(super) async fn export_logs(&self, interrupt: &CancellationToken) {
        for worker in &self.workers {
            let LogExport::To(path) = &worker.request.log_export else {
                continue;
            };
            let runner = &self.state.runner;
            let export = runner.export_log(worker.clone(), path.clone(), interrupt.clone());
            match export.await {
                // The log is still empty.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => tracing::warn!(job = self.id, %error, "a log cannot be exported"),
                Ok(()) => {}
            }
        }
    }
}
