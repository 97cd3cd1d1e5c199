//! Errors of the start of an emulator, and of waiting for a job.

use std::{fmt, io, net::SocketAddr, path::PathBuf};

use crate::{database::error::DatabaseError, execution::seeds::SeedError};

/// Why an emulator did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// It was to listen on an address that others can reach.
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    Listen(SocketAddr, io::Error),
    /// A directory cannot be made.
    Directory(PathBuf, io::Error),
    /// The state in the data directory cannot be used.
    Database(DatabaseError),
    /// Jobs cannot be put there.
    Seeds(SeedError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoopback(address) => write!(
                f,
                "cannot listen on {address}: the emulator executes what it is sent, so it listens on loopback addresses only, for example 127.0.0.1:0"
            ),
            Self::Seeds(error) => write!(f, "cannot put jobs there: {error}"),
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

/// Why [`Emulator::wait_for`](crate::emulator::Emulator::wait_for) gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// There is no such job.
    NoSuchJob,
    /// The job has ended in another phase.
    Ended {
        /// That phase.
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
