//! Errors of opening the database.

use std::io;

/// Error of opening `state.sqlite3`, the state in a data directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// Another emulator uses the directory.
    #[error("another emulator runs on it: end that one, or choose another data directory")]
    InUse,
    /// The layout version of the file is newer than that of this emulator, or older than layout 1.
    #[error("it has the layout {found}, which {}", advice(*.found, *.expected))]
    Version {
        /// Layout version of the file.
        found: i64,
        /// Layout version of this emulator.
        expected: i64,
    },
    /// The migration from an earlier layout failed. The file is unchanged.
    #[error(
        "the migration from the layout {from} to the layout {to} failed, and the file is unchanged: {error}. Choose another data directory, or use the version of the emulator that has written it"
    )]
    Migration {
        /// Layout version before the failed step.
        from: i64,
        /// Layout version after the failed step.
        to: i64,
        /// The error of the failed step.
        #[source]
        error: rusqlite::Error,
    },
    /// Parts of the file cannot be read. Contains the message of SQLite.
    #[error("it is damaged: {0}. Restore a backup, or delete it and lose the jobs in it")]
    Damaged(String),
    /// The file cannot be created.
    #[error("{0}")]
    File(#[source] io::Error),
    /// SQLite reports another error.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// Returns the last part of the message about an unsupported layout.
fn advice(found: i64, expected: i64) -> String {
    if found > expected {
        return format!(
            "is newer than the layout {expected} of this emulator: use the version of the emulator that has written it, or a later one, or choose another data directory"
        );
    }
    format!(
        "cannot be migrated to the layout {expected} of this emulator: it must be 1 or more. Delete it, choose another data directory, or use the version of the emulator that has written it"
    )
}
