//! Metrics of workers, with one value for each minute.

pub(crate) mod series;
pub(crate) mod usage;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};
#[cfg(feature = "slurm")]
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    catalog::flavors::Flavor,
    clock::timestamp::Timestamp,
    database::{Database, read_error, write_error},
    job::worker::Worker,
    metrics::{
        series::{
            GAP, MAX_MINUTES, Minutes, ScriptedSeries, Values, WARM_UP, append_minutes,
            metrics_json,
        },
        usage::Usage,
    },
};

#[derive(Debug)]
pub(crate) struct Metrics {
    database: Arc<Database>,
    /// Series of running workers whose values come from a script, by pod.
    scripted: Mutex<HashMap<String, ScriptedSeries>>,
}

impl Metrics {
    pub(crate) fn new(database: &Arc<Database>) -> Self {
        Self { database: Arc::clone(database), scripted: Mutex::default() }
    }

    pub(crate) fn add_sample(
        &self,
        worker: &Worker,
        (before, earlier): (Timestamp, Usage),
        (now, usage): (Timestamp, Usage),
    ) {
        let elapsed = now.since(before).as_secs_f64() * 1000.0;
        if elapsed <= 0.0 {
            return;
        }
        let (cores, gigabytes) = worker.request.flavor().map_or((8, 32), Flavor::size);
        let used = usage.cpu_millis.saturating_sub(earlier.cpu_millis) as f64;
        let cpu = 100.0 * used / elapsed / f64::from(cores);
        let memory = 100.0 * usage.memory as f64 / (f64::from(gigabytes) * f64::from(1 << 30));
        let pod = worker.pod();
        let added = self.database.write(|connection| {
            let (series, start) = match series_row(connection, &pod)? {
                Some(known) => known,
                None => {
                    let sql = "INSERT INTO series (pod, start) VALUES (?1, ?2)";
                    connection.execute(sql, params![pod, before.millis()])?;
                    (connection.last_insert_rowid(), before.millis())
                }
            };
            let minute = (now.millis() - start).div_euclid(60_000);
            // The minute is negative if the clock was set back.
            if minute < 0 {
                return Ok(());
            }
            let sql = "INSERT INTO minutes (series, minute, samples, cpu, memory)
                       VALUES (?1, ?2, 1, ?3, ?4)
                       ON CONFLICT DO UPDATE SET samples = samples + 1,
                       cpu = cpu + excluded.cpu, memory = memory + excluded.memory";
            let values = params![series, minute, cpu.min(100.0), memory.min(100.0)];
            connection.prepare_cached(sql)?.execute(values)?;
            let sql = "DELETE FROM minutes WHERE series = ?1 AND minute <= ?2";
            let mut forget = connection.prepare_cached(sql)?;
            forget.execute([series, minute - MAX_MINUTES as i64])?;
            Ok(())
        });
        if let Err(error) = added {
            tracing::error!(pod, %error, "a sample cannot be stored");
        }
    }

