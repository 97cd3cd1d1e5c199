//! `JobsWait`: a wait that reads several jobs in rounds, and returns their results.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, stream::FuturesOrdered};
use modelarts_api::{BoxFuture, types::Phase};

use crate::{
    client::Client,
    error::Error,
    jobs::{
        filter::MAX_VALUES,
        job::{Job, JobHandle},
        polling::poller::{ErrorTolerance, PollInterval, Poller},
        wait::{
            Waited,
            job_set::{Condition, JobSet},
            outcome::job_outcome,
            round::{Pace, SearchState, read_jobs},
        },
    },
    transport::deadline::{Deadline, RateLimit},
};

/// Requests for up to 10 jobs: for each job a search, a read, and two calls for the details.
const SMALL_BURST: u32 = 4 * MAX_VALUES as u32;

#[derive(Clone, Debug)]
pub(in crate::jobs) struct PollOptions {
    /// Pauses between two rounds. By default, they depend on the rate limit.
    pub(in crate::jobs) interval: Option<PollInterval>,
    pub(in crate::jobs) timeout: Option<Duration>,
    pub(in crate::jobs) calls_per_second: f64,
    /// Maximum number of jobs that a round reads one by one, and of jobs whose events it reads.
    pub(in crate::jobs) budget: usize,
    pub(in crate::jobs) until: Option<Condition>,
}

impl Default for PollOptions {
    fn default() -> Self {
        Self { interval: None, timeout: None, calls_per_second: 1.0, budget: 10, until: None }
    }
}

impl PollOptions {
    /// Returns the pauses between two rounds: from 5 seconds, or from 1 second if the rate limit
    /// permits 5 requests per second or more, up to 60 seconds.
    fn interval(&self, calls_per_second: f64) -> PollInterval {
        let shortest = Duration::from_secs_f64(5.0 / calls_per_second.clamp(1.0, 5.0));
        let interval = self.interval.clone();
        interval.unwrap_or_else(|| PollInterval::new(shortest, Duration::from_secs(60)))
    }

