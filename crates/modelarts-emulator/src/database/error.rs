//! Errors of opening the database.

use std::io;

/// Error of opening `state.sqlite3`, the state in a data directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// Another emulator uses the directory.
    #[error("another emulator runs on it: end that one, or choose another data directory")]
    InUse,
    /// The file has another layout than that of this emulator.
    #[error(
        "it has the layout {found}, and this emulator reads only the layout {expected}: remove the \
         directory and lose the jobs in it, choose another data directory, or use the version of \
         the emulator that has written it"
    )]
    Layout {
        /// Layout of the file.
        found: i64,
        /// Layout of this emulator.
        expected: i64,
    },
    /// Parts of the file cannot be read. Contains the message of SQLite.
    #[error("it is damaged: {0}. Restore a backup, or delete it and lose the jobs in it")]
    Damaged(String),
    /// The file cannot be created or opened, or the thread that commits cannot be started.
    #[error("{0}")]
    File(#[source] io::Error),
    /// SQLite reports another error.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
}
