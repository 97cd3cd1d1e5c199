//! Errors of starting an emulator and of waiting for a job.

use std::{fmt, io, net::SocketAddr, path::PathBuf};

use crate::{database::error::DatabaseError, execution::seeds::SeedError};

/// Reasons why an emulator did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The address is not a loopback address.
    NotLoopback(SocketAddr),
    /// The address is not available.
    Listen(SocketAddr, io::Error),
    /// A directory cannot be created.
    Directory(PathBuf, io::Error),
    /// The state in the data directory cannot be used.
    Database(DatabaseError),
    /// The seeds cannot be created.
    Seeds(SeedError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoopback(address) => write!(
                f,
                "cannot listen on {address}: the emulator executes what it is sent, so it listens on loopback addresses only, for example 127.0.0.1:0"
            ),
            Self::Seeds(error) => write!(f, "cannot create the jobs of the seeds: {error}"),
            Self::Database(error) => {
                write!(f, "cannot use state.sqlite3 in the data directory: {error}")
            }
            Self::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            Self::Directory(path, error) => {
                write!(f, "cannot use the directory {}: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotLoopback(_) => None,
            Self::Seeds(error) => Some(error),
            Self::Database(error) => Some(error),
            Self::Listen(_, error) | Self::Directory(_, error) => Some(error),
        }
    }
}

/// Reasons why [`Emulator::wait_for`](crate::emulator::Emulator::wait_for) failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// The job does not exist.
    NoSuchJob,
    /// The job ended in another phase.
    Ended {
        /// The phase in which it ended.
        phase: &'static str,
    },
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchJob => f.write_str("there is no such job"),
            Self::Ended { phase } => write!(f, "the job has ended in the phase {phase}"),
        }
    }
}

impl std::error::Error for WaitError {}
