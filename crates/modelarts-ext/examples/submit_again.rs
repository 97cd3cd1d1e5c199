//! Submits 30 jobs, is interrupted in the middle, and runs the same call again: the second call
//! adopts the jobs that exist, submits the missing ones, and waits for all:
//! `cargo run --example submit_again`.

mod local;

use anyhow::Context;
use futures::StreamExt;
use modelarts_emulator::{Emulator, Timing, jobs::RunnerKind, script::Script};
use modelarts_ext::{Client, Filter, jobs::SubmitAll};

/// The call that runs again after an interruption.
fn sweep(client: &Client) -> SubmitAll {
    let job = client.training_jobs().create_unnamed();
    let job = job.custom_image("team/image:1").command("train").flavor("modelarts.vm.cpu.8u");
    let jobs =
        (0..30).map(|seed| job.clone().name(format!("again-{seed}")).parameter("seed", seed));
    client.training_jobs().submit_all(jobs).at_most(10).adopt_existing()
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let runner = RunnerKind::Simulated(Script::default());
    let builder = Emulator::builder().timing(Timing::instant()).runner(runner);
    let (emulator, client) = local::start(builder).await?;
    let list = || client.training_jobs().list().filter(Filter::name().like("again-"));

    // The interruption: after 7 results, the stream is dropped with what it was doing.
    let mut results = sweep(&client).stream();
    for _ in 0..7 {
        let (_, result) = results.next().await.context("30 jobs have 30 results")?;
        result?.success()?;
    }
    drop(results);
    println!("interrupted after 7 results; {} jobs exist", list().collect(1000).await?.len());

    for result in sweep(&client).await {
        result?.success()?;
    }
    let jobs = list().collect(1000).await?;
    let mut names: Vec<_> = jobs.iter().map(|job| job.name()).collect();
    names.sort();
    names.dedup();
    anyhow::ensure!((jobs.len(), names.len()) == (30, 30), "{names:?}");
    println!("{} jobs exist, none twice", jobs.len());
    emulator.shutdown().await;
    Ok(())
}
