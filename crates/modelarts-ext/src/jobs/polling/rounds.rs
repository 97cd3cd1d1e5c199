//! The rounds of polls of a followed job, which go on until it is over and each of its sources
//! quiet.

use std::time::{Duration, SystemTime};

use crate::{
    clock::Clock,
    error::Error,
    jobs::{job::Job, polling::tolerance::ErrorTolerance},
};

/// The polls of one source of a followed job: its details, its events or a log.
///
/// Each source has its own, because one that fails must not be hidden by another one that
/// works, and because its silence means something only after a poll that brought all that
/// there was.
#[derive(Debug, Default)]
pub(crate) struct SourcePolls {
    tolerance: ErrorTolerance,
    /// The start of the poll that is under way, if the job had ended by then.
    started_at: Option<SystemTime>,
    /// That poll has brought all that there is.
    is_complete: bool,
    /// The starts of the first and the last complete poll after the end of the job and after the
    /// last time that any source had something new.
    quiet_polls: Option<(SystemTime, SystemTime)>,
}

impl SourcePolls {
    /// Begins a poll. Returns whether the source has been quiet for long enough if this poll
    /// brings nothing new.
    pub(crate) fn begin(&mut self, end_watch: &EndWatch) -> bool {
        self.started_at = end_watch.has_ended.then(|| end_watch.clock().now());
        self.started_at.is_some_and(|started_at| {
            let first = self.quiet_polls.map_or(started_at, |(first, _)| first);
            time_between(first, started_at) >= end_watch.quiet_period
        })
    }

    /// The poll goes on: a part of it has come.
    pub(crate) fn progress(&mut self) {
        self.tolerance.reset();
    }

    /// The poll has brought all that there is.
    pub(crate) fn complete(&mut self) {
        self.tolerance.reset();
        self.is_complete = true;
    }

    /// The poll failed. Passes over the error, or gives it back.
    pub(crate) fn fail(&mut self, error: Error, clock: &dyn Clock) -> Result<(), Error> {
        self.tolerance.tolerate(error, clock)
    }

    /// Ends a round of polls.
    fn end_round(&mut self, has_ended: bool, has_news: bool) {
        if has_news || !has_ended {
            self.quiet_polls = None;
        }
        if !has_ended {
            // A poll from before the job was started again says nothing of its end.
            self.started_at = None;
        }
        if std::mem::take(&mut self.is_complete)
            && let Some(started_at) = self.started_at.take()
        {
            self.quiet_polls = match self.quiet_polls {
                Some((first, _)) if first <= started_at => Some((first, started_at)),
                // The first one, or the clock was set back.
                _ => Some((started_at, started_at)),
            };
        }
    }
}

fn time_between(first: SystemTime, last: SystemTime) -> Duration {
    last.duration_since(first).unwrap_or_default()
}

/// The end of a followed job. It is over when it has ended and each source has been quiet
/// for a while since, because the service reports late. A job that is started again has
/// not ended.
#[derive(Debug)]
pub(crate) struct EndWatch {
    pub(crate) job: Job,
    /// The job as the caller gave it.
    original: Job,
    quiet_period: Duration,
    /// The polls of the details of the job.
    details: SourcePolls,
    has_ended: bool,
    is_gone: bool,
    /// Something new has come in this round.
    has_news: bool,
}

impl EndWatch {
    pub(crate) fn new(job: Job, quiet_period: Duration) -> Self {
        Self {
            has_ended: job.is_final(),
            original: job.clone(),
            job,
            quiet_period,
            details: SourcePolls::default(),
            is_gone: false,
            has_news: false,
        }
    }

    fn clock(&self) -> &dyn Clock {
        &**self.job.client().clock()
    }

    /// Polls the details of the job. That comes before the polls of the other sources:
    /// what the job did before it ended is then found by the round that found the end.
    pub(crate) async fn poll(&mut self) -> Result<(), Error> {
        let started_at = self.clock().now();
        match self.job.refresh().await {
            Ok(()) => {
                self.has_ended = self.job.is_final();
                self.details.started_at = Some(started_at);
                self.details.complete();
            }
            Err(error) if error.is_gone() => self.is_gone = true,
            Err(error) => self.details.fail(error, &**self.job.client().clock())?,
        }
        Ok(())
    }

    /// The pause before the next round: the usual one, or a longer one that a source asked for.
    pub(crate) fn pause<'a>(
        &'a mut self,
        usual: Duration,
        others: impl IntoIterator<Item = &'a mut SourcePolls>,
    ) -> Duration {
        let others = others.into_iter().chain([&mut self.details]);
        others.fold(usual, |pause, polls| polls.tolerance.pause(pause))
    }

    /// Something new came.
    pub(crate) fn saw_news(&mut self) {
        self.has_news = true;
    }

    /// The job does not exist any more.
    pub(crate) fn mark_gone(&mut self) {
        self.is_gone = true;
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Ends a round of polls of the details and these others.
    pub(crate) fn end_round<'a>(
        &'a mut self,
        others: impl IntoIterator<Item = &'a mut SourcePolls>,
    ) -> EndStatus {
        let has_news = std::mem::take(&mut self.has_news);
        let (mut all_read, mut is_over) = (true, true);
        for polls in others.into_iter().chain([&mut self.details]) {
            polls.end_round(self.has_ended, has_news);
            all_read &= polls.quiet_polls.is_some();
            let quiet = polls
                .quiet_polls
                .map(|(first, last)| time_between(first, last));
            is_over &= quiet.is_some_and(|quiet| quiet >= self.quiet_period);
        }
        if is_over {
            self.original.record_end(&self.job);
        }
        EndStatus {
            all_read: self.is_gone || all_read,
            is_over: self.is_gone || is_over,
        }
    }
}

/// The result of a round of polls of a followed job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndStatus {
    /// Each source was read to its end after the job had ended.
    pub(crate) all_read: bool,
    /// Nothing more is expected.
    pub(crate) is_over: bool,
}
