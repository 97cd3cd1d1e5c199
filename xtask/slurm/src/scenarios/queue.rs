//! Jobs that wait in the queue of Slurm, or that Slurm rejects.

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use modelarts_ext::types::Phase;

use crate::{
    cluster::configuration::LOW,
    site::{Site, completed, end_of, equal, event, in_phase, log, messages, until},
};

const WAITS: &str = "
note('started', task)
wait_for('go')
";

/// A job waits for nodes, and then for its partition. Events and the diagnosis have the reasons.
pub async fn a_job_waits(site: &Site<'_>) -> Result<()> {
    let emulator = site.serve().await?;
    let client = emulator.client()?;
    let first = site.job(&client, "first", WAITS)?.nodes(3).submit().await?;
    site.wait_for_notes("started", 3).await?;
    let second = site.job(&client, "second", WAITS)?.submit().await?;
    let message = event(&second, "Slurm: Resources").await?;
    let pod = format!(
        "[Pod: modelarts-job-{}-worker-0] FailedScheduling: ",
        second.id()
    );
    equal(
        "event",
        &message,
        &format!("{pod}Slurm: Resources: the job waits for free nodes"),
    )?;
    in_phase(&second, Phase::Pending).await?;
    let diagnosis = second.explain().await?.to_string();
    ensure!(
        diagnosis.contains("Slurm: Resources"),
        "no reason in\n{diagnosis}"
    );

    let partition = format!("PartitionName={LOW}");
    site.cluster
        .output("scontrol", &["update", &partition, "State=DOWN"])?;
    let message = event(&second, "Slurm: PartitionDown").await;
    site.cluster
        .output("scontrol", &["update", &partition, "State=UP"])?;
    ensure!(message?.starts_with(&pod), "another pod");
    let diagnosis = second.explain().await?.to_string();
    ensure!(
        diagnosis.contains("Slurm: PartitionDown"),
        "no reason in\n{diagnosis}"
    );

    site.write_note("go")?;
    completed(&first).await?;
    completed(&second).await?;
    equal("starts", &site.notes("started").len(), &4)?;
    let messages = messages(&second).await?;
    let repeated = messages
        .iter()
        .filter(|message| message.contains("Slurm: PartitionDown"));
    equal("events of one reason", &repeated.count(), &1)?;
    site.expect_slurm_jobs(&first, &["COMPLETED"]).await?;
    site.expect_slurm_jobs(&second, &["COMPLETED"]).await
}

/// A partition that does not exist: the job fails with the message of Slurm, and others run.
pub async fn a_job_is_rejected(site: &Site<'_>) -> Result<()> {
    let configuration = "[pools.pool-cpu]\npartition = \"nosuch\"\n";
    let emulator = site.serve_with(&[], configuration).await?;
    let client = emulator.client()?;
    let job = site
        .job(&client, "rejected", WAITS)?
        .without_field("spec.resource.flavor_id");
    let job = job.pool("pool-cpu").submit().await?;
    let end = end_of(&job).await?;
    ensure!(!end.is_completed(), "the job {}", end.outcome());
    let message = event(&job, "Slurm rejected the job").await?;
    ensure!(
        message.starts_with("Training job failures: Slurm rejected the job: ")
            && message.contains("nosuch"),
        "{message}"
    );
    let diagnosis = job.explain().await?.to_string();
    ensure!(
        diagnosis.contains("Slurm rejected the job"),
        "no reason in\n{diagnosis}"
    );
    equal("jobs of Slurm", &site.slurm_jobs(&job)?, &Vec::new())?;
    site.write_note("go")?;
    let other = site.job(&client, "other", WAITS)?.submit().await?;
    completed(&other).await?;
    equal("starts", &site.notes("started").len(), &1)
}

/// Number of jobs, and of nodes.
const JOBS: usize = 20;
const NODES: usize = 3;

const SPAN: &str = "
number = os.environ['NUMBER']
print('number', number)
note('spans', time.time(), 1, number)
time.sleep(0.5)
note('spans', time.time(), -1, number)
";

/// Twenty jobs run once each, three at a time.
pub async fn twenty_jobs(site: &Site<'_>) -> Result<()> {
    let emulator = site.serve().await?;
    let client = emulator.client()?;
    let jobs = (0..JOBS).map(async |number| {
        let job = site.job(&client, &format!("job-{number}"), SPAN)?;
        anyhow::Ok(job.env("NUMBER", number.to_string()).submit().await?)
    });
    let jobs = try_join_all(jobs).await?;
    for (number, job) in jobs.iter().enumerate() {
        completed(job).await?;
        equal(
            "log",
            &log(job, "worker-0").await?,
            &vec![format!("number {number}")],
        )?;
        site.expect_slurm_jobs(job, &["COMPLETED"]).await?;
    }
    let mut spans = Vec::new();
    for line in site.notes("spans") {
        let [time, change, number] = <[&str; 3]>::try_from(line.split(' ').collect::<Vec<_>>())
            .ok()
            .context("no span")?;
        spans.push((
            time.parse::<f64>()?,
            change.parse::<i32>()?,
            number.parse::<usize>()?,
        ));
    }
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut running, mut most) = (0, 0);
    for (_, change, _) in &spans {
        running += change;
        most = most.max(running);
    }
    equal("jobs at a time", &usize::try_from(most)?, &NODES)?;
    let mut started: Vec<usize> = spans
        .iter()
        .filter(|span| span.1 == 1)
        .map(|span| span.2)
        .collect();
    started.sort_unstable();
    equal("jobs that started", &started, &(0..JOBS).collect())?;
    until("an empty queue", async || {
        Ok(site.cluster.queue()?.is_empty().then_some(()))
    })
    .await
}
