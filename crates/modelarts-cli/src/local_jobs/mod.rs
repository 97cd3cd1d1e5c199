//! Records of the jobs that ran on this machine, for `--local`: each is a file in the state
//! directory, in the form of the emulator's seeds. [`storage`] has their outputs until these are
//! delivered.

pub(crate) mod storage;

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
use ring::digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::storage::{Delivery, StoredOutputs};
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
    /// Outputs that were not delivered whole.
    #[serde(default)]
    stored: Option<StoredOutputs>,
    /// Signal or limit that stopped the job before its end, such as `Ctrl-C`.
    #[serde(default)]
    stopped_by: Option<String>,
}

/// Facts that are recorded of a run, in addition to its job.
pub(crate) struct RunFacts<'a> {
    /// Environment variables of the job, with its secrets.
    pub(crate) environment: &'a Value,
    /// Names of variables whose values are secrets.
    pub(crate) inherited: &'a [String],
    /// Directory with the outputs, by their names.
    pub(crate) outputs: &'a Path,
    pub(crate) metric: Option<(String, Value)>,
    pub(crate) stored: Option<StoredOutputs>,
    pub(crate) stopped_by: Option<String>,
}

/// Reason of the end of a job of which no end was recorded.
pub(crate) const KILLED: &str = "the end of `modelarts`, which was killed";
/// Project of the jobs of this machine.
pub(crate) const PROJECT: &str = "this-machine";

fn directory() -> Option<PathBuf> {
    Some(state_directory()?.join("local"))
}

/// Records a job. Secrets in its environment are not recorded: values of inherited variables, and
/// of those with names of credentials. A job that cannot be recorded is only reported.
pub(crate) async fn record(job: &Job, facts: RunFacts<'_>) {
    let RunFacts { environment, inherited, outputs, metric, stored, stopped_by } = facts;
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
        let secrets = hashes.collect();
        Ok::<_, Error>(Record { seed, outputs, secrets, is_cut, metric, stored, stopped_by })
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
    let created = job.created_at().map_or(0, Timestamp::as_epoch_millis);
    let file = directory.join(format!("{created}-{}-{}.json", job.name(), job.id()));
    replace(&file, &serde_json::to_vec(record)?)?;
    let files = files(&directory);
    // A service has no two jobs with one name.
    for other in files.iter().filter(|other| **other != file && name_of(other) == Some(job.name()))
    {
        fs::remove_file(other)?;
    }
    let old = files.iter().take(files.len().saturating_sub(MAX_RECORDS));
    // The record is the only way to outputs that were not delivered.
    let is_delivered = |file: &&PathBuf| read(file).is_ok_and(|record| record.stored.is_none());
    old.filter(is_delivered).try_for_each(fs::remove_file)
}

fn read(file: &Path) -> Result<Record, String> {
    let text = fs::read(file).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
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
    let records = selected.filter_map(|path| match read(&path) {
        Ok(record) => Some((path, record)),
        Err(error) => {
            note(format_args!("left out {}: {error}", path.display()));
            None
        }
    });
    records.collect()
}

/// Returns the record of a job, with its file.
fn find(job: &Job) -> Option<(PathBuf, Record)> {
    let records = records(|name| name == job.name());
    records.into_iter().find(|(_, record)| record.seed["id"] == job.id())
}

fn record_of(job: &Job) -> Option<Record> {
    find(job).map(|(_, record)| record)
}

