//! Measures the emulator: responses per second, and ten thousand jobs from creation to completion.

pub mod listing;

use std::{
    collections::BTreeSet,
    future::Future,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, ensure};
use modelarts_emulator::{Emulator, Timing, jobs::RunnerKind, script::Script};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::calls;

const CONNECTIONS: usize = 32;
const JOBS: usize = 10_000;
/// Number of responses of each kind that are measured.
const ANSWERS: usize = 20_000;
/// Maximum time from the creation of the first job to the completion of all jobs.
const TARGET: Duration = Duration::from_secs(60);
/// Maximum growth of the emulator's memory in megabytes, independent of the number of jobs;
/// includes the caches of the database.
const GROWTH: u64 = 64;
const TOKEN: &str = "bench";
/// Script of the simulated jobs: each job writes one line to its log.
const SCRIPT: &str = r#"{"default": [{"log": ["done"]}]}"#;
/// Number of events of a simulated job: job created, queuing, three pod events, running, task
/// started, task finished, completed, billed.
const EVENTS: usize = 10;

/// Runs an emulator until its standard input ends; [`measure`] starts this process.
#[tokio::main]
pub async fn serve(place: &Path) -> Result<()> {
    let emulator = Emulator::builder()
        .data_dir(place.join("data"))
        .obs_root(place.join("obs"))
        .token(TOKEN)
        .job_quota(u32::MAX)
        .timing(Timing::instant())
        .runner(RunnerKind::Simulated(Script::from_json(SCRIPT)?))
        .start()
        .await?;
    println!("{}/v2/{}", emulator.url(), emulator.project_id());
    std::io::stdout().flush()?;
    // The parent process writes no input, so this read returns only when the parent ends.
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await??;
    emulator.shutdown().await;
    Ok(())
}

/// Measures an emulator in a separate process.
#[tokio::main]
pub async fn measure() -> Result<()> {
    let place = tempfile::tempdir()?;
    let site = Arc::new(Site::start(place.path())?);
    let id = site.create("measured").await?;
    site.completed(1).await?;
    println!(
        "{CONNECTIONS} connections, {ANSWERS} responses of each kind; jobs are simulated without delays and stored in SQLite:\n"
    );
    println!("| | responses per second |\n|---|---|");
    for (name, path) in [
        ("show", format!("/training-jobs/{id}")),
        ("events", format!("/training-jobs/{id}/events")),
    ] {
        let path: Arc<str> = path.into();
        let round = |site: Arc<Site>, _| {
            let path = Arc::clone(&path);
            async move { site.get(&path).await.map(|_| ()) }
        };
        // Opens the connections with a round that is not measured.
        all(&site, CONNECTIONS, round).await?;
        let begin = Instant::now();
        all(&site, ANSWERS, round).await?;
        let rate = ANSWERS as f64 / begin.elapsed().as_secs_f64();
        println!("| {name} | {rate:.0} |");
    }

    let before = site.memory();
    let begin = Instant::now();
    let names = |at: usize| format!("job-{at}");
    all(&site, JOBS, |site, at| async move {
        site.create(&format!("job-{at}")).await.map(|_| ())
    })
    .await?;
    let created = begin.elapsed();
    site.completed(JOBS + 1).await?;
    let completed = begin.elapsed();
    ensure!(completed < TARGET, "{completed:?} is too long");
    let after = site.memory();

    let listed = site.list().await?;
    let mut expected: BTreeSet<String> = (0..JOBS).map(names).collect();
    expected.insert("measured".to_owned());
    let found: BTreeSet<String> = listed.iter().map(|(name, _)| name.clone()).collect();
    ensure!(
        listed.len() == found.len() && found == expected,
        "jobs are lost or double"
    );
    let ids: Arc<Vec<String>> = Arc::new(listed.into_iter().map(|(_, id)| id).collect());
    all(&site, ids.len(), |site, at| {
        let ids = Arc::clone(&ids);
        async move { site.check(&ids[at]).await }
    })
    .await?;

    println!("\n| {JOBS} jobs | |\n|---|---|");
    println!("| all created after | {:.1} s |", created.as_secs_f64());
    println!(
        "| **all completed after** (target: at most {} s) | **{:.1} s** |",
        TARGET.as_secs(),
        completed.as_secs_f64()
    );
    println!("| errors, jobs lost, events lost, log lines lost | 0 |");
    println!(
        "| memory before, after | {} MB, {} MB |\n",
        megabytes(before),
        megabytes(after)
    );
    ensure_bounded(before, after)
}

