//! Records of the jobs that ran on this machine, for `--local`: each is a file in the state
//! directory, in the form of the emulator's seeds.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use clap::Args;
use modelarts_emulator::{
    Emulator, Timing,
    pools::{Pool, PoolKind},
    seeds::Seeds,
};
use modelarts_ext::{Client, ClientBuilder, Error, Job, Timestamp, masking::mask_described};
use modelarts_obs::Obs;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    failure::Failure,
    state::{replace, state_directory},
    terminal::note,
};

/// Maximum number of records. The oldest are deleted.
const MAX_RECORDS: usize = 100;
/// Maximum number of events of a record.
const MAX_EVENTS: usize = 1_000;
/// Maximum size of the text of a log in a record, in bytes. The beginning is left out.
const MAX_LOG: usize = 1 << 20;
/// Number of nodes of the pools of the jobs.
const POOL_NODES: u32 = 16;

/// Flag that selects the jobs of this machine.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct LocalFlag {
    /// Jobs that `run --local` ran on this machine, instead of those of the service.
    #[arg(long)]
    pub(crate) local: bool,
}

/// Record of a job that ran on this machine.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The job in the form of the emulator's seeds, with its id.
    seed: Value,
    /// Directory with the outputs, by their names.
    outputs: PathBuf,
}

impl Record {
    fn name(&self) -> &str {
        self.seed["job"]["metadata"]["name"].as_str().unwrap_or_default()
    }
}

fn directory() -> Option<PathBuf> {
    Some(state_directory()?.join("local"))
}

