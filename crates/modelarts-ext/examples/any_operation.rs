//! Calls an operation for which the SDK has no method of its own, with generated types and by its
//! name with JSON: the check whether the name of a job is in use.
//! `cargo run --example any_operation`.

mod local;

use modelarts_emulator::{Emulator, seeds::Seeds};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let seeds = Seeds::from_json(r#"{"jobs": [{"name": "nightly"}]}"#)?;
    let (emulator, client) = local::start(Emulator::builder().seed_jobs(seeds)).await?;
    let name = "nightly";

    // With generated types.
    let check = client
        .call(|api| {
            api.validate_training_job_name()
                .project_id(client.project_id())
                .job_name(name)
                .workspace_id("0")
                .send()
        })
        .await?;
    println!("{name}: {:?}, request {:?}", *check, check.call().request_id());

    // By its name, with JSON. The project is that of the client.
    let check = client
        .operation("ValidateTrainingJobName")?
        .parameter("job_name", name)
        .parameter("workspace_id", "0")
        .send()
        .await?;
    println!("{name}: {}, {} attempt", *check, check.call().attempts());
    emulator.shutdown().await;
    Ok(())
}
