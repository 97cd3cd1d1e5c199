//! Measures the memory usage of reading a list of a million events.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::TryStreamExt;

use crate::{calls, canned::JOB_ID, server::Server};

const EVENTS: u64 = 1_000_000;
/// Number of events between two measurements of the memory.
const STEP: u64 = 10_000;

/// Streams a million events, with the default number of pages in flight.
#[tokio::main(flavor = "current_thread")]
pub async fn measure() -> Result<()> {
    if !cfg!(target_os = "linux") {
        println!("Memory of a long list: skipped, this system has no /proc\n");
        return Ok(());
    }
    let server = Server::with_events(EVENTS, Duration::ZERO)?;
    let client = calls::client(&server.url)?;
    let job = client.training_jobs().get(JOB_ID).await?;
    let before = resident()?;
    let mut most = before;
    let mut count = 0;
    let mut events = job.events().stream();
    while events.try_next().await?.is_some() {
        count += 1;
        if count % STEP == 0 {
            most = most.max(resident()?);
        }
    }
    ensure!(count == EVENTS, "{count} events were listed");
    println!("Streaming {EVENTS} events; resident memory, measured every {STEP}:\n");
    println!("| | MiB |\n|---|---|");
    println!("| before | {:.1} |", mib(before));
    println!("| maximum | {:.1} |", mib(most));
    println!(
        "| **growth** (target: at most 10) | **{:.1}** |\n",
        mib(most - before)
    );
    Ok(())
}

fn mib(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

/// Returns the resident memory of this process, in kilobytes.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("there is no VmRSS")?.parse()?)
}
