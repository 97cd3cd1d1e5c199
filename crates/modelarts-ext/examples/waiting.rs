//! Waiting for one job and for several: `cargo run --example waiting`.
//!
//! The example starts the emulator in this process, and polls it in short intervals. On the
//! service, the same calls work with `Client::from_env()` and the default intervals.

mod local;

use std::{error::Error, time::Duration};

use futures::TryStreamExt;
use modelarts_emulator::Emulator;
use modelarts_ext::{Client, Job, Outcome, types::Phase};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (emulator, client) = local::start(Emulator::builder()).await?;
    emulator.put(
        "bucket/code/train.py",
        "import os, sys, time\n\
         time.sleep(float(os.environ['SECONDS']))\n\
         sys.exit(int(os.environ['CODE']))\n",
    )?;
    let (often, seldom) = (Duration::from_millis(100), Duration::from_millis(500));

    // A wait ends with the job, when a condition holds, or after a timeout.
    let job = submit(&client, "patient", 60, 0).await?;
    let runs = |job: &Job| job.phase() == Phase::Running;
    let wait = job.wait().interval(often, seldom).until(runs).await?;
    println!("{}: {:?}", job.name(), wait.outcome());
    let wait = job.wait().interval(often, seldom).timeout(seldom).await?;
    println!("{}: {:?}", job.name(), wait.outcome());

    // A wait can also return each observation, as a stream.
    job.terminate().await?;
    let mut seen = job.wait().interval(often, seldom).stream();
    while let Some(seen) = seen.try_next().await? {
        println!("{}: {} {:?}", job.name(), seen.job.phase(), seen.outcome);
    }

    // A wait for several jobs sends one search in each round.
    let mut jobs = Vec::new();
    for number in 0..4 {
        let code = if number == 2 { 3 } else { 0 };
        jobs.push(submit(&client, &format!("many-{number}"), 0, code).await?);
    }
    let all = client.training_jobs().wait_all(jobs);
    let mut ends = all.interval(often, seldom).stream();
    let mut completed = 0;
    while let Some(end) = ends.try_next().await? {
        match end.outcome() {
            Outcome::Completed => completed += 1,
            Outcome::Failed { exit_code, .. } => {
                println!("{} failed: {exit_code:?}", end.job().name());
            }
            other => println!("{}: {other:?}", end.job().name()),
        }
    }
    println!("{completed} completed");
    emulator.shutdown().await;
    Ok(())
}

async fn submit(
    client: &Client,
    name: &str,
    seconds: u32,
    code: u8,
) -> Result<Job, modelarts_ext::Error> {
    client
        .training_jobs()
        .create(name)
        .preset_image("PyTorch", "pytorch_1.8.0")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .env("SECONDS", seconds.to_string())
        .env("CODE", code.to_string())
        .flavor("modelarts.vm.cpu.2u")
        .submit()
        .await
}
