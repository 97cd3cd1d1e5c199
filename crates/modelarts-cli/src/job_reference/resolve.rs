//! `JobArgument`: finds the job to which an argument refers.

use std::{
    collections::HashMap,
    io::{self, BufRead, IsTerminal},
};

use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use modelarts_ext::{Client, Error, Filter, Job, spelling::nearest};

use crate::{
    failure::Failure,
    job_reference::last::{last_job, remember},
    session::Session,
    terminal::note,
};

/// Maximum number of jobs, newest first, that are searched for a prefix.
const PREFIX_SEARCH: usize = 1_000;
const MIN_PREFIX: usize = 4;
/// Maximum number of jobs that the error of an ambiguous argument lists.
const MAX_CANDIDATES: usize = 10;
/// Maximum number of jobs, newest first, whose names are compared with an unknown name.
const SUGGESTION_SEARCH: usize = 100;
/// Number of ids per search, which is the maximum of the service.
const IDS_PER_SEARCH: usize = 10;
const CONCURRENT: usize = 4;

/// Argument with one job.
#[derive(Clone, Debug, Args)]
pub(crate) struct JobArgument {
    /// Job: its name, its id, the first characters of either, @last for the last one submitted from
    /// this directory, or - to read the id from stdin.
    #[arg(value_name = "JOB")]
    job: String,
}

/// Argument with several jobs.
#[derive(Clone, Debug, Args)]
pub(crate) struct JobArguments {
    /// Jobs: names, ids, first characters of ids, @last for the last one submitted from this
    /// directory, or - to read ids from stdin.
    #[arg(value_name = "JOB", required = true)]
    jobs: Vec<String>,
}

/// Jobs that a prefix in an argument may select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefixes {
    /// Jobs whose id or name begins with the prefix.
    Any,
    /// Jobs whose id begins with the prefix. A command that changes jobs must not select another
    /// job if the named job no longer exists.
    Ids,
}

impl JobArgument {
    /// Creates the argument, for commands that take a job by a flag.
    pub(crate) fn new(job: impl Into<String>) -> Self {
        Self { job: job.into() }
    }

    pub(crate) async fn find(&self, client: &Client) -> Result<Job, Failure> {
        let names = expand(std::slice::from_ref(&self.job))?;
        match names.as_slice() {
            [name] => find(client, name, Prefixes::Any).await,
            [] => Err(Failure::usage("stdin has no id; it must have that of one job")),
            names => Err(Failure::usage(format_args!(
                "stdin has {} ids; the command must have one job",
                names.len()
            ))),
        }
    }
}

impl JobArguments {
    /// Creates the arguments, for commands in which jobs are optional.
    pub(crate) fn new(jobs: Vec<String>) -> Self {
        Self { jobs }
    }

    /// Reads the jobs without duplicates. Returns an error if a job does not exist.
    pub(crate) async fn find(
        &self,
        client: &Client,
        prefixes: Prefixes,
    ) -> Result<Vec<Job>, Failure> {
        let names = expand(&self.jobs)?;
        let mut read = read_ids(client, &names).await?;
        let mut jobs: Vec<Job> = Vec::new();
        for name in &names {
            let job = match read.remove(&name.to_ascii_lowercase()) {
                Some(job) => job,
                None => find(client, name, prefixes).await?,
            };
            if !jobs.iter().any(|known| known.id() == job.id()) {
                jobs.push(job);
            }
        }
        Ok(jobs)
    }
}

/// Replaces `-` by the first field of each line of stdin.
fn expand(arguments: &[String]) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for argument in arguments {
        if argument != "-" {
            names.push(argument.clone());
            continue;
        }
        if io::stdin().is_terminal() {
            note("reading ids from the terminal, one on each line, until Ctrl-D");
        }
        for line in io::stdin().lock().lines() {
            let line = line.map_err(|error| {
                Failure::usage(format_args!("cannot read ids from stdin: {error}"))
            })?;
            names.extend(line.split_whitespace().next().map(str::to_owned));
        }
    }
    Ok(names)
}

/// Reads the jobs of several ids with few calls. The result lacks jobs that the search does not
/// return, such as those of other workspaces.
async fn read_ids(client: &Client, names: &[String]) -> Result<HashMap<String, Job>, Error> {
    let ids: Vec<&String> = names.iter().filter(|name| is_id(name)).collect();
    if ids.len() < 2 {
        return Ok(HashMap::new());
    }
    let searches = ids.chunks(IDS_PER_SEARCH).map(|ids| {
        let ids = Filter::id().is_in(ids.iter().copied());
        client.training_jobs().list().filter(ids).collect(IDS_PER_SEARCH)
    });
    let found: Vec<Vec<Job>> = stream::iter(searches).buffered(CONCURRENT).try_collect().await?;
    let jobs = found.into_iter().flatten();
    Ok(jobs.map(|job| (job.id().to_ascii_lowercase(), job)).collect())
}

