//! Program of the emulator, `modelarts-emulator serve`.
//!
//! It prints one line of JSON on stdout when it is ready, and messages on stderr. Ctrl-C and
//! SIGTERM end the program and, unless `--on-stop leave` is given, its jobs.

mod cli;
mod env_file;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::{cli::OnStop, env_file::EnvFile};

/// Default of `RUST_LOG`. The crate s3s reports each refused request of OBS as an error.
const LOG_FILTER: &str = "info,s3s=off";

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("modelarts-emulator: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<(), String> {
    let mut arguments = cli::arguments()?;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOG_FILTER));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    // The handler is registered before the ready line is printed, because the parent may send a
    // signal as soon as it has read that line.
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let on_stop = arguments.on_stop;
    // An unusable file is reported before any job runs.
    let env_file = arguments.env_file.take().map(EnvFile::create).transpose()?;
    let emulator = cli::builder(arguments)?.start().await;
    let emulator = emulator.map_err(|error| error.to_string())?;
    if let Some(file) = env_file {
        file.write(&emulator.envs())?;
    }
    let ready = json!({
        "url": emulator.url(),
        "obs_url": emulator.obs_url(),
        "project_id": emulator.project_id(),
        "access_key": emulator.access_key(),
        "secret_key": emulator.secret_key(),
    });
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{ready}")
        .and_then(|()| stdout.flush())
        .map_err(|error| error.to_string())?;
    drop(stdout);
    tracing::info!(
        url = emulator.url(),
        obs_url = emulator.obs_url(),
        obs_root = %emulator.obs_root().display(),
        data_dir = %emulator.data_dir().display(),
        "ready"
    );
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    match on_stop {
        OnStop::Stop => {
            tracing::info!("ending with all jobs");
            emulator.shutdown().await;
        }
        OnStop::Leave => {
            tracing::info!("ending; the next start on the data directory continues the jobs");
            emulator.suspend().await;
        }
    }
    Ok(())
}
