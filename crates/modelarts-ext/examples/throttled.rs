//! Tests a program against a service that throttles and fails. The program is not changed for the
//! tests, and they are fast: an emulator without delays shortens all pauses of its clients.
//! `on_attempt` counts the attempts: `cargo run --example throttled`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use modelarts_emulator::{
    Emulator, Timing,
    faults::{Fault, FaultRule},
    jobs::RunnerKind,
    script::Script,
};
use modelarts_ext::{Client, ClientBuilder};

/// The program under test: runs a job, and returns the number of all jobs.
async fn program(client: &Client) -> Result<usize, modelarts_ext::Error> {
    let job = client.training_jobs().create_unnamed().flavor("modelarts.vm.cpu.8u");
    let job = job.custom_image("team/image:1").command("train").submit().await?;
    job.wait().await?.success()?;
    Ok(client.training_jobs().list().collect(1000).await?.len())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    for operation in ["CreateTrainingJob", "ShowTrainingJobDetails", "ListTrainingJobs"] {
        for fault in [Fault::retry_after(429, 20), Fault::status(503)] {
            let runner = RunnerKind::Simulated(Script::default());
            let builder = Emulator::builder().timing(Timing::instant()).runner(runner);
            let emulator = builder.start().await?;
            let status = if fault == Fault::status(503) { 503 } else { 429 };
            let rule = FaultRule::times(3, operation, fault);
            emulator.faults().add(rule)?;

            let failed = Arc::new(AtomicU32::new(0));
            let count = Arc::clone(&failed);
            let client = ClientBuilder::from_vars(emulator.vars())
                .on_attempt(move |attempt| {
                    if attempt.operation == operation && attempt.result.ok() == Some(status) {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                })
                .build()?;

            let start = Instant::now();
            let jobs = program(&client).await?;
            let failed = failed.load(Ordering::Relaxed);
            println!("{operation}: {failed} times {status}, done in {:.0?}", start.elapsed());
            anyhow::ensure!((jobs, failed) == (1, 3), "{jobs} jobs, {failed} failed attempts");
            emulator.shutdown().await;
        }
    }
    Ok(())
}
