//! Records calls to the service, and compares them with the description, the generated types
//! and the emulator. Started by `cargo xtask live`.

mod compare;
// Not all items of the comparison are used here.
#[allow(dead_code)]
#[path = "../../../crates/modelarts-api/examples/payload/comparison.rs"]
mod comparison;
mod create;
mod description;
mod differences;
mod prepare;
mod record;
mod recorder;
mod redact;
mod replay;
mod shape;
mod text;
mod transcript;
#[path = "../../../crates/modelarts-api/tests/answers/types.rs"]
mod types;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Parser};
use modelarts_ext::{ClientBuilder, config::Cloud};
use reqwest::Url;

use crate::{create::Create, description::Description, recorder::Recorder, transcript::Transcript};

/// Exit code for an error of the program. Exit code 1 means that differences were found.
const FAILED: u8 = 2;

#[derive(Parser)]
#[command(
    name = "cargo xtask live",
    bin_name = "cargo xtask live",
    about = "Records calls to the service, and compares them with what this project knows"
)]
struct Cli {
    #[command(flatten)]
    action: Action,
    /// The cloud, huawei or otc, if it does not follow from the endpoint
    #[arg(long, value_name = "CLOUD", value_parser = ["huawei", "otc"])]
    cloud: Option<String>,
    /// A job that has ended, whose events and logs are read; the newest if not given
    #[arg(long, value_name = "ID", requires = "record")]
    job: Option<String>,
    #[command(flatten)]
    create: Create,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Action {
    /// Call the service that the environment names, and write a redacted transcript
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print the differences between a transcript and the description, the types and the emulator
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    // Ignores the error that a provider is already installed, because any provider is suitable.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match run(Cli::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

async fn run(cli: Cli) -> Result<bool> {
    if let Some(file) = &cli.action.compare {
        let mut transcript = Transcript::read(file)?;
        transcript.cloud = cli.cloud.or(transcript.cloud);
        return compare::run(&Description::load()?, &transcript).await;
    }
    let Some(file) = &cli.action.record else {
        bail!("one of --record and --compare must be given");
    };
    cli.create.can_ask()?;
    // Checks the directory before any request is sent.
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    ensure!(
        directory.is_dir(),
        "{} must be a directory",
        directory.display()
    );
    record(&cli, file).await?;
    Ok(true)
}

async fn record(cli: &Cli, file: &Path) -> Result<()> {
    let description = Description::load()?;
    let recorder = Recorder::default();
    let mut builder = ClientBuilder::from_env().connector(recorder.clone());
    match cli.cloud.as_deref() {
        Some("huawei") => builder = builder.cloud(Cloud::Huawei),
        Some(_) => builder = builder.cloud(Cloud::Otc),
        None => {}
    }
    let client = builder.connect().await?;
    let host = Url::parse(client.endpoint()).ok();
    let host = host.and_then(|url| Some(url.host_str()?.to_owned()));
    let host = host.unwrap_or_default();
    let cloud = match client.cloud() {
        Cloud::Otc => "otc",
        _ => "huawei",
    };
    eprintln!("reading from {}", client.endpoint());
    let result = tokio::select! {
        biased;
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
        read = record::read_all(&client, cli.job.as_deref()) => {
            read?;
            Ok(())
        }
    };
    let result = match result {
        Ok(()) if cli.create.is_wanted() => cli.create.run(&client).await,
        other => other,
    };
    let answered = recorder.statuses();
    let secrets = secrets().chain([client.project_id().to_owned(), host]);
    let calls = redact::redact(&description, secrets, &recorder.take());
    let transcript = Transcript::new(cloud.to_owned(), description.version(), calls);
    let text = serde_json::to_string_pretty(&transcript)? + "\n";
    fs::write(file, text).with_context(|| file.display().to_string())?;
    eprintln!(
        "{} calls are recorded in {}; review the file before you send it",
        answered.len(),
        file.display()
    );
    result?;
    let success = |status: &Option<u16>| status.is_some_and(|status| status < 300);
    ensure!(
        answered.iter().any(success),
        "no call was answered with success"
    );
    Ok(())
}

/// Returns the values of environment variables that may identify the user.
fn secrets() -> impl Iterator<Item = String> {
    const PREFIXES: [&str; 3] = ["HUAWEICLOUD_", "OS_", "MODELARTS_"];
    const PARTS: [&str; 13] = [
        "AK", "SK", "KEY", "TOKEN", "SECRET", "PASSWORD", "USER", "USERNAME", "PROJECT", "TENANT",
        "DOMAIN", "URN", "SESSION",
    ];
    env::vars().filter_map(|(name, value)| {
        let ours = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        let secret = name.split('_').any(|part| PARTS.contains(&part));
        (ours && secret && value.len() > 2).then_some(value)
    })
}
