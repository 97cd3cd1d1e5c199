//! Measures the emulator's lists of a million jobs, compared with those of ten thousand.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::emulator::{Site, ensure_bounded, megabytes};

const FEW: u64 = 10_000;
const MANY: u64 = 1_000_000;
/// Number of jobs per seed; their creation times are one second apart.
const BATCH: u64 = 10_000;
/// Number of running jobs in both emulators.
const RUNNING: u64 = 100;
const ROUNDS: usize = 15;
const CALLS: usize = 20;
/// Maximum ratio of the two durations for each list.
const TARGET: f64 = 3.0;

/// Emulator that contains jobs, all of them created before `end`.
struct Full {
    site: Site,
    _place: tempfile::TempDir,
    jobs: u64,
    /// Upper limit of the creation times, as Unix time in seconds.
    end: u64,
    memory: Option<u64>,
}

impl Full {
    async fn with(jobs: u64) -> Result<Self> {
        let place = tempfile::tempdir()?;
        let site = Site::start(place.path())?;
        let end = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() - 10;
        let begin = Instant::now();
        for batch in 0..jobs / BATCH {
            // Phases of the jobs: 60 % completed, 30 % failed, 10 % terminated.
            let mut at = end - jobs + batch * BATCH;
            let mut seeds = Vec::new();
            for (phase, share) in [("Completed", 60), ("Failed", 30), ("Terminated", 10)] {
                let count = BATCH * share / 100;
                let time = json!(at * 1000);
                seeds.push(json!({
                    "name": format!("run-{batch}-{phase}-{{n}}"),
                    "count": count,
                    "phase": phase,
                    "created": time,
                }));
                at += count;
            }
            site.seed(&json!({"jobs": seeds})).await?;
        }
        let running = json!({"name": "now-{n}", "count": RUNNING, "phase": "Running"});
        site.seed(&json!({"jobs": [running]})).await?;
        eprintln!("{jobs} jobs after {:.0} s", begin.elapsed().as_secs_f64());
        let memory = site.memory();
        Ok(Self {
            site,
            _place: place,
            jobs,
            end,
            memory,
        })
    }

    /// Returns the time `seconds` seconds before `end`, as Unix time in milliseconds.
    fn ago(&self, seconds: u64) -> String {
        ((self.end - seconds) * 1000).to_string()
    }

    /// Returns the names and the bodies of the measured searches.
    fn searches(&self) -> Vec<(&'static str, Value)> {
        let phase = |phase: &str| json!({"key": "phase", "operator": "in", "value": [phase]});
        let name = |part: &str| json!({"key": "name", "operator": "like", "value": [part]});
        let time = |from: u64, to: u64| {
            let window = [self.ago(from), self.ago(to)];
            json!({"key": "create_time", "operator": "between", "value": window})
        };
        let half = time(self.jobs * 3 / 4, self.jobs / 4);
        vec![
            ("all, the first page", json!({})),
            (
                "all, the page in the middle",
                json!({"offset": self.jobs / 20}),
            ),
            ("failed, 30 % of all", json!({"filters": [phase("Failed")]})),
            (
                "failed, the page in the middle",
                json!({"filters": [phase("Failed")], "offset": self.jobs * 3 / 200}),
            ),
            (
                "running, 100 of all",
                json!({"filters": [phase("Running")]}),
            ),
            (
                "a part of the name, 111 match",
                json!({"filters": [name("run-0-Completed-55")]}),
            ),
            (
                "a part of the name, all match",
                json!({"filters": [name("run-")]}),
            ),
            (
                "a part of the name, 60 % match",
                json!({"filters": [name("Completed")]}),
            ),
            ("one hour", json!({"filters": [time(7200, 3600)]})),
            ("half of the time", json!({"filters": [half]})),
            (
                "failed in half of the time",
                json!({"filters": [half, phase("Failed")]}),
            ),
        ]
    }

    /// Returns the duration of a search in milliseconds.
    async fn time(&self, search: &Value) -> Result<f64> {
        let begin = Instant::now();
        for _ in 0..CALLS {
            let found = self.site.post("/training-job-searches", search).await?;
            let items = found["items"].as_array().context("no items")?;
            ensure!(items.len() == 10, "{search}: {found}");
        }
        Ok(begin.elapsed().as_secs_f64() * 1000.0 / CALLS as f64)
    }
}

/// Measures the lists of both emulators in alternating rounds.
#[tokio::main]
pub async fn measure() -> Result<()> {
    let few = Full::with(FEW).await?;
    let many = Full::with(MANY).await?;
    println!(
        "Pages of 10 jobs over loopback, {ROUNDS} rounds of {CALLS} calls in turn; medians, in milliseconds:\n"
    );
    println!("| list | {FEW} jobs | {MANY} jobs | ratio (target: at most {TARGET}) |");
    println!("|---|---|---|---|");
    let mut missed = Vec::new();
    for ((name, of_few), (_, of_many)) in few.searches().iter().zip(many.searches()) {
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            short.push(few.time(of_few).await?);
            long.push(many.time(&of_many).await?);
        }
        let (short, long) = (median(short), median(long));
        let ratio = long / short;
        println!("| {name} | {short:.2} | {long:.2} | {ratio:.2} |");
        if ratio > TARGET {
            missed.push(*name);
        }
    }
    println!(
        "\nResident memory: {} MB with {FEW} jobs, {} MB with {MANY}; after all lists {} MB and {} MB.\n",
        megabytes(few.memory),
        megabytes(many.memory),
        megabytes(few.site.memory()),
        megabytes(many.site.memory())
    );
    ensure_bounded(few.memory, many.memory)?;
    ensure_bounded(few.site.memory(), many.site.memory())?;
    ensure!(missed.is_empty(), "too slow: {missed:?}");
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
