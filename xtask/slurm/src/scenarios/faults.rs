//! Faults of the cluster: the controller, and nodes.

use anyhow::{Context, Result, ensure};
use modelarts_ext::{jobs::diagnosis::Cause, types::Phase};

use crate::site::{Site, completed, end_of, equal, event, in_phase, until};

const WAITS: &str = "
note('starts-' + os.environ['NAME'], task, os.getpid())
wait_for('go-' + os.environ['NAME'])
print('finished')
";

/// The controller stops and starts again: while a job runs, while a job ends, while a job is
/// submitted. All complete, and run once.
pub async fn controller(site: &Site<'_>) -> Result<()> {
    let emulator = site.serve().await?;
    let client = emulator.client()?;
    let job = |name: &str| anyhow::Ok(site.job(&client, name, WAITS)?.env("NAME", name));
    let runs = job("runs")?.submit().await?;
    let ends = job("ends")?.submit().await?;
    site.wait_for_notes("starts-runs", 1).await?;
    site.wait_for_notes("starts-ends", 1).await?;

    site.cluster.stop_controller()?;
    site.write_note("go-ends")?;
    let submitted = job("submitted")?.submit().await?;
    let reason = event(&submitted, "Slurm does not respond").await;
    let diagnosis = submitted.explain().await?.to_string();
    let phases = [runs.get().await?.phase(), submitted.get().await?.phase()];
    site.cluster.start_controller()?;
    let reason = reason?;
    ensure!(
        reason.contains("slurmctld") || reason.contains("controller"),
        "{reason}"
    );
    ensure!(
        diagnosis.contains("Slurm does not respond"),
        "no reason in\n{diagnosis}"
    );
    equal("phases", &phases, &[Phase::Running, Phase::Pending])?;

    site.wait_for_notes("starts-submitted", 1).await?;
    completed(&ends).await?;
    site.write_note("go-runs")?;
    site.write_note("go-submitted")?;
    completed(&runs).await?;
    completed(&submitted).await?;
    for name in ["runs", "ends", "submitted"] {
        equal("starts", &site.notes(&format!("starts-{name}")).len(), &1)?;
    }
    for job in [&runs, &submitted] {
        site.expect_slurm_jobs(job, &["COMPLETED"]).await?;
    }
    // Its `srun` could not release the nodes, so the emulator does this later.
    let ended = until("the end of the job in Slurm", async || {
        let jobs = site.slurm_jobs(&ends)?;
        Ok(jobs.into_iter().find(|job| job.state != "RUNNING"))
    })
    .await?;
    // Slurm repeats its request to the node only after a minute.
    let node = format!("NodeName={}", ended.nodes);
    for state in [&["State=DOWN", "Reason=test"][..], &["State=RESUME"]] {
        let update = [&["update", &node][..], state].concat();
        site.cluster.output("scontrol", &update)?;
    }
    site.expect_slurm_jobs(&ends, &["CANCELLED"]).await
}

/// Two nodes are killed. A job with retries runs again on the third node; a job without fails.
pub async fn node(site: &Site<'_>) -> Result<()> {
    let emulator = site.serve().await?;
    let client = emulator.client()?;
    let job = |name: &str| anyhow::Ok(site.job(&client, name, WAITS)?.env("NAME", name));
    let again = job("again")?.auto_restart(1).submit().await?;
    let fails = job("fails")?.submit().await?;
    site.wait_for_notes("starts-again", 1).await?;
    site.wait_for_notes("starts-fails", 1).await?;
    let mut killed = Vec::new();
    for job in [&again, &fails] {
        let jobs = site.slurm_jobs(job)?;
        killed.push(jobs.first().context("no job in Slurm")?.nodes.clone());
    }
    for node in &killed {
        site.cluster.kill_node(node)?;
    }
    let found = after_kill(site, &again, &fails).await;
    for node in &killed {
        site.cluster.start_node(node)?;
    }
    found?;
    site.cluster.wait_until_idle()
}

async fn after_kill(
    site: &Site<'_>,
    again: &modelarts_ext::Job,
    fails: &modelarts_ext::Job,
) -> Result<()> {
    let end = end_of(fails).await?;
    equal("phase", &end.job().phase(), &Phase::Failed)?;
    let diagnosis = fails.explain().await?;
    equal("cause", &diagnosis.cause, &Cause::NodeFault)?;

    site.wait_for_notes("starts-again", 2).await?;
    in_phase(again, Phase::Running).await?;
    let second = until("the second job in Slurm", async || {
        let jobs = site.slurm_jobs(again)?;
        Ok(jobs.into_iter().find(|job| job.state == "RUNNING"))
    })
    .await?;
    site.write_note("go-again")?;
    let end = completed(again).await?;
    let jobs = site.slurm_jobs(again)?;
    ensure!(
        jobs[0].nodes != second.nodes,
        "the second run had the same node: {jobs:?}"
    );
    let reasons: Vec<_> = end
        .runs()
        .iter()
        .filter_map(|run| run.end_reason.as_deref())
        .collect();
    equal("runs", &reasons, &vec!["node fault", "job completed"])?;
    equal("starts", &site.notes("starts-fails").len(), &1)?;
    site.expect_slurm_jobs(again, &["NODE_FAIL", "COMPLETED"])
        .await?;
    site.expect_slurm_jobs(fails, &["NODE_FAIL"]).await
}
