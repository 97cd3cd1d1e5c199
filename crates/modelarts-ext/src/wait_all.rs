//! Waiting for the ends of many jobs.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    future::IntoFuture,
    time::{Duration, SystemTime},
};

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::{BoxFuture, types::Phase};

use crate::{
    client::Client,
    clock::since,
    error::Error,
    filter::{Filter, MAX_SPAN, MAX_VALUES},
    job::Job,
    list::ListJobs,
    outcome::{Outcome, outcome},
    page::Results,
    patience::Patience,
    wait::Waited,
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
    shortest: Duration,
    longest: Duration,
    timeout: Option<Duration>,
    budget: usize,
}

impl WaitAll {
    pub(crate) fn new(client: Client, jobs: Vec<Job>) -> Self {
        Self {
            client,
            jobs,
            shortest: Duration::from_secs(5),
            longest: Duration::from_secs(60),
            timeout: None,
            budget: 50,
        }
    }

    /// Ends the wait after this long, with [`Outcome::TimedOut`] for all jobs that have
    /// not ended. Default: never.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long to wait between two rounds: `shortest` after a round in which a job
    /// ended, and longer from round to round, up to `longest`. Default 5 to 60 seconds.
    pub fn interval(mut self, shortest: Duration, longest: Duration) -> Self {
        self.shortest = shortest;
        self.longest = longest.max(shortest);
        self
    }

    /// How many jobs that ended may be asked for in one round. The others are asked for
    /// in the next. Default 50, and 1 at the least.
    pub fn budget(mut self, calls: usize) -> Self {
        self.budget = calls.max(1);
        self
    }

    /// Each job when it has ended. A job that is given twice comes once.
    #[must_use]
    pub fn stream(self) -> Results<Waited> {
        let jobs = self.jobs.into_iter();
        let rounds = Rounds {
            started: self.client.clock().now(),
            left: jobs.map(|job| (job.id().to_owned(), job)).collect(),
            client: self.client,
            shortest: self.shortest,
            longest: self.longest,
            timeout: self.timeout,
            budget: self.budget,
            by_id: true,
            pause: None,
            patience: Patience::default(),
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
    shortest: Duration,
    longest: Duration,
    timeout: Option<Duration>,
    budget: usize,
    /// Whether the service searches by ids.
    by_id: bool,
    started: SystemTime,
    pause: Option<Duration>,
    patience: Patience,
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
            if let Some(pause) = self.pause {
                let gone = since(&*clock, self.started);
                let time = self.timeout.map(|timeout| timeout.saturating_sub(gone));
                if time == Some(Duration::ZERO) {
                    let left = std::mem::take(&mut self.left).into_values();
                    self.ended.extend(left.map(|job| (job, Outcome::TimedOut)));
                    continue;
                }
                // Many waits that began together should not look together.
                let pause = pause.mul_f64(0.9 + 0.2 * fastrand::f64());
                let pause = self.patience.pause(pause);
                clock
                    .sleep(time.map_or(pause, |time| pause.min(time)))
                    .await;
            }
            match self.round().await {
                Ok(()) => self.patience.restore(),
                Err(error) => self.patience.bear(error, &*clock)?,
            }
            self.pause = Some(match self.pause {
                Some(pause) if self.ended.is_empty() => pause.mul_f64(1.3).min(self.longest),
                _ => self.shortest,
            });
        }
    }

    /// Looks at all jobs.
    async fn round(&mut self) -> Result<(), Error> {
        let seen = self.search().await?;
        let mut gone: Vec<String> = Vec::new();
        for (id, job) in &mut self.left {
            match seen.iter().find(|seen| seen.id() == id) {
                Some(seen) => *job = seen.clone(),
                None => gone.push(id.clone()),
            }
        }
        let ended = self.left.values().filter(|job| job.is_final());
        let ended: HashSet<String> = ended.map(|job| job.id().to_owned()).collect();
        for id in &ended {
            if let Some(job) = self.left.remove(id) {
                self.end(job).await;
            }
        }
        // Jobs that the search did not bring have ended, or have a phase that is not
        // known to it, or do not exist any more.
        gone.truncate(self.budget);
        let jobs = self.client.training_jobs();
        let jobs = &jobs;
        let mut answers = stream::iter(gone)
            .map(|id| async move {
                let job = jobs.get(&id).await;
                (id, job)
            })
            .buffered(AT_ONCE);
        let mut failed = None;
        let mut found = Vec::new();
        while let Some((id, answer)) = answers.next().await {
            match answer {
                Ok(job) => found.push((id, Some(job))),
                Err(error) if error.is_gone() => found.push((id, None)),
                Err(error) => failed = Some(error),
            }
        }
        drop(answers);
        for (id, job) in found {
            match job {
                Some(job) if job.is_final() => {
                    self.left.remove(&id);
                    self.end(job).await;
                }
                Some(job) => {
                    self.left.insert(id, job);
                }
                None => {
                    let last = self.left.remove(&id);
                    self.ended.extend(last.map(|job| (job, Outcome::Vanished)));
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn end(&mut self, job: Job) {
        if let Some(outcome) = outcome(&job).await {
            self.ended.push_back((job, outcome));
        }
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
            let mut list = self.client.training_jobs().list();
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
