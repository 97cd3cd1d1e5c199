//! SQLite database of an emulator: a file, or in memory without a data directory.
//!
//! In a file, changes are executed at once and committed in groups by a thread; a response is sent
//! only after [`Database::committed`]. A power failure may discard the most recent changes.
//!
//! If a commit fails because the disk is full, the changes are executed again from their statements
//! ([`redo`]), so that reads see them, and committed when there is room. Until then
//! [`Database::write`] refuses changes, and [`Database::keep`] accepts those that have happened
//! already.

pub(crate) mod documents;
pub(crate) mod error;
mod redo;

use std::{
    fs::{File, Permissions},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::{Condvar, Mutex};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use tokio::sync::watch;

use crate::{api::error::ApiError, database::error::DatabaseError};

/// Version of the layout in `schema.sql`, stored in a file as its `user_version`.
const LAYOUT: i64 = 4;
/// Size of the page cache in KiB: small, because the operating system caches the file as well.
const CACHE_KIB: i64 = 16 * 1024;
/// Number of pages in the write-ahead log that trigger a checkpoint, which syncs the disk.
const CHECKPOINT_PAGES: i64 = 4000;
/// Time between two attempts to commit while the disk is full and nothing else happens.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Database {
    shared: Arc<Shared>,
    /// Thread that commits; `None` in memory, where each change is committed separately.
    committer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    inner: Mutex<Inner>,
    in_memory: bool,
    /// Condition variable, notified of changes to commit and when the database is closed.
    work: Condvar,
    /// Number of changes executed so far.
    executed: AtomicU64,
    progress: watch::Sender<Progress>,
}

#[derive(Debug)]
struct Inner {
    /// Connection to the database. `None` after it was closed, or after a permanent error.
    connection: Option<Connection>,
    /// Statements of the changes since the last commit.
    uncommitted: String,
    closing: bool,
}

#[derive(Clone, Debug, Default)]
struct Progress {
    /// Number of changes committed so far.
    committed: u64,
    /// Number of changes executed before the last attempt to commit.
    attempted: u64,
    /// Reason why changes are not stored, with advice.
    failure: Option<Arc<str>>,
}

