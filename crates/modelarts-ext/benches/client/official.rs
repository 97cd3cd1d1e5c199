//! Measures the official Python SDK, if it is installed.

use std::process::Command;

use anyhow::{Context, Result};

use crate::{
    calls,
    canned::{JOB_ID, PROJECT},
    server::Server,
    timing::median,
};

const ROUNDS: u32 = 5;
const SCRIPT: &str = include_str!("official.py");

/// Compares the processor time for getting a job with the SDK and with the official Python SDK.
#[tokio::main(flavor = "current_thread")]
pub async fn compare(python: &str) -> Result<()> {
    let there = Command::new(python)
        .args(["-c", "import huaweicloudsdkmodelarts"])
        .output();
    if !there.is_ok_and(|output| output.status.success()) {
        println!("Official Python SDK: skipped, {python} has no huaweicloudsdkmodelarts\n");
        return Ok(());
    }
    let server = Server::start()?;
    let client = calls::client(&server.url)?;
    calls::our_round(&client).await?;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let spent = calls::our_round(&client).await?;
        let our = spent.cpu.as_secs_f64() * 1e6 / f64::from(calls::calls());
        let output = Command::new(python)
            .args(["-c", SCRIPT, &server.url, PROJECT, JOB_ID])
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let their: f64 = text.trim().parse().with_context(|| {
            format!(
                "the Python program failed: {}",
                String::from_utf8_lossy(&output.stderr)
            )
        })?;
        ours.push(our);
        theirs.push(their);
        ratios.push(their / our);
    }
    println!("One get of a job over loopback, CPU, {ROUNDS} rounds in turn; medians:\n");
    println!("| | µs per call |\n|---|---|");
    println!("| modelarts-ext | {:.1} |", median(ours));
    println!(
        "| huaweicloudsdkmodelarts (Python) | {:.1} |",
        median(theirs)
    );
    println!(
        "| **times less** (target: at least 10) | **{:.1}** |\n",
        median(ratios)
    );
    Ok(())
}
