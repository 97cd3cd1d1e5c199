//! Records of the jobs that ran on this machine, for `--local`: each is a file in the state
//! directory, in the form of the emulator's seeds.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
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
use ring::digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    failure::Failure,
    state::{replace, state_directory},
    terminal::note,
};

/// Maximum number of records, which is more than a sweep has. The oldest are deleted.
const MAX_RECORDS: usize = 2_000;
/// Maximum number of events of a record.
const MAX_EVENTS: usize = 1_000;
/// Maximum size of the text of a log in a record, in bytes. The beginning is left out.
const MAX_LOG: usize = 1 << 18;
/// Length of an id, in characters.
const ID: usize = 36;
/// Minimum length of a value that is replaced in texts. Shorter ones, such as numbers, are parts of
/// other words.
const MIN_SECRET: usize = 8;
/// Text in place of a secret.
const MASK: &str = "***";
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
    /// The job in the form of the emulator's seeds, with its id and without secrets.
    seed: Value,
    /// Directory with the outputs, by their names.
    outputs: PathBuf,
    /// Hashes of the secrets, by the names of their variables.
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    /// `true` if a log lacks its beginning.
    #[serde(default)]
    is_cut: bool,
    /// Regular expression of a sweep with the values of its metric.
    #[serde(default)]
    metric: Option<(String, Value)>,
}

fn directory() -> Option<PathBuf> {
    Some(state_directory()?.join("local"))
}

/// Records a job that has ended or is about to be stopped. Secrets in its `environment` are not
/// recorded: values of `inherited` variables, and of those with names of credentials. A job that
/// cannot be recorded is only reported.
pub(crate) async fn record(
    job: &Job,
    environment: &Value,
    inherited: &[String],
    outputs: &Path,
    metric: Option<(String, Value)>,
) {
    let record = async {
        let mut body = job.copy_as(job.name()).await?.body();
        mask_described(&mut body, inherited);
        let masked = body["algorithm"]["environments"].as_object().into_iter().flatten();
        let masked = masked.filter(|(_, value)| value.as_str() == Some(MASK));
        let secrets = masked
            .filter_map(|(name, _)| Some((name.clone(), environment[name].as_str()?.to_owned())));
        let secrets: BTreeMap<String, String> = secrets.collect();
        let mut texts: Vec<&String> =
            secrets.values().filter(|secret| secret.len() >= MIN_SECRET).collect();
        // A secret may begin with another one.
        texts.sort_by_key(|secret| Reverse(secret.len()));
        let (mut seed, is_cut) = seed(job, body, &texts).await?;
        redact(&mut seed, &texts);
        let hashes = secrets.into_iter().map(|(name, value)| (name, hash(job.id(), &value)));
        let outputs = std::path::absolute(outputs).unwrap_or_else(|_| outputs.to_owned());
        Ok::<_, Error>(Record { seed, outputs, secrets: hashes.collect(), is_cut, metric })
    };
    let written = match record.await {
        Ok(record) => write(job, &record).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = written {
        note(format_args!("`modelarts ls --local` will not list {}: {error}", job.name()));
    }
}

fn write(job: &Job, record: &Record) -> io::Result<()> {
    let Some(directory) = directory() else {
        return Ok(());
    };
    // A service has no two jobs with one name.
    for file in files(&directory).iter().filter(|file| name_of(file) == Some(job.name())) {
        fs::remove_file(file)?;
    }
    let created = job.created_at().map_or(0, Timestamp::as_epoch_millis);
    let file = directory.join(format!("{created}-{}-{}.json", job.name(), job.id()));
    // An output without files has a directory, too.
    for (name, _) in job.outputs() {
        fs::create_dir_all(record.outputs.join(name))?;
    }
    replace(&file, &serde_json::to_vec(record)?)?;
    let files = files(&directory);
    files.iter().take(files.len().saturating_sub(MAX_RECORDS)).try_for_each(fs::remove_file)
}

/// Returns the files of the records, oldest first.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

/// Returns the name of the job in the name of a file: `TIME-NAME-ID.json`.
fn name_of(file: &Path) -> Option<&str> {
    let (_, rest) = file.file_stem()?.to_str()?.split_once('-')?;
    rest.get(..rest.len().checked_sub(ID + 1)?)
}

/// Returns a hash of a secret, which is another one for each job.
fn hash(salt: &str, secret: &str) -> String {
    let digest = digest::digest(&digest::SHA256, format!("{salt} {secret}").as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Replaces secrets in all texts of a value.
fn redact(value: &mut Value, secrets: &[&String]) {
    match value {
        Value::String(text) => *text = without(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, secrets)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| redact(member, secrets));
        }
        _ => {}
    }
}

fn without(text: &str, secrets: &[&String]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK))
}

