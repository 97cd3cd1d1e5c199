//! Rows of a job in all tables of the database.

use std::{collections::BTreeMap, sync::Arc};

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use crate::{
    api::error::ApiError,
    clock::timestamp::Timestamp,
    database::{read_error, write_error},
    job::{Job, address::network, event::Event, request::JobRequest},
    store::creation_counts,
    tuning::trial::Trial,
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    number: i64,
    project: i64,
    group: i64,
    columns: Columns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Columns {
    /// Phase of the job, which is the only property of its group that can change.
    phase: &'static str,
    open: bool,
    /// Network of the job's addresses; `None` before the job gets nodes for the first time.
    network: Option<u16>,
}

impl Columns {
    fn of(job: &Job) -> Self {
        Self {
            phase: job.state.phase(),
            open: job.is_open(),
            network: job.history.started.map(|_| network(&job.id)),
        }
    }
}

/// Returns the row id of a project that contains or contained a job; `None` for others.
pub(super) fn known_project(connection: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
    let mut select = connection.prepare_cached("SELECT number FROM projects WHERE id = ?1")?;
    select.query_row([id], |row| row.get(0)).optional()
}

fn group(connection: &Connection, project: i64, job: &Job) -> rusqlite::Result<i64> {
    let traits = params![
        project,
        job.request.workspace_id,
        job.owner.user_id,
        job.request.text("/kind"),
        job.request.text("/spec/runtime_type"),
        job.state.phase(),
    ];
    let mut select = connection.prepare_cached(
        "SELECT number FROM job_groups WHERE project = ?1 AND workspace = ?2 AND user_id = ?3
         AND kind = ?4 AND runtime = ?5 AND phase = ?6",
    )?;
    if let Some(number) = select.query_row(traits, |row| row.get(0)).optional()? {
        return Ok(number);
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO job_groups (project, workspace, user_id, kind, runtime, phase)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    insert.execute(traits)?;
    Ok(connection.last_insert_rowid())
}

pub(crate) fn count(connection: &Connection, project: &str) -> rusqlite::Result<u64> {
    let sql = "SELECT coalesce(sum(jobs), 0) FROM job_groups
               WHERE project = (SELECT number FROM projects WHERE id = ?1)";
    let mut select = connection.prepare_cached(sql)?;
    select.query_row([project], |row| row.get(0))
}

pub(crate) fn ids_after(
    connection: &Connection,
    number: i64,
    many: u32,
) -> rusqlite::Result<Vec<(i64, String)>> {
    let sql = "SELECT number, id FROM jobs WHERE number > ?1 ORDER BY number LIMIT ?2";
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map(params![number, many], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

pub(crate) fn is_taken(
    connection: &Connection,
    project: &str,
    name: &str,
) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM jobs WHERE name = ?2
               AND project = (SELECT number FROM projects WHERE id = ?1)";
    connection.prepare_cached(sql)?.exists([project, name])
}

/// Inserts a new job. Returns an error if the name is taken or the project has `quota` jobs.
pub(super) fn insert_new(
    connection: &Connection,
    job: &mut Job,
    quota: usize,
) -> rusqlite::Result<Result<Row, ApiError>> {
    let project = match known_project(connection, &job.owner.project)? {
        Some(project) => {
            if is_taken(connection, &job.owner.project, &job.request.name)? {
                return Ok(Err(ApiError::of(2751, &[&job.request.name])));
            }
            if count(connection, &job.owner.project)? >= quota as u64 {
                return Ok(Err(ApiError::of(2815, &["job-num"])));
            }
            project
        }
        None => {
            let sql = "INSERT INTO projects (id) VALUES (?1)";
            connection.execute(sql, [&job.owner.project])?;
            connection.last_insert_rowid()
        }
    };
    insert(connection, job, project).map(Ok)
}

fn insert(connection: &Connection, job: &mut Job, project: i64) -> rusqlite::Result<Row> {
    let group = group(connection, project, job)?;
    let columns = Columns::of(job);
    let mut insert = connection.prepare_cached(
        "INSERT INTO jobs
         (id, project, job_group, created, name, algorithm, experiment, network, nodes, open)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let request = &job.request;
    insert.execute(params![
        job.id,
        project,
        group,
        job.history.created.millis(),
        request.name,
        request.algorithm_name,
        request.text("/metadata/training_experiment_reference/id"),
        columns.network,
        request.node_count,
        columns.open,
    ])?;
    let number = connection.last_insert_rowid();
    creation_counts::add(connection, group, job.history.created.millis(), 1)?;
    connection
        .prepare_cached("INSERT INTO job_names (rowid, name, algorithm) VALUES (?1, ?2, ?3)")?
        .execute(params![number, request.name, request.algorithm_name])?;
    let given = serde_json::to_string(&request.body).map_err(write_error)?;
    connection
        .prepare_cached("INSERT INTO requests (job, request) VALUES (?1, ?2)")?
        .execute(params![number, given])?;
    save_state(connection, number, job)?;
    save_trials(connection, number, &mut job.trials)?;
    save_tags(connection, number, &job.settings.tags)?;
    Ok(Row { number, project, group, columns })
}

/// Stores the changes of a job. `tags` are the tags that are already stored.
pub(crate) fn save(
    connection: &Connection,
    row: &mut Row,
    job: &mut Job,
    tags: &BTreeMap<String, String>,
) -> rusqlite::Result<()> {
    let columns = Columns::of(job);
    if columns.phase != row.columns.phase {
        creation_counts::add(connection, row.group, job.history.created.millis(), -1)?;
        row.group = group(connection, row.project, job)?;
        creation_counts::add(connection, row.group, job.history.created.millis(), 1)?;
    }
    if columns != row.columns {
        row.columns = columns;
        let sql = "UPDATE jobs SET job_group = ?2, open = ?3, network = ?4 WHERE number = ?1";
        connection.prepare_cached(sql)?.execute(params![
            row.number,
            row.group,
            columns.open,
            columns.network
        ])?;
    }
    save_state(connection, row.number, job)?;
    if job.request.tuning.is_some() {
        save_trials(connection, row.number, &mut job.trials)?;
    }
    if *tags != job.settings.tags {
        save_tags(connection, row.number, &job.settings.tags)?;
    }
    Ok(())
}

fn save_state(connection: &Connection, number: i64, job: &mut Job) -> rusqlite::Result<()> {
    let state = serde_json::to_string(job).map_err(write_error)?;
    connection
        .prepare_cached(
            "INSERT INTO states (job, state) VALUES (?1, ?2)
             ON CONFLICT DO UPDATE SET state = excluded.state WHERE state <> excluded.state",
        )?
        .execute(params![number, state])?;
    for event in job.events.drain(..) {
        append(connection, &job.id, &event)?;
    }
    Ok(())
}

pub(crate) fn append(connection: &Connection, id: &str, event: &Event) -> rusqlite::Result<()> {
    let kind = serde_json::to_string(&event.kind).map_err(write_error)?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO events (job, place, time, kind) SELECT
         number, (SELECT coalesce(max(place), 0) + 1 FROM events WHERE job = number), ?2, ?3
         FROM jobs WHERE id = ?1",
    )?;
    insert.execute(params![id, event.time.millis(), kind])?;
    Ok(())
}

fn save_tags(
    connection: &Connection,
    number: i64,
    tags: &BTreeMap<String, String>,
) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM tags WHERE job = ?1")?.execute([number])?;
    let sql = "INSERT INTO tags (job, key, value) VALUES (?1, ?2, ?3)";
    let mut insert = connection.prepare_cached(sql)?;
    for (key, value) in tags {
        insert.execute(params![number, key, value])?;
    }
    Ok(())
}

pub(crate) fn load(connection: &Connection, id: &str) -> rusqlite::Result<Option<(Row, Job)>> {
    let mut select = connection.prepare_cached(
        "SELECT number, project, job_group, open, request, state FROM jobs
         JOIN requests ON requests.job = number JOIN states ON states.job = number
         WHERE id = ?1",
    )?;
    let found = select.query_row([id], |row| {
        let mut job = read(row.get_ref(4)?.as_str()?, row.get_ref(5)?.as_str()?)?;
        job.trials = load_trials(connection, row.get(0)?)?;
        let row = Row {
            number: row.get(0)?,
            project: row.get(1)?,
            group: row.get(2)?,
            columns: Columns { open: row.get(3)?, ..Columns::of(&job) },
        };
        Ok((row, job))
    });
    found.optional()
}

/// Parses a job from its stored request and state, without events and trials.
pub(crate) fn read(request: &str, state: &str) -> rusqlite::Result<Job> {
    let given: Value = serde_json::from_str(request).map_err(read_error)?;
    let request = JobRequest::read(given)
        .map_err(|error| read_error(std::io::Error::other(format!("{error:?}"))))?;
    let mut job: Job = serde_json::from_str(state).map_err(read_error)?;
    job.request = Arc::new(request);
    Ok(job)
}

pub(crate) fn events(connection: &Connection, id: &str) -> rusqlite::Result<Vec<Event>> {
    let mut select = connection.prepare_cached(
        "SELECT time, kind FROM events
         WHERE job = (SELECT number FROM jobs WHERE id = ?1) ORDER BY place",
    )?;
    let rows = select.query_map([id], |row| {
        Ok(Event {
            time: Timestamp::from_millis(row.get(0)?),
            kind: serde_json::from_str(row.get_ref(1)?.as_str()?).map_err(read_error)?,
        })
    })?;
    rows.collect()
}

pub(crate) fn remove(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    let sql = "SELECT number, job_group, created FROM jobs WHERE id = ?1";
    let found = connection
        .prepare_cached(sql)?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((number, group, created)) = found else {
        return Ok(());
    };
    let _: i64 = number;
    creation_counts::add(connection, group, created, -1)?;
    for sql in [
        "DELETE FROM jobs WHERE number = ?1",
        "DELETE FROM job_names WHERE rowid = ?1",
        "DELETE FROM requests WHERE job = ?1",
        "DELETE FROM states WHERE job = ?1",
        "DELETE FROM events WHERE job = ?1",
        "DELETE FROM trials WHERE job = ?1",
        "DELETE FROM tags WHERE job = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([number])?;
    }
    Ok(())
}

/// Stores the changed trials. A shorter list means that a new search has started.
fn save_trials(connection: &Connection, job: i64, trials: &mut [Trial]) -> rusqlite::Result<()> {
    let sql = "DELETE FROM trials WHERE job = ?1 AND place >= ?2";
    connection.prepare_cached(sql)?.execute(params![job, trials.len()])?;
    for trial in trials.iter_mut().filter(|trial| trial.changed) {
        let sql = "INSERT INTO trials (job, place, trial) VALUES (?1, ?2, ?3)
                   ON CONFLICT DO UPDATE SET trial = excluded.trial";
        let text = serde_json::to_string(trial).map_err(write_error)?;
        connection.prepare_cached(sql)?.execute(params![job, trial.index, text])?;
        trial.changed = false;
    }
    Ok(())
}

fn load_trials(connection: &Connection, job: i64) -> rusqlite::Result<Vec<Trial>> {
    let sql = "SELECT trial FROM trials WHERE job = ?1 ORDER BY place";
    let mut select = connection.prepare_cached(sql)?;
    let trials = select.query_map([job], |row| {
        serde_json::from_str(row.get_ref(0)?.as_str()?).map_err(read_error)
    })?;
    trials.collect()
}