/// Runs `work` the given number of times, on all connections in parallel.
async fn all<W>(site: &Arc<Site>, times: usize, work: impl Fn(Arc<Site>, usize) -> W) -> Result<()>
where
    W: Future<Output = Result<()>> + Send + 'static,
{
    let next = AtomicUsize::new(0);
    let mut running = JoinSet::new();
    let start = |running: &mut JoinSet<Result<()>>| {
        let at = next.fetch_add(1, Ordering::Relaxed);
        if at < times {
            running.spawn(work(Arc::clone(site), at));
        }
    };
    for _ in 0..CONNECTIONS {
        start(&mut running);
    }
    while let Some(done) = running.join_next().await {
        done??;
        start(&mut running);
    }
    Ok(())
}

/// Running emulator with HTTP connections to it. The emulator ends when this value is dropped.
pub struct Site {
    child: Child,
    http: reqwest::Client,
    project: String,
}

impl Site {
    pub fn start(place: &Path) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("emulate")
            .arg(place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("the emulator has no output")?;
        let mut project = String::new();
        BufReader::new(out).read_line(&mut project)?;
        Ok(Self {
            child,
            http: calls::client_by_hand()?,
            project: project.trim().to_owned(),
        })
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Value> {
        let response = request.header("x-auth-token", TOKEN).send().await?;
        let status = response.status();
        let text = response.text().await?;
        ensure!(status.is_success(), "{status}: {text}");
        Ok(serde_json::from_str(&text)?)
    }

    async fn get(&self, path: &str) -> Result<Value> {
        let url = format!("{}{path}", self.project);
        self.send(self.http.get(url)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let url = format!("{}{path}", self.project);
        self.send(self.http.post(url).json(body)).await
    }

    /// Creates jobs in past states through the seed route of the emulator.
    pub async fn seed(&self, seeds: &Value) -> Result<()> {
        let (origin, _) = self.project.split_once("/v2/").context("no project")?;
        let request = self.http.post(format!("{origin}/_emulator/seeds"));
        self.send(request.json(seeds)).await.map(|_| ())
    }

    async fn create(&self, name: &str) -> Result<String> {
        let job = json!({
            "kind": "job",
            "metadata": {"name": name},
            "algorithm": {"engine": {"image_url": "org/image:1"}, "command": "python train.py"},
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
        });
        let created = self.post("/training-jobs", &job).await?;
        let id = created["metadata"]["id"].as_str();
        id.map(str::to_owned)
            .ok_or_else(|| anyhow!("no id in {created}"))
    }

    /// Waits until the given number of jobs have completed.
    async fn completed(&self, count: usize) -> Result<()> {
        let phase = json!({"key": "phase", "operator": "in", "value": ["Completed"]});
        let search = json!({"limit": 1, "filters": [phase]});
        let begin = Instant::now();
        loop {
            let found = self.post("/training-job-searches", &search).await?;
            if found["count"] == count {
                return Ok(());
            }
            ensure!(
                begin.elapsed() < 2 * TARGET,
                "only {} are completed",
                found["count"]
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the names and ids of all jobs.
    async fn list(&self) -> Result<Vec<(String, String)>> {
        let mut jobs = Vec::new();
        loop {
            let search = json!({"limit": 50, "offset": jobs.len() / 50, "order": "asc"});
            let page = self.post("/training-job-searches", &search).await?;
            let items = page["items"].as_array().context("no items")?;
            for item in items {
                let text = |name: &str| item["metadata"][name].as_str().map(str::to_owned);
                jobs.push(text("name").zip(text("id")).context("no name or id")?);
            }
            if items.len() < 50 {
                return Ok(jobs);
            }
        }
    }

    /// Checks that all events and the log of a job can be read.
    async fn check(&self, id: &str) -> Result<()> {
        let job = self.get(&format!("/training-jobs/{id}")).await?;
        ensure!(job["status"]["phase"] == "Completed", "{job}");
        let path = format!("/training-jobs/{id}/events");
        let begin = Instant::now();
        // The emulator writes the last event shortly after the completion of the job.
        loop {
            let events = self.get(&path).await?;
            if events["total"] == EVENTS {
                break;
            }
            ensure!(begin.elapsed() < TARGET, "{events}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let path = format!("/training-jobs/{id}/tasks/worker-0/logs/preview");
        let log = self.get(&path).await?;
        ensure!(log["content"] == "done\n", "{log}");
        Ok(())
    }

    /// Returns the resident memory of the emulator in megabytes; `None` on systems without `/proc`.
    pub fn memory(&self) -> Option<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kilobytes / 1024)
    }
}

/// Formats a memory size for the tables.
pub fn megabytes(memory: Option<u64>) -> String {
    memory.map_or_else(|| "?".to_owned(), |megabytes| megabytes.to_string())
}

/// Fails if memory has grown by more than [`GROWTH`].
pub fn ensure_bounded(before: Option<u64>, after: Option<u64>) -> Result<()> {
    if let (Some(before), Some(after)) = (before, after) {
        ensure!(
            after <= before + GROWTH,
            "memory: {after} MB against {before} MB"
        );
    }
    Ok(())
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
