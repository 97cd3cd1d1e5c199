//! Why an emulator did not start, and why a wait for a job gave up.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::execution::seeds::SeedError;

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

/// Why the state in a data directory, `state.sqlite3`, cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum DatabaseError {
    /// Another emulator runs on the directory.
    InUse,
    /// It was written by a newer version of the emulator, or one before layout 1.
    Version {
        /// The number of its layout.
        found: i64,
        /// The number of this emulator's layout.
        expected: i64,
    },
    /// It has an earlier layout and cannot be given that of this emulator. It is as it was.
    Migration {
        /// The number of the layout that cannot be changed.
        from: i64,
        /// The number of the layout that it was to get.
        to: i64,
        /// Why not.
        error: rusqlite::Error,
    },
    /// Parts of it cannot be read. The text says which, in SQLite's words.
    Damaged(String),
    /// The file cannot be made.
    File(io::Error),
    /// SQLite refuses it.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse => f.write_str(
                "another emulator runs on it: end that one, or choose another data directory",
            ),
            Self::Version { found, expected } if found > expected => write!(
                f,
                "it has the layout {found}, which is newer than the layout {expected} of this emulator: use the version of the emulator that has written it, or a later one, or choose another data directory"
            ),
            Self::Version { found, expected } => write!(
                f,
                "it has the layout {found}, from which no way leads to the layout {expected} of this emulator: it must be 1 or more. Delete it, choose another data directory, or use the version of the emulator that has written it"
            ),
            Self::Migration { from, to, error } => write!(
                f,
                "it cannot be changed from the layout {from} to the layout {to}, and is as it was: {error}. Choose another data directory, or use the version of the emulator that has written it"
            ),
            Self::Damaged(damage) => write!(
                f,
                "it is damaged: {damage}. Put a copy of it in its place, or delete it and lose the jobs in it"
            ),
            Self::File(error) => error.fmt(f),
            Self::Sqlite(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DatabaseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::InUse | Self::Version { .. } | Self::Damaged(_) => None,
            Self::Migration { error, .. } => Some(error),
            Self::File(error) => Some(error),
            Self::Sqlite(error) => Some(error),
        }
    }
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
