//! Command `modelarts show`, which prints the details of a job.

mod document;
mod text;

pub(crate) use document::JobDocument;

use std::time::SystemTime;

use clap::Args;
use modelarts_ext::{Job, masking::mask_described};
use serde_json::Value;

use crate::{
    commands::jobs::values::trials::{ranked, reward},
    exit_status::ExitStatus,
    failure::Failure,
    job_reference::JobArgument,
    output::Format,
    session::Session,
};

/// Maximum number of events that are read to determine the phases.
const MAX_EVENTS: usize = 1_000;

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    job: JobArgument,
    #[cfg(unix)]
    #[command(flatten)]
    pub(crate) local: crate::local_jobs::LocalFlag,
}

impl Show {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let client = session.client().await?;
        let job = self.job.find(client).await?;
        if session.output.format == Format::Job {
            return print_file(session, &job).await;
        }
        // The details of a job are useful even if its events cannot be read.
        let events = job.events().collect(MAX_EVENTS).await.unwrap_or_default();
        let mut document = JobDocument::new(&job, &events, SystemTime::now().into());
        if reward(&job).is_some() {
            let trials = ranked(&job).await.unwrap_or_default();
            document.best_trial = trials.into_iter().find(|trial| trial.rank == Some(1));
        }
        session.output.document(&document)?;
        Ok(ExitStatus::Success)
    }
}

/// Prints a file that `submit -f` takes: without the name and the addresses of outputs, which are
/// new for each job, and without secrets.
async fn print_file(session: &Session, job: &Job) -> Result<ExitStatus, Failure> {
    let mut body = job.copy_as(job.name()).await?.body();
    if let Some(Value::Object(metadata)) = body.get_mut("metadata") {
        metadata.remove("name");
    }
    let outputs = body.pointer_mut("/algorithm/outputs").and_then(Value::as_array_mut);
    for output in outputs.into_iter().flatten() {
        if let Some(output) = output.as_object_mut() {
            output.remove("remote");
        }
    }
    mask_described(&mut body, &[]);
    if let Some(Value::Object(variables)) = body.pointer_mut("/algorithm/environments") {
        variables.retain(|name, value| {
            let is_secret = value.as_str() == Some("***");
            if is_secret {
                note!("the secret {name} is not in the file; submit it with --env {name}");
            }
            !is_secret
        });
    }
    session.output.body(&body)?;
    Ok(ExitStatus::Success)
}
