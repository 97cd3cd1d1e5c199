//! `JobWatch`: the changes of all jobs of a project, or of a search, across restarts of a program.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, future, stream};
use modelarts_api::types::Phase;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    client::Client,
    clock::MAX_CLOCK_SKEW,
    error::Error,
    jobs::{
        filter::Filter,
        job::{Job, is_final},
        list::ListJobs,
        polling::poller::{ErrorTolerance, PollInterval, Poller},
        training_jobs::TrainingJobs,
        wait::{
            job_set::JobSet,
            round::{Pace, SearchState, read_jobs},
        },
    },
    pagination::page::PageStream,
    timestamp::Timestamp,
    transport::{call::CallInfo, deadline::RateLimit},
};

/// Maximum number of jobs that a round reads one by one.
const MISSING_JOBS: usize = 10;

/// Change of a job, of a [`JobWatch`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JobChange {
    /// The job is in a phase in which it was not before.
    #[non_exhaustive]
    Phase {
        /// Job as it was read, which may already be in a later phase.
        job: Job,
        /// Phase that was reported before; `None` for the first change of a job.
        from: Option<Phase>,
        /// New phase.
        phase: Phase,
        /// Start of the phase, if the details of the job have it.
        at: Option<Timestamp>,
    },
    /// The job no longer exists. It has the details that were read last.
    #[non_exhaustive]
    Deleted {
        /// Deleted job.
        job: Job,
    },
}

impl JobChange {
    /// Returns the job.
    #[must_use]
    pub fn job(&self) -> &Job {
        let (Self::Phase { job, .. } | Self::Deleted { job }) = self;
        job
    }
}

/// Position of a [`JobWatch`]: the jobs that have not ended, with their last reported phases. A
/// program saves it, for example as JSON, and [resumes](JobWatch::resume) the watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchPosition {
    /// Creation time of the newest job; `None` before the first round.
    newest: Option<Timestamp>,
    jobs: Vec<SavedJob>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedJob {
    id: String,
    name: String,
    workspace: Option<String>,
    created: Option<Timestamp>,
    /// Last reported phase.
    phase: Option<Phase>,
}

/// Watch of the changes of all jobs of a project, or of a search, from [`TrainingJobs::watch`] and
/// [`ListJobs::watch`].
///
/// The first changes are the phases of the unfinished jobs. Then each new phase of a job is
/// reported once, with its start if the details of the job have it, and the deletion of a job that
/// has not ended. A phase between two rounds is reported if the details show it; a job that began
/// and ended meanwhile has its phases from its details. A user's new start of an ended job is not
/// reported.
///
/// A round searches for new jobs, with one request if there are few, and for the unfinished jobs,
/// with one request for 50 of them. With the default limit of one request per second, 10,000
/// unfinished jobs take 200 seconds.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
/// # fn main() -> Result { run(async |emulator, client| {
/// # hello(&emulator, &client, "watched")?.submit().await?.wait().await?;
/// use modelarts_ext::jobs::JobChange;
///
/// let mut watch = client.training_jobs().watch().rate_limit(5.0);
/// # hello(&emulator, &client, "early")?.submit().await?;
/// # let mut ended = 0;
/// loop {
///     let change = watch.next().await?;
///     if let JobChange::Phase { job, phase, at, .. } = &change {
///         println!("{} is {phase} since {at:?}", job.name());
///     }
///     // After the change was processed, its position is saved.
///     let position = serde_json::to_string(&watch.position())?;
/// #   if change.job().name() == "early" && change.job().is_final() { break; }
/// #   let _ = position;
/// }
/// # let position = watch.position();
/// # hello(&emulator, &client, "late")?.submit().await?.wait().await?;
/// // After a restart, nothing is missed and nothing comes twice.
/// let mut watch = client.training_jobs().watch().resume(position);
/// # let mut phases = Vec::new();
/// # while let Some(JobChange::Phase { job, phase, .. }) = Some(watch.next().await?) {
/// #     phases.push(format!("{} {phase}", job.name()));
/// #     if phase == modelarts_ext::types::Phase::Completed { break; }
/// # }
/// # phases.retain(|phase| phase.starts_with("late"));
/// # assert_eq!(phases, ["late Creating", "late Running", "late Completed"]);
/// # Ok(()) }) }
/// ```
#[must_use = "a watch does nothing unless `next` is called"]
pub struct JobWatch {
    list: ListJobs,
    interval: PollInterval,
    calls_per_second: f64,
    jobs: KnownJobs,
    /// `None` before the first round.
    rounds: Option<Rounds>,
}

