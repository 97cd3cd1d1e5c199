//! Errors of opening the database in a data directory.

use std::{fmt, io};

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
