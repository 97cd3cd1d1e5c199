//! End of a followed job: each source was read completely after the end, and none lacks items.

use std::time::{Duration, SystemTime};

use crate::{
    clock::Clock,
    error::Error,
    jobs::{
        job::{Job, JobHandle},
        polling::poller::ErrorTolerance,
    },
};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum PollState {
    /// The poll began before the end of the job, so another poll must follow.
    #[default]
    BeforeEnd,
    /// The poll began at this time, after the end of the job, and is not complete.
    Begun(SystemTime),
    /// The poll began at this time, after the end of the job, and is complete.
    Complete(SystemTime),
}

/// Polls of one source, which is read completely only by a complete poll after the end of the job.
#[derive(Debug, Default)]
pub(crate) struct SourcePolls {
    tolerance: ErrorTolerance,
    state: PollState,
    /// Starts of the first and the last complete poll after the end and after the last new item.
    quiet_polls: Option<(SystemTime, SystemTime)>,
}

impl SourcePolls {
    /// Begins a poll. Returns `true` if the poll may be the last one, because the job has ended.
    pub(crate) fn begin(&mut self, end_watch: &EndWatch) -> bool {
        let has_ended = end_watch.has_ended();
        self.state = match has_ended {
            true => PollState::Begun(end_watch.clock().now()),
            false => PollState::BeforeEnd,
        };
        has_ended
    }

    pub(crate) fn progress(&mut self) {
        self.tolerance.reset();
    }

    pub(crate) fn complete(&mut self) {
        self.tolerance.reset();
        if let PollState::Begun(at) = self.state {
            self.state = PollState::Complete(at);
        }
    }

    /// Records that the poll failed. Returns the error if the error is not tolerated.
    pub(crate) fn fail(&mut self, error: Error, end_watch: &EndWatch) -> Result<(), Error> {
        self.tolerance.tolerate(error, end_watch.clock().now())
    }

    fn end_round(&mut self, has_ended: bool, has_news: bool) {
        if has_news || !has_ended {
            self.quiet_polls = None;
        }
        self.state = match (has_ended, self.state) {
            // A poll that began before a restart of the job does not count after the restart.
            (false, _) => PollState::BeforeEnd,
            (true, PollState::Complete(at)) => {
                self.quiet_polls = match self.quiet_polls {
                    Some((first, _)) if first <= at => Some((first, at)),
                    // This is the first quiet poll, or the clock was set back.
                    _ => Some((at, at)),
                };
                PollState::BeforeEnd
            }
            (true, state) => state,
        };
    }

