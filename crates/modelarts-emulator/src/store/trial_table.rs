//! Trials of a job in the database. Each trial is stored in a separate row, so that a report of one
//! trial does not rewrite the others.

use rusqlite::{Connection, params};

use crate::{
    database::{read_error, write_error},
    tuning::trial::Trial,
};

/// Stores the changed trials. An empty list means that a new search starts, and removes all rows.
pub(crate) fn save(
    connection: &Connection,
    job: i64,
    trials: &mut [Trial],
) -> rusqlite::Result<()> {
    if trials.is_empty() {
        let sql = "DELETE FROM trials WHERE job = ?1";
        connection.prepare_cached(sql)?.execute([job])?;
    }
    for trial in trials.iter_mut().filter(|trial| trial.changed) {
        let sql = "INSERT INTO trials (job, place, trial) VALUES (?1, ?2, ?3)
                   ON CONFLICT DO UPDATE SET trial = excluded.trial";
        let text = serde_json::to_string(trial).map_err(write_error)?;
        connection.prepare_cached(sql)?.execute(params![job, trial.index, text])?;
        trial.changed = false;
    }
    Ok(())
}

pub(crate) fn load(connection: &Connection, job: i64) -> rusqlite::Result<Vec<Trial>> {
    let sql = "SELECT trial FROM trials WHERE job = ?1 ORDER BY place";
    let mut select = connection.prepare_cached(sql)?;
    let trials = select.query_map([job], |row| {
        serde_json::from_str(row.get_ref(0)?.as_str()?).map_err(read_error)
    })?;
    trials.collect()
}
