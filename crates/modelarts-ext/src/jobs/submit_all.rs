//! Submission of many jobs, of which only a few are unfinished at the same time.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    future::IntoFuture,
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, stream, stream::BoxStream};
use modelarts_api::{BoxFuture, codes, request_path::create_training_job::metadata};

use crate::{
    client::Client,
    error::{
        Error, ErrorKind,
        violation::{Actual, Violation},
    },
    jobs::{
        create::CreateJob,
        job::Job,
        polling::poller::PollInterval,
        training_jobs::TrainingJobs,
        wait::{
            Waited,
            jobs_wait::{JobsWait, PollOptions},
        },
    },
};

/// Submission of several jobs, and the wait for their ends. Awaiting the value returns all results
/// in the order of the jobs; [`stream`](Self::stream) returns each result when it is known.
///
/// Jobs are submitted one after another while fewer than [`at_most`](Self::at_most) are unfinished.
/// The ends of jobs are detected as by [`WaitAll`](crate::jobs::wait::WaitAll).
///
/// # Errors
/// Each job has its own result, so the error of one job does not end the others:
///
/// - A job that breaks a rule of [`CreateJob::check`], or that has the name of an earlier job of
///   the same workspace. All jobs are checked before the first is submitted, and these errors are
///   the first items of the stream, so a program can stop at the first of them before any request.
/// - An error of [`CreateJob::submit`], such as a wrong flavor or a full quota. If the error
///   [is uncertain](Error::is_uncertain), the service may have created the job.
/// - An error of the wait that is not transient, or if all requests fail for 15 minutes; throttling
///   does not count. All remaining jobs get this error, and no further job is submitted. Submitted
///   jobs continue; the errors name them.
/// - An invalid option, such as `at_most` of 0. Every job gets this error, and no request is sent.
///
/// A job that fails on the service is not an error; see [`Waited::success`].
#[derive(Clone, Debug)]
#[must_use = "nothing is sent unless it is awaited or streamed"]
pub struct SubmitAll {
    client: Client,
    jobs: Vec<CreateJob>,
    at_most: usize,
    adopts: bool,
    on_submitted: OnSubmitted,
    options: PollOptions,
}

/// Function that receives the index of a job, and the job.
#[derive(Clone)]
struct OnSubmitted(Arc<SubmittedFn>);

type SubmittedFn = dyn Fn(usize, &Job) + Send + Sync;

impl fmt::Debug for OnSubmitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnSubmitted")
    }
}

type IndexedResult = (usize, Result<Waited, Error>);

impl TrainingJobs {
    /// Submits several jobs, a few at a time, and waits for the ends of the jobs.
    ///
    /// The algorithm and the flavor of each job are looked up before it is created. To save these
    /// calls for clones of one job, call [`look_up`](CreateJob::look_up) before the job is cloned.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "sweep")?;
    /// # let often = std::time::Duration::from_millis(100);
    /// use futures::StreamExt;
    ///
    /// // `job` is a prepared `CreateJob`.
    /// let job = job.look_up().await?;
    /// let sweep: Vec<_> = (0..30)
    ///     .map(|n| job.clone().name(format!("sweep-{n}")).parameter("seed", n))
    ///     .collect();
    /// let sweep = client.training_jobs().submit_all(sweep).at_most(5);
    /// # let sweep = sweep.interval(often, often).rate_limit(10.0);
    /// let mut results = sweep.stream();
    /// # let mut indices = Vec::new();
    /// while let Some((n, result)) = results.next().await {
    ///     match result.and_then(|end| end.success()) {
    ///         Ok(job) => println!("{n}: {job}"),
    ///         Err(error) => eprintln!("{n}: {error}"),
    ///     }
    /// #   indices.push(n);
    /// }
    /// # indices.sort();
    /// # assert!(indices.into_iter().eq(0..30));
    /// # Ok(()) }) }
    /// ```
    pub fn submit_all(&self, jobs: impl IntoIterator<Item = CreateJob>) -> SubmitAll {
        SubmitAll {
            client: self.client().clone(),
            jobs: jobs.into_iter().collect(),
            at_most: 10,
            adopts: false,
            on_submitted: OnSubmitted(Arc::new(|_, _| {})),
            options: PollOptions::default(),
        }
    }
}

impl SubmitAll {
    /// Sets the maximum number of unfinished jobs. By default 10, the maximum for a search by ids.
    pub fn at_most(mut self, jobs: usize) -> Self {
        self.at_most = jobs;
        self
    }

    /// Returns the results of existing jobs with the name and the contents of a job, instead of
    /// errors, as [`CreateJob::submit_or_adopt`]. After an interruption, the same call continues:
    /// it submits the missing jobs, and waits for all. The contents include the addresses of
    /// outputs; modelarts-obs gives the outputs of a job new addresses each time it is staged.
    pub fn adopt_existing(mut self) -> Self {
        self.adopts = true;
        self
    }

    /// Sets a function that receives the index of each job and the job, after it was submitted or
    /// [adopted](Self::adopt_existing).
    pub fn on_submitted(mut self, function: impl Fn(usize, &Job) + Send + Sync + 'static) -> Self {
        self.on_submitted = OnSubmitted(Arc::new(function));
        self
    }

    /// Sets the time limit of all jobs together. By default, there is no limit. Unfinished jobs get
    /// [`Outcome::TimedOut`](crate::Outcome::TimedOut), unsubmitted jobs a timeout error.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Sets the pause between two rounds of the wait, like
    /// [`WaitAll::interval`](crate::jobs::wait::WaitAll::interval). Tests can set shorter pauses,
    /// and a higher [`rate_limit`](Self::rate_limit).
    pub fn interval(mut self, shortest: Duration, longest: Duration) -> Self {
        self.options.interval = Some(PollInterval::new(shortest, longest));
        self
    }

