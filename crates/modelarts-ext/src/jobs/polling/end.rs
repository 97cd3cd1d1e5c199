//! When to stop following a job.

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
pub(crate) struct Polls {
    patience: ErrorTolerance,
    /// When the poll that is under way began, if the job had ended by then.
    begun: Option<SystemTime>,
    /// That poll has brought all that there is.
    complete: bool,
    /// When the first and the last complete poll began, of those after the end of the job
    /// and after the last time that something new came from any source.
    quiet: Option<(SystemTime, SystemTime)>,
}

impl Polls {
    /// A poll begins.
    pub(crate) fn begin(&mut self, ending: &EndWatch) {
        self.begun = ending.ended.then(|| ending.clock().now());
    }

    /// The poll goes on: a part of it has come.
    pub(crate) fn progress(&mut self) {
        self.patience.reset();
    }

    /// The poll has brought all that there is.
    pub(crate) fn complete(&mut self) {
        self.patience.reset();
        self.complete = true;
    }

    /// The poll failed. Passes over the error, or gives it back.
    pub(crate) fn fail(&mut self, error: Error, clock: &dyn Clock) -> Result<(), Error> {
        self.patience.tolerate(error, clock)
    }

    /// Returns whether the source has been quiet for long enough if the poll that has begun
    /// brings nothing new.
    pub(crate) fn may_be_last(&self, ending: &EndWatch) -> bool {
        self.begun.is_some_and(|begun| {
            let first = self.quiet.map_or(begun, |(first, _)| first);
            lasts(first, begun) >= ending.quiet
        })
    }

    /// The round of polls is over.
    fn settle(&mut self, ended: bool, news: bool) {
        if news || !ended {
            self.quiet = None;
        }
        if !ended {
            // A poll from before the job was started again says nothing of its end.
            self.begun = None;
        }
        if std::mem::take(&mut self.complete)
            && let Some(begun) = self.begun.take()
        {
            self.quiet = match self.quiet {
                Some((first, _)) if first <= begun => Some((first, begun)),
                // The first one, or the clock was set back.
                _ => Some((begun, begun)),
            };
        }
    }
}

fn lasts(first: SystemTime, last: SystemTime) -> Duration {
    last.duration_since(first).unwrap_or_default()
}

/// The end of a followed job. It is over when it has ended and each source has been quiet
/// for a while since, because the service reports late. A job that is started again has
/// not ended.
#[derive(Debug)]
pub(crate) struct EndWatch {
    pub(crate) job: Job,
    /// The same, as it was given.
    handle: Job,
    quiet: Duration,
    /// The polls of the details of the job.
    details: Polls,
    ended: bool,
    gone: bool,
    /// Something new has come in this round.
    news: bool,
}

impl EndWatch {
    pub(crate) fn new(job: Job, quiet: Duration) -> Self {
        Self {
            ended: job.is_final(),
            handle: job.clone(),
            job,
            quiet,
            details: Polls::default(),
            gone: false,
            news: false,
        }
    }

    fn clock(&self) -> &dyn Clock {
        &**self.job.client().clock()
    }

    /// Polls the details of the job. That comes before the polls of the other sources:
    /// what the job did before it ended is then found by the round that found the end.
    pub(crate) async fn poll(&mut self) -> Result<(), Error> {
        let begun = self.clock().now();
        match self.job.refresh().await {
            Ok(()) => {
                self.ended = self.job.is_final();
                self.details.begun = Some(begun);
                self.details.complete();
            }
            Err(error) if error.is_gone() => self.gone = true,
            Err(error) => self.details.fail(error, &**self.job.client().clock())?,
        }
        Ok(())
    }

    /// How long to wait before the next round: as long as usual, or as one of the sources
    /// asked.
    pub(crate) fn pause<'a>(
        &'a mut self,
        usual: Duration,
        others: impl IntoIterator<Item = &'a mut Polls>,
    ) -> Duration {
        let others = others.into_iter().chain([&mut self.details]);
        others.fold(usual, |pause, polls| polls.patience.pause(pause))
    }

    /// Something new came.
    pub(crate) fn news(&mut self) {
        self.news = true;
    }

    /// The job does not exist any more.
    pub(crate) fn mark_gone(&mut self) {
        self.gone = true;
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Ends a round of polls of the details and these others.
    pub(crate) fn settle<'a>(&'a mut self, others: impl IntoIterator<Item = &'a mut Polls>) -> End {
        let news = std::mem::take(&mut self.news);
        let (mut known, mut over) = (true, true);
        for polls in others.into_iter().chain([&mut self.details]) {
            polls.settle(self.ended, news);
            known &= polls.quiet.is_some();
            let quiet = polls.quiet.map(|(first, last)| lasts(first, last));
            over &= quiet.is_some_and(|quiet| quiet >= self.quiet);
        }
        if over {
            self.handle.keep_end(&self.job);
        }
        End {
            is_known: self.gone || known,
            is_over: self.gone || over,
        }
    }
}

/// How far the end of a followed job has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// Each source has told all that it had when the job ended.
    pub(crate) is_known: bool,
    /// Nothing more is expected.
    pub(crate) is_over: bool,
}
