//! Preemption of a job, and its second run.

use anyhow::{Result, ensure};
use modelarts_ext::types::Phase;

use crate::site::{Site, completed, equal, event, in_phase, log, until};

/// Each job takes all CPUs of its nodes.
const CONFIGURATION: &str = r#"
[default]
cpus-per-task = 8

[pools.pool-low]
partition = "low"

[pools.pool-high]
partition = "high"
"#;

/// The first run does not end by itself. Each run writes a file to the output.
const LOW: &str = "
out = pathlib.Path(next(arg for arg in sys.argv if arg.startswith('--train_url=')).split('=')[1])
note('low-' + task, os.getpid())
run = len((notes / ('low-' + task)).read_text().splitlines())
(out / f'{task}-run-{run}').write_text(str(run))
print('run', run, flush=True)
note('runs', run)
if run == 1:
    time.sleep(600)
";

const HIGH: &str = "
note('high', task)
wait_for('go')
";

/// A job of a higher partition preempts a job, which waits and runs again.
pub async fn run(site: &Site<'_>) -> Result<()> {
    let flags = ["--pool", "pool-low:3:cpu", "--pool", "pool-high:3:cpu"];
    let emulator = site.serve_with(&flags, CONFIGURATION).await?;
    let client = emulator.client()?;
    let in_pool = |name: &str, script: &str| {
        let job = site
            .job(&client, name, script)?
            .without_field("spec.resource.flavor_id");
        anyhow::Ok(job.pool(format!("pool-{name}")))
    };
    let low = in_pool("low", LOW)?.nodes(3).preemptible(true);
    let low = low
        .output("train_url", "obs://bucket/low/out/")
        .submit()
        .await?;
    site.wait_for_notes("runs", 3).await?;
    equal(
        "partition",
        &site.slurm_jobs(&low)?[0].partition.as_str(),
        &"low",
    )?;

    let high = in_pool("high", HIGH)?.submit().await?;
    site.wait_for_notes("high", 1).await?;
    in_phase(&low, Phase::Pending).await?;
    event(&low, "preempted").await?;
    // Outputs of the first run come back although the job did not end.
    for task in ["worker-0", "worker-1", "worker-2"] {
        let object = format!("bucket/low/out/{task}-run-1");
        let wait = until(object.as_str(), async || Ok(site.object(&object).ok()));
        equal("output of the first run", &wait.await?.as_str(), &"1")?;
    }
    equal("runs", &site.notes("runs").len(), &3)?;
    // The next run waits in Slurm, with its reason.
    event(&low, "Slurm: ").await?;

    site.write_note("go")?;
    completed(&high).await?;
    let end = completed(&low).await?;
    equal("runs", &site.notes("runs").len(), &6)?;
    for task in ["worker-0", "worker-1", "worker-2"] {
        for run in ["1", "2"] {
            let object = site.object(&format!("bucket/low/out/{task}-run-{run}"))?;
            equal("output", &object.as_str(), &run)?;
        }
    }
    let lines = log(&low, "worker-0").await?;
    let runs: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|line| line.starts_with("run "))
        .collect();
    equal("log", &runs, &vec!["run 1", "run 2"])?;
    let reasons: Vec<_> = end
        .runs()
        .iter()
        .map(|run| run.end_reason.clone())
        .collect();
    ensure!(
        reasons
            == [
                Some("preempted".to_owned()),
                Some("job completed".to_owned())
            ],
        "runs ended by {reasons:?}"
    );
    site.expect_slurm_jobs(&high, &["COMPLETED"]).await?;
    site.expect_slurm_jobs(&low, &["PREEMPTED", "COMPLETED"])
        .await
}
