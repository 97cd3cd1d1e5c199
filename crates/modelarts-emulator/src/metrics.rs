//! What the workers used, a value for each minute (domain.md section 8).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::clock::Moment;
use crate::flavors::Flavor;
use crate::runner::Worker;
use crate::usage::Usage;

/// No sample.
const GAP: f64 = -1.0;
/// The first minutes have no samples: the service's sampler warms up.
const WARM_UP: usize = 2;
/// Three days, as long as the console keeps them.
const KEPT: usize = 3 * 24 * 60;

/// The samples of all workers, by pod.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<HashMap<String, Series>>);

#[derive(Debug)]
struct Series {
    start: Moment,
    minutes: Vec<Minute>,
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
        let series = all.entry(worker.pod()).or_insert_with(|| Series {
            start: before,
            minutes: Vec::new(),
        });
        let minute = usize::try_from(now.since(series.start).as_secs() / 60).unwrap_or(KEPT);
        if minute >= KEPT {
            return;
        }
        if series.minutes.len() <= minute {
            series.minutes.resize(minute + 1, Minute::default());
        }
        let minute = &mut series.minutes[minute];
        minute.samples += 1;
        minute.cpu += cpu.min(100.0);
        minute.memory += memory.min(100.0);
    }

    /// All six series of a pod; nothing before its first sample.
    pub(crate) fn show(&self, pod: &str) -> Option<Value> {
        let all = self.0.lock();
        let minutes = &all.get(pod)?.minutes;
        let series = |of: fn(&Minute) -> f64| -> Vec<f64> {
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
        };
        let absent = vec![GAP; minutes.len()];
        Some(json!({"metrics": [
            {"metric": "cpuUsage", "value": series(|minute| minute.cpu)},
            {"metric": "memUsage", "value": series(|minute| minute.memory)},
            {"metric": "gpuUtil", "value": absent},
            {"metric": "gpuMemUsage", "value": absent},
            {"metric": "npuUtil", "value": absent},
            {"metric": "npuMemUsage", "value": absent},
        ]}))
    }

    /// Forgets a pod.
    pub(crate) fn remove(&self, pod: &str) {
        self.0.lock().remove(pod);
    }
}
