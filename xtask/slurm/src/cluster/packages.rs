//! Packages of Slurm, which are installed from Debian if they are missing.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

/// Packages with the daemons and the commands.
const PACKAGES: [&str; 3] = ["slurmctld", "slurmd", "slurm-client"];
/// Programs that the cluster, the emulator and the scenarios start.
const PROGRAMS: [&str; 7] = [
    "slurmctld",
    "slurmd",
    "srun",
    "squeue",
    "scancel",
    "scontrol",
    "sinfo",
];

/// Installs the packages, unless all programs exist.
pub fn install() -> Result<()> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!(
        "Slurm is not installed ({} missing)",
        missing.join(", ") + if missing.len() == 1 { " is" } else { " are" }
    );
    let packages = PACKAGES.join(" ");
    if !rustix::process::geteuid().is_root() || program("apt-get").is_none() {
        bail!("{what}; install the packages {packages} of Debian or Ubuntu, or start this as root");
    }
    eprintln!("{what}; installing {packages}");
    apt(&["update"])?;
    apt(&[&["install", "--no-install-recommends"], &PACKAGES[..]].concat())?;
    let missing = self::missing();
    ensure!(
        missing.is_empty(),
        "the packages {packages} have no {}",
        missing.join(", ")
    );
    Ok(())
}

fn missing() -> Vec<&'static str> {
    let mut programs = PROGRAMS.to_vec();
    programs.retain(|name| program(name).is_none());
    programs
}

fn apt(arguments: &[&str]) -> Result<()> {
    let status = Command::new("apt-get")
        .args(["-y", "-qq"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .context("apt-get could not be started")?;
    ensure!(
        status.success(),
        "apt-get {}: {status}",
        arguments.join(" ")
    );
    Ok(())
}

/// Returns the search path of programs. The daemons are in `/usr/sbin`, which the `PATH` of a user
/// may lack.
pub fn search_path() -> OsString {
    let mut path = env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

/// Returns the path of a program of the search path.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = search_path();
    let mut candidates = env::split_paths(&path).map(|directory| directory.join(name));
    candidates.find(|file| Path::is_file(file))
}
