//! First job, from local files to the trained model: `cargo run --example quickstart`.
//!
//! By default, the example starts the emulator in this process. To run it on the service, set
//! `QUICKSTART_FLAVOR`, and the variables of `Client::from_env` and of `Staging`.

mod job;

use std::{env, error::Error, path::Path, process::ExitCode, time::Duration};

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_emulator::Emulator;
use modelarts_ext::{Client, ClientBuilder, LogItem};
use modelarts_obs::{JobExt, Staging};

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
    if let Ok(flavor) = env::var("QUICKSTART_FLAVOR") {
        let client = Client::from_env()?;
        return train(&client, &Staging::new(&client), &flavor).await;
    }

    if Emulator::python3().await.is_none() {
        return Err("the emulator runs training scripts with python3, and there is none".into());
    }
    let emulator = Emulator::start().await?;
    println!("The emulator listens on {}\n", emulator.url());
    let client = ClientBuilder::from_vars(emulator.vars()).build()?;
    let staging = Staging::new(&client).bucket("quickstart");
    staging.connect()?.bucket("quickstart")?.create().await?;
    let completed = train(&client, &staging, "modelarts.vm.cpu.2u").await?;
    if completed {
        println!(
            "
The same program runs on the service, with these variables:
  MODELARTS_REGION            such as eu-de (Open Telekom Cloud) or cn-north-4
  HUAWEICLOUD_SDK_PROJECT_ID  the id of your project there
  HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK  your access key and its secret key
  MODELARTS_OBS_BUCKET        your bucket in that region
  QUICKSTART_FLAVOR           a flavor of that region, such as modelarts.vm.cpu.8u"
        );
    }
    emulator.shutdown().await;
    Ok(completed)
}

/// Uploads code and data, submits the job, waits for its end, and downloads the model. Returns
/// `true` if the job completed.
async fn train(client: &Client, staging: &Staging, flavor: &str) -> Result<bool, Box<dyn Error>> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample");
    let staged = job::job(client, staging, &sample, flavor).upload().await?;
    let directories = staged.code.iter().chain(staged.data.iter().map(|(_, data)| data));
    for directory in directories {
        let sent = directory.summary.transferred.files;
        println!("{} ({sent} files sent)", directory.url());
    }
    let job = staged.job.submit().await?;
    println!("Submitted {} as {}\n", job.name(), job.id());

    // Short intervals are suitable only for the emulator.
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

    let end = job.wait().interval(interval, Duration::from_secs(30)).await?;
    let job = end.job();
    println!("\n{:?}", end.outcome());
    println!("Job:           {} ({})", job.name(), job.id());
    if let Some(status) = job.status() {
        println!("Tasks:         {}", status.tasks.join(", "));
        println!("Run time:      {} ms", status.duration.unwrap_or_default());
    }
    if end.is_completed() {
        // The trained model is kept after the program ends.
        let out = tempfile::Builder::new().prefix("modelarts-quickstart-").tempdir()?.keep();
        for output in job.download_outputs(out).await? {
            println!("Output:        {} in {}", output.name, output.path);
            print_model(&output.directory)?;
        }
    }
    Ok(end.is_completed())
}

fn print_model(directory: &Path) -> Result<(), Box<dyn Error>> {
    let metrics = std::fs::read_to_string(directory.join("metrics.json"))?;
    let metrics: serde_json::Value = serde_json::from_str(&metrics)?;
    println!("Trained model: {}", directory.join("model.json").display());
    println!("Accuracy:      {:.4}", metrics["accuracy"].as_f64().unwrap_or(f64::NAN));
    Ok(())
}
