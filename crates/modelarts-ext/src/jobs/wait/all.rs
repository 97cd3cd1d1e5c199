//! Waiting for the ends of many jobs.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    future::IntoFuture,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::{BoxFuture, types::Phase};

use crate::{
    client::Client,
    error::Error,
    jobs::{
        filter::{Filter, MAX_SPAN, MAX_VALUES},
        job::Job,
        list::ListJobs,
        polling::{interval::PollInterval, tolerance::ErrorTolerance},
        wait::{
            Waited,
            outcome::{Outcome, outcome},
        },
    },
    pagination::page::PageStream,
    transport::deadline::Deadline,
};

/// The phases of jobs that have not ended.
const ALIVE: [Phase; 4] = [
    Phase::Creating,
    Phase::Pending,
    Phase::Running,
    Phase::Terminating,
];
/// How many jobs are asked for one by one at the same time.
const AT_ONCE: usize = 4;
/// What the service says when it does not search by a key.
const REFUSALS: [&str; 4] = [
    "ModelArts.2807",
    "ModelArts.2808",
    "ModelArts.2809",
    "ModelArts.2789",
];

/// A wait for the ends of many jobs. Await it for all of them, or take each when it
/// ends from [`stream`](Self::stream).
///
/// A round looks at all jobs of a workspace with one search: up to 10 jobs by their ids, more by the
/// jobs of their time that have not ended, 50 to a page. Only those that ended are asked
/// for one by one, up to the [budget](Self::budget) of a round, because their details
/// tell how.
#[derive(Clone, Debug)]
#[must_use = "a wait does nothing unless it is awaited or streamed"]
pub struct WaitAll {
    client: Client,
    jobs: Vec<Job>,
    pace: PollInterval,
    timeout: Option<Duration>,
    budget: usize,
}

impl WaitAll {
    pub(crate) fn new(client: Client, jobs: Vec<Job>) -> Self {
        Self {
            client,
            jobs,
            pace: PollInterval::new(Duration::from_secs(5), Duration::from_secs(60)),
            timeout: None,
            budget: 50,
        }
    }

    /// Ends the wait after this long, with [`Outcome::TimedOut`] for all jobs that have
    /// not ended, even while the service does not answer. Default: never.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long to wait between two rounds: `shortest` after a round in which a job
    /// ended, and longer from round to round, up to `longest`. Default 5 to 60 seconds;
    /// both are a day at the most.
    pub fn interval(mut self, shortest: Duration, longest: Duration) -> Self {
        self.pace = PollInterval::new(shortest, longest);
        self
    }

    /// How many jobs may be asked for one by one in a round. The next round goes on
    /// behind them. Default 50, and 1 at the least.
    pub fn budget(mut self, calls: usize) -> Self {
        self.budget = calls.max(1);
        self
    }

