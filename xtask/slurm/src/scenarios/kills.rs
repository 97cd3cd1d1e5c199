//! SIGKILL of the emulator while jobs run and wait.

use anyhow::{Result, ensure};
use modelarts_ext::JobHandle;

use crate::site::{Launcher, Site, completed, equal, until};

/// Each worker holds a lock while it runs, so that two runs at a time are detected.
const SCRIPT: &str = "
import fcntl, subprocess
name = os.environ['NAME'] + '-' + task
lock = open(notes / f'lock-{name}', 'a')
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    note('overlaps', name)
subprocess.Popen(['sleep', '600'], start_new_session=True) if not (notes / 'go').exists() else None
note('starts-' + os.environ['NAME'], task, os.getpid())
wait_for('go')
";

/// The emulator is killed several times. Each time all processes of its jobs end, the next start
/// leaves nothing of them in Slurm, and the jobs run again. At the end, the jobs complete.
pub async fn run(site: &Site<'_>, times: usize) -> Result<()> {
    let mut emulator = site.serve().await?;
    let client = emulator.client()?;
    let job = |name: &str| anyhow::Ok(site.job(&client, name, SCRIPT)?.env("NAME", name));
    let running = job("running")?.nodes(2).submit().await?;
    site.wait_for_notes("starts-running", 2).await?;
    // The second job needs all nodes, so it waits as long as the first runs.
    let waiting = job("waiting")?.nodes(3).submit().await?;
    let handles = [running.id().to_owned(), waiting.id().to_owned()];
    // The check of the next start is a job of Slurm as well.
    let queue = || {
        let mut jobs = site.cluster.queue()?;
        jobs.retain(|job| handles.contains(&job.name));
        anyhow::Ok(jobs)
    };
    for round in 0..times {
        site.wait_for_notes("starts-running", 2 * (round + 1))
            .await?;
        if site.launcher == Launcher::Slurm {
            until("both jobs in Slurm", async || {
                Ok((queue()?.len() == 2).then_some(()))
            })
            .await?;
        }
        let before = queue()?;
        emulator.kill().await?;
        // No later start is needed for this.
        until("the end of all processes", async || {
            Ok(site.processes().is_empty().then_some(()))
        })
        .await?;
        emulator = site.serve().await?;
        until("the end of the earlier jobs in Slurm", async || {
            let queue = queue()?;
            let is_left = queue
                .iter()
                .any(|job| before.iter().any(|it| it.id == job.id));
            Ok((!is_left).then_some(()))
        })
        .await?;
        let queue = queue()?;
        ensure!(queue.len() <= 2, "Slurm has jobs that run twice: {queue:?}");
    }
    site.wait_for_notes("starts-running", 2 * (times + 1))
        .await?;
    site.write_note("go")?;
    let client = emulator.client()?;
    for (job, name, expected) in [
        (running.id(), "running", 2 * (times + 1)),
        (waiting.id(), "waiting", 3),
    ] {
        let job: JobHandle = client.training_jobs().job(job)?;
        let end = completed(&job).await?;
        if site.launcher == Launcher::Slurm || name == "running" {
            equal(
                "starts",
                &site.notes(&format!("starts-{name}")).len(),
                &expected,
            )?;
        }
        let runs: Vec<_> = end
            .runs()
            .iter()
            .filter_map(|run| run.end_reason.as_deref())
            .collect();
        let (last, faults) = runs.split_last().unwrap_or((&"none", &[]));
        equal("last run", last, &"job completed")?;
        if name == "running" {
            equal("earlier runs", &faults.to_vec(), &vec!["node fault"; times])?;
        }
    }
    equal("overlaps", &site.notes("overlaps"), &Vec::new())?;
    until("an empty queue", async || {
        Ok(site.cluster.queue()?.is_empty().then_some(()))
    })
    .await?;
    // SIGTERM leaves nothing either.
    emulator.stop().await?;
    let left: Vec<String> = site
        .processes()
        .into_iter()
        .map(|process| process.arguments.join(" "))
        .collect();
    equal("processes", &left, &Vec::new())
}
