//! Measurements of a wait for ten thousand jobs, which end one after another.

use std::{
    net::TcpListener,
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::IntoResponse,
    routing::{get, post},
};
use futures::{StreamExt, TryStreamExt, stream::FuturesUnordered};
use modelarts_ext::{jobs::wait::Waited, pagination::PageStream};
use serde_json::{Value, json};

use crate::{
    get::PROJECT,
    lists::resident,
    server::{response, serve},
};

const JOBS: usize = 10_000;
/// Time from the first request to the first end, and from there to the last end.
const QUIET: Duration = Duration::from_secs(5);
const ENDING: Duration = Duration::from_secs(20);

fn print_header() {
    println!(
        "| wait | requests/s allowed | latency, ms | sent/s | delay of a result, s: median | most | \
         last, s after the last end | memory, MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|");
}

/// Measures waits for all jobs with several limits and latencies.
pub async fn together() -> Result<()> {
    print_header();
    for (rate, latency) in [(200.0, 0), (200.0, 200)] {
        let (url, server) = start(Duration::from_millis(latency))?;
        let waits = crate::get::client(&url)?.training_jobs();
        let ends = waits.wait_all((0..JOBS).map(id)).rate_limit(rate).stream();
        measure(&format!("`wait_all` | {rate} | {latency}"), &server, ends).await?;
    }
    Ok(())
}

/// Measures a wait for each job, without and with a limit of the client.
pub async fn single() -> Result<()> {
    print_header();
    for rate in [None, Some(200.0)] {
        let (url, server) = start(Duration::ZERO)?;
        let builder = crate::get::builder(&url);
        let limited = |rate| crate::get::builder(&url).rate_limit(rate);
        let client = rate.map_or(builder, limited).build()?;
        let waits = (0..JOBS).map(|number| client.training_jobs().job(id(number)));
        let waits = waits.map(|job| job.map(|job| job.wait().into_future()));
        let waits: FuturesUnordered<_> = waits.collect::<Result<_, _>>()?;
        let rate = rate.map_or_else(|| "any".to_owned(), |rate| rate.to_string());
        measure(&format!("10,000 `wait` | {rate} | 0"), &server, waits.boxed()).await?;
    }
    Ok(())
}

/// Reads the ends of all jobs, and prints a row of the table.
async fn measure(name: &str, server: &Jobs, mut ends: PageStream<Waited>) -> Result<()> {
    let before = resident()?;
    let (mut most, mut delays) = (before, Vec::new());
    while let Some(waited) = ends.try_next().await? {
        let end = server.end(number(waited.job().id())?).context("no request was sent")?;
        delays.push(Instant::now().saturating_duration_since(end).as_secs_f64());
        if delays.len() % 500 == 1 {
            most = most.max(resident()?);
        }
    }
    ensure!(delays.len() == JOBS, "{} results", delays.len());
    let sent = server.sent();
    let ended = server.start.get().map_or(Duration::ZERO, Instant::elapsed);
    let last = ended.saturating_sub(QUIET + ENDING).as_secs_f64();
    delays.sort_by(f64::total_cmp);
    let (median, max) = (delays[JOBS / 2], delays[JOBS - 1]);
    let growth = most - before;
    println!(
        "| {name} | {:.1} | {median:.1} | {max:.1} | {last:.1} | {growth:.0} |",
        sent.0 as f64 / sent.1.as_secs_f64(),
    );
    Ok(())
}

fn id(number: usize) -> String {
    format!("{number:08}-0000-4000-8000-000000000000")
}

fn number(id: &str) -> Result<usize> {
    Ok(id.get(..8).context("no number")?.parse()?)
}

/// Server whose job `n` ends at its own time. The jobs are sorted by their creation, newest first.
#[derive(Clone)]
struct Jobs {
    latency: Duration,
    start: Arc<OnceLock<Instant>>,
    requests: Arc<Mutex<Vec<Instant>>>,
}

