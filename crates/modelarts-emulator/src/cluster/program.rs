//! Commands of the program on the nodes of a cluster, which batch scripts start.

use std::{
    fmt::{Debug, Display},
    fs,
    path::PathBuf,
    sync::Arc,
};

use crate::{
    cluster::{
        batch,
        layout::{Directory, LAYOUT, Specification},
        worker,
    },
    job::{Job, request::JobRequest},
};

/// Command that runs on a node.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum NodeCommand {
    /// Drives a job; its batch script starts this command.
    #[command(hide = true)]
    Batch {
        /// Directory of the submission.
        directory: PathBuf,
    },
    /// Runs a worker of a job; srun starts this command.
    #[command(hide = true)]
    Worker {
        /// Directory of the submission.
        directory: PathBuf,
    },
}

impl NodeCommand {
    /// Runs the command, and returns the exit code of the process.
    pub(crate) async fn run(self) -> Result<u8, String> {
        match self {
            Self::Batch { directory } => batch::run(Directory(directory)).await,
            Self::Worker { directory } => worker::serve(&Directory(directory)).await.map(|()| 0),
        }
    }
}

impl Specification {
    pub(super) fn read(directory: &Directory) -> Result<Self, String> {
        let path = directory.specification();
        let unusable = |error: &dyn Display| format!("cannot use {}: {error}", path.display());
        let text = fs::read(&path).map_err(|error| unusable(&error))?;
        let specification: Self =
            serde_json::from_slice(&text).map_err(|error| unusable(&error))?;
        match specification.layout {
            LAYOUT => Ok(specification),
            other => Err(unusable(&format!("its version {other} must be {LAYOUT}"))),
        }
    }

    /// Returns the job as it was when it was submitted.
    pub(super) fn job(&self) -> Result<Job, String> {
        let unusable = |error: &dyn Debug| format!("the job cannot be read: {error:?}");
        let mut job: Job =
            serde_json::from_value(self.job.clone()).map_err(|error| unusable(&error))?;
        let request = JobRequest::read(self.body.clone()).map_err(|error| unusable(&error))?;
        job.request = Arc::new(request);
        Ok(job)
    }
}
