//! What the workers used, a value for each minute (domain.md section 8).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::clock::Moment;
use crate::flavors::Flavor;
use crate::runner::Worker;
use crate::script::Values;
use crate::usage::Usage;

/// No sample.
const GAP: f64 = -1.0;
/// The first minutes have no samples: the service's sampler warms up.
const WARM_UP: usize = 2;
/// Three days, as long as the console keeps them.
const KEPT: usize = 3 * 24 * 60;

/// The names of the series: always all six.
pub(crate) const SERIES: [&str; 6] = [
    "cpuUsage",
    "memUsage",
    "gpuUtil",
    "gpuMemUsage",
    "npuUtil",
    "npuMemUsage",
];

/// The samples of all workers, by pod.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<HashMap<String, Series>>);

#[derive(Debug)]
enum Series {
    Measured { start: Moment, minutes: Vec<Minute> },
    Scripted(Scripted),
}

/// Values that a script gives, as long as there is somebody to have them.
#[derive(Debug)]
struct Scripted {
    start: Moment,
    /// Nothing: still running.
    end: Option<Moment>,
    values: BTreeMap<String, Values>,
}

impl Scripted {
    fn series(&self, name: &str, minutes: usize) -> Vec<f64> {
        let values = self.values.get(name);
        let value = |minute: usize| {
            let values = &values?.0;
            values.get(minute).or(values.last()).copied()
        };
        (0..minutes)
            .map(|minute| {
                let value = (minute >= WARM_UP).then(|| value(minute)).flatten();
                value.unwrap_or(GAP)
            })
            .collect()
    }
}

/// Means of what was measured; there are no cards on this machine, so no values for them.
fn measured(name: &str, minutes: &[Minute]) -> Vec<f64> {
    let of: fn(&Minute) -> f64 = match name {
        "cpuUsage" => |minute| minute.cpu,
        "memUsage" => |minute| minute.memory,
        _ => return vec![GAP; minutes.len()],
    };
    minutes
        .iter()
        .enumerate()
        .map(|(at, minute)| {
            if at < WARM_UP || minute.samples == 0 {
                return GAP;
            }
            let mean = of(minute) / f64::from(minute.samples);
            (mean * 1000.0).round() / 1000.0
        })
        .collect()
}

#[derive(Clone, Copy, Debug, Default)]
struct Minute {
    samples: u32,
    cpu: f64,
    memory: f64,
}

impl Metrics {
    /// What a worker used between two looks.
    pub(crate) fn add(
        self: Arc<Self>,
        worker: &Worker,
        (before, earlier): (Moment, Usage),
        (now, usage): (Moment, Usage),
    ) {
        let elapsed = now.since(before).as_secs_f64() * 1000.0;
        if elapsed <= 0.0 {
            return;
        }
        let (cores, gigabytes) = worker.request.flavor().map_or((8, 32), Flavor::size);
        let used = usage.cpu_millis.saturating_sub(earlier.cpu_millis) as f64;
        let cpu = 100.0 * used / elapsed / f64::from(cores);
        let memory = 100.0 * usage.memory as f64 / (f64::from(gigabytes) * f64::from(1 << 30));
        let mut all = self.0.lock();
        let series = all.entry(worker.pod()).or_insert_with(|| Series::Measured {
            start: before,
            minutes: Vec::new(),
        });
        let Series::Measured { start, minutes } = series else {
            return;
        };
        let minute = usize::try_from(now.since(*start).as_secs() / 60).unwrap_or(KEPT);
        if minute >= KEPT {
            return;
        }
        if minutes.len() <= minute {
            minutes.resize(minute + 1, Minute::default());
        }
        let minute = &mut minutes[minute];
        minute.samples += 1;
        minute.cpu += cpu.min(100.0);
        minute.memory += memory.min(100.0);
    }

    /// A worker whose values a script gives runs from now on, again perhaps.
    pub(crate) fn begin(&self, pod: String, now: Moment, values: BTreeMap<String, Values>) {
        let mut all = self.0.lock();
        let start = match all.get(&pod) {
            Some(Series::Scripted(earlier)) => earlier.start,
            _ => now,
        };
        let scripted = Scripted {
            start,
            end: None,
            values,
        };
        all.insert(pod, Series::Scripted(scripted));
    }

    /// It has ended. What ran for less than a second leaves nothing, as if it had been measured.
    pub(crate) fn end(&self, pod: &str, now: Moment) {
        let mut all = self.0.lock();
        if let Some(Series::Scripted(scripted)) = all.get_mut(pod) {
            scripted.end = Some(now);
            if now.since(scripted.start) < Duration::from_secs(1) {
                all.remove(pod);
            }
        }
    }

    /// All six series of a pod at a moment; nothing before its first sample.
    pub(crate) fn show(&self, pod: &str, now: Moment) -> Option<Value> {
        let all = self.0.lock();
        let shown = match all.get(pod)? {
            Series::Measured { minutes, .. } => SERIES.map(|name| measured(name, minutes)),
            Series::Scripted(scripted) => {
                let ran = scripted.end.unwrap_or(now).since(scripted.start);
                if ran < Duration::from_secs(1) {
                    return None;
                }
                let minutes = usize::try_from(ran.as_secs().div_ceil(60)).unwrap_or(KEPT);
                SERIES.map(|name| scripted.series(name, minutes.min(KEPT)))
            }
        };
        let metrics: Vec<Value> = SERIES
            .iter()
            .zip(shown)
            .map(|(name, values)| json!({"metric": name, "value": values}))
            .collect();
        Some(json!({"metrics": metrics}))
    }

    /// Forgets a pod.
    pub(crate) fn remove(&self, pod: &str) {
        self.0.lock().remove(pod);
    }
}
