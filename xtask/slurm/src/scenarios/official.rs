//! The official Python SDK: the driver of `openapi/clients/run`.

use std::{env, fs, path::Path};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use crate::site::{Site, equal};

/// Python with the official SDK, which `cargo xtask slurm` installs.
pub const PYTHON: &str = "OFFICIAL_PYTHON";

/// Code of the jobs of the driver.
const CODE: &str = "\
import argparse
import time

parser = argparse.ArgumentParser()
parser.add_argument('--epochs', type=int)
parser.add_argument('--pause', type=float, default=0)
given = parser.parse_known_args()[0]
for epoch in range(given.epochs):
    print('epoch', epoch + 1, flush=True)
    time.sleep(given.pause)
";

/// The driver creates, lists, follows, stops and deletes jobs.
pub async fn run(site: &Site<'_>) -> Result<()> {
    let python = env::var_os(PYTHON)
        .with_context(|| format!("{PYTHON} is not set; start this by `cargo xtask slurm`"))?;
    let emulator = site.serve().await?;
    let code = site.obs().join("example/code");
    fs::create_dir_all(&code)?;
    fs::write(code.join("train.py"), CODE)?;
    let driver =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi/clients/official/drive.py");
    let output = Command::new(python)
        .arg("-B")
        .arg(driver)
        .envs(
            emulator
                .variables()
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .env("MODELARTS_OBS", "obs://example")
        // The SDK writes an id into the home directory.
        .env("HOME", site.directory())
        .output()
        .await
        .context("python could not be started")?;
    ensure!(
        output.status.success(),
        "drive.py: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    equal("jobs in Slurm", &site.cluster.queue()?, &Vec::new())
}
