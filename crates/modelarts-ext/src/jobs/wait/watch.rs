//! `JobWatch`: the changes of the jobs of a workspace, or of a search, across restarts of a program.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, future};
use modelarts_api::{BoxFuture, types::Phase};
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
    timestamp::Timestamp,
    transport::{call::CallInfo, deadline::RateLimit},
};

/// Maximum number of jobs that a round reads one by one.
const MISSING_JOBS: usize = 10;
/// Time after the newest job in which the service may list a job that was created before it.
const RECENT: Duration = Duration::from_secs(5 * 60);

/// Change of a job, of a [`JobWatch`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JobChange {
    /// The phase of the job changed.
    #[non_exhaustive]
    Phase {
        /// Job as it was read, which may already be in a later phase than `phase`.
        job: Job,
        /// Phase that was reported before; `None` for the first change of a job.
        from: Option<Phase>,
        /// New phase.
        phase: Phase,
        /// Start of the phase, if the details of the job have it. The service gives the creation
        /// in milliseconds and other times in seconds, so a time may be before that of an earlier
        /// phase.
        at: Option<Timestamp>,
    },
    /// The job no longer exists. It has the details that were read last; after a resume, perhaps
    /// only its id, name, workspace, creation time and phase.
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

/// Position of a [`JobWatch`]: the jobs that have not ended, and the newest ones, with their last
/// reported phases. A program saves it, for example as JSON, and [resumes](JobWatch::resume) the
/// watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchPosition {
    project: String,
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
    #[serde(default, skip_serializing_if = "is_false")]
    existed: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    is_over: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Watch of the changes of all jobs of a workspace, or of a search, from [`TrainingJobs::watch`] and
/// [`ListJobs::watch`].
///
/// The watch begins with the first call of [`next`](Self::next): jobs that ended before are not
/// reported, and the first changes are the phases of the unfinished jobs. Then each new phase of a
/// job is reported once, with its start if the details of the job have it, and the deletion of a
/// job that has not ended. A phase between two rounds is reported if the details show it; a job
/// that began and ended meanwhile has its phases from its details. A user's new start of an ended
/// job is not reported.
///
/// A round searches for new jobs, with one request for 50 jobs of the last minute, and for the
/// unfinished jobs, with one request for 50 of them. With the default limit of one request per
/// second, 10,000 unfinished jobs take 200 seconds.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
/// # fn main() -> Result { run(async |emulator, client| {
/// # hello(&emulator, &client, "watched")?.submit().await?.wait().await?;
/// use modelarts_ext::{jobs::JobChange, types::Phase};
///
/// let mut watch = client.training_jobs().watch().rate_limit(5.0);
/// # let early = hello(&emulator, &client, "early")?;
/// # let (first, early) = futures::join!(watch.next(), early.submit());
/// # (first?, early?);
/// let mut completed = 0;
/// while completed < 1 {
///     if let JobChange::Phase { job, phase, at, .. } = watch.next().await? {
///         println!("{} is {phase} since {at:?}", job.name());
///         completed += u32::from(phase == Phase::Completed);
///     }
///     // The position after the processed change is saved. A program that ends before it saves the
///     // position gets the change again.
///     let position = serde_json::to_string(&watch.position())?;
/// #   let _ = position;
/// }
/// # let position = watch.position();
/// # hello(&emulator, &client, "late")?.submit().await?.wait().await?;
/// // After a restart, the watch continues at the saved position.
/// let mut watch = client.training_jobs().watch().resume(position);
/// # let mut phases = Vec::new();
/// # while let Some(JobChange::Phase { job, phase, .. }) = Some(watch.next().await?) {
/// #     phases.push(format!("{} {phase}", job.name()));
/// #     if phase == Phase::Completed && job.name() == "late" { break; }
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
    state: State,
}

