//! Flavors with GPUs.

use std::collections::BTreeSet;

use anyhow::Result;
use modelarts_ext::types::Phase;

use crate::site::{Launcher, Site, completed, equal, in_phase, log};

/// The flavor asks for four of the eight CPUs of a node, so that two jobs fit on it by CPUs, and a
/// third does not by GPUs. All jobs run on the same node.
const CONFIGURATION: &str = r#"
[default]
constraint = "n2"

[flavors."modelarts.p3.large.public"]
cpus-per-task = 2
mem = "1G"
gres = "gpu:1"

[flavors."modelarts.vm.cpu.8u"]
cpus-per-task = 1
mem = "1G"
"#;

const SCRIPT: &str = "
devices = os.environ.get('CUDA_VISIBLE_DEVICES', 'none')
note('devices', devices)
print('devices', devices)
if devices != 'none':
    wait_for('go')
";

/// Two jobs with one GPU each get different ones of a node. A third waits. A job without GPUs sees
/// none.
pub async fn run(site: &Site<'_>) -> Result<()> {
    let emulator = site.serve_with(&[], CONFIGURATION).await?;
    let client = emulator.client()?;
    let submit = async |name: &str| {
        let job = site
            .job(&client, name, SCRIPT)?
            .flavor("modelarts.p3.large.public");
        anyhow::Ok(job.submit().await?)
    };
    let (first, second) = (submit("first").await?, submit("second").await?);
    let devices: BTreeSet<String> = site
        .wait_for_notes("devices", 2)
        .await?
        .into_iter()
        .collect();
    equal(
        "devices",
        &devices,
        &BTreeSet::from(["0".to_owned(), "1".to_owned()]),
    )?;
    let third = submit("third").await?;
    in_phase(&third, Phase::Pending).await?;
    let without = site.job(&client, "without", SCRIPT)?.submit().await?;
    completed(&without).await?;
    equal(
        "log",
        &log(&without, "worker-0").await?,
        &vec!["devices none".to_owned()],
    )?;
    equal("phase", &third.get().await?.phase(), &Phase::Pending)?;
    site.write_note("go")?;
    for job in [&first, &second, &third] {
        completed(job).await?;
    }
    if site.launcher == Launcher::Slurm {
        for job in [&first, &second, &third] {
            let jobs = site.slurm_jobs(job)?;
            equal("nodes", &jobs[0].nodes.as_str(), &"n2")?;
            equal("resources", &jobs[0].resources.as_str(), &"2 1G gres:gpu:1")?;
        }
    }
    equal("number of jobs", &site.notes("devices").len(), &4)?;
    drop(emulator);

    // Without a configuration, the flavor asks for its own 8 CPUs, 64 GB and one GPU.
    let emulator = site.serve().await?;
    let client = emulator.client()?;
    let job = site
        .job(&client, "own", SCRIPT)?
        .flavor("modelarts.p3.large.public");
    let job = job.submit().await?;
    completed(&job).await?;
    equal(
        "log",
        &log(&job, "worker-0").await?,
        &vec!["devices 0".to_owned()],
    )?;
    if site.launcher == Launcher::Slurm {
        let jobs = site.slurm_jobs(&job)?;
        equal(
            "resources",
            &jobs[0].resources.as_str(),
            &"8 64G gres:gpu:1",
        )?;
    }
    site.expect_slurm_jobs(&job, &["COMPLETED"]).await
}
