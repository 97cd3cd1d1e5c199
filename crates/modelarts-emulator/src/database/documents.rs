//! Documents in the form of responses (algorithms, their publications, experiments), and quotas.

use std::sync::Arc;

use rusqlite::{OptionalExtension, Params, Row, params};
use serde_json::Value;

use crate::database::{Database, read_error, write_error};

#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) id: String,
    pub(crate) project: String,
    /// Key that is unique for the kind in the project: the name, a key derived from it, or the id.
    pub(crate) name: String,
    pub(crate) value: Value,
}

impl Document {
    /// Reads a document from the columns `id, project, name, value`.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            project: row.get(1)?,
            name: row.get(2)?,
            value: serde_json::from_str(row.get_ref(3)?.as_str()?).map_err(read_error)?,
        })
    }
}

#[derive(Debug)]
pub(crate) struct Documents {
    database: Arc<Database>,
    kind: &'static str,
}

impl Documents {
    pub(crate) fn new(database: &Arc<Database>, kind: &'static str) -> Self {
        Self { database: Arc::clone(database), kind }
    }

    fn execute(&self, sql: &str, values: impl Params) -> rusqlite::Result<usize> {
        self.database.write(|c| c.execute(sql, values))
    }

    /// Inserts a document. Returns `false` if the project has one of this kind with its name or id.
    pub(crate) fn insert(&self, record: &Document) -> rusqlite::Result<bool> {
        let sql = "INSERT INTO records (kind, project, id, name, value) VALUES (?1, ?2, ?3, ?4, ?5)
                   ON CONFLICT DO NOTHING";
        let value = serde_json::to_string(&record.value).map_err(write_error)?;
        let values = [self.kind, &record.project, &record.id, &record.name, &value];
        Ok(self.execute(sql, values)? == 1)
    }

    /// Replaces a document. Returns `false` if the id does not exist or the new name is taken.
    pub(crate) fn replace(&self, record: &Document) -> rusqlite::Result<bool> {
        let sql = "UPDATE OR IGNORE records SET name = ?4, value = ?5
                   WHERE kind = ?1 AND project = ?2 AND id = ?3";
        let value = serde_json::to_string(&record.value).map_err(write_error)?;
        let values = [self.kind, &record.project, &record.id, &record.name, &value];
        Ok(self.execute(sql, values)? == 1)
    }

    pub(crate) fn remove(&self, project: &str, id: &str) -> rusqlite::Result<bool> {
        let sql = "DELETE FROM records WHERE kind = ?1 AND project = ?2 AND id = ?3";
        Ok(self.execute(sql, [self.kind, project, id])? == 1)
    }

    pub(crate) fn clear(&self) -> rusqlite::Result<()> {
        let sql = "DELETE FROM records WHERE kind = ?1";
        self.execute(sql, [self.kind]).map(|_| ())
    }

    pub(crate) fn find(&self, project: &str, id: &str) -> rusqlite::Result<Option<Document>> {
        let sql = "SELECT id, project, name, value FROM records
                   WHERE kind = ?1 AND project = ?2 AND id = ?3";
        self.database.read(|connection| {
            let mut select = connection.prepare_cached(sql)?;
            let found = select.query_row(params![self.kind, project, id], Document::read);
            found.optional()
        })
    }

    pub(crate) fn all(&self, project: &str) -> rusqlite::Result<Vec<Document>> {
        let sql = "SELECT id, project, name, value FROM records
                   WHERE kind = ?1 AND project = ?2 ORDER BY number";
        self.database.read(|connection| {
            let mut select = connection.prepare_cached(sql)?;
            let rows = select.query_map([self.kind, project], Document::read)?;
            rows.collect()
        })
    }
}

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