/// State of a watch. A round that a dropped call began is continued by the next call.
enum State {
    /// No round has begun.
    Start,
    /// Position that cannot be resumed.
    Invalid(Error),
    /// Between two rounds.
    Idle(Box<Rounds>),
    /// In a round.
    Running(BoxFuture<'static, RoundResult>),
}

struct Rounds {
    /// Client with the rate limit of the watch.
    client: Client,
    poller: Poller,
    tolerance: ErrorTolerance,
    search: SearchState,
}

/// Jobs that a round has read, also before an error.
struct RoundResult {
    rounds: Box<Rounds>,
    /// Jobs at the start of the watch; `None` in a later round.
    first: Option<FirstJobs>,
    new: Vec<Job>,
    unfinished: JobSet,
    failed: Option<Error>,
}

struct FirstJobs {
    newest: Timestamp,
    /// Ended jobs that the search for new jobs returns again.
    recent: Vec<Job>,
    unfinished: Vec<Job>,
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
    /// `true` if the job existed when the watch began, so its first change is its current phase.
    existed: bool,
    /// `true` if the end or the deletion of the job is reported.
    is_over: bool,
}

impl TrainingJobs {
    /// Returns a watch of the changes of all jobs of the workspace `0`. [`ListJobs::watch`] watches
    /// another workspace.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::jobs::wait::JobChange;
    ///
    /// let mut watch = client.training_jobs().watch();
    /// loop {
    ///     match watch.next().await? {
    ///         JobChange::Phase { job, phase, .. } => println!("{} is {phase}", job.name()),
    ///         JobChange::Deleted { job, .. } => println!("{} was deleted", job.name()),
    ///         _ => {}
    ///     }
    /// }
    /// # }
    /// ```
    pub fn watch(&self) -> JobWatch {
        self.list().watch()
    }
}

impl ListJobs {
    /// Returns a watch of the changes of the jobs of this search. Conditions on the phase and on
    /// hosts, which change, are errors. With tags, the service searches the last 31 days, so older
    /// unfinished jobs are left out. The order and the position of the search have no effect.
    pub fn watch(self) -> JobWatch {
        JobWatch {
            list: self.newest_first().without_position().end_short(),
            interval: PollInterval::new(Duration::from_secs(1), Duration::from_secs(10)),
            calls_per_second: 1.0,
            jobs: KnownJobs::default(),
            state: State::Start,
        }
    }
}

impl JobWatch {
    /// Resumes a watch of the same search at its position. [`next`](Self::next) returns an error if
    /// the position is of another project.
    pub fn resume(mut self, position: WatchPosition) -> Self {
        match KnownJobs::restore(position, self.list.client()) {
            Ok(jobs) => self.jobs = jobs,
            Err(error) => self.state = State::Invalid(error),
        }
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
        self.jobs.position(self.list.client())
    }