    /// Each job when it has ended. A job that is given twice comes once.
    #[must_use]
    pub fn stream(self) -> PageStream<Waited> {
        let mut handles: HashMap<String, Vec<Job>> = HashMap::new();
        for job in &self.jobs {
            let of_id = handles.entry(job.id().to_owned()).or_default();
            of_id.push(job.clone());
        }
        let jobs = self.jobs.into_iter();
        let rounds = Rounds {
            handles,
            deadline: Arc::new(Deadline::new(&**self.client.clock(), self.timeout)),
            left: jobs.map(|job| (job.id().to_owned(), job)).collect(),
            client: self.client,
            pace: self.pace,
            budget: self.budget,
            asked: None,
            by_id: true,
            patience: ErrorTolerance::default(),
            ended: VecDeque::new(),
        };
        stream::try_unfold(rounds, |mut rounds| async move {
            Ok(rounds.next().await?.map(|waited| (waited, rounds)))
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

/// Where the wait stands.
struct Rounds {
    client: Client,
    /// The jobs that have not ended, as they were seen last.
    left: BTreeMap<String, Job>,
    /// All jobs as they were given, by their ids.
    handles: HashMap<String, Vec<Job>>,
    pace: PollInterval,
    deadline: Arc<Deadline>,
    budget: usize,
    /// The last job that was asked for by itself.
    asked: Option<String>,
    /// Whether the service searches by ids.
    by_id: bool,
    patience: ErrorTolerance,
    ended: VecDeque<(Job, Outcome)>,
}

impl Rounds {
    async fn next(&mut self) -> Result<Option<Waited>, Error> {
        let clock = self.client.clock().clone();
        loop {
            if let Some((job, outcome)) = self.ended.pop_front() {
                return Ok(Some(Waited {
                    job,
                    outcome,
                    errors: self.patience.errors,
                }));
            }
            if self.left.is_empty() {
                return Ok(None);
            }
            let deadline = Arc::clone(&self.deadline);
            let pause = self.pace.pause();
            if let Some(pause) = pause {
                let pause = self.patience.pause(pause);
                let left = deadline.left(&*clock);
                clock
                    .sleep(left.map_or(pause, |left| pause.min(left)))
                    .await;
            }
            let look = deadline.run(&*clock, self.look()).await;
            let ended = self.left.values().filter(|job| job.is_final()).cloned();
            for job in ended.collect::<Vec<_>>() {
                if let Some(outcome) = outcome(&job, &deadline).await {
                    self.left.remove(job.id());
                    for handle in self.handles.remove(job.id()).unwrap_or_default() {
                        handle.keep_end(&job);
                    }
                    self.ended.push_back((job, outcome));
                }
            }
            match look {
                None => {
                    let left = std::mem::take(&mut self.left).into_values();
                    self.ended.extend(left.map(|job| (job, Outcome::TimedOut)));
                    continue;
                }
                Some(Ok(())) => self.patience.reset(),
                Some(Err(error)) => self.patience.tolerate(error, &*clock)?,
            }
            if pause.is_none() || !self.ended.is_empty() {
                self.pace.reset();
            } else {
                self.pace.back_off();
            }
        }
    }

    /// Looks at all jobs. What it has seen stays seen when it is given up.
    async fn look(&mut self) -> Result<(), Error> {
        let seen = self.search().await?.into_iter();
        let mut seen: HashMap<String, Job> = seen.map(|job| (job.id().to_owned(), job)).collect();
        // Jobs that the search did not bring have ended, or have a phase that is not
        // known to it, or do not exist any more.
        let mut gone: Vec<String> = Vec::new();
        for (id, job) in &mut self.left {
            match seen.remove(id) {
                Some(seen) => *job = seen,
                None => gone.push(id.clone()),
            }
        }
        // Each has its turn, or those that stay unknown would keep the others out.
        let next = |asked: &String| gone.partition_point(|id| id <= asked);
        let next = self.asked.as_ref().map_or(0, next);
        gone.rotate_left(next);
        gone.truncate(self.budget);
        if let Some(last) = gone.last() {
            self.asked = Some(last.clone());
        }
        let jobs = self.client.training_jobs();
        let jobs = &jobs;
        let mut answers = stream::iter(gone)
            .map(|id| async move {
                let job = jobs.get(&id).await;
                (id, job)
            })
            .buffered(AT_ONCE);
        let mut failed = None;
        while let Some((id, answer)) = answers.next().await {
            match answer {
                Ok(job) => {
                    self.left.insert(id, job);
                }
                Err(error) if error.is_gone() => {
                    let last = self.left.remove(&id);
                    self.ended.extend(last.map(|job| (job, Outcome::Vanished)));
                }
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// The jobs, or at least those that have not ended. A search is in one workspace.
    async fn search(&mut self) -> Result<Vec<Job>, Error> {
        let mut workspaces: BTreeMap<Option<String>, Vec<Job>> = BTreeMap::new();
        for job in self.left.values() {
            let workspace = job.workspace().map(str::to_owned);
            workspaces.entry(workspace).or_default().push(job.clone());
        }
        let mut found = Vec::new();
        for (workspace, jobs) in workspaces {
            // Jobs that it does not bring are asked for one by one.
            let mut list = self.client.training_jobs().list().lenient();
            if let Some(workspace) = workspace {
                list = list.workspace(workspace);
            }
            found.extend(self.search_for(&jobs, list).await?);
        }
        Ok(found)
    }

    /// The same, for those of one workspace.
    async fn search_for(&mut self, jobs: &[Job], list: ListJobs) -> Result<Vec<Job>, Error> {
        if self.by_id && jobs.len() <= MAX_VALUES {
            let filter = Filter::id().is_in(jobs.iter().map(Job::id));
            match list.clone().filter(filter).collect(jobs.len()).await {
                Err(error) if error.code().is_some_and(|code| REFUSALS.contains(&code)) => {
                    self.by_id = false;
                }
                found => return found,
            }
        }
        let mut list = list.filter(Filter::phase().is_in(ALIVE));
        let made = jobs.iter().map(Job::created_at);
        let made: Option<Vec<SystemTime>> = made.collect();
        let range = made.and_then(|made| Some((*made.iter().min()?, *made.iter().max()?)));
        if let Some((first, last)) = range
            && last
                .duration_since(first)
                .is_ok_and(|span| span + CUT_OFF <= MAX_SPAN)
        {
            // The service is not said to compare more than seconds.
            list = list.filter(Filter::create_time().between(first, last + CUT_OFF));
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

const CUT_OFF: Duration = Duration::from_secs(1);
