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

/// Wait for the ends of several jobs; [`stream`](Self::stream) returns each result as it is known.
///
/// A round searches each workspace: up to 10 jobs by their ids, more by phase and time of creation.
/// Only jobs that no search returns are read one by one, up to the [budget](Self::budget). A job
/// that does not exist has [`Outcome::Vanished`](crate::Outcome::Vanished).
///
/// # Details of the end
///
/// For a job that did not complete, two calls read the last events and log lines
/// ([`Waited::last_events`]) when its result is taken; those of other jobs are read ahead.
/// The [budget](Self::budget) limits the number of jobs whose details are read in a round. Other
/// jobs, and all jobs after the [time limit](Self::timeout) or a failed read, have no details. Only
/// stopped jobs wait for the next round, because their cause takes a call.
///
/// # Rate and delay
///
/// All requests, including retries, share one [rate limit](Self::rate_limit), by default one per
/// second. A wait for up to 10 jobs may make 40 requests at once. Up to 16 requests are in flight, or
/// those of one second of a higher rate limit, up to 64.
///
/// For more jobs, an end is returned after the pause and the requests of two rounds: one second for
/// every 50 unfinished jobs, and up to 10 seconds if no search returns the jobs.
///
/// | jobs | an end is returned after |
/// |---|---|
/// | up to 10 | the pause, 5 to 66 seconds |
/// | 1,000, of which some complete at a time | at most 2 minutes |
/// | 1,000 that complete together | at most 2.5 minutes |
/// | 1,000 that are stopped together | at most 20 minutes, for the cause of each stop |
///
/// These values apply if the calls succeed and other jobs of the workspace are few. A higher rate
/// limit shortens them: with 200 requests per second and a latency of 200 ms, the ends of 10,000
/// jobs were returned after 2.5 seconds (median), and at most 4.8 seconds.
#[derive(Clone, Debug)]
#[must_use = "a wait does nothing unless it is awaited or streamed"]
pub struct WaitAll {
    client: Client,
    jobs: Vec<JobRef>,
    options: PollOptions,
}

impl TrainingJobs {
    /// Returns a wait for the ends of several jobs, with few calls for all of them.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
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
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// The wait fails for an invalid id or option, a non-transient error, or calls that fail for 15
    /// minutes; throttling only slows it. [`Error::ended`] has the earlier results.
    pub fn wait_all(&self, jobs: impl IntoIterator<Item = impl Into<JobRef>>) -> WaitAll {
        WaitAll {
            client: self.client().clone(),
            jobs: jobs.into_iter().map(Into::into).collect(),
            options: PollOptions::default(),
        }
    }
}

impl WaitAll {
    /// Sets the time limit. Jobs that have not ended by then get
    /// [`Outcome::TimedOut`](crate::Outcome::TimedOut). By default, there is no limit.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Sets the pause between two rounds: `shortest` after an end, growing up to `longest`. The
    /// defaults are 5 seconds (1 second with a [rate limit](Self::rate_limit) of 5 or more) and 60
    /// seconds. The maximum is one day.
    pub fn interval(mut self, shortest: Duration, longest: Duration) -> Self {
        self.options.interval = Some(PollInterval::new(shortest, longest));
        self
    }

    /// Ends the wait for a job, with [`Outcome::Reached`](crate::Outcome::Reached), as soon as the
    /// condition holds for the job. A job that ends earlier has the result of its end.
    pub fn until(mut self, condition: impl Fn(&Job) -> bool + Send + Sync + 'static) -> Self {
        self.options.until = Some(Condition::new(condition));
        self
    }

    /// Sets the rate limit in requests per second, above 0 or [`f64::INFINITY`]. The default is 1.
    pub fn rate_limit(mut self, requests_per_second: f64) -> Self {
        self.options.calls_per_second = requests_per_second;
        self
    }

    /// Sets the number of jobs that a round may read one by one, at least 1. The default is 10.
    pub fn budget(mut self, jobs: usize) -> Self {
        self.options.budget = jobs.max(1);
        self
    }

    /// Returns a stream of the results as jobs end. A job that was passed twice has one result.
    #[must_use]
    pub fn stream(self) -> PageStream<Waited> {
        let wait = match self.begin() {
            Ok(wait) => wait,
            Err(error) => return error_stream(error),
        };
        stream::try_unfold((wait, None), |(mut wait, mut failure)| async move {
            loop {
                // The results of a round are returned before the error of the round.
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