/// Returns a job in the form of seeds, and `true` if a log lacks its beginning. The logs do not have
/// the secrets.
async fn seed(job: &Job, body: Value, secrets: &[&String]) -> Result<(Value, bool), Error> {
    let events = job.events().collect(MAX_EVENTS).await?;
    let events = events.iter().filter_map(|event| {
        Some(json!({
            "time": event.time()?.to_string(),
            "message": event.message(),
            "level": event.level().as_str(),
            "source": event.source().clone().canonical().as_str(),
        }))
    });
    let (mut logs, mut is_cut) = (Map::new(), false);
    for task in job.tasks() {
        // A task that never started has no log.
        if let Ok(log) = job.logs(task).end().await {
            let text = without(&log.text, secrets);
            let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_LOG));
            is_cut |= start > 0 || !log.is_whole;
            logs.insert(task.clone(), text.split_at(start).1.into());
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
    Ok((seed, is_cut))
}

/// Returns the records of jobs with selected names. A file that is no record is only reported.
fn records(selects: impl Fn(&str) -> bool) -> Vec<(PathBuf, Record)> {
    let files = directory().map(|directory| files(&directory)).unwrap_or_default();
    let selected = files.into_iter().filter(|file| name_of(file).is_none_or(&selects));
    let records = selected.filter_map(|path| {
        let text = fs::read(&path).map_err(|error| error.to_string());
        let record =
            text.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
        match record {
            Ok(record) => Some((path, record)),
            Err(error) => {
                note(format_args!("left out {}: {error}", path.display()));
                None
            }
        }
    });
    records.collect()
}

/// Returns the record of a job.
fn record_of(job: &Job) -> Option<Record> {
    let records = records(|name| name == job.name());
    records.into_iter().map(|(_, record)| record).find(|record| record.seed["id"] == job.id())
}

/// Starts an emulator in this process whose jobs are those of the records.
pub(crate) async fn open() -> Result<(Emulator, Client), Failure> {
    let records = records(|_| true);
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
    add(&emulator, records, &Value::Null).await;
    let client = ClientBuilder::from_vars(emulator.vars()).build()?;
    Ok((emulator, client))
}

/// Adds the recorded jobs with selected names to an emulator. A secret is taken from `environment`
/// if it is that of the record.
pub(crate) async fn restore(
    emulator: &Emulator,
    selects: impl Fn(&str) -> bool,
    environment: &Value,
) {
    add(emulator, records(selects), environment).await;
}

/// Adds the jobs of records to an emulator. A record that cannot be added is only reported.
async fn add(emulator: &Emulator, records: Vec<(PathBuf, Record)>, environment: &Value) {
    for (path, mut record) in records {
        let salt = record.seed["id"].as_str().unwrap_or_default().to_owned();
        for (name, known) in &record.secrets {
            let present = environment[name].as_str();
            let same = present.filter(|present| hash(&salt, present) == *known);
            let pointer = record.seed.pointer_mut("/job/algorithm/environments");
            if let (Some(same), Some(Value::Object(variables))) = (same, pointer) {
                variables.insert(name.clone(), same.into());
            }
        }
        let files = add_files(emulator.obs_root(), &record.seed["job"]["algorithm"]);
        let added = async {
            files.map_err(|error| error.to_string())?;
            let text = json!({"jobs": [record.seed]}).to_string();
            let seeds = Seeds::from_json(&text).map_err(|error| error.to_string())?;
            emulator.seed(&seeds).await.map_err(|error| error.to_string())
        };
        if let Err(error) = added.await {
            note(format_args!("left out {}: {error}", path.display()));
        }
    }
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
    if let Some(file) = path(&algorithm["boot_file"]) {
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(file, "")?;
    }
    Ok(())
}

/// Deletes the records of jobs.
pub(crate) fn forget(jobs: &[Job]) -> Result<(), Failure> {
    let files = directory().map(|directory| files(&directory)).unwrap_or_default();
    for file in files {
        let is_of = |job: &&Job| file.to_string_lossy().ends_with(&format!("-{}.json", job.id()));
        if jobs.iter().any(|job| is_of(&job)) {
            fs::remove_file(&file).map_err(|error| {
                Failure::local(format_args!("cannot delete {}: {error}", file.display()))
            })?;
        }
    }
    Ok(())
}

/// Returns the directory with the outputs of a recorded job.
pub(crate) fn outputs(job: &Job) -> Option<PathBuf> {
    Some(record_of(job)?.outputs)
}

/// Returns `true` if the log of a recorded job lacks its beginning.
pub(crate) fn has_cut_log(job: &Job) -> bool {
    record_of(job).is_some_and(|record| record.is_cut)
}

/// Returns the values of a metric that a sweep has recorded for a job.
pub(crate) fn metric(job: &Job, regex: &str) -> Option<Value> {
    let (known, values) = record_of(job)?.metric?;
    (known == regex).then_some(values)
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
