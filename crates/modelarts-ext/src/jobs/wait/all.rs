//! Wait for the ends of several jobs, with a search for all of them in each round.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    future::IntoFuture,
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::{BoxFuture, types::Phase};

use crate::{
    client::Client,
    error::Error,
    jobs::{
        filter::{Filter, MAX_SPAN, MAX_VALUES},
        job::{Job, is_final},
        list::ListJobs,
        polling::{interval::PollInterval, tolerance::ErrorTolerance},
        training_jobs::TrainingJobs,
        wait::{
            Waited,
            outcome::{Outcome, job_outcome},
        },
    },
    pagination::page::PageStream,
    timestamp::Timestamp,
    transport::deadline::Deadline,
};

/// The number of concurrent requests for single jobs.
const CONCURRENT_CALLS: usize = 4;
/// Error codes with which the service rejects a search key.
const UNKNOWN_KEY_CODES: [&str; 4] = [
    "ModelArts.2807",
    "ModelArts.2808",
    "ModelArts.2809",
    "ModelArts.2789",
];

/// Resolution at which the service may compare times.
const TIME_RESOLUTION: Duration = Duration::from_secs(1);

/// A wait for the ends of several jobs. Await it for all of them, or take each job from
/// [`stream`](Self::stream) when it ends.
///
/// A round reads all jobs of a workspace with one search: up to 10 jobs by their ids, more by time
/// range and phase, with 50 jobs a page. Only jobs that have ended are read one by one, for the
/// details of the end, up to the [budget](Self::budget) of a round.
///
/// Last events and log lines ([`Waited::last_events`]) are read with two calls for each job that
/// did not complete, when it is taken from the stream: for up to as many jobs of a round as the
/// budget has, until the [time limit](Self::timeout), and for no more jobs of the round once their
/// events cannot be read.
#[derive(Clone, Debug)]
#[must_use = "a wait does nothing unless it is awaited or streamed"]
pub struct WaitAll {
    client: Client,
    jobs: Vec<Job>,
    interval: PollInterval,
    timeout: Option<Duration>,
    budget: usize,
}

impl TrainingJobs {
    /// Waits for the ends of several jobs, with few calls for all of them.
    pub fn wait_all(&self, jobs: impl IntoIterator<Item = Job>) -> WaitAll {
        WaitAll {
            client: self.client().clone(),
            jobs: jobs.into_iter().collect(),
            interval: PollInterval::new(Duration::from_secs(5), Duration::from_secs(60)),
            timeout: None,
            budget: 50,
        }
    }
}

impl WaitAll {
    /// Sets the time limit of the wait. Jobs that have not ended by then get [`Outcome::TimedOut`],
    /// even while a response is pending. Default: none.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the pause between two rounds: `shortest` after a round in which a job ended, growing up
    /// to `longest`. Default 5 to 60 seconds; both are limited to a day.
    pub fn interval(mut self, shortest: Duration, longest: Duration) -> Self {
        self.interval = PollInterval::new(shortest, longest);
        self
    }

    /// Sets the number of jobs that may be read one by one in a round; the next round continues
    /// with the following jobs. Default 50, minimum 1.
    pub fn budget(mut self, calls: usize) -> Self {
        self.budget = calls.max(1);
        self
    }

    /// Returns a stream of the jobs as they end. A job that was passed twice is returned once.
    #[must_use]
    pub fn stream(self) -> PageStream<Waited> {
        let deadline = Deadline::new(&**self.client.clock(), self.timeout);
        let mut state = WaitAllState {
            client: self.client,
            left: BTreeMap::new(),
            handles: HashMap::new(),
            interval: self.interval,
            budget: self.budget,
            last_asked: None,
            searches_ids: true,
            tolerance: ErrorTolerance::default(),
            results: VecDeque::new(),
            details_left: self.budget,
        };
        for job in self.jobs {
            let id = job.id().to_owned();
            state.left.insert(id.clone(), job.clone());
            state.handles.entry(id).or_default().push(job);
        }
        stream::try_unfold((state, deadline), |(mut state, deadline)| async move {
            let next = state.next(&deadline).await?;
            Ok(next.map(|waited| (waited, (state, deadline))))
        })
        .boxed()
    }
}

impl IntoFuture for WaitAll {
    type Output = Result<Vec<Waited>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.stream().try_collect())
    }
}

/// State of a wait for several jobs.
struct WaitAllState {
    client: Client,
    /// The jobs that have not ended, as last read.
    left: BTreeMap<String, Job>,
    /// All jobs that the caller passed, by their ids.
    handles: HashMap<String, Vec<Job>>,
    interval: PollInterval,
    budget: usize,
    /// The id of the last job that was read one by one.
    last_asked: Option<String>,
    /// `true` if the service supports searches by ids.
    searches_ids: bool,
    tolerance: ErrorTolerance,
    results: VecDeque<Waited>,
    /// The number of results of this round whose events and lines may still be read.
    details_left: usize,
}

