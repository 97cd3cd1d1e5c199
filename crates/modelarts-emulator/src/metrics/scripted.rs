//! Values of series that are given, and not measured: by the script of a simulated job, or with a
//! job that was put there.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use crate::{
    clock::Timestamp,
    metrics::{GAP, MOST, Metrics, WARM_UP, rows},
    runner::simulated::script::Values,
};

/// The values of one minute after the other, by series.
type Minutes = BTreeMap<String, Vec<f64>>;

/// A worker that runs.
#[derive(Debug)]
pub(crate) struct Scripted {
    start: Timestamp,
    values: BTreeMap<String, Values>,
}

impl Scripted {
    /// What there is to see at a moment, with the gaps of the first minutes; nothing in the first
    /// second, in which nothing would have been measured.
    fn minutes(&self, now: Timestamp) -> Option<Minutes> {
        let ran = now.since(self.start);
        if ran < Duration::from_secs(1) {
            return None;
        }
        let minutes = usize::try_from(ran.as_secs().div_ceil(60)).unwrap_or(usize::MAX);
        let forgotten = minutes.saturating_sub(MOST);
        let series = self.values.iter().map(|(name, Values(values))| {
            let value = |minute: usize| {
                let value = values.get(minute).or(values.last()).copied();
                value.filter(|_| minute >= WARM_UP).unwrap_or(GAP)
            };
            (name.clone(), (forgotten..minutes).map(value).collect())
        });
        Some(series.collect())
    }
}

impl Metrics {
    /// A worker runs from now on, and has these values.
    pub(crate) fn begin(&self, pod: String, now: Timestamp, values: BTreeMap<String, Values>) {
        let scripted = Scripted { start: now, values };
        self.scripted.lock().insert(pod, scripted);
    }

    /// It has ended. The minutes of a later run follow those of an earlier one.
    pub(crate) fn end(&self, pod: &str, now: Timestamp) {
        let ended = self.scripted.lock().remove(pod);
        if let Some(minutes) = ended.and_then(|ended| ended.minutes(now)) {
            self.give(pod, minutes);
        }
    }

    /// Adds minutes to what a pod has.
    pub(crate) fn give(&self, pod: &str, minutes: Minutes) {
        let given = self.stored(pod).and_then(|stored| {
            let text = serde_json::to_string(&joined(stored, minutes));
            let text = text.map_err(crate::database::unwritable)?;
            self.database.write(|connection| {
                let sql = "INSERT OR REPLACE INTO given_metrics (pod, minutes) VALUES (?1, ?2)";
                connection.execute(sql, params![pod, text])
            })
        });
        if let Err(error) = given {
            tracing::error!(pod, %error, "values are not stored");
        }
    }

    fn stored(&self, pod: &str) -> rusqlite::Result<Option<Minutes>> {
        let sql = "SELECT minutes FROM given_metrics WHERE pod = ?1";
        let text: Option<String> = self.database.read(|connection| {
            let mut select = connection.prepare_cached(sql)?;
            select.query_row([pod], |row| row.get(0)).optional()
        })?;
        text.map(|text| serde_json::from_str(&text).map_err(crate::database::unreadable))
            .transpose()
    }

    /// All that was given to a pod; nothing if nothing was.
    pub(crate) fn given(&self, pod: &str, now: Timestamp) -> rusqlite::Result<Option<Value>> {
        let stored = self.stored(pod)?;
        let scripted = self.scripted.lock();
        let running = scripted.get(pod).and_then(|running| running.minutes(now));
        drop(scripted);
        if stored.is_none() && running.is_none() {
            return Ok(None);
        }
        let minutes = joined(stored, running.unwrap_or_default());
        let most = minutes.values().map(Vec::len).max().unwrap_or_default();
        Ok(Some(rows(|name| {
            let mut values = minutes.get(name).cloned().unwrap_or_default();
            values.resize(most, GAP);
            values
        })))
    }
}

/// The one behind the other, as much of it as is kept.
fn joined(earlier: Option<Minutes>, later: Minutes) -> Minutes {
    let mut minutes = earlier.unwrap_or_default();
    let before = minutes.values().map(Vec::len).max().unwrap_or_default();
    for (name, values) in later {
        let series = minutes.entry(name).or_default();
        series.resize(before, GAP);
        series.extend(values);
    }
    let after = minutes.values().map(Vec::len).max().unwrap_or_default();
    let forgotten = after.saturating_sub(MOST);
    for series in minutes.values_mut() {
        series.drain(..forgotten.min(series.len()));
    }
    minutes
}
