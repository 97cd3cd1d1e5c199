//! Uploads of results: outputs after the code has ended, logs also while it runs.

use std::io;

use tokio_util::sync::CancellationToken;

use crate::{
    execution::driver::Driver,
    job::{event::EventKind, request::LogExport},
};

impl Driver {
    /// Uploads outputs and logs, with any exit code. Logs have a grace period of their own, because
    /// they say which outputs are incomplete. Returns `false` if the upload was interrupted.
    pub(crate) async fn upload(&self) -> bool {
        let interrupt = self.state.copy_cancellation.child_token();
        let copy = self.upload_outputs(&interrupt);
        let outputs = self.within_grace(&self.upload_end, &interrupt, copy).await;
        let interrupt = self.state.copy_cancellation.child_token();
        let copy = self.export_logs(&interrupt);
        let logs = self.within_grace(&self.export_end, &interrupt, copy).await;
        outputs && logs
    }

    async fn upload_outputs(&self, interrupt: &CancellationToken) {
        let runner = &self.state.runner;
        for worker in &self.workers {
            for (index, output) in worker.request.outputs.iter().enumerate() {
                let (task, parameter) = (worker.task(), output.name.clone());
                self.note(EventKind::OutputUploading {
                    task: task.clone(),
                    parameter: parameter.clone(),
                });
                let begin = self.now();
                let upload = runner.upload_output(worker.clone(), index, interrupt.clone());
                let Err(error) = upload.await else {
                    let seconds = self.now().seconds_since(begin);
                    self.note(EventKind::OutputUploaded {
                        task,
                        seconds,
                        parameter,
                    });
                    continue;
                };
                // The catalogue of events has no text for this.
                tracing::warn!(job = self.id, output = parameter, %error, "an output cannot be uploaded");
                if interrupt.is_cancelled() {
                    let line = format!(
                        "[ModelArts Service Log] output {parameter}: incomplete, because the job was stopped and the upload took longer than the grace period\n"
                    );
                    // The failure has been reported above.
                    let _ = runner.write_log(worker.clone(), line).await;
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
