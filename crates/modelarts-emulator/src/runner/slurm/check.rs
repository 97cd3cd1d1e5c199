//! Checks at the start of the emulator: commands of Slurm, the shared directory and the program.

use std::{collections::HashSet, fs, io, path::Path, process::Stdio, time::Duration};

use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::runner::slurm::{
    commands::{self, start_error},
    connection::srun,
};

/// Time limit for the wait for a free node, in seconds.
const NODE_LIMIT: &str = "10";
/// Time limit for the end of the jobs of an earlier emulator.
const END_LIMIT: Duration = Duration::from_secs(60);

/// Time limit for the check of a node.
const CHECK_TIMEOUT: Duration = Duration::from_secs(60);

/// Checks the commands, the shared directory and, if a node is free, the program on the node.
pub(super) async fn check(
    shared: &Path,
    program: &Path,
    arguments: &[String],
) -> Result<(), String> {
    commands::read_queue().await?;
    commands::run("scancel", &["--version"]).await?;
    let cannot_write = |error: io::Error| format!("cannot write to {}: {error}", shared.display());
    let file = tempfile::NamedTempFile::new_in(shared).map_err(cannot_write)?;
    let token = Uuid::new_v4().to_string();
    fs::write(file.path(), &token).map_err(cannot_write)?;
    let mut command = srun();
    command
        .args(["--nodes=1", "--ntasks=1", "--mpi=none", "--job-name=modelarts-check"])
        .arg(format!("--immediate={NODE_LIMIT}"))
        .args(arguments)
        .arg(program)
        .args(["worker", "--check"])
        .arg(file.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = timeout(CHECK_TIMEOUT, command.output()).await;
    let output = output.map_err(|_| {
        let limit = CHECK_TIMEOUT.as_secs();
        format!("a test job has not ended within {limit} s: see `squeue --name=modelarts-check`")
    })?;
    let output = output.map_err(|error| start_error("srun", &error))?;
    if output.status.success() {
        let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let shared = shared.display();
        return match found == token {
            true => Ok(()),
            false => Err(format!(
                "{shared} is not the same directory on the nodes: it must be on a file system \
                 that this machine and all nodes mount at the same path"
            )),
        };
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let program = program.display();
    let last = text.lines().rev().find(|line| line.contains("error:")).unwrap_or(text.trim());
    if text.contains("execve") {
        return Err(format!(
            "{program} does not run on the nodes: it must be at the same path there, such as on \
             the shared file system; srun wrote: {last}"
        ));
    }
    let is_busy = ["Immediate execution", "Unable to allocate resources: Requested nodes are busy"];
    if is_busy.iter().any(|busy| text.contains(busy)) {
        tracing::warn!(
            "no node was free within {NODE_LIMIT} s: the shared directory and the program are not \
             checked"
        );
        return Ok(());
    }
    Err(format!("a test job does not run in Slurm: {last}"))
}

/// Ends the jobs of an earlier emulator, whose names `is_own` accepts, and waits for their end.
pub(super) async fn end_earlier(is_own: &(dyn Fn(&str) -> bool + Sync)) -> Result<(), String> {
    let began = Instant::now();
    let mut cancelled = HashSet::new();
    loop {
        let queue = commands::read_queue().await?;
        let live = queue.iter().filter(|job| job.is_live() && is_own(&job.name));
        let live: Vec<_> = live.collect();
        if live.is_empty() {
            return Ok(());
        }
        if began.elapsed() > END_LIMIT {
            let ids: Vec<_> = live.iter().map(|job| job.id.as_str()).collect();
            let ids = ids.join(", ");
            // If a node is lost, Slurm completes its job when the node returns.
            if live.iter().all(|job| job.state == "COMPLETING") {
                tracing::warn!("the jobs {ids} of an earlier start are still completing in Slurm");
                return Ok(());
            }
            return Err(format!(
                "the jobs {ids} of an earlier start do not end in Slurm: cancel them with \
                 `scancel`, and \
                 start the emulator again"
            ));
        }
        let ids = live.iter().map(|job| job.id.as_str());
        let new: Vec<&str> = ids.filter(|id| cancelled.insert((*id).to_owned())).collect();
        if !new.is_empty() {
            tracing::warn!(?new, "ending the jobs of an earlier emulator");
            commands::cancel(&new).await?;
        }
        sleep(Duration::from_secs(1)).await;
    }
}