/// Reads the job that an argument names: the last job, an id, a name or a prefix, in this order.
async fn find(client: &Client, name: &str, prefixes: Prefixes) -> Result<Job, Failure> {
    let jobs = client.training_jobs();
    if name == "@last" {
        let id = last_job(&project(client))?;
        return jobs.get(&id).await.map_err(|error| match error.is_not_found() {
            true => Failure::NotFound(format!("@last: the job {id} no longer exists")),
            false => error.into(),
        });
    }
    if name.starts_with('@') {
        return Err(Failure::usage(format_args!("{name}: a job must be @last, a name or an id")));
    }
    if is_id(name) {
        return jobs.get(name).await.map_err(|error| match error.is_not_found() {
            true => Failure::NotFound(format!("no job has the id {name}")),
            false => error.into(),
        });
    }
    if name.is_empty() || !name.bytes().all(is_of_name) {
        return Err(Failure::usage(format_args!(
            "the job {name:?}: a name must consist of letters, digits, _ and -"
        )));
    }
    // The search returns all jobs whose names contain the text.
    let mut like = jobs.list().filter(Filter::name().like(name)).stream().take(PREFIX_SEARCH);
    let (mut exact, mut begins) = (Vec::new(), Vec::new());
    while let Some(job) = like.try_next().await? {
        match job.name() {
            known if known == name => exact.push(job),
            known if known.starts_with(name) => begins.push(job),
            _ => {}
        }
    }
    if exact.is_empty() {
        let by_id = of_id_prefix(client, name).await?;
        match prefixes {
            Prefixes::Any => {
                begins.retain(|job| by_id.iter().all(|known| known.id() != job.id()));
                exact = [by_id, begins].concat();
            }
            Prefixes::Ids => exact = by_id,
        }
    }
    match exact.as_slice() {
        [job] => Ok(job.get().await?),
        [] => Err(not_found(client, name).await),
        jobs => {
            let shown = jobs.iter().take(MAX_CANDIDATES);
            let shown: Vec<String> = shown.map(|job| format!("\n  {job}")).collect();
            let more = jobs.len().saturating_sub(MAX_CANDIDATES);
            let more = match more {
                0 => String::new(),
                more => format!("\n  and {more} more"),
            };
            Err(Failure::usage(format_args!(
                "{name:?} fits {} jobs; the argument must name one of them:{}{more}",
                jobs.len(),
                shown.concat()
            )))
        }
    }
}

/// Returns the newest jobs whose ids begin with the text; empty if the text cannot be the beginning
/// of an id.
async fn of_id_prefix(client: &Client, text: &str) -> Result<Vec<Job>, Error> {
    let is_of_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    if text.len() < MIN_PREFIX || !text.bytes().all(is_of_id) {
        return Ok(Vec::new());
    }
    let text = text.to_ascii_lowercase();
    let newest = client.training_jobs().list().stream().take(PREFIX_SEARCH);
    let begins = |job: &Job| job.id().to_ascii_lowercase().starts_with(&text);
    let found = newest.try_filter(|job| std::future::ready(begins(job)));
    found.try_collect().await
}

/// Returns the failure for a job that does not exist, with the most similar name among the newest
/// jobs.
async fn not_found(client: &Client, name: &str) -> Failure {
    let list = client.training_jobs().list().collect(SUGGESTION_SEARCH);
    let newest = list.await.unwrap_or_default();
    Failure::NotFound(match nearest(name, newest.iter().map(|job| job.name())) {
        Some(known) => format!("no job is named {name:?}; did you mean {known}?"),
        None => format!(
            "no job is named {name:?}, and no id begins with it; `modelarts ls` lists jobs, and a \
             job of another workspace is found by its id"
        ),
    })
}

/// Returns a key for the project in stored files. The key for an emulator contains no address,
/// because its port changes with each start.
pub(crate) fn project(client: &Client) -> String {
    let place = match Session::is_local(client) {
        true => EMULATOR,
        false => client.endpoint(),
    };
    format!("{place} {}", client.project_id())
}

/// Place of an emulator in [`project`].
const EMULATOR: &str = "emulator";

/// Records a job that ran on this machine as the last one of the current directory.
#[cfg(unix)]
pub(crate) fn remember_here(job: &Job) {
    remember(&format!("{EMULATOR} {}", crate::local_jobs::PROJECT), job.id());
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns `true` if the text has the form of a service id: 8-4-4-4-12 hexadecimal digits.
fn is_id(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_five_groups_of_hexadecimal_digits() {
        for (text, expected) in [
            ("6081b12b-63b1-4219-b717-708a2665100b", true),
            ("6081B12B-63B1-4219-B717-708A2665100B", true),
            ("6081b12b", false),
            ("6081b12b-63b1-4219-b717-708a2665100", false),
            ("6081b12g-63b1-4219-b717-708a2665100b", false),
            ("6081b12b63b14219b717708a2665100b", false),
            ("", false),
        ] {
            assert_eq!(is_id(text), expected, "{text}");
        }
    }
}
