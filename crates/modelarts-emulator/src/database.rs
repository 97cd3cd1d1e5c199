//! Jobs on disk: what was acknowledged is there after the end of the process, however it ended.
//!
//! Each change of a job is written before anybody is told of it. The write-ahead log of SQLite
//! keeps it through the death of the process; a power failure may cost the last moments.

use std::path::Path;

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};

use crate::store::Job;

/// The file of one data directory.
#[derive(Debug)]
pub(crate) struct Database(Mutex<Connection>);

impl Database {
    /// Opens the file, and makes it if need be.
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS jobs (number INTEGER PRIMARY KEY, job TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);",
        )?;
        Ok(Self(Mutex::new(connection)))
    }

    /// A value that stays: the stored one, or `new`, which is stored.
    pub(crate) fn setting(&self, name: &str, new: String) -> rusqlite::Result<String> {
        let connection = self.0.lock();
        let stored = connection
            .query_row(
                "SELECT value FROM settings WHERE name = ?1",
                [name],
                |row| row.get(0),
            )
            .optional()?;
        if let Some(stored) = stored {
            return Ok(stored);
        }
        let insert = "INSERT INTO settings (name, value) VALUES (?1, ?2)";
        connection.execute(insert, params![name, new])?;
        Ok(new)
    }

    /// All jobs by number. What can no longer be read is left out, and said.
    pub(crate) fn jobs(&self) -> rusqlite::Result<Vec<(u64, Job)>> {
        let connection = self.0.lock();
        let mut select = connection.prepare("SELECT number, job FROM jobs ORDER BY number")?;
        let rows = select.query_map([], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })?;
        let mut jobs = Vec::new();
        for row in rows {
            let (number, text) = row?;
            match serde_json::from_str(&text) {
                Ok(job) => jobs.push((u64::try_from(number).unwrap_or(0), job)),
                Err(error) => tracing::warn!(number, %error, "a stored job cannot be read"),
            }
        }
        Ok(jobs)
    }

    /// Writes a job as it is now.
    pub(crate) fn save(&self, number: u64, job: &Job) -> Result<(), String> {
        let text = serde_json::to_string(job).map_err(|error| error.to_string())?;
        let number = i64::try_from(number).map_err(|error| error.to_string())?;
        let connection = self.0.lock();
        let insert = "INSERT OR REPLACE INTO jobs (number, job) VALUES (?1, ?2)";
        let mut insert = connection
            .prepare_cached(insert)
            .map_err(|error| error.to_string())?;
        insert
            .execute(params![number, text])
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    /// Forgets a job.
    pub(crate) fn remove(&self, number: u64) -> rusqlite::Result<()> {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let connection = self.0.lock();
        connection.execute("DELETE FROM jobs WHERE number = ?1", [number])?;
        Ok(())
    }
}
