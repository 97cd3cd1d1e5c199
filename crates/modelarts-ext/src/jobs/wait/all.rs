//! Wait for the ends of several jobs, with few calls for all of them.

use std::{future::IntoFuture, time::Duration};

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::BoxFuture;

use crate::{
    client::Client,
    error::Error,
    jobs::{
        job::Job,
        polling::poller::PollInterval,
        training_jobs::{JobRef, TrainingJobs},
        wait::{
            Waited,
            job_set::Condition,
            jobs_wait::{JobsWait, PollOptions},
        },
    },
    pagination::page::{PageStream, error_stream},
};

/// Wait for the ends of several jobs. Awaiting it returns all results; [`stream`](Self::stream)
/// returns each result when the job ends.
///
/// The wait reads the jobs in rounds. A round searches each workspace for the unfinished jobs of
/// the wait: up to 10 jobs by their ids, more jobs by phase and time of creation, with 50 jobs a
/// page. Jobs that have ended are searched for as well, by phase or by their ids. Only jobs that no
/// search returns, such as deleted ones, are read one by one, up to the [budget](Self::budget) of a
/// round. A job that does not exist has [`Outcome::Vanished`](crate::Outcome::Vanished).
///
/// # Details of the end
///
/// For a job that did not complete, the wait reads the last events and log lines
/// ([`Waited::last_events`]) with two calls, when its result is taken from the stream; up to 15
/// jobs whose results follow are read meanwhile. The [budget](Self::budget) limits the number of
/// these jobs in a round. After the [time limit](Self::timeout), and for the rest of a round in
/// which events could not be read, the wait reads no events and lines. Jobs that failed or are
/// abnormal are then returned without them. The cause of a stop takes one call for each stopped
/// job; the results of stopped jobs over the budget follow after the next round.
///
/// # Rate and delay
///
/// All requests of the wait, including retries, share one [rate limit](Self::rate_limit): one
/// request a second, evenly spread. A wait for up to 10 jobs may make 40 requests at once, so the
/// limit does not delay its results. Up to 16 requests are in flight at a time, so a wait with a
/// higher limit makes, for example, at most 80 requests a second of 200 ms each.
///
/// For more jobs, the limit determines the delay with which an end is returned. It is at most the
/// pause between two rounds and the requests of two rounds. A round takes one second for every 50
/// unfinished jobs of the workspace that were created in the same period, up to 5 for searches by
/// ids, and up to 10 for jobs that no search returns. The events and lines of jobs that did not
/// complete take up to 20 seconds.
///
/// | jobs | an end is returned after |
/// |---|---|
/// | up to 10 | the pause, 5 to 66 seconds |
/// | 1,000, of which some complete at a time | at most 2 minutes |
/// | 1,000 that complete together | at most 2.5 minutes |
/// | 1,000 that are stopped together | at most 20 minutes, for the cause of each stop |
///
/// These values apply if the calls succeed and other jobs of the workspace are few.
#[derive(Clone, Debug)]
#[must_use = "a wait does nothing unless it is awaited or streamed"]
pub struct WaitAll {
    client: Client,
    jobs: Vec<JobRef>,
    options: PollOptions,
}

impl TrainingJobs {
    /// Waits for the ends of several jobs, given as jobs, as handles or by their ids, with few
    /// calls for all of them.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # #[tokio::main]
    /// # async fn main() -> Result {
    /// # let (emulator, client) = start().await?;
    /// # for name in ["try-1", "try-2"] {
    /// #     hello(&emulator, &client, name)?.submit().await?;
    /// # }
    /// use futures::TryStreamExt;
    /// use modelarts_ext::Filter;
    ///
    /// let jobs = client.training_jobs();
    /// let mine = jobs.list().filter(Filter::name().like("try-")).collect(1000).await?;
    /// let mut ends = jobs.wait_all(&mine).stream();
    /// # let mut count = 0;
    /// while let Some(end) = ends.try_next().await? {
    ///     println!("{}: {}", end.job().name(), end.outcome());
    /// #   assert!(end.is_completed());
    /// #   count += 1;
    /// }
    /// # assert_eq!(count, 2);
    /// # emulator.shutdown().await;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The wait fails before any request for an invalid id and for an invalid option. It fails with
    /// the error of a call if the error is not transient, or if all calls fail for 15 minutes.
    /// Throttling slows the wait, and only its [time limit](WaitAll::timeout) ends it.
    /// [`Error::ended`] returns the results before the error; a stream has returned them already.
    pub fn wait_all(&self, jobs: impl IntoIterator<Item = impl Into<JobRef>>) -> WaitAll {
        WaitAll {
            client: self.client().clone(),
            jobs: jobs.into_iter().map(Into::into).collect(),
            options: PollOptions::default(),
        }
    }
}

