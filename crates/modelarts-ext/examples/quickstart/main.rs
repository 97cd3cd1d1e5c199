//! First job, from submission to result: `cargo run --example quickstart`.
//!
//! By default, the example starts the emulator in this process. To run it on the service, set
//! `QUICKSTART_OBS` to an OBS directory with the contents of `sample/`, and set the variables of
//! `Client::from_env`.

mod job;

use std::{env, error::Error, path::Path, process::ExitCode, time::Duration};

use futures::{StreamExt, TryStreamExt, stream};
use job::Place;
use modelarts_emulator::Emulator;
use modelarts_ext::{Client, ClientBuilder, LogItem};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<bool, Box<dyn Error>> {
    if let Ok(obs) = env::var("QUICKSTART_OBS") {
        let place = Place {
            obs: obs.trim_end_matches('/').to_owned(),
            flavor: env::var("QUICKSTART_FLAVOR").unwrap_or("modelarts.vm.cpu.8u".into()),
        };
        return train(&Client::from_env()?, &place).await;
    }

    if Emulator::python3().await.is_none() {
        return Err("the emulator runs training scripts with python3, and there is none".into());
    }
    // The trained model is kept after the program ends.
    let obs_root = tempfile::Builder::new()
        .prefix("modelarts-quickstart-")
        .tempdir()?
        .keep();
    let emulator = Emulator::builder().obs_root(obs_root).start().await?;
    println!("The emulator listens on {}\n", emulator.url());
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart/sample");
    emulator.put_dir(sample, "quickstart/")?;
    let client = ClientBuilder::from_vars(emulator.vars()).build()?;
    let place = Place {
        obs: "obs://quickstart".into(),
        flavor: "modelarts.vm.cpu.2u".into(),
    };
    let completed = train(&client, &place).await?;

    if completed {
        let model = emulator.obs_root().join("quickstart/model");
        let metrics = std::fs::read_to_string(model.join("metrics.json"))?;
        let metrics: serde_json::Value = serde_json::from_str(&metrics)?;
        println!("Trained model: {}", model.join("model.json").display());
        println!(
            "Accuracy:      {:.4}",
            metrics["accuracy"].as_f64().unwrap_or(f64::NAN)
        );
        println!(
            "
The same program runs on the service. Upload the contents of
crates/modelarts-ext/examples/quickstart/sample to an OBS directory, and set
  QUICKSTART_OBS              that directory, such as obs://my-bucket/leaves
  QUICKSTART_FLAVOR           a flavor of your region, such as modelarts.vm.cpu.8u
  MODELARTS_REGION            such as eu-de (Open Telekom Cloud) or cn-north-4
  HUAWEICLOUD_SDK_PROJECT_ID  the id of your project there
  HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK  your access key and its secret key"
        );
    }
    emulator.shutdown().await;
    Ok(completed)
}

/// Submits the job and waits for its end; returns `true` if it completed.
async fn train(client: &Client, place: &Place) -> Result<bool, Box<dyn Error>> {
    let job = job::job(client, place).submit().await?;
    println!("Submitted {} as {}\n", job.name(), job.id());

    // The emulator needs no pauses; for the service, the defaults are recommended.
    let local = client.endpoint().starts_with("http://");
    let interval = match local {
        true => Duration::from_millis(200),
        false => Duration::from_secs(5),
    };
    let events = job.events().interval(interval).follow();
    let lines = job.logs("worker-0").interval(interval).follow();
    let mut both = stream::select(
        events.map_ok(|event| event.to_string()).boxed(),
        lines
            .map_ok(|item| match item {
                LogItem::Line(line) => format!("    worker-0 | {line}"),
                other => format!("    worker-0 | {other:?}"),
            })
            .boxed(),
    );
    while let Some(line) = both.try_next().await? {
        println!("{line}");
    }

    let end = job
        .wait()
        .interval(interval, Duration::from_secs(30))
        .await?;
    let job = end.job();
    println!("\n{:?}", end.outcome());
    println!("Job:           {} ({})", job.name(), job.id());
    if let Some(status) = job.status() {
        println!("Tasks:         {}", status.tasks.join(", "));
        println!("Run time:      {} ms", status.duration.unwrap_or_default());
    }
    for (name, obs) in job.outputs() {
        println!("Output:        {name} in {obs}");
    }
    Ok(end.is_completed())
}
