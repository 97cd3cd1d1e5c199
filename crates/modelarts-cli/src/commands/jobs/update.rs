//! Command `modelarts update`, which changes a job.

use clap::{ArgGroup, Args};
use futures::{StreamExt, stream};
use modelarts_ext::{Error, Job};

use crate::{
    commands::jobs::{
        arguments::whole_number,
        results::{JobResult, print_results},
    },
    exit_status::ExitStatus,
    failure::Failure,
    job_reference::{JobArguments, Prefixes},
    session::Session,
};

#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("change").args(["priority", "description"]).required(true).multiple(true)
)]
pub(crate) struct Update {
    #[command(flatten)]
    jobs: JobArguments,
    /// Priority in a dedicated pool, 1 to 3; only of a job that waits.
    #[arg(long, value_name = "PRIORITY", value_parser = whole_number::<u8>)]
    priority: Option<u8>,
    /// Description of the job; an empty text removes it.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

impl Update {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let client = session.client().await?;
        let jobs = self.jobs.find(client, Prefixes::Ids).await?;
        let results = stream::iter(&jobs).then(async |job| {
            let result = self.change(job).await.map(|()| "updated");
            JobResult::new(job, result).map(|result| vec![result])
        });
        print_results(session, results).await
    }

    async fn change(&self, job: &Job) -> Result<(), Error> {
        if let Some(priority) = self.priority {
            job.set_priority(priority).await?;
        }
        match &self.description {
            Some(description) => job.set_description(description).await,
            None => Ok(()),
        }
    }
}
