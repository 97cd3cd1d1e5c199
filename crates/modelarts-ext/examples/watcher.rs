//! Watches the phases of all jobs of a project, and saves its position in a file after each change.
//! After a restart, it continues at that position, and reports what it missed meanwhile:
//! `cargo run --example watcher`.

mod local;

use std::{collections::HashMap, fs, path::Path};

use modelarts_emulator::{Emulator, Timing, jobs::RunnerKind, script::Script};
use modelarts_ext::{Client, jobs::JobChange, types::Phase};

/// Reports changes until `jobs` more jobs have completed.
async fn watch(
    client: &Client,
    position: &Path,
    jobs: usize,
) -> anyhow::Result<Vec<(String, Phase)>> {
    let mut watch = client.training_jobs().watch();
    if position.exists() {
        watch = watch.resume(serde_json::from_slice(&fs::read(position)?)?);
    }
    let mut changes = Vec::new();
    let mut completed = 0;
    while completed < jobs {
        if let JobChange::Phase { job, phase, .. } = watch.next().await? {
            completed += usize::from(phase == Phase::Completed);
            changes.push((job.name().to_owned(), phase));
        }
        // The file has the old or the new position, also after an interruption.
        let new = position.with_extension("new");
        fs::write(&new, serde_json::to_vec(&watch.position())?)?;
        fs::rename(&new, position)?;
    }
    Ok(changes)
}

async fn submit(client: &Client, names: [&str; 4]) -> anyhow::Result<()> {
    let job = client.training_jobs().create_unnamed().flavor("modelarts.vm.cpu.8u");
    let job = job.custom_image("team/image:1").command("train");
    for name in names {
        job.clone().name(name).submit().await?;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let runner = RunnerKind::Simulated(Script::from_json(r#"{"default": [{"seconds": 3}]}"#)?);
    let builder = Emulator::builder().timing(Timing::instant()).runner(runner);
    let (emulator, client) = local::start(builder).await?;
    let position = emulator.data_dir().join("position.json");

    submit(&client, ["a", "b", "c", "d"]).await?;
    let mut changes = watch(&client, &position, 2).await?;
    // While no program watches, two jobs go on, and four begin and end.
    submit(&client, ["e", "f", "g", "h"]).await?;
    let jobs = client.training_jobs().list().collect(100).await?;
    client.training_jobs().wait_all(&jobs).await?;
    changes.extend(watch(&client, &position, 6).await?);

    let mut phases = HashMap::<String, Vec<Phase>>::new();
    for (name, phase) in changes {
        let phases = phases.entry(name).or_default();
        anyhow::ensure!(!phases.contains(&phase), "{phase} was reported twice");
        phases.push(phase);
    }
    println!("{phases:?}");
    let last = [Phase::Running, Phase::Completed];
    anyhow::ensure!(phases.len() == 8 && phases.values().all(|phases| phases.ends_with(&last)));
    emulator.shutdown().await;
    Ok(())
}