struct Rounds {
    /// Client with the rate limit of the watch.
    client: Client,
    poller: Poller,
    tolerance: ErrorTolerance,
    search: SearchState,
}

/// Jobs whose changes are reported, and the changes that [`JobWatch::next`] has not returned.
#[derive(Default)]
struct KnownJobs {
    /// Creation time of the newest job; `None` before the first round.
    newest: Option<Timestamp>,
    /// Unfinished jobs, and the newest jobs, which the search for new jobs returns again.
    jobs: BTreeMap<String, KnownJob>,
    queue: VecDeque<JobChange>,
}

struct KnownJob {
    job: Job,
    reported: Option<Phase>,
    /// Last phase in the queue, or the reported phase.
    queued: Option<Phase>,
}

impl TrainingJobs {
    /// Returns a watch of the changes of all jobs of the workspace `0`.
    pub fn watch(&self) -> JobWatch {
        self.list().watch()
    }
}

impl ListJobs {
    /// Returns a watch of the changes of the jobs of this search. A condition on the phase is an
    /// error. The order of the search has no effect.
    pub fn watch(self) -> JobWatch {
        JobWatch {
            list: self.newest_first().allow_early_end(),
            interval: PollInterval::new(Duration::from_secs(1), Duration::from_secs(10)),
            calls_per_second: 1.0,
            jobs: KnownJobs::default(),
            rounds: None,
        }
    }
}

impl JobWatch {
    /// Resumes a watch of the same search at its position.
    pub fn resume(mut self, position: WatchPosition) -> Self {
        self.jobs = KnownJobs::restore(position, self.list.client());
        self
    }

    /// Sets the pause between two rounds: `shortest` after a change, growing up to `longest`. The
    /// defaults are 1 and 10 seconds.
    pub fn interval(mut self, shortest: Duration, longest: Duration) -> Self {
        self.interval = PollInterval::new(shortest, longest);
        self
    }

    /// Sets the rate limit in requests per second, above 0 or [`f64::INFINITY`]. The default is 1.
    pub fn rate_limit(mut self, requests_per_second: f64) -> Self {
        self.calls_per_second = requests_per_second;
        self
    }

    /// Returns the position after the changes that [`next`](Self::next) has returned.
    #[must_use]
    pub fn position(&self) -> WatchPosition {
        self.jobs.position()
    }

    /// Waits for the next change. A dropped call loses no change.
    ///
    /// # Errors
    /// Returns an error for an invalid condition or setting, a non-transient error, or calls that
    /// fail for 15 minutes. The next call continues the watch.
    pub async fn next(&mut self) -> Result<JobChange, Error> {
        loop {
            match self.jobs.next(self.list.client()) {
                Some(change) => return Ok(change),
                None => self.round().await?,
            }
        }
    }

    /// Returns a stream of the changes, which ends only with an error.
    #[must_use]
    pub fn stream(self) -> PageStream<JobChange> {
        let changes = stream::try_unfold(self, |mut watch| async move {
            let change = watch.next().await?;
            Ok(Some((change, watch)))
        });
        changes.boxed()
    }