impl Jobs {
    fn end(&self, number: usize) -> Option<Instant> {
        let start = *self.start.get()?;
        // Neighbours end at different times, as in a sweep.
        let place = (number * 7919 % JOBS) as f64 / JOBS as f64;
        Some(start + QUIET + ENDING.mul_f64(place))
    }

    /// Returns the number of requests, and the time from the first to the last of them.
    fn sent(&self) -> (usize, Duration) {
        let requests = self.requests.lock().map(|all| all.clone()).unwrap_or_default();
        let first_and_last = requests.first().zip(requests.last());
        (requests.len(), first_and_last.map_or(Duration::ZERO, |(first, last)| *last - *first))
    }

    async fn begin(&self) {
        self.start.get_or_init(Instant::now);
        if let Ok(mut requests) = self.requests.lock() {
            requests.push(Instant::now());
        }
        tokio::time::sleep(self.latency).await;
    }

    fn phase(&self, number: usize, now: Instant) -> &'static str {
        match self.end(number).is_some_and(|end| end <= now) {
            true => "Completed",
            false => "Running",
        }
    }

    fn row(&self, number: usize) -> Value {
        let phase = self.phase(number, Instant::now());
        json!({
            "kind": "job",
            "metadata": {
                "id": id(number),
                "name": format!("sweep-{number}"),
                "create_time": 1_768_465_845_000_u64 + number as u64,
            },
            "status": {"phase": phase, "duration": 1000, "tasks": ["worker-0"]},
            "algorithm": {"command": "python train.py", "parameters": []},
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
        })
    }
}

fn start(latency: Duration) -> Result<(String, Jobs)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let url = format!("http://{}", listener.local_addr()?);
    let jobs = Jobs { latency, start: Arc::default(), requests: Arc::default() };
    let app = Router::new()
        .route(&format!("/v2/{PROJECT}/training-job-searches"), post(search))
        .route(&format!("/v2/{PROJECT}/training-jobs/{{id}}"), get(show))
        .with_state(jobs.clone());
    std::thread::spawn(|| serve(listener, app));
    Ok((url, jobs))
}

async fn search(State(jobs): State<Jobs>, Json(body): Json<Value>) -> impl IntoResponse {
    jobs.begin().await;
    let number_of = |key: &str| usize::try_from(body[key].as_u64().unwrap_or(0)).unwrap_or(0);
    let (page, limit) = (number_of("offset"), number_of("limit").max(1));
    let filters = body["filters"].as_array().cloned().unwrap_or_default();
    let texts = |key: &str| {
        let filter = filters.iter().find(|filter| filter["key"] == key)?;
        Some(filter["value"].as_array()?.iter().filter_map(Value::as_str).collect::<Vec<_>>())
    };
    let phases = texts("phase");
    let ids = texts("id").map(|ids| ids.into_iter().filter_map(|id| number(id).ok()).collect());
    let ids: Option<Vec<usize>> = ids;
    // Rows are created only for the page, so that the server is fast.
    let now = Instant::now();
    let holds = |number: &usize| {
        ids.as_ref().is_none_or(|ids| ids.contains(number))
            && phases.as_ref().is_none_or(|all| all.contains(&jobs.phase(*number, now)))
    };
    let found: Vec<_> = (0..JOBS).rev().filter(holds).collect();
    let rows = found.iter().skip(page * limit).take(limit);
    let items: Vec<_> = rows.map(|number| jobs.row(*number)).collect();
    response(json!({"total": found.len(), "count": items.len(), "items": items}).to_string())
}

async fn show(State(jobs): State<Jobs>, path: axum::extract::Path<String>) -> impl IntoResponse {
    jobs.begin().await;
    match number(&path.0) {
        Ok(number) => Ok(response(jobs.row(number).to_string())),
        Err(_) => Err(StatusCode::BAD_REQUEST),
    }
}
