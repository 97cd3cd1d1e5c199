//! Errors of starting an emulator and of waiting for a job.

use std::{io, net::SocketAddr, path::PathBuf};

use crate::{database::error::DatabaseError, execution::seeds::SeedError};

/// Error of starting an emulator.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address is not a loopback address.
    #[error(
        "cannot listen on {0}: the emulator executes what it is sent, so it listens on loopback \
         addresses only, for example 127.0.0.1:0"
    )]
    NotLoopback(SocketAddr),
    /// The address is not available.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    /// A directory cannot be created or used.
    #[error("cannot use the directory {path}: {1}", path = .0.display())]
    Directory(PathBuf, #[source] io::Error),
    /// The state in the data directory cannot be used.
    #[error("cannot use state.sqlite3 in the data directory {path}: {1}", path = .0.display())]
    Database(PathBuf, #[source] DatabaseError),
    /// Jobs cannot run in the container view that was requested.
    #[error("cannot run jobs in a container view: {0}")]
    Container(String),
    /// Jobs cannot run on the nodes of the Slurm cluster.
    #[error("cannot run jobs on Slurm: {0}")]
    Slurm(String),
    /// The seeds cannot be created.
    #[error("cannot create the jobs of the seeds: {0}")]
    Seeds(#[source] SeedError),
}

/// Error of [`Emulator::wait_for`](crate::emulator::Emulator::wait_for).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The job does not exist.
    #[error("there is no such job")]
    NoSuchJob,
    /// The job ended in another phase.
    #[error("the job has ended in the phase {phase}")]
    Ended {
        /// Phase in which the job ended.
        phase: &'static str,
    },
}