    /// Reads new and unfinished jobs after the pause, and queues their changes.
    async fn round(&mut self) -> Result<(), Error> {
        let rounds = match &mut self.rounds {
            Some(rounds) => rounds,
            None => {
                let interval = self.interval.clone();
                self.rounds.insert(Rounds::new(&self.list, interval, self.calls_per_second)?)
            }
        };
        let list = self.list.clone().with_client(rounds.client.clone());
        let known = &mut self.jobs;
        let requests = async {
            match known.newest {
                None => known.begin(list).await,
                Some(newest) => {
                    known.record_new(find_new(list, newest).await?);
                    let client = &rounds.client;
                    let mut set = known.unfinished(client);
                    let (search, tolerance) = (&mut rounds.search, &mut rounds.tolerance);
                    let read = read_jobs(client, &mut set, search, tolerance).await;
                    // Jobs that were read before an error are recorded.
                    known.record_set(set);
                    read
                }
            }
        };
        let read = rounds.poller.round(requests).await;
        let now = rounds.client.clock().now();
        let failed = match read {
            Some(Err(error)) => rounds.tolerance.tolerate(error, now).err(),
            _ => None,
        };
        let retry_after = rounds.tolerance.take_retry_after();
        rounds.poller.end_round(now, !known.queue.is_empty(), retry_after);
        failed.map_or(Ok(()), Err)
    }
}

impl Rounds {
    fn new(list: &ListJobs, interval: PollInterval, calls_per_second: f64) -> Result<Self, Error> {
        list.check()?;
        if list.has_phase_condition() {
            return Err(Error::invalid(
                "the conditions of a watch must not be on the phase, because a job would leave the \
                 search when its phase changes; select the phases of the changes",
            ));
        }
        let client = list.client();
        let limit = RateLimit::new(calls_per_second, 1)?;
        let limit = limit.within(client.transport().rate_limit.clone());
        let pace = Pace::new(limit.spacing().as_secs_f64().recip());
        Ok(Self {
            poller: Poller::new(client.clock(), interval, None),
            client: client.with_transport(|transport| transport.rate_limit = Some(Arc::new(limit))),
            tolerance: ErrorTolerance::default(),
            search: SearchState { budget: MISSING_JOBS, pace, last_read: None, searches_ids: true },
        })
    }
}

/// Returns the jobs that were created since `newest`, and shortly before, the oldest first.
async fn find_new(list: ListJobs, newest: Timestamp) -> Result<Vec<Job>, Error> {
    let is_new = move |job: &Job| job.created_at().is_none_or(|at| at + MAX_CLOCK_SKEW >= newest);
    let jobs = list.stream().try_take_while(move |job| future::ready(Ok(is_new(job))));
    let mut jobs: Vec<Job> = jobs.try_collect().await?;
    jobs.reverse();
    Ok(jobs)
}

impl KnownJobs {
    /// Reads the newest jobs, so that later ones are new, and then all unfinished jobs.
    async fn begin(&mut self, list: ListJobs) -> Result<(), Error> {
        let first: Vec<Job> = list.clone().stream().take(1).try_collect().await?;
        let newest = first.first().and_then(Job::created_at);
        let newest = newest.unwrap_or(Timestamp::from_epoch_millis(0));
        let recent = find_new(list.clone(), newest).await?;
        let unfinished = Phase::KNOWN.iter().map(|phase| Phase::from(*phase));
        let unfinished = Filter::phase().is_in(unfinished.filter(|phase| !is_final(phase)));
        let jobs: Vec<Job> = list.filter(unfinished).stream().try_collect().await?;
        self.newest = Some(newest);
        for job in recent.into_iter().filter(Job::is_final) {
            let phase = Some(job.phase());
            let known = KnownJob { job, reported: phase.clone(), queued: phase };
            self.jobs.insert(known.job.id().to_owned(), known);
        }
        for job in jobs.into_iter().rev() {
            let change = new_phases(&job, None).pop();
            self.record(job, change);
        }
        Ok(())
    }

    fn record_new(&mut self, jobs: Vec<Job>) {
        for job in jobs {
            self.newest = self.newest.max(job.created_at());
            self.record_read(job);
        }
    }

    /// Returns the unfinished jobs. Nothing is in the queue when a round begins.
    fn unfinished(&self, client: &Client) -> JobSet {
        let mut set = JobSet::default();
        let ended = |known: &&KnownJob| known.queued.as_ref().is_some_and(is_final);
        for known in self.jobs.values().filter(|known| !ended(known)) {
            set.add(known.job.clone().with_client(client.clone()));
        }
        set
    }