    /// Waits for the next change. If the call is dropped, the next call continues it.
    ///
    /// # Errors
    /// Returns an error for an invalid condition, setting or position, a non-transient error, or
    /// calls that fail for 15 minutes. After an error of a request, the next call continues the
    /// watch.
    pub async fn next(&mut self) -> Result<JobChange, Error> {
        loop {
            if let Some(change) = self.jobs.next(self.list.client()) {
                return Ok(change);
            }
            let result = match &mut self.state {
                State::Running(round) => round.await,
                State::Invalid(error) => return Err(error.clone()),
                State::Start => {
                    let interval = self.interval.clone();
                    let rounds = Rounds::new(&self.list, interval, self.calls_per_second)?;
                    self.state = State::Idle(Box::new(rounds));
                    continue;
                }
                State::Idle(_) => {
                    // The state is replaced twice, because the round takes the rounds.
                    if let State::Idle(rounds) = std::mem::replace(&mut self.state, State::Start) {
                        let unfinished = self.jobs.unfinished(&rounds.client);
                        let list = self.list.clone().with_client(rounds.client.clone());
                        let round = run_round(rounds, list, self.jobs.newest, unfinished);
                        self.state = State::Running(Box::pin(round));
                    }
                    continue;
                }
            };
            let mut rounds = result.rounds;
            if let Some(first) = result.first {
                self.jobs.record_first(first);
            }
            self.jobs.record_new(result.new);
            self.jobs.record_unfinished(result.unfinished);
            let now = rounds.client.clock().now();
            let failed =
                result.failed.and_then(|error| rounds.tolerance.tolerate(error, now).err());
            let retry_after = rounds.tolerance.take_retry_after();
            rounds.poller.end_round(now, !self.jobs.queue.is_empty(), retry_after);
            self.state = State::Idle(rounds);
            if let Some(error) = failed {
                return Err(error);
            }
        }
    }
}

/// Runs a round after the pause: reads the new jobs, and then the unfinished ones.
async fn run_round(
    mut rounds: Box<Rounds>,
    list: ListJobs,
    newest: Option<Timestamp>,
    mut unfinished: JobSet,
) -> RoundResult {
    let Rounds { client, poller, tolerance, search } = &mut *rounds;
    let (mut first, mut new) = (None, Vec::new());
    let requests = async {
        match newest {
            None => first = Some(read_first(list).await?),
            Some(newest) => {
                new = find_new(list, newest).await?;
                tolerance.reset();
                read_jobs(client, &mut unfinished, search, tolerance).await?;
            }
        }
        tolerance.reset();
        Ok(())
    };
    // Without a time limit, a round always has a result.
    let failed = poller.round(requests).await.and_then(Result::err);
    RoundResult { rounds, first, new, unfinished, failed }
}

impl Rounds {
    fn new(list: &ListJobs, interval: PollInterval, calls_per_second: f64) -> Result<Self, Error> {
        unfinished(list.clone()).check()?;
        if list.has_changing_condition() {
            return Err(Error::invalid(
                "the conditions of a watch must not be on the phase or on hosts, because a job \
                 would leave the search when they change; select the changes instead",
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

/// Returns the search for unfinished jobs.
fn unfinished(list: ListJobs) -> ListJobs {
    let phases = Phase::KNOWN.iter().map(|phase| Phase::from(*phase));
    list.filter(Filter::phase().is_in(phases.filter(|phase| !is_final(phase))))
}

/// Returns the jobs that were created since `newest`, and shortly before, the oldest first.
async fn find_new(list: ListJobs, newest: Timestamp) -> Result<Vec<Job>, Error> {
    // The service lists new jobs with a delay.
    let now = Timestamp::from(list.client().clock().now());
    let is_recent = now.duration_since(newest) < RECENT;
    let overlap = if is_recent { MAX_CLOCK_SKEW } else { Duration::ZERO };
    let is_new = move |job: &Job| job.created_at().is_none_or(|at| at + overlap >= newest);
    let jobs = list.stream().try_take_while(move |job| future::ready(Ok(is_new(job))));
    let mut jobs: Vec<Job> = jobs.try_collect().await?;
    jobs.reverse();
    Ok(jobs)
}

/// Reads the newest jobs, so that later ones are new, and then all unfinished jobs.
async fn read_first(list: ListJobs) -> Result<FirstJobs, Error> {
    let first: Vec<Job> = list.clone().stream().take(1).try_collect().await?;
    let newest = first.first().and_then(Job::created_at);
    let newest = newest.unwrap_or(Timestamp::from_epoch_millis(0));
    let recent = find_new(list.clone(), newest).await?;
    let mut jobs: Vec<Job> = unfinished(list).stream().try_collect().await?;
    jobs.reverse();
    Ok(FirstJobs { newest, recent, unfinished: jobs })
}

impl KnownJobs {
    fn record_first(&mut self, first: FirstJobs) {
        self.newest = Some(first.newest);
        for job in first.unfinished {
            self.record(job, true);
        }
        // A job that ended between the two searches is not reported.
        for job in first.recent {
            let (id, phase) = (job.id().to_owned(), Some(job.phase()));
            self.jobs.entry(id).or_insert_with(|| KnownJob {
                job,
                reported: phase.clone(),
                queued: phase,
                existed: true,
                is_over: true,
            });
        }
    }

    /// Records jobs that were found by the search for new jobs. Known jobs are read in another way.
    fn record_new(&mut self, jobs: Vec<Job>) {
        for job in jobs {
            self.newest = self.newest.max(job.created_at());
            if !self.jobs.contains_key(job.id()) {
                self.record(job, false);
            }
        }
    }

    /// Returns the unfinished jobs. Nothing is in the queue when a round begins.
    fn unfinished(&self, client: &Client) -> JobSet {
        let mut set = JobSet::default();
        for known in self.jobs.values().filter(|known| !known.is_over) {
            set.add(known.job.clone().with_client(client.clone()));
        }
        set
    }

    fn record_unfinished(&mut self, set: JobSet) {
        for (job, is_gone) in set.into_jobs() {
            // A job of a position that was not read yet may have no phase.
            let has_phase = job.status().is_some_and(|status| status.phase.is_some());
            match is_gone {
                true => self.queue.push_back(JobChange::Deleted { job }),
                false if has_phase => self.record(job, false),
                false => {}
            }
        }
        // The search for new jobs does not return older jobs again.
        let newest = self.newest;
        self.jobs.retain(|_, known| {
            let is_new = |at: Timestamp| Some(at + MAX_CLOCK_SKEW) >= newest;
            !known.is_over || known.job.created_at().is_none_or(is_new)
        });
    }

    /// Records a job as it was read, and queues its new phases. `existed` applies to a new job.
    fn record(&mut self, job: Job, existed: bool) {
        let known = self.jobs.entry(job.id().to_owned()).or_insert_with(|| KnownJob {
            job: job.clone(),
            reported: None,
            queued: None,
            existed,
            is_over: false,
        });
        known.job = job.clone();
        let mut phases = new_phases(&job, known.queued.as_ref());
        if known.existed && known.queued.is_none() {
            phases.drain(..phases.len().saturating_sub(1));
        }
        for (phase, at) in phases {
            let from = known.queued.replace(phase.clone());
            self.queue.push_back(JobChange::Phase { job: job.clone(), from, phase, at });
        }
    }

    /// Removes the next change from the queue, and records it as reported.
    fn next(&mut self, client: &Client) -> Option<JobChange> {
        let mut change = self.queue.pop_front()?;
        if let Some(known) = self.jobs.get_mut(change.job().id()) {
            match &change {
                JobChange::Phase { phase, .. } => {
                    known.reported = Some(phase.clone());
                    known.is_over = is_final(phase);
                }
                JobChange::Deleted { .. } => known.is_over = true,
            }
        }
        let (JobChange::Phase { job, .. } | JobChange::Deleted { job }) = &mut change;
        *job = job.clone().with_client(client.clone());
        Some(change)
    }

    fn position(&self, client: &Client) -> WatchPosition {
        let jobs = self.jobs.values().map(|known| SavedJob {
            id: known.job.id().to_owned(),
            name: known.job.name().to_owned(),
            workspace: known.job.workspace().map(str::to_owned),
            created: known.job.created_at(),
            phase: known.reported.clone(),
            existed: known.existed,
            is_over: known.is_over,
        });
        let project = client.project_id().to_string();
        WatchPosition { project, newest: self.newest, jobs: jobs.collect() }
    }

    fn restore(position: WatchPosition, client: &Client) -> Result<Self, Error> {
        if position.project != client.project_id() {
            return Err(Error::invalid(format!(
                "the position is of the project {}; it must be of the project of the client, {}",
                position.project,
                client.project_id()
            )));
        }
        let jobs = position.jobs.into_iter().map(|saved| {
            let details = json!({
                "metadata": {
                    "id": saved.id,
                    "name": saved.name,
                    "workspace_id": saved.workspace,
                    "create_time": saved.created.map(Timestamp::as_epoch_millis),
                },
                "status": {"phase": saved.phase},
            });
            let details = serde_json::from_value(details).ok();
            let job = details.and_then(|details| {
                Job::from_details(client.clone(), details, Arc::<CallInfo>::default())
            });
            let job = job.ok_or_else(|| {
                Error::invalid(format!("the position has a wrong job, {:?}", saved.id))
            })?;
            let (reported, queued) = (saved.phase.clone(), saved.phase);
            let (existed, is_over) = (saved.existed, saved.is_over);
            Ok((saved.id, KnownJob { job, reported, queued, existed, is_over }))
        });
        let jobs = jobs.collect::<Result<_, Error>>()?;
        Ok(Self { newest: position.newest, jobs, queue: VecDeque::new() })
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
            let start = phase.start.filter(|_| has_start(&phase.phase));
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
