//! What was acknowledged is there after the end of the process, however it ended.
//!
//! Everything is in one SQLite file, or in memory where no directory was given. Changes of the file
//! are executed at once and committed together, by a thread, as fast as it can: whoever answers
//! waits for [`Database::written`] first, so nobody is told of anything that could still be lost.
//! The write-ahead log keeps it through the death of the process; a power failure may cost the last
//! moments. In memory there is no disk to wait for: each change commits itself.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use parking_lot::{Condvar, Mutex};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use tokio::sync::watch;

use crate::error::ApiError;
use crate::failure::DatabaseError;

/// The layout of the file: `user_version`. Number 0 had no version and only jobs.
const VERSION: i64 = 2;
/// In KiB. Bounds the memory; the system caches the file anyway.
const CACHE: i64 = 16 * 1024;
/// In pages. Each checkpoint syncs the disk, so it is better to have few.
const CHECKPOINT: i64 = 4000;

/// The state of one emulator.
pub(crate) struct Database {
    shared: Arc<Shared>,
    /// None in memory, where each change commits itself.
    committer: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    inner: Mutex<Inner>,
    in_memory: bool,
    /// Rings when there is something to commit, or nothing will come any more.
    work: Condvar,
    /// The number of changes that were executed.
    executed: AtomicU64,
    progress: watch::Sender<Progress>,
}

struct Inner {
    /// Nothing after the end.
    connection: Option<Connection>,
    closing: bool,
}

/// How far the disk has got.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// The number of changes that are on disk.
    committed: u64,
    /// From here on nothing is stored any more.
    failure: Option<Arc<str>>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Database {
    /// Opens the file, and makes it if need be. Without a path, it is in memory.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, DatabaseError> {
        let connection = match path {
            None => Connection::open_in_memory()?,
            Some(path) => {
                // Tokens are in it: nobody else is to read it.
                File::options()
                    .append(true)
                    .create(true)
                    .mode(0o600)
                    .open(path)
                    .map_err(DatabaseError::File)?;
                Connection::open(path)?
            }
        };
        prepare(&connection).map_err(|error| match error {
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
        Ok(Self {
            shared,
            committer: Mutex::new(committer),
        })
    }

    /// Looks at the state, with all changes so far.
    pub(crate) fn read<R>(
        &self,
        look: impl FnOnce(&Connection) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<R> {
        let inner = self.shared.inner.lock();
        look(inner.connection.as_ref().ok_or_else(closed)?)
    }

    /// Changes the state. After an error nothing more is stored: what has been executed since the
    /// last commit is undone, whoever waits for it gets the error, and so does all that follows.
    pub(crate) fn write<R>(
        &self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<R> {
        let mut inner = self.shared.inner.lock();
        let connection = inner.connection.as_ref().ok_or_else(closed)?;
        let changed = begin(connection).and_then(|()| change(connection));
        if let Err(error) = &changed {
            self.shared.fail(&mut inner, error);
        }
        self.shared.executed.fetch_add(1, Ordering::Release);
        if self.shared.in_memory {
            self.shared.commit(&mut inner);
        } else {
            self.shared.work.notify_one();
        }
        changed
    }

    /// Waits until all changes that were executed so far will survive.
    pub(crate) async fn written(&self) -> Result<(), ApiError> {
        let goal = self.shared.executed.load(Ordering::Acquire);
        let mut progress = self.shared.progress.subscribe();
        let there = progress
            .wait_for(|progress| progress.failure.is_some() || progress.committed >= goal)
            .await;
        match there.map(|progress| progress.failure.clone()) {
            Ok(None) => Ok(()),
            Ok(Some(failure)) => Err(ApiError::internal(format!(
                "The state of the emulator cannot be stored: {failure}. Start it again."
            ))),
            // The sender lives as long as `self`.
            Err(_) => Ok(()),
        }
    }

    /// A value that stays: the stored one, or `new`, which is stored.
    pub(crate) fn setting(&self, name: &str, new: String) -> rusqlite::Result<String> {
        self.write(|connection| {
            let insert = "INSERT INTO settings (name, value) VALUES (?1, ?2)
                          ON CONFLICT (name) DO NOTHING";
            connection.execute(insert, params![name, new])?;
            let select = "SELECT value FROM settings WHERE name = ?1";
            connection.query_row(select, [name], |row| row.get(0))
        })
    }

    /// Commits what is left and lets go of the file. Nothing can be read or written afterwards.
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
    fn commit_all(&self) {
        let mut inner = self.inner.lock();
        loop {
            let committed = self.progress.borrow().committed;
            if self.executed.load(Ordering::Acquire) > committed {
                self.commit(&mut inner);
            } else if inner.closing {
                return;
            } else {
                self.work.wait(&mut inner);
            }
        }
    }

    /// Commits all changes that were executed so far.
    fn commit(&self, inner: &mut Inner) {
        let executed = self.executed.load(Ordering::Acquire);
        if let Some(connection) = &inner.connection
            && let Err(error) = end(connection)
        {
            self.fail(inner, &error);
        }
        self.progress
            .send_modify(|progress| progress.committed = executed);
    }

    fn fail(&self, inner: &mut Inner, error: &rusqlite::Error) {
        tracing::error!(%error, "the state cannot be stored");
        // Closing it undoes what is not committed.
        inner.connection = None;
        self.progress
            .send_modify(|progress| progress.failure = Some(error.to_string().into()));
    }
}

fn closed() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_MISUSE),
        Some("the database is closed".to_owned()),
    )
}