/// Records a job that has ended or is about to be stopped. `secrets` names environment variables
/// whose values are not recorded. A job that cannot be recorded is only reported.
pub(crate) async fn record(job: &Job, secrets: &[String], outputs: &Path) {
    let written = match seed(job, secrets).await {
        Ok(seed) => write(job, seed, outputs).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = written {
        note(format_args!("`modelarts ls --local` will not list {}: {error}", job.name()));
    }
}

fn write(job: &Job, seed: Value, outputs: &Path) -> io::Result<()> {
    let Some(directory) = directory() else {
        return Ok(());
    };
    let record = Record { seed, outputs: std::path::absolute(outputs)? };
    let created = job.created_at().map_or(0, Timestamp::as_epoch_millis);
    let file = directory.join(format!("{created}-{}.json", job.id()));
    // A service has no two jobs with one name.
    for (path, _) in records().iter().filter(|(_, record)| record.name() == job.name()) {
        fs::remove_file(path)?;
    }
    replace(&file, &serde_json::to_vec(&record)?)?;
    let files = files(&directory);
    for old in files.iter().take(files.len().saturating_sub(MAX_RECORDS)) {
        fs::remove_file(old)?;
    }
    Ok(())
}

/// Returns the files of the records, oldest first.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

async fn seed(job: &Job, secrets: &[String]) -> Result<Value, Error> {
    let mut body = job.copy_as(job.name()).await?.body();
    mask_described(&mut body, secrets);
    let events = job.events().collect(MAX_EVENTS).await?;
    let events = events.iter().filter_map(|event| {
        Some(json!({
            "time": event.time()?.to_string(),
            "message": event.message(),
            "level": event.level().as_str(),
            "source": event.source().clone().canonical().as_str(),
        }))
    });
    let mut logs = Map::new();
    for task in job.tasks() {
        // A task that never started has no log.
        if let Ok(log) = job.logs(task).end().await {
            let start = log.text.ceil_char_boundary(log.text.len().saturating_sub(MAX_LOG));
            logs.insert(task.clone(), log.text.split_at(start).1.into());
        }
    }
    let is_abnormal = job.phase().as_str() == "Abnormal";
    // The service states the start in whole seconds.
    let created = job.created_at().unwrap_or(Timestamp::MIN);
    let started = job.started_at().filter(|_| !is_abnormal).map(|start| start.max(created));
    let ended = match (job.started_at(), job.time_run()) {
        (Some(started), Some(run)) => started + run,
        _ => SystemTime::now().into(),
    };
    let ended = ended.max(started.unwrap_or(created));
    let mut seed = json!({
        "job": body,
        "id": job.id(),
        "phase": if job.is_final() { job.phase().to_string() } else { "Terminated".to_owned() },
        "created": created.to_string(),
        "ended": ended.to_string(),
        "events": events.collect::<Vec<_>>(),
        "logs": logs,
    });
    if let Some(started) = started {
        seed["started"] = started.to_string().into();
    }
    let failed = job.exit_codes().find(|(_, code)| *code != 0);
    if let (Some((task, code)), "Failed") = (failed, job.phase().as_str()) {
        seed["task"] = task.into();
        seed["exit_code"] = code.into();
    }
    Ok(seed)
}

fn records() -> Vec<(PathBuf, Record)> {
    let files = directory().map(|directory| files(&directory)).unwrap_or_default();
    let records = files.into_iter().filter_map(|path| {
        let record = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        Some((path, record))
    });
    records.collect()
}

/// Starts an emulator in this process whose jobs are those of the records.
pub(crate) async fn open() -> Result<(Emulator, Client), Failure> {
    let records = records();
    let mut builder = Emulator::builder().timing(Timing::instant());
    let mut pools: Vec<&str> = Vec::new();
    for (_, record) in &records {
        let pool = record.seed["job"]["spec"]["resource"]["pool_id"].as_str();
        if let Some(pool) = pool.filter(|pool| !pools.contains(pool)) {
            pools.push(pool);
            builder = builder.pool(Pool::new(pool, PoolKind::Gpu, POOL_NODES));
        }
    }
    let emulator = builder.start().await.map_err(Failure::local)?;
    restore(&emulator, |_| true, &Value::Null).await?;
    let client = ClientBuilder::from_vars(emulator.vars()).build()?;
    Ok((emulator, client))
}

/// Adds the recorded jobs with selected names to an emulator. Secrets, which records do not have,
/// are taken from `environment`.
pub(crate) async fn restore(
    emulator: &Emulator,
    selects: impl Fn(&str) -> bool,
    environment: &Value,
) -> Result<(), Failure> {
    let selected = records().into_iter().filter(|(_, record)| selects(record.name()));
    for (path, mut record) in selected {
        let variables = record.seed["job"]["algorithm"]["environments"].as_object_mut();
        for (name, value) in variables.into_iter().flatten() {
            if value.as_str() == Some("***") && environment[name].is_string() {
                *value = environment[name].clone();
            }
        }
        add_files(emulator.obs_root(), &record.seed["job"]["algorithm"]).map_err(Failure::local)?;
        let text = json!({"jobs": [record.seed]}).to_string();
        let seeded = match Seeds::from_json(&text) {
            Ok(seeds) => emulator.seed(&seeds).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = seeded {
            note(format_args!("left out {}: {error}", path.display()));
        }
    }
    Ok(())
}

/// Creates the directories and the boot file of a job, which are empty: the emulator accepts no
/// job without them.
fn add_files(root: &Path, algorithm: &Value) -> io::Result<()> {
    let path = |address: &Value| {
        let path = Path::new(address.as_str()?.trim_start_matches('/'));
        let is_plain = path.components().all(|step| matches!(step, Component::Normal(_)));
        is_plain.then(|| root.join(path))
    };
    let inputs = algorithm["inputs"].as_array().into_iter().flatten();
    let inputs = inputs.map(|input| &input["remote"]["obs"]["obs_url"]);
    let directories = inputs.chain([&algorithm["code_dir"]]).filter_map(path);
    directories.into_iter().try_for_each(fs::create_dir_all)?;
    match path(&algorithm["boot_file"]) {
        Some(file) => fs::write(file, ""),
        None => Ok(()),
    }
}

/// Deletes the records of jobs.
pub(crate) fn forget(jobs: &[Job]) -> Result<(), Failure> {
    for (path, record) in records() {
        if jobs.iter().any(|job| record.seed["id"] == job.id()) {
            fs::remove_file(&path).map_err(|error| {
                Failure::local(format_args!("cannot delete {}: {error}", path.display()))
            })?;
        }
    }
    Ok(())
}

/// Returns the directory with the outputs of a recorded job.
pub(crate) fn outputs(job: &Job) -> Option<PathBuf> {
    let of_job = |(_, record): &(PathBuf, Record)| record.seed["id"] == job.id();
    Some(records().into_iter().find(of_job)?.1.outputs)
}

/// Returns OBS with a directory as the bucket `outputs`. The first value holds the link to it.
pub(crate) fn obs_of(directory: &Path) -> io::Result<(tempfile::TempDir, Obs)> {
    let root = tempfile::tempdir()?;
    std::os::unix::fs::symlink(directory, root.path().join(OUTPUTS))?;
    let obs = Obs::directory(root.path()).with_cache_dir(root.path().join("cache"));
    Ok((root, obs))
}

/// Bucket of [`obs_of`].
pub(crate) const OUTPUTS: &str = "outputs";