    pub(in crate::jobs) fn rate_limit(&self, jobs: usize) -> Result<RateLimit, Error> {
        let burst = if jobs <= MAX_VALUES { SMALL_BURST } else { 1 };
        RateLimit::new(self.calls_per_second, burst)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum DetailReads {
    First,
    Concurrent,
    OnlyStopped,
}

struct EndReads {
    mode: DetailReads,
    /// Maximum number of jobs whose details are read at the same time.
    at_once: usize,
    left: usize,
    in_flight: FuturesOrdered<BoxFuture<'static, EndRead>>,
}

/// Result of a job, and `false` if the events of the job could not be read.
type EndRead = (Waited, bool);

impl EndReads {
    /// Begins a round. While stopped jobs wait for their cause, no other details are read.
    fn begin(&mut self, budget: usize, has_ended_jobs: bool) {
        self.left = budget;
        self.mode = match has_ended_jobs {
            true => DetailReads::OnlyStopped,
            false => DetailReads::First,
        };
    }

    fn has_room(&self) -> bool {
        let room = match self.mode {
            DetailReads::First => 1,
            _ => self.at_once,
        };
        self.in_flight.len() < room
    }

    /// Returns `true` if the details of a job with this final phase are read. Reduces the budget.
    fn reads_details(&mut self, phase: &Phase) -> bool {
        let may_read = self.left > 0;
        let reads_details = may_read && self.mode != DetailReads::OnlyStopped;
        self.left -= usize::from(may_read && (reads_details || *phase == Phase::Terminated));
        reads_details
    }

    /// Records a read. After a failure, the events of other jobs are not read until the next round.
    fn record(&mut self, is_read: bool) {
        self.mode = match (is_read, self.mode) {
            (false, _) | (_, DetailReads::OnlyStopped) => DetailReads::OnlyStopped,
            (true, _) => DetailReads::Concurrent,
        };
    }
}

async fn read_end(job: Job, reads_details: bool, deadline: Arc<Deadline>) -> EndRead {
    let (outcome, last_events) = job_outcome(&job, &deadline).await;
    let mut waited = Waited::new(job, outcome);
    waited.last_events = last_events;
    let is_read = !reads_details || waited.read_details(&deadline).await;
    (waited, is_read)
}

pub(in crate::jobs) struct JobsWait {
    client: Client,
    limited_client: Client,
    poller: Poller,
    tolerance: ErrorTolerance,
    jobs: JobSet,
    search: SearchState,
    end_reads: EndReads,
}

impl JobsWait {
    pub(in crate::jobs) fn new(client: Client, options: PollOptions, limit: RateLimit) -> Self {
        let limit = limit.within(client.transport().rate_limit.clone());
        let calls_per_second = limit.spacing().as_secs_f64().recip();
        let pace = Pace::new(calls_per_second);
        let interval = options.interval(calls_per_second);
        Self {
            limited_client: client
                .with_transport(|transport| transport.rate_limit = Some(Arc::new(limit))),
            poller: Poller::new(client.clock(), interval, options.timeout),
            client,
            tolerance: ErrorTolerance::default(),
            jobs: JobSet::new(options.until),
            search: SearchState {
                budget: options.budget,
                pace,
                last_read: None,
                searches_ids: true,
            },
            end_reads: EndReads {
                mode: DetailReads::First,
                at_once: pace.in_flight,
                left: options.budget,
                in_flight: FuturesOrdered::new(),
            },
        }
    }

    pub(in crate::jobs) fn add(&mut self, handle: &JobHandle) {
        let job = handle.job().unwrap_or_else(|| handle.without_details());
        self.jobs.add(job.with_client(self.limited_client.clone()));
    }

    /// Adds a job that has ended, so that the next result can be its end.
    pub(in crate::jobs) fn add_ended(&mut self, job: &Job) {
        self.add(job);
        self.jobs.record_read(job.clone().with_client(self.limited_client.clone()));
        self.jobs.end_round();
    }

    pub(in crate::jobs) fn start_with_pause(&mut self) {
        let now = self.client.clock().now();
        self.poller.end_round(now, true, Duration::ZERO);
    }

    pub(in crate::jobs) fn unfinished(&self) -> usize {
        self.jobs.len()
    }

    pub(in crate::jobs) fn is_done(&self) -> bool {
        self.jobs.is_done() && self.end_reads.in_flight.is_empty()
    }

    pub(in crate::jobs) fn is_due(&self) -> bool {
        self.unfinished() > 0 && self.poller.is_due(self.client.clock().now())
    }

    pub(in crate::jobs) fn is_late(&self) -> bool {
        self.poller.is_late()
    }

    pub(in crate::jobs) fn abandon(&mut self) -> Vec<Job> {
        self.jobs.abandon()
    }

    pub(in crate::jobs) async fn pause_after(&mut self, error: Error) -> Result<(), Error> {
        self.tolerance.tolerate(error, self.client.clock().now())?;
        let retry_after = self.tolerance.take_retry_after();
        self.poller.sleep(retry_after).await;
        Ok(())
    }

    pub(in crate::jobs) async fn next_result(&mut self) -> Option<Waited> {
        if let Some(waited) = self.jobs.next_result() {
            return Some(self.finish(waited));
        }
        let reads = &mut self.end_reads;
        while reads.has_room()
            && let Some(job) = self.jobs.next_ended(reads.left > 0)
        {
            let reads_details = reads.reads_details(&job.phase());
            let deadline = Arc::clone(&self.poller.deadline);
            let read = read_end(job, reads_details, deadline);
            reads.in_flight.push_back(Box::pin(read));
        }
        let (waited, is_read) = reads.in_flight.next().await?;
        reads.record(is_read);
        Some(self.finish(waited))
    }

    fn finish(&self, mut waited: Waited) -> Waited {
        waited.errors = self.tolerance.errors;
        waited.job = waited.job.with_client(self.client.clone());
        waited
    }

    /// Runs a round after the pause. At the time limit, unfinished jobs get `Outcome::TimedOut`.
    pub(in crate::jobs) async fn round(&mut self) -> Result<(), Error> {
        let has_ended_jobs = self.jobs.has_ended_jobs();
        self.end_reads.begin(self.search.budget, has_ended_jobs);
        if self.unfinished() == 0 {
            return Ok(());
        }
        let clock = self.client.clock();
        let requests =
            read_jobs(&self.limited_client, &mut self.jobs, &mut self.search, &mut self.tolerance);
        let read = self.poller.round(requests).await;
        let found_end = self.jobs.end_round();
        match read {
            None => self.jobs.time_out(),
            Some(Ok(())) => {}
            Some(Err(error)) => self.tolerance.tolerate(error, clock.now())?,
        }
        let retry_after = self.tolerance.take_retry_after();
        self.poller.end_round(clock.now(), found_end, retry_after);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end_reads(mode: DetailReads, left: usize) -> EndReads {
        let in_flight = FuturesOrdered::new();
        EndReads { mode, at_once: 16, left, in_flight }
    }

    #[test]
    fn the_events_of_one_job_are_read_first() {
        use DetailReads::{Concurrent, First, OnlyStopped};
        for (mode, is_read, next) in [
            (First, true, Concurrent),
            (First, false, OnlyStopped),
            (Concurrent, true, Concurrent),
            (Concurrent, false, OnlyStopped),
            (OnlyStopped, true, OnlyStopped),
            (OnlyStopped, false, OnlyStopped),
        ] {
            let mut reads = end_reads(mode, 1);
            reads.record(is_read);
            assert_eq!(reads.mode, next, "{mode:?} {is_read}");
            for (has_ended_jobs, begun) in [(false, First), (true, OnlyStopped)] {
                reads.begin(7, has_ended_jobs);
                assert_eq!((reads.mode, reads.left), (begun, 7));
            }
        }
        for (mode, room) in [(First, 1), (Concurrent, 16), (OnlyStopped, 16)] {
            let mut reads = end_reads(mode, 100);
            while reads.has_room() {
                reads.in_flight.push_back(Box::pin(std::future::pending()));
            }
            assert_eq!(reads.in_flight.len(), room, "{mode:?}");
        }
    }

    #[test]
    fn the_budget_is_that_of_jobs_with_requests() {
        use DetailReads::{Concurrent, First, OnlyStopped};
        for (mode, left, phase, reads_details, rest) in [
            (First, 2, Phase::Failed, true, 1),
            (Concurrent, 1, Phase::Abnormal, true, 0),
            (Concurrent, 1, Phase::Terminated, true, 0),
            (Concurrent, 0, Phase::Failed, false, 0),
            (OnlyStopped, 2, Phase::Failed, false, 2),
            (OnlyStopped, 2, Phase::Terminated, false, 1),
        ] {
            let mut reads = end_reads(mode, left);
            assert_eq!(reads.reads_details(&phase), reads_details, "{mode:?} {phase}");
            assert_eq!(reads.left, rest, "{mode:?} {phase}");
        }
    }
}
