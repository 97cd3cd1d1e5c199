//! `cargo xtask dist wheel`: the package for Python, with the programs `modelarts` and
//! `modelarts-emulator` and a pytest plugin.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail, ensure};

use super::{archive, notices};
use crate::{tools::venv, workspace};

/// Profile of a release.
pub const RELEASE: &str = "distribution";

/// Time of all files in the wheel, 1980-01-01, so that its bytes do not depend on the time.
const SOURCE_DATE_EPOCH: &str = "315532800";

/// Returns the folder with `pyproject.toml`.
pub fn project() -> PathBuf {
    workspace::root().join("crates/modelarts-cli")
}

/// Returns python3 in an environment with maturin, and with the packages that the check `wheel`
/// uses.
pub fn python() -> Result<PathBuf> {
    venv::python(
        "wheel",
        &workspace::root().join("xtask/wheel/requirements.txt"),
    )
}

/// Builds the wheel of a release in `target/wheels`, and prints its checksum and its size.
pub fn run(options: &[String]) -> Result<ExitCode> {
    let directory = workspace::root().join("target/wheels");
    let wheel = build(RELEASE, &directory, options)?;
    print!("{}", archive::sum(&directory, &wheel)?);
    println!("{} bytes", fs::metadata(&wheel)?.len());
    Ok(ExitCode::SUCCESS)
}

/// Builds the wheel as the only one in a directory, and returns its path. `options` are passed to
/// `maturin build`.
pub fn build(profile: &str, directory: &Path, options: &[String]) -> Result<PathBuf> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    notices::write(&project().join("THIRD-PARTY-NOTICES.txt"))?;
    let mut command = Command::new(python()?);
    command
        .args(["-m", "maturin", "build", "--quiet", "--profile", profile])
        .arg("--out")
        .arg(directory)
        .args(options)
        .current_dir(project())
        .env("SOURCE_DATE_EPOCH", SOURCE_DATE_EPOCH);
    // Other profiles keep their flags, so that they share their artefacts with other builds.
    if profile == RELEASE {
        command.env("CARGO_ENCODED_RUSTFLAGS", flags()?);
    }
    let status = command.status().context("maturin could not be started")?;
    ensure!(status.success(), "maturin ended with {status}");
    only_wheel(directory)
}

/// Returns compiler flags that replace paths of this machine in the programs.
fn flags() -> Result<OsString> {
    let mut flags = env::var_os("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| {
        let home = env::var_os("HOME")?;
        Some(PathBuf::from(home).join(".cargo"))
    });
    let home = home.context("neither CARGO_HOME nor HOME is set")?;
    for (path, name) in [(workspace::root(), "/modelarts"), (home, "/cargo")] {
        if !flags.is_empty() {
            flags.push("\u{1f}");
        }
        flags.push("--remap-path-prefix=");
        flags.push(path);
        flags.push(OsStr::new("="));
        flags.push(name);
    }
    Ok(flags)
}

fn only_wheel(directory: &Path) -> Result<PathBuf> {
    let mut wheels = Vec::new();
    for entry in fs::read_dir(directory)? {
        wheels.push(entry?.path());
    }
    match wheels.as_slice() {
        [wheel] => Ok(wheel.clone()),
        _ => bail!("maturin has built {} wheels, not one", wheels.len()),
    }
}