impl WaitAllState {
    async fn next(&mut self, deadline: &Deadline) -> Result<Option<Waited>, Error> {
        let clock = &*Arc::clone(self.client.clock());
        loop {
            if let Some(mut waited) = self.results.pop_front() {
                waited.errors = self.tolerance.errors;
                if self.details_left > 0 && waited.has_details() {
                    self.details_left -= 1;
                    if !waited.read_details(deadline).await {
                        self.details_left = 0;
                    }
                }
                return Ok(Some(waited));
            }
            self.details_left = self.budget;
            if self.left.is_empty() {
                return Ok(None);
            }
            let is_first = self.interval.pause().is_none();
            let tolerance = &mut self.tolerance;
            self.interval.sleep(clock, tolerance, deadline).await;
            let poll = deadline.run(clock, self.poll_jobs()).await;
            let ended = self.left.values().filter(|job| job.is_final()).cloned();
            for job in ended.collect::<Vec<_>>() {
                if let Some((outcome, last_events)) = job_outcome(&job, deadline).await {
                    self.left.remove(job.id());
                    for handle in self.handles.remove(job.id()).unwrap_or_default() {
                        handle.record_end(&job);
                    }
                    let mut waited = Waited::new(job, outcome);
                    waited.last_events = last_events;
                    self.results.push_back(waited);
                }
            }
            match poll {
                None => {
                    let left = std::mem::take(&mut self.left).into_values();
                    self.results
                        .extend(left.map(|job| Waited::new(job, Outcome::TimedOut)));
                    continue;
                }
                Some(Ok(())) => self.tolerance.reset(),
                Some(Err(error)) => self.tolerance.tolerate(error, clock)?,
            }
            match is_first || !self.results.is_empty() {
                true => self.interval.reset(),
                false => self.interval.back_off(),
            }
        }
    }

    /// Reads all jobs. If the deadline passes meanwhile, the jobs read so far are kept.
    async fn poll_jobs(&mut self) -> Result<(), Error> {
        let mut found = self.search().await?;
        // Jobs that the search did not return have ended, have a phase that it does not support, or
        // do not exist any more.
        let mut missing: Vec<String> = Vec::new();
        for (id, job) in &mut self.left {
            match found.remove(id) {
                Some(found) => *job = found,
                None => missing.push(id.clone()),
            }
        }
        // Missing jobs take turns, so that those that stay unknown do not block the others.
        let next = |last: &String| missing.partition_point(|id| id <= last);
        let next = self.last_asked.as_ref().map_or(0, next);
        missing.rotate_left(next);
        missing.truncate(self.budget);
        if let Some(last) = missing.last() {
            self.last_asked = Some(last.clone());
        }
        let jobs = &self.client.training_jobs();
        let mut answers = stream::iter(missing)
            .map(|id| async move { (jobs.get(&id).await, id) })
            .buffered(CONCURRENT_CALLS);
        let mut last_error = None;
        while let Some((answer, id)) = answers.next().await {
            match answer {
                Ok(job) => {
                    self.left.insert(id, job);
                }
                Err(error) if error.is_job_gone() => {
                    let last = self.left.remove(&id);
                    self.results
                        .extend(last.map(|job| Waited::new(job, Outcome::Vanished)));
                }
                Err(error) => last_error = Some(error),
            }
        }
        last_error.map_or(Ok(()), Err)
    }

    /// Searches for the jobs, or at least for those that have not ended. A search covers one
    /// workspace.
    async fn search(&mut self) -> Result<HashMap<String, Job>, Error> {
        let mut workspaces: BTreeMap<Option<String>, Vec<Job>> = BTreeMap::new();
        for job in self.left.values() {
            let workspace = job.workspace().map(str::to_owned);
            workspaces.entry(workspace).or_default().push(job.clone());
        }
        let mut found = HashMap::new();
        for (workspace, jobs) in workspaces {
            // Jobs that the search does not return are read one by one.
            let mut list = self.client.training_jobs().list().allow_early_end();
            if let Some(workspace) = workspace {
                list = list.workspace(workspace);
            }
            let jobs = self.search_for(&jobs, list).await?.into_iter();
            found.extend(jobs.map(|job| (job.id().to_owned(), job)));
        }
        Ok(found)
    }

    /// Searches for the jobs of one workspace.
    async fn search_for(&mut self, jobs: &[Job], list: ListJobs) -> Result<Vec<Job>, Error> {
        if self.searches_ids && jobs.len() <= MAX_VALUES {
            let filter = Filter::id().is_in(jobs.iter().map(|job| job.id()));
            match list.clone().filter(filter).collect(jobs.len()).await {
                Err(error)
                    if error
                        .code()
                        .is_some_and(|code| UNKNOWN_KEY_CODES.contains(&code)) =>
                {
                    self.searches_ids = false;
                }
                found => return found,
            }
        }
        let known = Phase::KNOWN.iter().map(|phase| Phase::from(*phase));
        let unfinished = known.filter(|phase| !is_final(phase));
        let mut list = list.filter(Filter::phase().is_in(unfinished));
        let made = jobs.iter().map(Job::created_at);
        let made: Option<Vec<Timestamp>> = made.collect();
        let range = made.and_then(|made| Some((*made.iter().min()?, *made.iter().max()?)));
        if let Some((first, last)) = range
            && last.duration_since(first) + TIME_RESOLUTION <= MAX_SPAN
        {
            list = list.filter(Filter::create_time().between(first, last + TIME_RESOLUTION));
        }
        let mut found = Vec::new();
        let mut jobs = list.stream();
        while let Some(job) = jobs.try_next().await? {
            if self.left.contains_key(job.id()) {
                found.push(job);
            }
        }
        Ok(found)
    }
}
