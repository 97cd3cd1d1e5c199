//! Measurements of long lists of events, and programs that `tool.py` measures.

use std::{
    io::{BufWriter, Write},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use futures::TryStreamExt;
use modelarts_ext::{Client, LogItem};

use crate::{
    get, server,
    timing::{Round, median},
};

const LATENCY: Duration = Duration::from_millis(20);
const SLOW_EVENTS: u64 = 20_000;
const ROUNDS: usize = 5;
const PAGES: usize = 8;
const EVENTS: u64 = 1_000_000;
/// Number of events between two measurements of the memory.
const STEP: u64 = 10_000;

/// Compares reading a list over a slow connection with one page in flight and with several.
pub async fn in_flight() -> Result<()> {
    let url = server::start(SLOW_EVENTS, LATENCY)?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((read(&url, 1).await?, read(&url, PAGES).await?));
    }
    println!(
        "{SLOW_EVENTS} events, {LATENCY:?} for each page, {ROUNDS} rounds in turn; medians:\n"
    );
    println!("| pages in flight | elapsed, s |\n|---|---|");
    println!("| 1 | {:.2} |", median(&rounds, |round| round.0));
    println!("| {PAGES} | {:.2} |", median(&rounds, |round| round.1));
    println!(
        "| **times faster** (target: at least 6) | **{:.1}** |\n",
        median(&rounds, |(one, many)| one / many)
    );
    Ok(())
}

/// Reads all events with a new client, so that no measurement benefits from connections or caches
/// of the previous one. Returns the time in seconds.
async fn read(url: &str, in_flight: usize) -> Result<f64> {
    let client = get::client(url)?;
    let job = client.training_jobs().get(get::JOB_ID).await?;
    let round = Round::start();
    let events = job.events().in_flight(in_flight).stream();
    let count = events.try_fold(0, async |count, _| Ok(count + 1)).await?;
    ensure!(count == SLOW_EVENTS, "{count} events were listed");
    Ok(round.end(1).elapsed / 1e6)
}

/// Measures the memory while a million events are read, with the default number of pages in flight.
pub async fn memory() -> Result<()> {
    let url = server::start(EVENTS, Duration::ZERO)?;
    let client = get::client(&url)?;
    let job = client.training_jobs().get(get::JOB_ID).await?;
    let before = resident()?;
    let (mut most, mut count) = (before, 0);
    let mut events = job.events().stream();
    while events.try_next().await?.is_some() {
        count += 1;
        if count % STEP == 0 {
            most = most.max(resident()?);
        }
    }
    ensure!(count == EVENTS, "{count} events were listed");
    println!("Reading {EVENTS} events; resident memory, measured every {STEP}:\n");
    println!("| | MiB |\n|---|---|\n| before | {before:.1} |\n| maximum | {most:.1} |");
    let growth = most - before;
    println!("| **growth** (target: at most 10) | **{growth:.1}** |\n");
    Ok(())
}

/// Returns the resident memory of this process, in MiB.
pub fn resident() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")
        .context("the memory must be in /proc/self/status, which only Linux has")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("there is no VmRSS")?.parse::<f64>()? / 1024.0)
}

/// Prints the names of the first page of jobs, for `crates/modelarts-cli/benches/tool.py`.
pub async fn first_page() -> Result<()> {
    let client = Client::from_env()?;
    let page = client.training_jobs().list().pages().try_next().await?;
    for job in page.context("there are no jobs")?.items {
        println!("{}", job.name());
    }
    Ok(())
}

/// Follows and prints the log of the job `long`, for `crates/modelarts-cli/benches/tool.py`.
pub async fn follow_log() -> Result<()> {
    let client = Client::from_env()?;
    let job = client.training_jobs().get_by_name("long").await?;
    let mut stdout = BufWriter::new(std::io::stdout().lock());
    let mut lines = job.logs("worker-0").follow();
    while let Some(item) = lines.try_next().await? {
        if let LogItem::Line(line) = item {
            writeln!(stdout, "{line}")?;
        }
    }
    Ok(stdout.flush()?)
}
