//! Command `modelarts show`, which prints the details of a job.

mod document;
mod text;

pub(crate) use document::JobDocument;

use std::time::SystemTime;

use clap::Args;

use crate::{
    exit_status::ExitStatus, failure::Failure, job_reference::JobArgument, session::Session,
};

/// Maximum number of events that are read to determine the phases.
const MAX_EVENTS: usize = 1_000;

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    job: JobArgument,
}

impl Show {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let client = session.client().await?;
        let job = self.job.find(client).await?;
        // The details of a job are useful even if its events cannot be read.
        let events = job.events().collect(MAX_EVENTS).await.unwrap_or_default();
        let document = JobDocument::new(&job, &events, SystemTime::now().into());
        session.output.document(&document)?;
        Ok(ExitStatus::Success)
    }
}
