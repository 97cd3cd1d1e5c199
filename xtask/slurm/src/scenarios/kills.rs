//! SIGKILL of the emulator while jobs run and wait.

use anyhow::{Result, ensure};

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

/// Names of the jobs, with the number of their workers. Both do not fit on the three nodes.
const JOBS: [(&str, u32); 2] = [("two", 2), ("three", 3)];

/// The emulator is killed several times, while one job runs and another waits. Each time all
/// processes of the jobs end, the next start leaves nothing of them in Slurm, and the jobs run
/// again. At the end, the jobs complete.
pub async fn run(site: &Site<'_>, times: usize) -> Result<()> {
    let mut emulator = site.serve().await?;
    let client = emulator.client()?;
    let mut ids = Vec::new();
    for (name, workers) in JOBS {
        let job = site
            .job(&client, name, SCRIPT)?
            .env("NAME", name)
            .nodes(workers);
        ids.push(job.submit().await?.id().to_owned());
    }
    // The check of a start is a job of Slurm as well.
    let queue = || {
        let mut jobs = site.cluster.queue()?;
        jobs.retain(|job| ids.contains(&job.name));
        anyhow::Ok(jobs)
    };
    for round in 0..times {
        all_run(site, round + 1).await?;
        until("both jobs in Slurm", async || {
            let is_local = site.launcher == Launcher::Local;
            Ok((is_local || queue()?.len() == 2).then_some(()))
        })
        .await?;
        let before = queue()?;
        emulator.kill().await?;
        // No later start is needed for this.
        until("the end of all processes", async || {
            Ok(site.processes().is_empty().then_some(()))
        })
        .await?;
        emulator = site.serve().await?;
        let queue = queue()?;
        let is_left = queue
            .iter()
            .any(|job| before.iter().any(|it| it.id == job.id));
        ensure!(
            !is_left,
            "jobs of the earlier start are in Slurm: {queue:?}, then {before:?}"
        );
        ensure!(queue.len() <= 2, "Slurm has a job twice: {queue:?}");
    }
    all_run(site, times + 1).await?;
    site.write_note("go")?;
    let client = emulator.client()?;
    let mut all_faults = 0;
    for (id, (name, workers)) in ids.iter().zip(JOBS) {
        let end = completed(&client.training_jobs().job(id)?).await?;
        let runs: Vec<_> = end
            .runs()
            .iter()
            .filter_map(|run| run.end_reason.as_deref())
            .collect();
        let (last, faults) = runs.split_last().unwrap_or((&"none", &[]));
        equal("last run", last, &"job completed")?;
        equal(
            "earlier runs",
            &faults.to_vec(),
            &vec!["node fault"; faults.len()],
        )?;
        equal("starts", &starts(site, name, workers), &runs.len())?;
        all_faults += faults.len();
    }
    if site.launcher == Launcher::Slurm {
        equal("runs that a kill ended", &all_faults, &times)?;
    }
    equal("overlaps", &site.notes("overlaps"), &Vec::new())?;
    until("an empty queue", async || {
        Ok(queue()?.is_empty().then_some(()))
    })
    .await?;
    // SIGTERM leaves nothing either.
    emulator.stop().await?;
    let left = site
        .processes()
        .into_iter()
        .map(|process| process.arguments.join(" "));
    equal("processes", &left.collect(), &Vec::<String>::new())
}

/// Waits until all workers of a job have started, in a number of runs of both jobs together.
async fn all_run(site: &Site<'_>, runs: usize) -> Result<()> {
    until(format!("{runs} runs"), async || {
        let all: usize = JOBS
            .iter()
            .map(|(name, workers)| starts(site, name, *workers))
            .sum();
        Ok((all >= runs).then_some(()))
    })
    .await
}

/// Returns the number of runs in which all workers of a job have started.
fn starts(site: &Site<'_>, name: &str, workers: u32) -> usize {
    let tasks = (0..workers).map(|task| {
        let line = format!("worker-{task} ");
        let lines = site.notes(&format!("starts-{name}"));
        lines.iter().filter(|it| it.starts_with(&line)).count()
    });
    tasks.min().unwrap_or_default()
}
