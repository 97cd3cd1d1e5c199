//! Quotas of projects.

use std::sync::Arc;

use rusqlite::{OptionalExtension, params};

use crate::database::Database;

/// Default maximum number of jobs of a project.
const JOB_QUOTA: u32 = 10_000;

#[derive(Debug)]
pub(crate) struct Quotas {
    database: Arc<Database>,
    /// Default job quota, for projects without a value of their own.
    jobs: i64,
}

impl Quotas {
    pub(crate) fn new(database: &Arc<Database>, jobs: Option<u32>) -> Self {
        Self { database: Arc::clone(database), jobs: i64::from(jobs.unwrap_or(JOB_QUOTA)) }
    }

    pub(crate) fn get(&self, project: &str, resource: &str) -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT quota FROM quotas WHERE project = ?1 AND resource = ?2";
        let set: Option<i64> = self.database.read(|connection| {
            let mut select = connection.prepare_cached(sql)?;
            let found = select.query_row([project, resource], |row| row.get(0));
            found.optional()
        })?;
        Ok(set.or((resource == "job-num").then_some(self.jobs)))
    }

    pub(crate) fn set(&self, project: &str, resource: &str, quota: i64) -> rusqlite::Result<()> {
        let sql = "INSERT OR REPLACE INTO quotas (project, resource, quota) VALUES (?1, ?2, ?3)";
        self.database
            .write(|connection| connection.execute(sql, params![project, resource, quota]))
            .map(|_| ())
    }

    pub(crate) fn clear(&self) -> rusqlite::Result<()> {
        self.database.write(|connection| connection.execute("DELETE FROM quotas", [])).map(|_| ())
    }

    pub(crate) fn jobs(&self, project: &str) -> rusqlite::Result<usize> {
        let jobs = self.get(project, "job-num")?.unwrap_or(self.jobs);
        Ok(usize::try_from(jobs).unwrap_or(0))
    }
}