fn begin(connection: &Connection) -> rusqlite::Result<()> {
    if connection.is_autocommit() {
        connection.prepare_cached("BEGIN")?.execute([])?;
    }
    Ok(())
}

fn end(connection: &Connection) -> rusqlite::Result<()> {
    if !connection.is_autocommit() {
        connection.prepare_cached("COMMIT")?.execute([])?;
    }
    Ok(())
}

/// Takes the file for this process alone, and looks whether it is of this version.
fn prepare(connection: &Connection) -> Result<(), DatabaseError> {
    connection.set_prepared_statement_cache_capacity(128);
    connection.busy_timeout(std::time::Duration::ZERO)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -CACHE)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT)?;
    // The lock is taken here and, in this mode, never given back.
    connection.execute_batch("BEGIN EXCLUSIVE")?;
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let table = "SELECT name FROM sqlite_schema LIMIT 1";
    let table: Option<String> = connection
        .query_row(table, [], |row| row.get(0))
        .optional()?;
    match (version, table) {
        (0, None) => {
            connection.execute_batch(include_str!("schema.sql"))?;
            connection.pragma_update(None, "user_version", VERSION)?;
        }
        (VERSION, _) => {}
        (found, _) => {
            return Err(DatabaseError::Version {
                found,
                expected: VERSION,
            });
        }
    }
    connection.execute_batch("COMMIT")?;
    Ok(())
}

/// Writes and reads that fail are the emulator's own failure.
impl From<rusqlite::Error> for ApiError {
    fn from(error: rusqlite::Error) -> Self {
        Self::internal(format!(
            "The state of the emulator cannot be used: {error}."
        ))
    }
}

/// JSON in a column that cannot be read.
pub(crate) fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
}

/// JSON that cannot be written.
pub(crate) fn unwritable(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_directory_in_use_and_another_layout_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.sqlite3");
        let first = Database::open(Some(&path)).unwrap();
        assert_eq!(
            Database::open(Some(&path)).unwrap_err().to_string(),
            "another emulator runs on it: end that one, or choose another data directory"
        );
        drop(first);
        drop(Database::open(Some(&path)).unwrap());
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "user_version", 0).unwrap();
        drop(connection);
        assert_eq!(
            Database::open(Some(&path)).unwrap_err().to_string(),
            "it has the layout 0 and this emulator reads the layout 2 only: delete it, choose another data directory, or use the version of the emulator that has written it"
        );
    }

    /// After a failure nobody is told that something is stored, and what was stored stays.
    #[tokio::test]
    async fn a_failure_is_told_to_whoever_waits() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.sqlite3");
        let database = Database::open(Some(&path)).unwrap();
        assert_eq!(
            database.setting("name", "first".to_owned()).unwrap(),
            "first"
        );
        database.written().await.unwrap();
        let wrong = database.write(|connection| connection.execute("INSERT INTO nowhere", []));
        assert!(wrong.is_err());
        let error = database.written().await.unwrap_err();
        assert_eq!(error.status, 500);
        assert!(database.setting("name", "second".to_owned()).is_err());
        drop(database);
        let database = Database::open(Some(&path)).unwrap();
        assert_eq!(
            database.setting("name", "third".to_owned()).unwrap(),
            "first"
        );
    }

    #[test]
    fn changes_in_memory_are_committed_before_write_returns() {
        let database = Database::open(None).unwrap();
        for n in 0..100 {
            database
                .setting(&format!("name {n}"), "value".to_owned())
                .unwrap();
            let written = database.written().now_or_never();
            assert!(matches!(written, Some(Ok(()))), "change {n}: {written:?}");
        }
        let wrong = database.write(|connection| connection.execute("INSERT INTO nowhere", []));
        assert!(wrong.is_err());
        let error = database.written().now_or_never().unwrap().unwrap_err();
        assert_eq!(error.status, 500);
        assert!(database.setting("name", "later".to_owned()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_the_tokens() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.sqlite3");
        let _database = Database::open(Some(&path)).unwrap();
        for file in ["state.sqlite3", "state.sqlite3-wal"] {
            let metadata = std::fs::metadata(directory.path().join(file)).unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{file}");
        }
    }
}
