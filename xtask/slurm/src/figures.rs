//! Measurements for BENCH.md: the delay of a job beside a bare `srun`, and the load of Slurm by
//! jobs that wait.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Stdio,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;

use crate::{
    cluster::{Cluster, packages},
    site::{Launcher, Site, completed, until},
};

/// Rounds of the comparison. The order of both alternates.
const ROUNDS: usize = 9;
/// Jobs in the queue.
const JOBS: usize = 200;
/// Time for which the calls of commands are counted.
const COUNTED: Duration = Duration::from_secs(60);
const COMMANDS: [&str; 5] = ["srun", "squeue", "scancel", "scontrol", "sinfo"];

/// Writes the time of its first line.
const FIRST_LINE: &str = "
import os, time
file = os.open(os.environ['FIRST_LINE'], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(file, f'{time.time()}\\n'.encode())
";

const WAITS: &str = "
note('started', task)
wait_for('go')
";

/// Prints both tables.
pub async fn run(cluster: &Cluster, program: &Path) -> Result<()> {
    first_line(&Site::create(
        cluster,
        Launcher::Slurm,
        "first-line",
        program,
    )?)
    .await?;
    cluster.wait_until_idle()?;
    calls(&Site::create(cluster, Launcher::Slurm, "calls", program)?).await
}

/// Measures the time from the creation of a job to the first line of its script.
async fn first_line(site: &Site<'_>) -> Result<()> {
    let script = site.directory().join("first_line.py");
    fs::write(&script, FIRST_LINE)?;
    let file = site.directory().join("notes/first-line");
    let emulator = site.serve().await?;
    let client = emulator.client()?;
    let (mut jobs, mut bare) = (Vec::new(), Vec::new());
    // The first round warms the caches, and is not counted.
    for round in 0..=ROUNDS {
        for is_job in [round % 2 == 0, round % 2 == 1] {
            let before = lines(&file).len();
            let start;
            if is_job {
                // The look-up of flavors and engines is a part of the creation.
                let job = site.job(&client, &format!("first-{round}"), FIRST_LINE)?;
                let path = file.to_str().context("the path is not UTF-8")?;
                let job = job.env("FIRST_LINE", path);
                start = SystemTime::now();
                let job = job.submit().await?;
                completed(&job).await?;
            } else {
                start = SystemTime::now();
                // The options are those of the job.
                let status = site
                    .cluster
                    .command("srun")
                    .args(["-N1", "-n1", "--cpus-per-task=8", "--mem=32G", "--mpi=none"])
                    .arg("python3")
                    .arg(&script)
                    .env("FIRST_LINE", &file)
                    .stdin(Stdio::null())
                    .status()?;
                ensure!(status.success(), "srun ended with {status}");
            }
            let times = lines(&file);
            ensure!(times.len() == before + 1, "the script wrote no line");
            let first: f64 = times[before].parse()?;
            let start = start.duration_since(SystemTime::UNIX_EPOCH)?.as_secs_f64();
            if round > 0 {
                if is_job { &mut jobs } else { &mut bare }.push(first - start);
            }
            site.cluster.wait_until_idle()?;
        }
    }
    println!("| from create to the first line of the script | median | least | most |");
    println!("|---|---|---|---|");
    for (name, mut times) in [("job of the emulator", jobs), ("bare `srun`", bare)] {
        times.sort_by(f64::total_cmp);
        let (least, most) = (times[0], times[ROUNDS - 1]);
        println!(
            "| {name} | {:.3} s | {least:.3} s | {most:.3} s |",
            times[ROUNDS / 2]
        );
    }
    Ok(())
}

fn lines(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Counts the calls of Slurm's commands while many jobs wait.
async fn calls(site: &Site<'_>) -> Result<()> {
    let log = site.directory().join("calls");
    let path = wrap_commands(&site.directory().join("bin"), &log)?;
    let emulator = site.serve_on(&[], "", path).await?;
    let client = emulator.client()?;
    // This job has all nodes until the end.
    let blocker = site
        .job(&client, "blocker", WAITS)?
        .nodes(3)
        .submit()
        .await?;
    site.wait_for_notes("started", 3).await?;
    let waiting = (0..JOBS).map(async |number| {
        let job = site.job(&client, &format!("waiting-{number}"), WAITS)?;
        anyhow::Ok(job.submit().await?)
    });
    let jobs = try_join_all(waiting).await?;
    until("all jobs in the queue", async || {
        Ok((site.cluster.queue()?.len() == JOBS + 1).then_some(()))
    })
    .await?;
    let submitted = lines(&log);
    tokio::time::sleep(COUNTED).await;
    let counted = &lines(&log)[submitted.len()..];
    println!(
        "\n| calls of commands | {JOBS} jobs in the queue, in one minute | until all were in the queue |"
    );
    println!("|---|---|---|");
    for command in COMMANDS {
        let count = |lines: &[String]| lines.iter().filter(|line| *line == command).count();
        println!(
            "| `{command}` | {} | {} |",
            count(counted),
            count(&submitted)
        );
    }
    println!("| all | {} | {} |", counted.len(), submitted.len());
    for job in &jobs {
        job.terminate().await?;
    }
    site.write_note("go")?;
    completed(&blocker).await?;
    until("an empty queue", async || {
        Ok(site.cluster.queue()?.is_empty().then_some(()))
    })
    .await
}

/// Writes scripts that record their calls and start the commands of Slurm. Returns a search path
/// with them.
fn wrap_commands(directory: &Path, log: &Path) -> Result<OsString> {
    fs::create_dir(directory)?;
    for name in COMMANDS {
        let command = packages::program(name).with_context(|| format!("no {name}"))?;
        let file = directory.join(name);
        let (log, command) = (log.display(), command.display());
        fs::write(
            &file,
            format!("#!/bin/sh\necho {name} >> '{log}'\nexec '{command}' \"$@\"\n"),
        )?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    }
    let mut path = directory.as_os_str().to_owned();
    path.push(":");
    path.push(packages::search_path());
    Ok(path)
}
