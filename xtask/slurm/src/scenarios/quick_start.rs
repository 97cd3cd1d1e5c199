//! The job of the quick start: code and data from OBS, log, events and output.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use modelarts_obs::{JobExt, Obs, Staging};
use serde_json::Value;

use crate::{
    job,
    site::{Site, completed, equal, log, messages},
};

const BUCKET: &str = "quickstart";
/// Some of the events, in their order.
const EVENTS: [&str; 4] = [
    "Training job created.",
    "[worker-0] training started.",
    "[worker-0] Training finished. Exit code 0.",
    "Training job executed.",
];

/// The job completes, and its log, events and output are those of the quick start.
pub async fn run(site: &Site<'_>) -> Result<()> {
    let emulator = site.serve().await?;
    let client = emulator.client()?;
    let obs = Obs::new(&client)?.with_cache_dir(site.directory().join("cache"));
    let staging = Staging::new(&client).bucket(BUCKET).obs(obs.clone());
    obs.bucket(BUCKET)?.create().await?;
    let root = env!("CARGO_MANIFEST_DIR");
    let sample = Path::new(root).join("../../crates/modelarts-obs/examples/quickstart/sample");
    let job = job::job(&client, &staging, &sample, "modelarts.vm.cpu.2u");
    let job = job.submit().await?;

    let end = completed(&job).await?;
    let lines = log(&job, "worker-0").await?;
    equal("lines of the log", &lines.len(), &42)?;
    equal("first line", &lines[0].as_str(), &"400 rows, 4 features")?;
    equal(
        "last line",
        &lines[41].as_str(),
        &"accuracy 0.9083 on 120 rows",
    )?;
    let messages = messages(&job).await?;
    let mut found = messages.iter();
    for event in EVENTS {
        ensure!(
            found.any(|it| it == event),
            "no event {event:?}: {messages:#?}"
        );
    }
    let place = site.directory().join("outputs");
    let outputs = end.download_outputs(&place).obs(obs).await?;
    equal("outputs", &outputs.len(), &1)?;
    let file = outputs[0].directory.join("metrics.json");
    let metrics = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let metrics: Value = serde_json::from_str(&metrics)?;
    let accuracy = metrics["accuracy"].as_f64().context("no accuracy")?;
    ensure!((accuracy - 0.9083).abs() < 0.0001, "accuracy {accuracy}");
    ensure!(
        outputs[0].directory.join("model.json").is_file(),
        "no model.json"
    );
    site.expect_slurm_jobs(&job, &["COMPLETED"]).await
}
