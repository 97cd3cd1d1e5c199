//! When to stop to follow a job.

use std::time::{Duration, SystemTime};

use crate::{clock::since, error::Error, job::Job, patience::Patience};

/// Watches a job that something is followed of. It is over when the job has ended and
/// nothing new has come for a while, because the service reports late; and the job may
/// be started again, in which case it has not ended.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) job: Job,
    quiet: Duration,
    /// When something new came last, or the job was seen to end.
    last: SystemTime,
    ended: bool,
    gone: bool,
}

impl Ending {
    pub(crate) fn new(job: Job, quiet: Duration) -> Self {
        Self {
            last: job.client().clock().now(),
            ended: job.is_final(),
            job,
            quiet,
            gone: false,
        }
    }

    /// Looks at the job. That comes before looking for what is new: what the job did
    /// before it ended is then found by the look that found the end.
    pub(crate) async fn look(&mut self, patience: &mut Patience) -> Result<(), Error> {
        let clock = self.job.client().clock().clone();
        match self.job.refresh().await {
            Ok(()) => {
                let ended = self.job.is_final();
                if ended && !self.ended {
                    self.last = clock.now();
                }
                self.ended = ended;
            }
            Err(error) if error.is_gone() => self.gone = true,
            Err(error) => patience.bear(error, &*clock)?,
        }
        Ok(())
    }

    /// Something new came.
    pub(crate) fn news(&mut self) {
        self.last = self.job.client().clock().now();
    }

    /// The job does not exist any more.
    pub(crate) fn vanish(&mut self) {
        self.gone = true;
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    pub(crate) fn is_over(&self) -> bool {
        let quiet = since(&**self.job.client().clock(), self.last);
        self.gone || self.ended && quiet >= self.quiet
    }
}