    fn record_set(&mut self, set: JobSet) {
        for (job, is_gone) in set.into_jobs() {
            match is_gone {
                true => self.queue.push_back(JobChange::Deleted { job }),
                false => self.record_read(job),
            }
        }
        // The search for new jobs does not return older jobs again.
        let oldest = self.newest;
        self.jobs.retain(|_, known| {
            let is_new = |at: Timestamp| Some(at + MAX_CLOCK_SKEW) >= oldest;
            !known.reported.as_ref().is_some_and(is_final)
                || known.job.created_at().is_none_or(is_new)
        });
    }

    fn record_read(&mut self, job: Job) {
        let queued = self.jobs.get(job.id()).and_then(|known| known.queued.clone());
        let changes = new_phases(&job, queued.as_ref());
        self.record(job, changes);
    }

    fn record(&mut self, job: Job, changes: impl IntoIterator<Item = (Phase, Option<Timestamp>)>) {
        let known = self.jobs.entry(job.id().to_owned()).or_insert_with(|| KnownJob {
            job: job.clone(),
            reported: None,
            queued: None,
        });
        known.job = job.clone();
        for (phase, at) in changes {
            let from = known.queued.replace(phase.clone());
            self.queue.push_back(JobChange::Phase { job: job.clone(), from, phase, at });
        }
    }

    /// Removes the next change from the queue, and records it as reported.
    fn next(&mut self, client: &Client) -> Option<JobChange> {
        let mut change = self.queue.pop_front()?;
        match &mut change {
            JobChange::Phase { job, phase, .. } => {
                if let Some(known) = self.jobs.get_mut(job.id()) {
                    known.reported = Some(phase.clone());
                }
                *job = job.clone().with_client(client.clone());
            }
            JobChange::Deleted { job } => {
                self.jobs.remove(job.id());
                *job = job.clone().with_client(client.clone());
            }
        }
        Some(change)
    }

    fn position(&self) -> WatchPosition {
        let jobs = self.jobs.values().map(|KnownJob { job, reported, .. }| SavedJob {
            id: job.id().to_owned(),
            name: job.name().to_owned(),
            workspace: job.workspace().map(str::to_owned),
            created: job.created_at(),
            phase: reported.clone(),
        });
        WatchPosition { newest: self.newest, jobs: jobs.collect() }
    }

    fn restore(position: WatchPosition, client: &Client) -> Self {
        let jobs = position.jobs.into_iter().filter_map(|saved| {
            let details = json!({
                "metadata": {
                    "id": saved.id,
                    "name": saved.name,
                    "workspace_id": saved.workspace,
                    "create_time": saved.created.map(Timestamp::as_epoch_millis),
                },
                "status": {"phase": saved.phase},
            });
            let details = serde_json::from_value(details).ok()?;
            let job = Job::from_details(client.clone(), details, Arc::<CallInfo>::default())?;
            let (reported, queued) = (saved.phase.clone(), saved.phase);
            Some((saved.id, KnownJob { job, reported, queued }))
        });
        Self { newest: position.newest, jobs: jobs.collect(), queue: VecDeque::new() }
    }
}

/// Returns the phases of a job after the last known one, with their starts if the details of the
/// job have them.
fn new_phases(job: &Job, last: Option<&Phase>) -> Vec<(Phase, Option<Timestamp>)> {
    let now = job.phase();
    if last == Some(&now) {
        return Vec::new();
    }
    let has_start = |phase: &Phase| *phase == Phase::Creating || job.started_at().is_some();
    let phases = job.phases(&[]).into_iter();
    let later = phases.filter(|phase| last.is_none_or(|last| rank(&phase.phase) > rank(last)));
    let mut phases: Vec<_> = later
        .map(|phase| {
            let start = has_start(&phase.phase).then_some(phase.start);
            (phase.phase, start)
        })
        .collect();
    if phases.last().is_none_or(|(phase, _)| *phase != now) {
        phases.push((now, None));
    }
    phases
}

/// Returns the order of the phases of a run.
fn rank(phase: &Phase) -> u8 {
    match phase {
        Phase::Creating => 0,
        Phase::Running => 2,
        Phase::Terminating => 3,
        phase if is_final(phase) => 4,
        _ => 1,
    }
}
