//! Finding jobs and reading their events: `cargo run --example lists`.
//!
//! The example starts the emulator in this process. On the service, the same calls work with
//! `Client::from_env()`.

mod local;

use std::error::Error;

use futures::TryStreamExt;
use modelarts_emulator::{Emulator, Timing};
use modelarts_ext::{Filter, pagination::Position, types::Phase};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let instant = Emulator::builder().timing(Timing::instant());
    let (emulator, client) = local::start(instant).await?;
    let jobs = client.training_jobs();

    // Eight jobs, some of which fail.
    emulator
        .put("bucket/code/train.py", "import os, sys\nsys.exit(os.environ['ENDS'] == 'badly')\n")?;
    for number in 0..8 {
        let job = jobs
            .create(format!("bert-{number}"))
            .preset_image("PyTorch", "pytorch_1.8.0")
            .code_dir("obs://bucket/code/")
            .boot_file("obs://bucket/code/train.py")
            .env("ENDS", if number % 3 == 1 { "badly" } else { "well" })
            .flavor("modelarts.vm.cpu.2u")
            .submit()
            .await?;
        emulator.wait_until_settled(job.id()).await;
    }

    // Conditions are typed, and all of them must hold. They can also be evaluated for a job that
    // was read.
    let failed = Filter::phase().is(Phase::Failed);
    let mut found = jobs.list().filter(failed.clone()).filter(Filter::name().like("bert")).stream();
    println!("Failed, the newest first:");
    while let Some(job) = found.try_next().await? {
        println!("  {} ({:?})", job.name(), failed.matches(&job));
    }

    // A list can be resumed later, even if it has changed since.
    let mut pages = jobs.list().oldest_first().page_size(3).pages();
    let Some(page) = pages.try_next().await? else {
        return Err("there is always a first page".into());
    };
    let saved = serde_json::to_string(&page.position)?;
    println!("Read {} of {:?} jobs", page.items.len(), page.total);
    page.items[0].delete().await?;
    emulator.wait_until_gone(page.items[0].id()).await;
    let position: Position = serde_json::from_str(&saved)?;
    let rest = jobs.list().oldest_first().resume(position).collect(100);
    for job in rest.await? {
        println!("  and then {}", job.name());
    }

    // Events are a list as well.
    let job = jobs.list().filter(failed).collect(1).await?;
    let events = job[0].events().pattern("worker-0").newest_first();
    println!("The last that worker-0 of {} did:", job[0].name());
    for event in events.collect(3).await? {
        println!("  {event}");
    }

    // All other lists of the service work in the same way: flavors, preset images, algorithms, …
    println!("Jobs can run on:");
    for flavor in client.flavors(None).collect(3).await? {
        println!("  {}", flavor.flavor_id.unwrap_or_default());
    }
    let mut algorithms = client.algorithms().name_like("bert").stream();
    while let Some(algorithm) = algorithms.try_next().await? {
        println!("  {:?}", algorithm.metadata.and_then(|metadata| metadata.name));
    }
    emulator.shutdown().await;
    Ok(())
}