/// Starts an emulator in this process whose jobs are those of the records.
pub(crate) async fn open() -> Result<(Emulator, Client), Failure> {
    let records = records(|_| true);
    let mut builder = Emulator::builder().timing(Timing::instant()).project_id(PROJECT);
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

/// Adds the recorded jobs with selected names to an emulator, except those that were stopped before
/// their end. A secret is taken from `environment` if it is that of the record.
pub(crate) async fn restore(
    emulator: &Emulator,
    selects: impl Fn(&str) -> bool,
    environment: &Value,
) {
    let mut records = records(selects);
    records.retain(|(_, record)| record.stopped_by.is_none());
    add(emulator, records, environment).await;
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

/// Deletes the records of jobs, with outputs that were not delivered.
pub(crate) fn forget(jobs: &[Job]) -> Result<(), Failure> {
    for job in jobs {
        let Some((file, record)) = find(job) else {
            continue;
        };
        let failed = |path: &Path, error: io::Error| {
            Failure::local(format_args!("cannot delete {}: {error}", path.display()))
        };
        if let Some(stored) = record.stored.as_ref().filter(|stored| stored.storage.exists()) {
            require_unused(job.name(), stored)?;
            stored.remove().map_err(|error| failed(&stored.storage, error))?;
        }
        fs::remove_file(&file).map_err(|error| failed(&file, error))?;
        if let Some(stored) = record.stored {
            release(&stored.storage);
        }
    }
    Ok(())
}

fn require_unused(name: &str, stored: &StoredOutputs) -> Result<(), Failure> {
    match stored.is_in_use() {
        false => Ok(()),
        true => Err(Failure::local(format_args!(
            "the job {name} must have ended, and runs in another `modelarts` on this machine"
        ))),
    }?;
    match stored.storage.exists() {
        true => Ok(()),
        false => Err(Failure::local(format_args!(
            "the outputs of {name} were in {}, which does not exist any more; move it back, or \
             `modelarts rm --local {name}` forgets them",
            stored.storage.display()
        ))),
    }
}

/// Removes a storage, unless outputs of other jobs are in it.
pub(crate) fn release(storage: &Path) {
    let files = directory().map(|directory| files(&directory)).unwrap_or_default();
    let is_needed = |file: &PathBuf| match read(file) {
        Ok(record) => record.stored.is_some_and(|stored| stored.storage == storage),
        // The record may be that of outputs in the storage.
        Err(_) => true,
    };
    if files.iter().any(is_needed) {
        return;
    }
    if let Err(error) = storage::remove(storage) {
        note(format_args!("{} cannot be deleted: {error}", storage.display()));
    }
}

/// Moves outputs of a job that are still in its storage to the directory with its outputs. If they
/// cannot be written there, copies them to `to`.
pub(crate) fn deliver(job: &Job, only: Option<&str>, to: &Path) -> Result<Vec<Delivery>, Failure> {
    let Some((file, record)) = find(job) else {
        return Ok(Vec::new());
    };
    let Some(stored) = &record.stored else {
        return Ok(Vec::new());
    };
    require_unused(job.name(), stored)?;
    let delivered = stored.deliver(&record.outputs, only, true);
    let is_whole = delivered.iter().all(|output| output.failed.is_empty());
    if !is_whole && to != record.outputs {
        return Ok(stored.deliver(to, only, false));
    }
    if only.is_none() && is_whole {
        set_delivered(&file, record)?;
    }
    Ok(delivered)
}

/// Records that the outputs of a job were delivered, and removes their storage.
fn set_delivered(file: &Path, mut record: Record) -> Result<(), Failure> {
    let stored = record.stored.take();
    let text = serde_json::to_vec(&record).map_err(Failure::local)?;
    replace(file, &text).map_err(Failure::local)?;
    if let Some(stored) = stored {
        release(&stored.storage);
    }
    Ok(())
}

/// Returns the names of the jobs with outputs that were not delivered.
pub(crate) fn undelivered() -> Vec<(String, StoredOutputs)> {
    let records = records(|_| true).into_iter();
    let stored =
        records.filter_map(|(file, record)| Some((name_of(&file)?.to_owned(), record.stored?)));
    stored.collect()
}

/// Returns an error if the outputs of an earlier job with this name were not delivered.
pub(crate) fn require_delivered(name: &str) -> Result<(), Failure> {
    let known = records(|known| known == name).into_iter().find_map(|(_, record)| record.stored);
    match known {
        None => Ok(()),
        Some(stored) if stored.is_in_use() => require_unused(name, &stored),
        Some(stored) => Err(Failure::Unchecked(
            format!(
                "outputs of an earlier job named {name} are in {}, so nothing was run: `modelarts \
                 download --local {name}` delivers them, `modelarts rm --local {name}` deletes \
                 them, and --name chooses another name",
                stored.storage.display()
            ),
            Vec::new(),
        )),
    }
}

/// Moves the outputs of a job that was stopped before its end to directories of their own, because
/// the job runs again.
pub(crate) fn set_aside(name: &str, outputs: &Path) -> Result<(), Failure> {
    let mut records = records(|known| known == name).into_iter();
    let Some((file, record)) = records.find(|(_, record)| record.stopped_by.is_some()) else {
        return Ok(());
    };
    if Some(&record.outputs) != std::path::absolute(outputs).ok().as_ref() {
        // The job ran in another directory.
        return require_delivered(name);
    }
    let failed = |error: io::Error| {
        Failure::local(format_args!("the outputs of {name}, which was stopped: {error}"))
    };
    if let Some(stored) = &record.stored {
        require_unused(name, stored)?;
    }
    let has_files = fs::read_dir(&record.outputs).is_ok_and(|mut files| files.next().is_some());
    let mut number = 1;
    let mut aside = record.outputs.with_file_name(format!("{name}-stopped"));
    while aside.exists() {
        number += 1;
        aside.set_file_name(format!("{name}-stopped-{number}"));
    }
    if has_files {
        fs::rename(&record.outputs, &aside).map_err(failed)?;
    }
    for output in record.stored.iter().flat_map(|stored| stored.deliver(&aside, None, true)) {
        if let Some((path, reason)) = output.failed.first_key_value() {
            return Err(failed(io::Error::other(format!("{}: {reason}", path.display()))));
        }
    }
    if aside.exists() {
        note(format_args!("{name} was stopped before; its outputs are in {}", aside.display()));
    }
    set_delivered(&file, record)
}

/// Returns a clause on what stopped a recorded job before its end, or that it still runs.
pub(crate) fn stopped_by(job: &Job) -> Option<String> {
    let record = record_of(job)?;
    match record.stored {
        Some(stored) if stored.is_in_use() => Some("it runs in another `modelarts`".to_owned()),
        _ => record.stopped_by.map(|stopper| format!("it was stopped by {stopper}")),
    }
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