impl Database {
    /// Opens the database file, or creates it. Without a path, the database is in memory.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, DatabaseError> {
        let mut connection = match path {
            None => Connection::open_in_memory()?,
            Some(path) => {
                // The file contains keys and tokens, so only the current user may read it.
                let file = File::options()
                    .append(true)
                    .create(true)
                    .mode(0o600)
                    .open(path)
                    .map_err(DatabaseError::File)?;
                // A copy of a data directory may have another mode.
                if let Err(error) = file.set_permissions(Permissions::from_mode(0o600)) {
                    tracing::warn!(path = %path.display(), %error, "other users may read the keys");
                }
                // SQLite's locks end when the process closes any handle of the file.
                drop(file);
                Connection::open(path)?
            }
        };
        prepare(&mut connection).map_err(|error| match error {
            DatabaseError::Sqlite(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) =>
            {
                DatabaseError::InUse
            }
            error => error,
        })?;
        let shared = Arc::new(Shared {
            inner: Mutex::new(Inner {
                connection: Some(connection),
                uncommitted: String::new(),
                closing: false,
            }),
            in_memory: path.is_none(),
            work: Condvar::new(),
            executed: AtomicU64::new(0),
            progress: watch::Sender::default(),
        });
        let committer = if shared.in_memory {
            None
        } else {
            let shared = Arc::clone(&shared);
            let committer = thread::Builder::new().name("commit".to_owned());
            let started = committer.spawn(move || shared.commit_all());
            Some(started.map_err(DatabaseError::File)?)
        };
        Ok(Self { shared, committer: Mutex::new(committer) })
    }

    /// Reads the state, including uncommitted changes.
    pub(crate) fn read<R>(
        &self,
        look: impl FnOnce(&Connection) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<R> {
        let inner = self.shared.inner.lock();
        look(inner.connection.as_ref().ok_or_else(closed_error)?)
    }

    /// Changes the settings of the connection, such as its handlers.
    #[cfg(test)]
    pub(crate) fn configure(&self, change: impl FnOnce(&mut Connection) -> rusqlite::Result<()>) {
        let mut inner = self.shared.inner.lock();
        change(inner.connection.as_mut().unwrap()).unwrap();
    }

    /// Executes a change, unless earlier changes cannot be stored. After an error of the change
    /// itself, the changes since the last commit are rolled back, and all later calls fail.
    pub(crate) fn write<R>(
        &self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<R> {
        let mut inner = self.shared.inner.lock();
        if self.failure().is_some() {
            self.shared.commit(&mut inner);
        }
        match self.failure() {
            Some(failure) if inner.connection.is_some() => Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL),
                Some(failure.to_string()),
            )),
            _ => self.shared.execute(&mut inner, change),
        }
    }

    /// Executes a change that has happened already. If the disk is full, it is kept in memory.
    pub(crate) fn keep<R>(
        &self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<R> {
        self.shared.execute(&mut self.shared.inner.lock(), change)
    }

    /// Waits until all changes so far are committed. Returns an error if the commit has failed.
    pub(crate) async fn committed(&self) -> Result<(), ApiError> {
        let goal = self.shared.executed.load(Ordering::Acquire);
        let mut progress = self.shared.progress.subscribe();
        let there = progress
            .wait_for(|progress| progress.committed >= goal || progress.attempted >= goal)
            .await;
        match there.map(|progress| progress.failure.clone().filter(|_| progress.committed < goal)) {
            Ok(None) => Ok(()),
            Ok(Some(failure)) => Err(ApiError::internal(format!(
                "The state of the emulator cannot be stored: {failure}."
            ))),
            // Unreachable, because the sender lives as long as `self`.
            Err(_) => Ok(()),
        }
    }

    /// Returns the reason why changes are not stored, or `None` if they are stored.
    pub(crate) fn failure(&self) -> Option<Arc<str>> {
        self.shared.progress.borrow().failure.clone()
    }

    /// Returns the stored value of a setting. If there is none, stores and returns `new`.
    pub(crate) fn setting(&self, name: &str, new: String) -> rusqlite::Result<String> {
        self.write(|connection| {
            let insert = "INSERT INTO settings (name, value) VALUES (?1, ?2)
                          ON CONFLICT (name) DO NOTHING";
            connection.execute(insert, params![name, new])?;
            let select = "SELECT value FROM settings WHERE name = ?1";
            connection.query_row(select, [name], |row| row.get(0))
        })
    }

    /// Commits outstanding changes and closes the file. Later reads and writes fail.
    pub(crate) fn close(&self) {
        self.shared.inner.lock().closing = true;
        self.shared.work.notify_one();
        if let Some(committer) = self.committer.lock().take()
            && committer.join().is_err()
        {
            tracing::error!("the thread that commits has panicked");
        }
        self.shared.inner.lock().connection = None;
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn execute<R>(
        &self,
        inner: &mut Inner,
        change: impl FnOnce(&Connection) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<R> {
        let connection = inner.connection.as_ref().ok_or_else(closed_error)?;
        let (changed, statements) =
            redo::record(|| begin(connection).and_then(|()| change(connection)));
        inner.uncommitted.push_str(&statements);
        if let Err(error) = &changed {
            self.fail(inner, error);
        }
        self.executed.fetch_add(1, Ordering::Release);
        if self.in_memory {
            self.commit(inner);
        } else {
            self.work.notify_one();
        }
        changed
    }

    fn commit_all(&self) {
        let mut inner = self.inner.lock();
        loop {
            let attempted = self.progress.borrow().attempted;
            if self.executed.load(Ordering::Acquire) > attempted {
                self.commit(&mut inner);
            } else if inner.closing {
                return;
            } else if inner.uncommitted.is_empty() {
                self.work.wait(&mut inner);
            } else if self.work.wait_for(&mut inner, RETRY).timed_out() {
                self.commit(&mut inner);
            }
        }
    }

    fn commit(&self, inner: &mut Inner) {
        let executed = self.executed.load(Ordering::Acquire);
        let committed = match &inner.connection {
            None => false,
            Some(connection) => match commit_changes(connection) {
                Ok(()) => true,
                Err(error) => {
                    self.restore(inner, &error);
                    false
                }
            },
        };
        if committed {
            inner.uncommitted.clear();
        }
        self.progress.send_modify(|progress| {
            progress.attempted = executed;
            if committed {
                progress.committed = executed;
                progress.failure = None;
            }
        });
    }

    /// Executes again the changes that a failed commit rolled back, if a later commit may succeed.
    fn restore(&self, inner: &mut Inner, error: &rusqlite::Error) {
        let full = matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure)
        );
        let Some(connection) = inner.connection.as_ref().filter(|_| full) else {
            return self.fail(inner, error);
        };
        let restored =
            begin(connection).and_then(|()| connection.execute_batch(&inner.uncommitted));
        if let Err(error) = restored {
            return self.fail(inner, &error);
        }
        let advice = "Make room on the disk of the data directory: then the emulator stores it";
        let failure = Some(format!("{error}. {advice}").into());
        if self.progress.borrow().failure.is_none() {
            tracing::error!(%error, "the state cannot be stored until there is room on the disk");
        }
        self.progress.send_modify(|progress| progress.failure = failure);
    }

    fn fail(&self, inner: &mut Inner, error: &rusqlite::Error) {
        tracing::error!(%error, "the state cannot be stored");
        // Closing the connection rolls back uncommitted changes.
        inner.connection = None;
        inner.uncommitted.clear();
        let failure = Some(format!("{error}. Start it again").into());
        self.progress.send_modify(|progress| progress.failure = failure);
    }
}

