//! Series with predefined instead of measured values: from the script of a simulated job, or from a
//! seed.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, params};

use crate::{
    clock::timestamp::Timestamp,
    database::{read_error, write_error},
    metrics::{
        Metrics,
        series::{Minutes, ScriptedSeries, Values, append_minutes},
    },
};

impl Metrics {
    pub(crate) fn begin_scripted(
        &self,
        pod: String,
        now: Timestamp,
        values: BTreeMap<String, Values>,
    ) {
        let scripted = ScriptedSeries { start: now, values };
        self.scripted.lock().insert(pod, scripted);
    }

    /// Ends the series of a worker. The minutes of a later run follow those of an earlier one.
    pub(crate) fn end_scripted(&self, pod: &str, now: Timestamp) {
        let ended = self.scripted.lock().remove(pod);
        if let Some(minutes) = ended.and_then(|ended| ended.minutes(now)) {
            self.add_minutes(pod, minutes);
        }
    }

    pub(crate) fn add_minutes(&self, pod: &str, minutes: Minutes) {
        let given = self.stored_minutes(pod).and_then(|stored| {
            let text = serde_json::to_string(&append_minutes(stored, minutes));
            let text = text.map_err(write_error)?;
            self.database.write(|connection| {
                let sql = "INSERT OR REPLACE INTO given_metrics (pod, minutes) VALUES (?1, ?2)";
                connection.execute(sql, params![pod, text])
            })
        });
        if let Err(error) = given {
            tracing::error!(pod, %error, "metrics cannot be stored");
        }
    }

    fn stored_minutes(&self, pod: &str) -> rusqlite::Result<Option<Minutes>> {
        let sql = "SELECT minutes FROM given_metrics WHERE pod = ?1";
        let text: Option<String> = self.database.read(|connection| {
            let mut select = connection.prepare_cached(sql)?;
            select.query_row([pod], |row| row.get(0)).optional()
        })?;
        text.map(|text| serde_json::from_str(&text).map_err(read_error)).transpose()
    }

    pub(super) fn scripted_minutes(
        &self,
        pod: &str,
        now: Timestamp,
    ) -> rusqlite::Result<Option<Minutes>> {
        let stored = self.stored_minutes(pod)?;
        let scripted = self.scripted.lock();
        Ok(match scripted.get(pod).and_then(|running| running.minutes(now)) {
            Some(running) => Some(append_minutes(stored, running)),
            None => stored,
        })
    }
}