    /// Sets the [rate limit](crate::jobs::wait::WaitAll::rate_limit) of the wait, in requests per
    /// second. Submissions are not limited. The default is 1.
    pub fn rate_limit(mut self, requests_per_second: f64) -> Self {
        self.options.calls_per_second = requests_per_second;
        self
    }

    /// Returns a stream of the results with the indexes of the jobs, as the results become known.
    ///
    /// Jobs are submitted only while the stream is polled. Jobs continue if the stream is dropped.
    #[must_use]
    pub fn stream(self) -> BoxStream<'static, (usize, Result<Waited, Error>)> {
        let limit = match self.at_most {
            0 => Err(Error::invalid("at_most: 0 jobs; must be at least 1")),
            jobs => self.options.rate_limit(jobs),
        };
        let limit = match limit {
            Ok(limit) => limit,
            Err(error) => {
                let jobs = 0..self.jobs.len();
                return stream::iter(jobs.map(move |index| (index, Err(error.clone())))).boxed();
            }
        };
        let mut wait = JobsWait::new(self.client, self.options, limit);
        wait.start_with_pause();
        let mut state = SubmitAllState {
            wait,
            at_most: self.at_most,
            adopts: self.adopts,
            on_submitted: self.on_submitted,
            waiting: VecDeque::new(),
            submitted: HashMap::new(),
            errors: VecDeque::new(),
        };
        state.check(self.jobs);
        stream::unfold(state, |mut state| async move {
            let next = state.next().await?;
            Some((next, state))
        })
        .boxed()
    }
}

impl IntoFuture for SubmitAll {
    type Output = Vec<Result<Waited, Error>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut results: Vec<IndexedResult> = self.stream().collect().await;
            results.sort_by_key(|(index, _)| *index);
            results.into_iter().map(|(_, result)| result).collect()
        })
    }
}

struct SubmitAllState {
    wait: JobsWait,
    at_most: usize,
    adopts: bool,
    on_submitted: OnSubmitted,
    waiting: VecDeque<(usize, CreateJob)>,
    submitted: HashMap<String, usize>,
    errors: VecDeque<(usize, Error)>,
}

impl SubmitAllState {
    fn check(&mut self, jobs: Vec<CreateJob>) {
        let mut names = HashMap::new();
        for (index, job) in jobs.into_iter().enumerate() {
            let (workspace, name) = job.workspace_and_name();
            let first = *names.entry((workspace, name.clone())).or_insert(index);
            let checked = match first != index && !name.is_empty() {
                true => Err(Error::broken_rules(
                    "the job",
                    vec![Violation::new(
                        metadata::NAME,
                        Actual::Value(name.into()),
                        format!(
                            "must be unique in a workspace, and the job with index {first} has \
                             this name"
                        ),
                        Some(codes::DUPLICATE_TRAINING_JOB_NAME),
                        "choose another name",
                    )],
                )),
                false => job.check().into_result("the job").map(|_| ()),
            };
            match checked {
                Ok(()) => self.waiting.push_back((index, job)),
                Err(error) => self.errors.push_back((index, error)),
            }
        }
    }

    async fn next(&mut self) -> Option<IndexedResult> {
        loop {
            if let Some((index, error)) = self.errors.pop_front() {
                return Some((index, Err(error)));
            }
            // A caller may stop after a result, so results are returned before further submissions.
            if let Some(waited) = self.wait.next_result().await {
                if let Some(index) = self.submitted.remove(waited.job().id()) {
                    return Some((index, Ok(waited)));
                }
                continue;
            }
            if self.wait.is_late() {
                let error = Error::new(
                    ErrorKind::Timeout,
                    "the job was not submitted: the time limit of all jobs was reached before",
                );
                self.fail_waiting(&error);
            }
            if self.wait.unfinished() < self.at_most
                && !self.wait.is_due()
                && let Some((index, job)) = self.waiting.pop_front()
            {
                match job.clone().create(self.adopts).await {
                    Ok(job) => {
                        (self.on_submitted.0)(index, &job);
                        self.submitted.insert(job.id().to_owned(), index);
                        match job.is_final() {
                            // An adopted job.
                            true => self.wait.add_ended(&job),
                            false => self.wait.add(&job),
                        }
                    }
                    Err(error) if error.is_throttled() && !error.is_uncertain() => {
                        self.waiting.push_front((index, job));
                        if let Err(error) = self.wait.pause_after(error).await {
                            self.fail(&error);
                        }
                    }
                    Err(error) => return Some((index, Err(error))),
                }
            } else if !self.wait.is_done() {
                if let Err(error) = self.wait.round().await {
                    self.fail(&error);
                }
            } else if self.errors.is_empty() {
                return None;
            }
        }
    }

    fn fail(&mut self, error: &Error) {
        for job in self.wait.abandon() {
            let hint = format!("the job {} was submitted and continues", job.label());
            let index = self.submitted.remove(job.id());
            self.errors.extend(index.map(|index| (index, error.clone().with_hint(&hint))));
        }
        let hint = "the job was not submitted, because the wait for earlier jobs failed";
        self.fail_waiting(&error.clone().with_hint(hint));
    }

    fn fail_waiting(&mut self, error: &Error) {
        let jobs = self.waiting.drain(..);
        self.errors.extend(jobs.map(|(index, _)| (index, error.clone())));
    }
}
