//! `JobArgument`: finds the job that an argument names.

use std::io::{self, BufRead};

use clap::Args;
use futures::TryStreamExt;
use modelarts_ext::{Client, Job};

use crate::{failure::Failure, job_reference::last::last_job};

/// Number of the newest jobs among which a prefix is searched.
const PREFIX_SEARCH: usize = 1_000;
/// Minimum length of a prefix.
const MIN_PREFIX: usize = 4;
/// Number of jobs that an ambiguous argument lists.
const MAX_CANDIDATES: usize = 10;

/// One job.
#[derive(Clone, Debug, Args)]
pub(crate) struct JobArgument {
    /// Job: its name, its id, the first characters of its id, @last for the last one submitted from
    /// this directory, or - to read the id from stdin.
    #[arg(value_name = "JOB")]
    job: String,
}

/// Several jobs.
#[derive(Clone, Debug, Args)]
pub(crate) struct JobArguments {
    /// Jobs: names, ids, first characters of ids, @last for the last one submitted from this
    /// directory, or - to read ids from stdin.
    #[arg(value_name = "JOB", required = true)]
    jobs: Vec<String>,
}

impl JobArgument {
    /// Reads the job.
    pub(crate) async fn find(&self, client: &Client) -> Result<Job, Failure> {
        let names = expand(std::slice::from_ref(&self.job))?;
        match names.as_slice() {
            [name] => find(client, name).await,
            names => Err(Failure::usage(format_args!(
                "stdin has {} ids; the command must have one job",
                names.len()
            ))),
        }
    }
}

impl JobArguments {
    /// Creates the arguments; for commands in which jobs are optional.
    pub(crate) fn new(jobs: Vec<String>) -> Self {
        Self { jobs }
    }

    /// Reads the jobs, each once. Fails if one does not exist.
    pub(crate) async fn find(&self, client: &Client) -> Result<Vec<Job>, Failure> {
        let mut jobs: Vec<Job> = Vec::new();
        for name in expand(&self.jobs)? {
            let job = find(client, &name).await?;
            if !jobs.iter().any(|known| known.id() == job.id()) {
                jobs.push(job);
            }
        }
        Ok(jobs)
    }
}

/// Replaces `-` by the first words of the lines of stdin.
fn expand(arguments: &[String]) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for argument in arguments {
        if argument != "-" {
            names.push(argument.clone());
            continue;
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

/// Reads the job that an argument names: the last one, an id, a name, or the prefix of an id, in
/// this order.
async fn find(client: &Client, name: &str) -> Result<Job, Failure> {
    let jobs = client.training_jobs();
    if name == "@last" {
        let id = last_job(&project(client))?;
        return Ok(jobs.get(&id).await?);
    }
    if let Some(unknown) = name.strip_prefix('@') {
        return Err(Failure::usage(format_args!(
            "@{unknown}: the only job with a sign is @last"
        )));
    }
    if is_id(name) {
        return Ok(jobs.get(name).await?);
    }
    let no_name = match jobs.get_by_name(name).await {
        Ok(job) => return Ok(job),
        Err(error) if error.is_not_found() => error,
        Err(error) => return Err(error.into()),
    };
    if name.len() < MIN_PREFIX
        || !name
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
    {
        return Err(not_found(client, name).await.unwrap_or(no_name.into()));
    }
    let mut rows = jobs.list().stream();
    let (mut found, mut read) = (Vec::new(), 0);
    while let Some(job) = rows.try_next().await? {
        if job.id().starts_with(&name.to_ascii_lowercase()) {
            found.push(job);
        }
        read += 1;
        if read == PREFIX_SEARCH {
            break;
        }
    }
    match found.as_slice() {
        [job] => Ok(job.get().await?),
        [] => Err(Failure::NotFound(format!(
            "no job is named {name:?}, and the id of none of the newest {read} jobs begins with it"
        ))),
        jobs => {
            let shown = jobs.iter().take(MAX_CANDIDATES);
            let shown: Vec<String> = shown.map(|job| format!("\n  {job}")).collect();
            Err(Failure::usage(format_args!(
                "the ids of {} jobs begin with {name:?}; the argument must name one of them:{}",
                jobs.len(),
                shown.concat()
            )))
        }
    }
}

/// Returns an error that suggests the most similar name among the newest jobs; `None` if none is
/// similar.
async fn not_found(client: &Client, name: &str) -> Option<Failure> {
    let newest = client.training_jobs().list().collect(100).await.ok()?;
    let similarity = |job: &Job| strsim::jaro_winkler(job.name(), name);
    let nearest = newest
        .iter()
        .filter(|job| similarity(job) > 0.85)
        .max_by(|one, other| similarity(one).total_cmp(&similarity(other)))?;
    Some(Failure::NotFound(format!(
        "no job is named {name:?}; did you mean {}?",
        nearest.name()
    )))
}

/// Returns the key of the project in the file of last jobs.
pub(crate) fn project(client: &Client) -> String {
    format!("{} {}", client.endpoint(), client.project_id())
}

/// Returns `true` for the form of the service's ids, 8-4-4-4-12 hexadecimal digits.
fn is_id(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12]
        && text
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}