fn closed_error() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_MISUSE),
        Some("the database is closed".to_owned()),
    )
}

/// Begins a transaction, unless one is open.
fn begin(connection: &Connection) -> rusqlite::Result<()> {
    if connection.is_autocommit() {
        connection.prepare_cached("BEGIN")?.execute([])?;
    }
    Ok(())
}

fn commit_changes(connection: &Connection) -> rusqlite::Result<()> {
    if !connection.is_autocommit() {
        connection.prepare_cached("COMMIT")?.execute([])?;
    }
    Ok(())
}

/// Locks the file, and checks its layout and its pages. Creates the tables in an empty file.
fn prepare(connection: &mut Connection) -> Result<(), DatabaseError> {
    connection.set_prepared_statement_cache_capacity(128);
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    // Only a commit writes to the disk, so that only a commit fails if the disk is full.
    connection.pragma_update(None, "cache_spill", false)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    redo::enable(connection)?;
    // In this locking mode, the lock is held until the file is closed.
    connection.execute_batch("BEGIN EXCLUSIVE")?;
    let found = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let table = "SELECT name FROM sqlite_schema LIMIT 1";
    let table: Option<String> = connection.query_row(table, [], |row| row.get(0)).optional()?;
    if table.is_none() && found == 0 {
        connection.execute_batch(include_str!("schema.sql"))?;
        connection.pragma_update(None, "user_version", LAYOUT)?;
    } else if found == LAYOUT {
        check_integrity(connection)?;
    } else {
        return Err(DatabaseError::Layout { found, expected: LAYOUT });
    }
    connection.execute_batch("COMMIT")?;
    Ok(())
}

/// Checks all pages, so that damage is found at the start. Takes 0.2 s for 100,000 jobs.
fn check_integrity(connection: &Connection) -> Result<(), DatabaseError> {
    let checked: rusqlite::Result<String> =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    match checked {
        Ok(result) if result == "ok" => Ok(()),
        Ok(damage) => Err(DatabaseError::Damaged(damage)),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            Err(DatabaseError::Damaged(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

impl From<rusqlite::Error> for ApiError {
    fn from(error: rusqlite::Error) -> Self {
        Self::internal(format!("The state of the emulator cannot be used: {error}."))
    }
}

pub(crate) fn read_error(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
}

pub(crate) fn write_error(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

#[cfg(test)]
mod tests;
