//! `Cache`: names of jobs, flavors and engines that commands have read, in the state directory.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use modelarts_ext::Job;
use serde::{Deserialize, Serialize};

use crate::{
    context::Selection,
    output::age,
    state::{self, state_directory},
};

/// Lists, by the names of the values in the arguments.
pub(crate) const JOBS: &str = "JOB";
pub(crate) const FLAVORS: &str = "FLAVOR";
pub(crate) const ENGINES: &str = "ENGINE";
/// Maximum number of entries of a list.
pub(crate) const MAX_ENTRIES: usize = 200;
/// Maximum number of contexts in the file.
const MAX_PLACES: usize = 8;
/// Age from which values are read again, in seconds.
const FRESH: u64 = 60;
/// Variables that select a service if there is no context.
const VARIABLES: [&str; 3] =
    ["MODELARTS_ENDPOINT", "MODELARTS_REGION", "HUAWEICLOUD_SDK_PROJECT_ID"];

/// A value of a list, and a text about it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Entry {
    pub(crate) value: String,
    pub(crate) text: String,
    /// Time of the creation of a job, in seconds since 1970; 0 for other values.
    pub(crate) time: u64,
}

impl Entry {
    pub(crate) fn of_job(job: &Job) -> Self {
        let time = job.created_at().map_or(UNIX_EPOCH, SystemTime::from);
        let (value, text) = (job.name().to_owned(), job.phase().to_string());
        Self { value, text, time: seconds(time) }
    }

    /// Returns the text about the value; for a job, its phase and its age.
    pub(super) fn help(&self) -> String {
        let seconds = seconds(SystemTime::now()).saturating_sub(self.time);
        match self.time {
            0 => self.text.clone(),
            _ => format!("{}, {} old", self.text, age(Duration::from_secs(seconds))),
        }
    }
}

/// Cached lists of a context.
#[derive(Default, Deserialize, Serialize)]
pub(super) struct Cache {
    /// Time at which all values were last read, or a process began to read them, in seconds since 1970.
    refreshed: u64,
    lists: BTreeMap<String, Vec<Entry>>,
    /// `true` if an answer needs the lists.
    #[serde(skip)]
    is_used: AtomicBool,
}

impl Cache {
    /// Reads the cache of the selected context. It is empty if nothing is cached.
    pub(super) fn of(selection: &Selection) -> Self {
        let place = place(selection).unwrap_or_default();
        path().and_then(|path| read(&path).remove(&place)).unwrap_or_default()
    }

    pub(super) fn entries(&self, list: &str) -> &[Entry] {
        self.is_used.store(true, Ordering::Relaxed);
        self.lists.get(list).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns `true` for the process that must read the lists again, because an answer needs them
    /// and they are old.
    pub(super) fn claim_refresh(&self, selection: &Selection) -> bool {
        let now = seconds(SystemTime::now());
        self.is_used.load(Ordering::Relaxed)
            && now.abs_diff(self.refreshed) >= FRESH
            && update(selection, |cache| {
                let is_old = now.abs_diff(cache.refreshed) >= FRESH;
                cache.refreshed = now;
                is_old
            })
            .unwrap_or(false)
    }

    /// Adds entries to a list, newest first, or replaces the list by them.
    pub(super) fn add(&mut self, list: &str, mut entries: Vec<Entry>, replaces: bool) {
        let cached = self.lists.entry(list.to_owned()).or_default();
        cached.retain(|known| !replaces && entries.iter().all(|it| it.value != known.value));
        if replaces {
            self.refreshed = seconds(SystemTime::now());
        }
        entries.append(cached);
        entries.sort_by_key(|entry| Reverse(entry.time));
        entries.truncate(MAX_ENTRIES);
        *cached = entries;
    }
}

/// Stores values that a command has read: all values, or some more. Errors are only logged.
pub(crate) fn remember(selection: &Selection, list: &str, entries: Vec<Entry>, are_all: bool) {
    if let Err(error) = update(selection, |cache| cache.add(list, entries, are_all)) {
        tracing::debug!(%error, "values for completion are not stored");
    }
}

/// Returns the context, or the variables that select a service.
fn place(selection: &Selection) -> Option<String> {
    let variables = || VARIABLES.map(|name| env::var(name).unwrap_or_default()).join(" ");
    let name = selection.name().ok()?;
    Some(name.map_or_else(variables, |name| format!("context {name}")))
}

fn path() -> Option<PathBuf> {
    Some(state_directory()?.join("completion.json"))
}

/// Reads the caches of all contexts. A missing or damaged file counts as empty.
fn read(path: &Path) -> BTreeMap<String, Cache> {
    let text = fs::read(path).ok();
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Changes the cache of the selected context, while no other process changes the file.
fn update<T>(selection: &Selection, change: impl FnOnce(&mut Cache) -> T) -> io::Result<T> {
    let missing = || io::Error::other("no home directory, or no such context");
    let (path, place) = path().zip(place(selection)).ok_or_else(missing)?;
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let lock = File::create(path.with_extension("lock"))?;
    lock.lock()?;
    let mut caches = read(&path);
    if caches.len() >= MAX_PLACES {
        caches.retain(|known, _| *known == place);
    }
    let result = change(caches.entry(place).or_default());
    state::replace(&path, &serde_json::to_vec(&caches)?)?;
    Ok(result)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, time: u64) -> Entry {
        Entry { value: name.to_owned(), text: "Running".to_owned(), time }
    }

    fn names(cache: &Cache) -> Vec<&str> {
        cache.entries(JOBS).iter().map(|entry| entry.value.as_str()).collect()
    }

    #[test]
    fn new_jobs_come_first_and_replace_older_states() {
        let mut cache = Cache::default();
        cache.add(JOBS, vec![job("old", 1), job("new", 3)], false);
        cache.add(JOBS, vec![job("between", 2), job("new", 3)], false);
        assert_eq!(names(&cache), ["new", "between", "old"]);
        cache.add(JOBS, vec![job("other", 1)], true);
        assert_eq!(names(&cache), ["other"]);
        let many = (0..300).map(|number| job(&number.to_string(), 1_000 - number));
        cache.add(JOBS, many.collect(), false);
        assert_eq!((names(&cache).len(), names(&cache)[0]), (MAX_ENTRIES, "0"));
    }

    #[test]
    fn the_age_of_a_job_is_that_of_now() {
        let hour_ago = seconds(SystemTime::now()) - 3_600;
        assert_eq!(job("leaves", hour_ago).help(), "Running, 1h old");
        assert_eq!(job("flavor", 0).help(), "Running");
    }
}
