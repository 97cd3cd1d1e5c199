//! Deletes the jobs that have ended, are older than 30 days, and whose names begin with `try-`.
//! Works on Huawei Cloud and on Open Telekom Cloud, which deletes jobs one by one:
//! `cargo run --example cleanup`.

mod local;

use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use modelarts_emulator::{Cloud, Emulator, Timing, seeds::Seeds};
use modelarts_ext::{Client, Error, Filter, Job};

/// Deletes the jobs, and returns them.
async fn clean_up(client: &Client, prefix: &str, age: Duration) -> Result<Vec<Job>, Error> {
    let jobs = client.training_jobs();
    let list = jobs.list().filter(Filter::name().like(prefix));
    let mut old: Vec<Job> = list.created_before(SystemTime::now() - age).try_collect().await?;
    // The service finds the prefix anywhere in a name.
    old.retain(|job| job.is_final() && job.name().starts_with(prefix));
    jobs.delete_many(&old).await?;
    Ok(old)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let seeds = Seeds::from_json(
        r#"{"jobs": [
            {"name": "try-old-{n}", "count": 120, "created": "2026-01-15T08:30:00Z"},
            {"name": "try-failed", "phase": "Failed", "created": "2026-01-15T08:30:00Z"},
            {"name": "try-running", "phase": "Running", "created": "2026-01-15T08:30:00Z"},
            {"name": "retry-old", "created": "2026-01-15T08:30:00Z"},
            {"name": "try-new"}
        ]}"#,
    )?;
    for cloud in [Cloud::Huawei, Cloud::Otc] {
        let builder = Emulator::builder().cloud(cloud).timing(Timing::instant());
        let (emulator, client) = local::start(builder.seed_jobs(seeds.clone())).await?;
        let deleted = clean_up(&client, "try-", Duration::from_secs(30 * 24 * 3600)).await?;
        for job in &deleted {
            emulator.wait_until_gone(job.id()).await;
        }
        let left = client.training_jobs().list().collect(1000).await?;
        let left: Vec<_> = left.iter().map(|job| job.name()).collect();
        println!("{cloud:?}: {} jobs deleted, left {left:?}", deleted.len());
        anyhow::ensure!((deleted.len(), left.len()) == (121, 3));
        emulator.shutdown().await;
    }
    Ok(())
}