impl WaitAll {
    /// Sets the time limit of the wait. Jobs that have not ended by then get
    /// [`Outcome::TimedOut`](crate::Outcome::TimedOut), even while a response is pending. Default:
    /// none.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Sets the pause between two rounds: `shortest` after a round in which a job ended, growing up
    /// to `longest`, with a jitter of a tenth. Time that the stream is not polled counts. Default 5
    /// to 60 seconds; both are limited to a day.
    pub fn interval(mut self, shortest: Duration, longest: Duration) -> Self {
        self.options.interval = PollInterval::new(shortest, longest);
        self
    }

    /// Ends the wait for a job, with [`Outcome::Reached`](crate::Outcome::Reached), as soon as this
    /// condition holds for it. If the job ends before, its result is that of its end.
    ///
    /// ```no_run
    /// # async fn example(jobs: Vec<modelarts_ext::Job>) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::{Outcome, types::Phase};
    ///
    /// # let client: modelarts_ext::Client = jobs[0].client().clone();
    /// let wait = client.training_jobs().wait_all(&jobs);
    /// for waited in wait.until(|job| job.phase() == Phase::Running).await? {
    ///     match waited.outcome() {
    ///         Outcome::Reached => println!("{} runs", waited.job()),
    ///         other => println!("{} never ran: {other:?}", waited.job()),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub fn until(mut self, condition: impl Fn(&Job) -> bool + Send + Sync + 'static) -> Self {
        self.options.until = Some(Condition::new(condition));
        self
    }

    /// Sets the rate limit, in requests a second. It must be above 0. [`f64::INFINITY`] means no
    /// limit, and a rate below one request a day counts as one request a day. Default 1.
    pub fn rate_limit(mut self, requests_per_second: f64) -> Self {
        self.options.calls_per_second = requests_per_second;
        self
    }

    /// Sets the maximum number of jobs that a round reads one by one because no search returns
    /// them, and the maximum number of jobs whose last events it reads. The next round continues
    /// with the following jobs. Default 10, minimum 1.
    pub fn budget(mut self, jobs: usize) -> Self {
        self.options.budget = jobs.max(1);
        self
    }

    /// Returns a stream of the jobs as they end. A job that was passed twice is returned once.
    #[must_use]
    pub fn stream(self) -> PageStream<Waited> {
        let wait = match self.begin() {
            Ok(wait) => wait,
            Err(error) => return error_stream(error),
        };
        stream::try_unfold((wait, None), |(mut wait, mut failure)| async move {
            loop {
                // The results of a round are returned before its error.
                if let Some(waited) = wait.next_result().await {
                    return Ok(Some((waited, (wait, failure))));
                }
                if let Some(error) = failure {
                    return Err(error);
                }
                if wait.is_done() {
                    return Ok(None);
                }
                failure = wait.round().await.err();
            }
        })
        .boxed()
    }

    fn begin(self) -> Result<JobsWait, Error> {
        let jobs = self.client.training_jobs();
        let handles = self.jobs.into_iter().map(|job| match job.handle {
            Some(handle) => Ok(handle),
            None => jobs.job(job.id),
        });
        let handles = handles.collect::<Result<Vec<_>, Error>>()?;
        let limit = self.options.rate_limit(handles.len())?;
        let mut wait = JobsWait::new(self.client, self.options, limit);
        for handle in &handles {
            wait.add(handle);
        }
        Ok(wait)
    }
}

impl IntoFuture for WaitAll {
    type Output = Result<Vec<Waited>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (mut ends, mut results) = (self.stream(), Vec::new());
            loop {
                match ends.try_next().await {
                    Ok(Some(waited)) => results.push(waited),
                    Ok(None) => return Ok(results),
                    Err(error) => return Err(error.with_detail(results)),
                }
            }
        })
    }
}
