//! Commands of the program on the nodes of a cluster, which batch scripts start.

use std::path::PathBuf;

use crate::cluster::{batch, layout::Directory, worker};

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
