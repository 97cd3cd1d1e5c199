//! Rounds of polls of a followed job, until the job has ended and each of its sources was read.

use std::time::{Duration, SystemTime};

use crate::{
    clock::Clock,
    error::Error,
    jobs::{
        job::{Job, JobHandle},
        polling::tolerance::ErrorTolerance,
    },
};

/// Poll state of one source of a followed job: its details, its events or a log.
///
/// Each source has a separate state, because a source that fails must be detected even if others
/// succeed, and because a source is read to its end only by a complete poll after the end.
#[derive(Debug, Default)]
pub(crate) struct SourcePolls {
    tolerance: ErrorTolerance,
    /// Start of the current poll, if the job had ended before it.
    started_at: Option<SystemTime>,
    /// `true` if that poll was complete.
    is_complete: bool,
    /// Starts of the first and the last quiet poll. A quiet poll is a complete poll after the end
    /// of the job and after the last new item of any source.
    quiet_polls: Option<(SystemTime, SystemTime)>,
}

impl SourcePolls {
    /// Begins a poll. Returns `true` if the poll may be the last one, because the job has ended.
    pub(crate) fn begin(&mut self, end_watch: &EndWatch) -> bool {
        self.is_complete = false;
        self.started_at = end_watch.has_ended().then(|| end_watch.clock().now());
        self.started_at.is_some()
    }

    /// Records that a part of the poll succeeded.
    pub(crate) fn progress(&mut self) {
        self.tolerance.reset();
    }

    /// Records that the poll is complete.
    pub(crate) fn complete(&mut self) {
        self.tolerance.reset();
        self.is_complete = true;
    }

    /// Records that the poll failed. Returns the error if it is not tolerated.
    pub(crate) fn fail(&mut self, error: Error, end_watch: &EndWatch) -> Result<(), Error> {
        self.tolerance.tolerate(error, end_watch.clock())
    }

    /// Ends a round of polls.
    fn end_round(&mut self, has_ended: bool, has_news: bool) {
        if has_news || !has_ended {
            self.quiet_polls = None;
        }
        if !has_ended {
            // A poll that began before a restart of the job does not count after the restart.
            self.started_at = None;
        }
        if std::mem::take(&mut self.is_complete)
            && let Some(started_at) = self.started_at.take()
        {
            self.quiet_polls = match self.quiet_polls {
                Some((first, _)) if first <= started_at => Some((first, started_at)),
                // This is the first quiet poll, or the clock was set back.
                _ => Some((started_at, started_at)),
            };
        }
    }
}

fn time_between(first: SystemTime, last: SystemTime) -> Duration {
    last.duration_since(first).unwrap_or_default()
}

/// Watch for the end of a followed job. The job is over when it has ended, a poll of each source
/// that began after the end was complete, and no source lacks items. While a source lacks items,
/// because the service reports late, the watch continues until all sources have been quiet for a
/// while. A restarted job has not ended.
#[derive(Debug)]
pub(crate) struct EndWatch {
    /// The job handle that the caller passed.
    pub(crate) handle: JobHandle,
    /// The job as last read.
    pub(crate) job: Option<Job>,
    quiet_period: Duration,
    /// The polls of the details of the job.
    details: SourcePolls,
    /// The error of the last poll of the details, if it failed and is tolerated.
    pub(crate) interruption: Option<Error>,
    /// `true` if the job no longer exists.
    pub(crate) is_gone: bool,
    /// `true` if this round found new items or a change.
    pub(super) has_news: bool,
}

impl EndWatch {
    pub(super) fn new(handle: JobHandle, quiet_period: Duration) -> Self {
        Self {
            job: handle.last_read(),
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

    /// Returns `true` if the job had ended when it was last read.
    pub(crate) fn has_ended(&self) -> bool {
        self.job.as_ref().is_some_and(Job::is_final)
    }

    /// Polls the details of the job before the other sources. A round that detects the end of the
    /// job therefore also reads everything that happened before.
    pub(super) async fn poll(&mut self) -> Result<(), Error> {
        let started_at = self.clock().now();
        self.interruption = None;
        match self.handle.get().await {
            Ok(job) => {
                self.job = Some(job);
                self.details.started_at = Some(started_at);
                self.details.complete();
            }
            Err(error) if error.is_gone() && self.job.is_some() => self.is_gone = true,
            Err(error) => {
                let clock = &**self.handle.client().clock();
                self.details.tolerance.tolerate(error.clone(), clock)?;
                self.interruption = Some(error);
            }
        }
        Ok(())
    }

    /// Returns the pause before the next round: the usual pause, or a longer one that a source
    /// requires.
    pub(super) fn pause(&mut self, usual: Duration, others: Vec<&mut SourcePolls>) -> Duration {
        let sources = others.into_iter().chain([&mut self.details]);
        sources.fold(usual, |pause, polls| polls.tolerance.pause(pause))
    }

    /// Ends a round of polls for the details and for the given sources. `lacks_items` is `true` if
    /// one of them lacks items that the end of the job implies.
    pub(super) fn end_round(
        &mut self,
        others: Vec<&mut SourcePolls>,
        lacks_items: bool,
    ) -> EndStatus {
        let (has_ended, has_news) = (self.has_ended(), std::mem::take(&mut self.has_news));
        let (mut all_read, mut is_quiet) = (true, true);
        for polls in others.into_iter().chain([&mut self.details]) {
            polls.end_round(has_ended, has_news);
            all_read &= polls.quiet_polls.is_some();
            is_quiet &= polls
                .quiet_polls
                .is_some_and(|(first, last)| time_between(first, last) >= self.quiet_period);
        }
        let is_over = all_read && (is_quiet || !lacks_items);
        if is_over && let Some(job) = &self.job {
            self.handle.record_end(job);
        }
        EndStatus {
            all_read: self.is_gone || all_read,
            is_over: self.is_gone || is_over,
        }
    }
}

/// Result of a round of polls of a followed job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndStatus {
    /// `true` if each source was read completely after the end of the job.
    pub(crate) all_read: bool,
    /// `true` if no more items are expected.
    pub(crate) is_over: bool,
}