    /// Returns the measured minutes of a pod from the minute `from` on, if it has a sample.
    #[cfg(all(feature = "slurm", feature = "cli"))]
    pub(crate) fn rows(&self, pod: &str, from: i64) -> rusqlite::Result<Option<MinuteRows>> {
        self.database.read(|connection| {
            let Some((series, start)) = series_row(connection, pod)? else {
                return Ok(None);
            };
            let sql = "SELECT minute, samples, cpu, memory FROM minutes
                       WHERE series = ?1 AND minute >= ?2 ORDER BY minute";
            let mut select = connection.prepare_cached(sql)?;
            let rows = select.query_map([series, from], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?;
            let rows = rows.collect::<rusqlite::Result<_>>()?;
            Ok(Some(MinuteRows { pod: pod.to_owned(), start, rows }))
        })
    }

    /// Stores minutes that another program has measured. They replace those that are stored.
    #[cfg(feature = "slurm")]
    pub(crate) fn set_rows(&self, minutes: &MinuteRows) -> rusqlite::Result<()> {
        let MinuteRows { pod, start, rows } = minutes;
        self.database.write(|connection| {
            let sql = "INSERT OR IGNORE INTO series (pod, start) VALUES (?1, ?2)";
            connection.prepare_cached(sql)?.execute(params![pod, start])?;
            let sql = "INSERT OR REPLACE INTO minutes (series, minute, samples, cpu, memory)
                       SELECT number, ?2, ?3, ?4, ?5 FROM series WHERE pod = ?1";
            let mut insert = connection.prepare_cached(sql)?;
            // A later submission measures from its own start.
            let stored = series_row(connection, pod)?.map_or(*start, |(_, stored)| stored);
            let later = (start - stored).div_euclid(60_000);
            for (minute, samples, cpu, memory) in rows {
                insert.execute(params![pod, minute + later, samples, cpu, memory])?;
            }
            Ok(())
        })
    }

    /// Returns all six series of a pod at `now`, or `None` if it has no sample.
    pub(crate) fn show(&self, pod: &str, now: Timestamp) -> rusqlite::Result<Option<Value>> {
        let minutes = match self.scripted_minutes(pod, now)? {
            Some(scripted) => Some(scripted),
            None => self.measured_minutes(pod)?,
        };
        Ok(minutes.map(metrics_json))
    }

    /// Returns the measured processor and memory usage by minute. Accelerators are not measured.
    fn measured_minutes(&self, pod: &str) -> rusqlite::Result<Option<Minutes>> {
        self.database.read(|connection| {
            let Some((series, _)) = series_row(connection, pod)? else {
                return Ok(None);
            };
            let sql = "SELECT minute, cpu / samples, memory / samples FROM minutes
                       WHERE series = ?1 ORDER BY minute";
            let mut select = connection.prepare_cached(sql)?;
            let mut rows = select.query([series])?;
            let [mut cpu, mut memory] = [Vec::new(), Vec::new()];
            while let Some(row) = rows.next()? {
                let minute = row.get(0)?;
                for (column, values) in [(1, &mut cpu), (2, &mut memory)] {
                    let mean: f64 = row.get(column)?;
                    values.resize(minute, GAP);
                    values.push(if minute < WARM_UP {
                        GAP
                    } else {
                        (mean * 1000.0).round() / 1000.0
                    });
                }
            }
            let series = [("cpuUsage", cpu), ("memUsage", memory)];
            let minutes = series.map(|(name, values)| (name.to_owned(), values));
            Ok(Some(append_minutes(None, minutes.into())))
        })
    }

    pub(crate) fn remove(&self, pod: &str) {
        self.scripted.lock().remove(pod);
        let removed = self.database.write(|connection| {
            connection.execute("DELETE FROM given_metrics WHERE pod = ?1", [pod])?;
            if let Some((series, _)) = series_row(connection, pod)? {
                connection.execute("DELETE FROM minutes WHERE series = ?1", [series])?;
                connection.execute("DELETE FROM series WHERE number = ?1", [series])?;
            }
            Ok(())
        });
        if let Err(error) = removed {
            tracing::error!(pod, %error, "the metrics of a pod cannot be removed");
        }
    }

    // ---- values from the script of a simulated job, or from a seed ----

    pub(crate) fn begin_scripted(
        &self,
        pod: String,
        now: Timestamp,
        values: BTreeMap<String, Values>,
    ) {
        let scripted = ScriptedSeries { start: now, values };
        self.scripted.lock().insert(pod, scripted);
    }

    /// Ends the series of a worker, and stores its minutes after those of earlier runs.
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

    fn scripted_minutes(&self, pod: &str, now: Timestamp) -> rusqlite::Result<Option<Minutes>> {
        let stored = self.stored_minutes(pod)?;
        let scripted = self.scripted.lock();
        Ok(match scripted.get(pod).and_then(|running| running.minutes(now)) {
            Some(running) => Some(append_minutes(stored, running)),
            None => stored,
        })
    }
}

/// Measured minutes of a pod: the minute since `start` in milliseconds, the number of samples, and
/// the sums of their processor and memory usage in percent.
#[cfg(feature = "slurm")]
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MinuteRows {
    pub(crate) pod: String,
    pub(crate) start: i64,
    pub(crate) rows: Vec<(i64, i64, f64, f64)>,
}

/// Returns the row id and the start in milliseconds of the series of a pod, if it exists.
fn series_row(connection: &Connection, pod: &str) -> rusqlite::Result<Option<(i64, i64)>> {
    let sql = "SELECT number, start FROM series WHERE pod = ?1";
    let mut select = connection.prepare_cached(sql)?;
    let found = select.query_row([pod], |row| Ok((row.get(0)?, row.get(1)?)));
    found.optional()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::request::JobRequest;

    fn worker() -> Worker {
        let request = Arc::new(JobRequest { node_count: 1, ..JobRequest::default() });
        Worker::all("id", &request).next().unwrap()
    }

    #[test]
    fn samples_survive_and_go_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.sqlite3");
        let worker = worker();
        let minute = |at: i64| Timestamp::from_millis(at * 60_000);
        let usage = |cpu_millis| Usage { cpu_millis, memory: 8 << 30 };
        // A quarter of 8 cores and of 32 GB is used for five minutes, with a restart in between.
        for part in [0..3, 3..5] {
            let metrics = Metrics::new(&Arc::new(Database::open(Some(&path)).unwrap()));
            for at in part {
                let used = u64::try_from(at).unwrap() * 2 * 60_000;
                let before = (minute(at), usage(used));
                metrics.add_sample(&worker, before, (minute(at + 1), usage(used + 2 * 60_000)));
            }
        }
        let metrics = Metrics::new(&Arc::new(Database::open(Some(&path)).unwrap()));
        let shown = metrics.show(&worker.pod(), minute(9)).unwrap().unwrap();
        assert_eq!(
            shown["metrics"][0],
            json!({"metric": "cpuUsage", "value": [-1.0, -1.0, 25.0, 25.0, 25.0, 25.0]})
        );
        assert_eq!(shown["metrics"][1]["value"][5], 25.0);
        metrics.remove(&worker.pod());
        assert_eq!(metrics.show(&worker.pod(), minute(9)).unwrap(), None);
    }

