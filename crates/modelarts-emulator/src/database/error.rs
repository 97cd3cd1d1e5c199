//! Errors of opening the database in a data directory.

use std::{fmt, io};

/// Reasons why the state in a data directory, `state.sqlite3`, cannot be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum DatabaseError {
    /// Another emulator uses the directory.
    InUse,
    /// The layout is that of a newer version of the emulator, or older than layout 1.
    Version {
        /// The layout of the file.
        found: i64,
        /// The layout of this version of the emulator.
        expected: i64,
    },
    /// The migration from an earlier layout failed. The file is unchanged.
    Migration {
        /// The layout before the failed step.
        from: i64,
        /// The layout after the failed step.
        to: i64,
        /// The error of the step.
        error: rusqlite::Error,
    },
    /// Parts of the file cannot be read, with the message of SQLite.
    Damaged(String),
    /// The file cannot be created.
    File(io::Error),
    /// SQLite reports an error.
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
                "it has the layout {found}, which cannot be migrated to the layout {expected} of this emulator: it must be 1 or more. Delete it, choose another data directory, or use the version of the emulator that has written it"
            ),
            Self::Migration { from, to, error } => write!(
                f,
                "the migration from the layout {from} to the layout {to} failed, and the file is unchanged: {error}. Choose another data directory, or use the version of the emulator that has written it"
            ),
            Self::Damaged(damage) => write!(
                f,
                "it is damaged: {damage}. Restore a backup, or delete it and lose the jobs in it"
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
