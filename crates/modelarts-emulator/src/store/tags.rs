//! Queries for the tags of jobs, and for jobs with specific tags.

use std::collections::BTreeMap;

use rusqlite::{Connection, params, params_from_iter, types::Value};
use serde::Serialize;

use crate::{database::write_error, store::JobStore};

#[derive(Debug)]
pub(crate) struct TagQuery<'a> {
    /// Required tag keys, each with the accepted values; an empty list accepts any value.
    pub(crate) tags: Vec<(&'a str, Vec<&'a str>)>,
    /// `true` if only jobs without tags match. The member `tags` is then ignored.
    pub(crate) untagged: bool,
    pub(crate) workspace: Option<&'a str>,
    /// String that the name of a job must contain.
    pub(crate) name: Option<&'a str>,
}

#[derive(Debug)]
pub(crate) struct TaggedJob {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) workspace: String,
    pub(crate) tags: BTreeMap<String, String>,
}

/// Tag keys with their values, ordered by key and then by value.
type Keys = Vec<(String, Vec<String>)>;

impl JobStore {
    pub(crate) fn tag_keys(
        &self,
        project: &str,
        offset: usize,
        limit: usize,
    ) -> rusqlite::Result<Keys> {
        self.database.read(|connection| {
            let mut keys = Keys::new();
            let mut select = connection.prepare_cached(
                "WITH own AS (SELECT DISTINCT key, value FROM tags
                              JOIN jobs ON number = job
                              WHERE project = (SELECT number FROM projects WHERE id = ?1))
                 SELECT key, value FROM own WHERE key IN
                 (SELECT DISTINCT key FROM own ORDER BY key LIMIT ?2 OFFSET ?3)
                 ORDER BY key, value",
            )?;
            let mut rows = select.query(params![project, sql_number(limit), sql_number(offset)])?;
            while let Some(row) = rows.next()? {
                let (key, value): (String, String) = (row.get(0)?, row.get(1)?);
                match keys.last_mut() {
                    Some((last, values)) if *last == key => values.push(value),
                    _ => keys.push((key, vec![value])),
                }
            }
            Ok(keys)
        })
    }

    /// Returns the number of matching jobs, and a page of them, oldest first.
    pub(crate) fn jobs_with_tags(
        &self,
        project: &str,
        query: &TagQuery<'_>,
        offset: usize,
        limit: usize,
    ) -> rusqlite::Result<(u64, Vec<TaggedJob>)> {
        self.database.read(|connection| {
            let (condition, mut values) = query.condition(project)?;
            let sql = format!("SELECT count(*) FROM jobs WHERE {condition}");
            let mut select = connection.prepare_cached(&sql)?;
            let total = select.query_row(params_from_iter(&values), |row| row.get(0))?;
            let sql = format!(
                "SELECT jobs.number, id, name, workspace FROM jobs
                 JOIN job_groups ON job_groups.number = job_group
                 WHERE {condition} ORDER BY jobs.number LIMIT ? OFFSET ?"
            );
            values.extend([sql_number(limit).into(), sql_number(offset).into()]);
            let mut select = connection.prepare_cached(&sql)?;
            let rows = select.query_map(params_from_iter(&values), |row| {
                Ok(TaggedJob {
                    id: row.get(1)?,
                    name: row.get(2)?,
                    workspace: row.get(3)?,
                    tags: tags(connection, row.get(0)?)?,
                })
            })?;
            Ok((total, rows.collect::<Result<_, _>>()?))
        })
    }
}

impl TagQuery<'_> {
    /// Returns the condition as SQL, with its parameters.
    fn condition(&self, project: &str) -> rusqlite::Result<(String, Vec<Value>)> {
        let mut sql = "jobs.project = (SELECT number FROM projects WHERE id = ?)".to_owned();
        let mut values: Vec<Value> = vec![project.to_owned().into()];
        if self.untagged {
            sql.push_str(" AND NOT EXISTS (SELECT 1 FROM tags WHERE job = jobs.number)");
        } else {
            for (key, any) in &self.tags {
                sql.push_str(" AND jobs.number IN (SELECT job FROM tags WHERE ");
                push_tag_test(&mut sql, &mut values, key, any)?;
                sql.push(')');
            }
        }
        if let Some(workspace) = self.workspace {
            sql.push_str(" AND job_group IN (SELECT number FROM job_groups WHERE workspace = ?)");
            values.push(workspace.to_owned().into());
        }
        if let Some(name) = self.name {
            sql.push_str(" AND instr(jobs.name, ?) > 0");
            values.push(name.to_owned().into());
        }
        Ok((sql, values))
    }
}

/// Adds a test on a row of `tags`: the key and, if any are given, one of the values.
pub(super) fn push_tag_test(
    sql: &mut String,
    parameters: &mut Vec<Value>,
    key: &str,
    values: &[impl Serialize],
) -> rusqlite::Result<()> {
    sql.push_str("key = ?");
    parameters.push(key.to_owned().into());
    if !values.is_empty() {
        sql.push_str(" AND value IN (SELECT value FROM json_each(?))");
        parameters.push(json_list(values)?);
    }
    Ok(())
}

/// Returns a JSON array for the SQL function `json_each`.
pub(super) fn json_list(values: &[impl Serialize]) -> rusqlite::Result<Value> {
    Ok(serde_json::to_string(values).map_err(write_error)?.into())
}

fn tags(connection: &Connection, number: i64) -> rusqlite::Result<BTreeMap<String, String>> {
    let sql = "SELECT key, value FROM tags WHERE job = ?1";
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map([number], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Converts a number for the SQL clauses LIMIT and OFFSET.
fn sql_number(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