    #[test]
    fn the_last_three_days_are_kept() {
        let worker = worker();
        let database = Arc::new(Database::open(None).unwrap());
        let metrics = Metrics::new(&database);
        let minute = |at: i64| Timestamp::from_millis(at * 60_000);
        let usage = |cpu_millis| Usage { cpu_millis, memory: 0 };
        // A quarter of 8 cores is used in the first minute, half of them on the fifth day.
        let day = 24 * 60;
        for (at, used) in [(0, 2), (4 * day, 4)] {
            let after = (minute(at).plus(std::time::Duration::from_secs(59)), usage(used * 59_000));
            metrics.add_sample(&worker, (minute(at), usage(0)), after);
        }
        let shown = metrics.show(&worker.pod(), minute(5 * day)).unwrap().unwrap();
        let cpu = shown["metrics"][0]["value"].as_array().unwrap();
        assert_eq!(cpu.len(), MAX_MINUTES);
        assert_eq!(cpu[MAX_MINUTES - 1], 50.0);
        assert!(cpu[..MAX_MINUTES - 1].iter().all(|value| *value == GAP));
        assert_eq!(shown["metrics"][2]["value"].as_array().unwrap().len(), MAX_MINUTES);
        let left: i64 = database
            .read(|connection| {
                connection.query_row("SELECT count(*) FROM minutes", [], |row| row.get(0))
            })
            .unwrap();
        assert_eq!(left, 1);
    }
}
