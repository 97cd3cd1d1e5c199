//! Tests of the emulator that do not depend on the launcher, with their jobs on the cluster.

use std::{env, path::Path};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use crate::{cluster::packages, site::Site};

/// Modules with tests of jobs that run as processes.
const MODULES: [&str; 2] = ["execution::", "runner::"];
/// Tests of what differs by the launcher, as the README of the emulator lists it.
const SKIPPED: [&str; 9] = [
    // They start no processes, or have stand-ins for the commands.
    "runner::simulated::",
    "runner::slurm::",
    // Jobs on a cluster have no container view.
    "runner::view::",
    // The emulator's own pools have nodes.
    "a_job_that_waits_too_long_to_run_again_fails",
    "a_preempted_job_waits_and_runs_again",
    // Each worker has an address of its own on one machine.
    "roles_run_their_own_code_with_their_own_data",
    "a_boot_file_gets_its_code_arguments_and_directories",
    "several_workers_run_at_once_and_the_first_failure_ends_all",
    // Trials have process ids.
    "each_algorithm_searches_with_real_trials",
];

/// Runs the tests.
pub async fn run(site: &Site<'_>) -> Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["test", "--quiet", "--package", "modelarts-emulator"])
        .args(["--test", "it", "--"])
        .args(MODULES)
        .args(SKIPPED.iter().flat_map(|test| ["--skip", *test]))
        .args(["--test-threads", "4"])
        .env("MODELARTS_TEST_SLURM", site.directory())
        .env("SLURM_CONF", site.cluster.configuration())
        .env("PATH", packages::search_path())
        .kill_on_drop(true)
        .output()
        .await
        .context("cargo could not be started")?;
    ensure!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
