//! Errors and their accessors: `cargo run --example errors`.
//!
//! The example starts the emulator in this process, and simulates faults of the service.

mod local;

use std::{error::Error, time::Duration};

use modelarts_emulator::{
    Emulator,
    faults::{Fault, FaultRule},
};
use modelarts_ext::{Client, ClientBuilder, RetryPolicy};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (emulator, client) = local::start(Emulator::builder()).await?;

    // All violations of a job are reported together, before the create request.
    let wrong = client.training_jobs().create("no such name!").submit();
    if let Err(error) = wrong.await {
        for violation in error.violations() {
            println!("{violation}");
        }
    }

    // A job that does not exist.
    look(&client).await?;

    // A transient fault has no effect, because the request is retried.
    let reset = FaultRule::times(2, "ListTrainingJobs", Fault::Reset);
    emulator.faults().add(reset)?;
    client.training_jobs().list().collect(10).await?;
    let sent = emulator.requests()["ListTrainingJobs"].received;
    println!("A list was asked for {sent} times");

    // A persistent fault, and a client that does not retry.
    let busy = Fault::retry_after(429, 1);
    let show = "ShowTrainingJobDetails";
    emulator.faults().add(FaultRule::times(5, show, busy))?;
    let hasty = ClientBuilder::from_vars(emulator.vars())
        .retry(RetryPolicy::none())
        .timeout(Duration::from_secs(5))
        .build()?;
    look(&hasty).await?;
    emulator.shutdown().await;
    Ok(())
}

/// Reads a job, and prints advice or the pause for the expected errors.
async fn look(client: &Client) -> Result<(), modelarts_ext::Error> {
    match client.training_jobs().get("cf63aba9").await {
        Ok(job) => println!("{} is {}", job.name(), job.phase()),
        Err(error) if error.is_not_found() => {
            println!("No such job: {}", error.advice().unwrap_or_default());
        }
        Err(error) if error.is_throttled() => println!(
            "Too many requests; again in {:?} (request {:?}, sent {} times)",
            error.retry_after(),
            error.request_id(),
            error.attempts(),
        ),
        Err(error) => return Err(error),
    }
    Ok(())
}