    fn quiet_time(&self) -> Option<Duration> {
        let (first, last) = self.quiet_polls?;
        Some(last.duration_since(first).unwrap_or_default())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EndStatus {
    /// `true` if each source was read completely after the end of the job, or the job was deleted.
    pub(crate) all_read: bool,
    pub(crate) is_over: bool,
}

impl EndStatus {
    /// If items are missing, the end is reached when all sources were quiet for `quiet_period`.
    fn new(
        quiet_times: impl IntoIterator<Item = Option<Duration>>,
        quiet_period: Duration,
        lacks_items: bool,
    ) -> Self {
        let shortest = quiet_times.into_iter().min().flatten();
        Self {
            all_read: shortest.is_some(),
            is_over: shortest.is_some_and(|time| !lacks_items || time >= quiet_period),
        }
    }
}

/// Watch for the end of a followed job: each source was read completely after the end of the job,
/// and none lacks items. Missing items are waited for, because the service reports late.
#[derive(Debug)]
pub(crate) struct EndWatch {
    pub(crate) handle: JobHandle,
    pub(crate) job: Option<Job>,
    quiet_period: Duration,
    details: SourcePolls,
    pub(crate) interruption: Option<Error>,
    pub(crate) is_gone: bool,
    pub(super) has_news: bool,
}

impl EndWatch {
    pub(super) fn new(handle: JobHandle, quiet_period: Duration) -> Self {
        Self {
            job: handle.job(),
            handle,
            quiet_period,
            details: SourcePolls::default(),
            interruption: None,
            is_gone: false,
            has_news: false,
        }
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &**self.handle.client().clock()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.job.as_ref().is_some_and(Job::is_final)
    }

    /// Reads the details first, so that a round that finds the end also reads all items before it.
    pub(super) async fn poll(&mut self) -> Result<(), Error> {
        let started_at = self.clock().now();
        self.interruption = None;
        match self.handle.get().await {
            Ok(job) => {
                self.job = Some(job);
                self.details.state = PollState::Begun(started_at);
                self.details.complete();
            }
            Err(error) if error.is_gone() && self.job.is_some() => self.is_gone = true,
            Err(error) => {
                let now = self.clock().now();
                self.details.tolerance.tolerate(error.clone(), now)?;
                self.interruption = Some(error);
            }
        }
        Ok(())
    }

    pub(super) fn take_retry_after(&mut self, others: Vec<&mut SourcePolls>) -> Duration {
        let sources = others.into_iter().chain([&mut self.details]);
        let pauses = sources.map(|polls| polls.tolerance.take_retry_after());
        pauses.max().unwrap_or_default()
    }

    /// Ends a round. `lacks_items` is `true` if items are missing that the end of the job implies.
    pub(super) fn end_round(
        &mut self,
        others: Vec<&mut SourcePolls>,
        lacks_items: bool,
    ) -> EndStatus {
        let (has_ended, has_news) = (self.has_ended(), std::mem::take(&mut self.has_news));
        let sources = others.into_iter().chain([&mut self.details]);
        let quiet_times = sources.map(|polls| {
            polls.end_round(has_ended, has_news);
            polls.quiet_time()
        });
        let status = EndStatus::new(quiet_times, self.quiet_period, lacks_items);
        EndStatus {
            all_read: self.is_gone || status.all_read,
            is_over: self.is_gone || status.is_over,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + second)
    }

    #[test]
    fn a_source_is_read_by_a_complete_poll_after_the_end() {
        use PollState::{BeforeEnd, Begun, Complete};
        // The state of the poll at the end of a round, the end and the news of that round, and the
        // quiet time and the state after it.
        let rounds = [
            (Begun(at(0)), (true, false), None, Begun(at(0))),
            (Complete(at(0)), (true, true), Some(0), BeforeEnd),
            (Complete(at(5)), (true, false), Some(5), BeforeEnd),
            // A poll that fails does not end the quiet time.
            (Begun(at(7)), (true, false), Some(5), Begun(at(7))),
            (Complete(at(9)), (true, false), Some(9), BeforeEnd),
            (Complete(at(12)), (true, true), Some(0), BeforeEnd),
            // The clock was set back.
            (Complete(at(3)), (true, false), Some(0), BeforeEnd),
            (Complete(at(6)), (true, false), Some(3), BeforeEnd),
            // The job was restarted.
            (Begun(at(8)), (false, false), None, BeforeEnd),
            (Complete(at(9)), (false, false), None, BeforeEnd),
            (BeforeEnd, (true, false), None, BeforeEnd),
            (Complete(at(11)), (true, false), Some(0), BeforeEnd),
        ];
        let mut polls = SourcePolls::default();
        for (number, (state, (has_ended, has_news), quiet, next)) in rounds.into_iter().enumerate()
        {
            polls.state = state;
            polls.end_round(has_ended, has_news);
            let quiet = quiet.map(Duration::from_secs);
            assert_eq!((polls.quiet_time(), polls.state), (quiet, next), "{number}");
        }
    }

    #[test]
    fn only_a_poll_that_began_after_the_end_becomes_complete() {
        use PollState::{BeforeEnd, Begun, Complete};
        for (before, after) in [
            (BeforeEnd, BeforeEnd),
            (Begun(at(1)), Complete(at(1))),
            (Complete(at(1)), Complete(at(1))),
        ] {
            let mut polls = SourcePolls { state: before, ..SourcePolls::default() };
            polls.progress();
            assert_eq!(polls.state, before);
            polls.complete();
            assert_eq!(polls.state, after);
        }
    }

    #[test]
    fn a_job_is_over_when_all_sources_are_read_and_nothing_is_missing() {
        let status = |all_read, is_over| EndStatus { all_read, is_over };
        for (quiet, lacks_items, expected) in [
            (vec![None, Some(60)], false, status(false, false)),
            (vec![Some(60), None], true, status(false, false)),
            (vec![Some(0), Some(60)], false, status(true, true)),
            (vec![Some(0), Some(60)], true, status(true, false)),
            (vec![Some(29), Some(60)], true, status(true, false)),
            (vec![Some(30), Some(60)], true, status(true, true)),
        ] {
            let times = quiet.iter().map(|time| time.map(Duration::from_secs));
            let found = EndStatus::new(times, Duration::from_secs(30), lacks_items);
            assert_eq!(found, expected, "{quiet:?} {lacks_items}");
        }
    }
}
