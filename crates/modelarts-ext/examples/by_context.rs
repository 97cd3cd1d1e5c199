//! A client with the settings of a context of the tool `modelarts`.
//!
//! `cargo run --example by_context NAME` uses the context of this name. Without an argument, the
//! program starts an emulator, writes a file with a context for it, and runs itself with this file.

use std::{env, fs, process::Command};

use anyhow::Context;
use modelarts_emulator::Emulator;
use modelarts_ext::Client;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if let Some(name) = env::args().nth(1) {
        let client = Client::from_context(&name)?;
        let jobs = client.training_jobs().list().collect(1000).await?;
        println!("{name}: {} jobs on {}", jobs.len(), client.endpoint());
        return Ok(());
    }

    let home = tempfile::tempdir()?;
    let emulator = Emulator::start().await?;
    let file = home.path().join("config.toml");
    let (endpoint, project) = (emulator.url(), emulator.project_id());
    let context = format!("[context.dev]\nendpoint = {endpoint:?}\nproject_id = {project:?}\n");
    fs::write(&file, context)?;

    // The file has no secrets: the keys come from the environment.
    let program = env::current_exe().context("the path of this program is unknown")?;
    let status = Command::new(program)
        .arg("dev")
        .env("MODELARTS_CONFIG", &file)
        .env_remove("HUAWEICLOUD_SDK_SECURITY_TOKEN")
        .env("HUAWEICLOUD_SDK_AK", emulator.access_key())
        .env("HUAWEICLOUD_SDK_SK", emulator.secret_key())
        .status()?;
    anyhow::ensure!(status.success(), "{status}");
    emulator.shutdown().await;
    Ok(())
}
