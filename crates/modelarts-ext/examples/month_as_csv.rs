//! Prints the jobs of the last month as CSV, with their run time, cards, card hours and billing
//! code: `cargo run --example month_as_csv`.

mod local;

use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use modelarts_emulator::{Emulator, seeds::Seeds};
use modelarts_ext::{Filter, Timestamp};
use serde_json::json;

/// The value as text, or nothing if it is unknown.
fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (emulator, client) = local::start(Emulator::builder().seed_jobs(seeds()?)).await?;
    let month = Filter::create_time().after(ago(30 * 24));
    let mut jobs = client.training_jobs().list().filter(month).oldest_first().stream();
    println!("name,id,created,phase,run_seconds,cards,card_hours,billing_code");
    while let Some(job) = jobs.try_next().await? {
        let row = [
            job.name().to_owned(),
            job.id().to_owned(),
            text(job.created_at()),
            job.phase().to_string(),
            text(job.time_run().map(|time| time.as_secs())),
            text(job.cards()),
            text(job.card_hours().map(|hours| format!("{hours:.2}"))),
            text(job.billing_code()),
        ];
        println!("{}", row.join(","));
    }
    emulator.shutdown().await;
    Ok(())
}

fn ago(hours: u64) -> Timestamp {
    (SystemTime::now() - Duration::from_secs(hours * 3600)).into()
}

/// Jobs that the emulator has from its start.
fn seeds() -> anyhow::Result<Seeds> {
    let ago = |hours: u64| ago(hours).to_string();
    let job = |flavor| {
        json!({
            "kind": "job",
            "metadata": {"name": "seed"},
            "algorithm": {"command": "true", "engine": {"image_url": "team/image:1"}},
            "spec": {"resource": {"flavor_id": flavor, "node_count": 1}},
        })
    };
    let (v100, cpu) = (job("modelarts.p3.large.public"), job("modelarts.vm.cpu.8u"));
    let seeds = json!({"jobs": [
        {"name": "too-old", "created": ago(31 * 24)},
        {"name": "v100", "job": v100, "created": ago(50), "started": ago(49), "ended": ago(40)},
        {"name": "cpu", "job": cpu, "phase": "Failed",
         "created": ago(30), "started": ago(29), "ended": ago(28)},
        {"name": "waits", "phase": "Pending", "created": ago(1)},
    ]});
    Ok(Seeds::from_json(&seeds.to_string())?)
}
