//! The log of a task: looked at, and followed as it grows.

use std::time::{Duration, SystemTime};

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::types::LogPreview;

use crate::{clock::since, error::Error, job::Job, page::Results, patience::Patience, tail::Tail};

/// A piece of a followed log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogItem {
    /// A line, without its end.
    Line(String),
    /// The log grew faster than it was looked at, and this part is not to be had.
    Gap {
        /// How many bytes are missing, if the service says how long the log is.
        bytes: Option<u64>,
    },
}

/// The log of one task.
#[derive(Clone, Debug)]
#[must_use]
pub struct Logs {
    job: Job,
    task: String,
    interval: Duration,
    quiet: Duration,
}

impl Logs {
    pub(crate) fn new(job: Job, task: String) -> Self {
        Self {
            job,
            task,
            interval: Duration::from_secs(5),
            quiet: Duration::from_secs(15),
        }
    }

    /// How long [`follow`](Self::follow) waits between two looks. Default 5 seconds.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// How long [`follow`](Self::follow) stays after the job has ended and nothing
    /// new has come; the service writes logs with a delay. Default 15 seconds.
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }

    /// The newest part of the log, at most 5 MB of it.
    ///
    /// # Errors
    /// [`Error::is_not_ready`] when there is no log yet.
    pub async fn preview(&self) -> Result<LogPreview, Error> {
        let client = self.job.client();
        let answer = client
            .call(|api| {
                api.show_training_job_logs_preview()
                    .project_id(client.project().clone())
                    .training_job_id(self.job.training_job_id().clone())
                    .task_id(self.task.clone())
                    .send()
            })
            .await?;
        Ok(answer.into_inner())
    }

    /// The lines that there are, and those that come, until the job has ended and
    /// been [`quiet`](Self::quiet). Answers that fail in passing do not end it.
    #[must_use]
    pub fn follow(self) -> Results<LogItem> {
        let follower = Follower {
            last: self.job.client().clock().now(),
            job_ended: self.job.is_final(),
            logs: self,
            tail: Tail::default(),
            patience: Patience::default(),
            first: true,
        };
        stream::try_unfold(Some(follower), |state| async move {
            let Some(mut follower) = state else {
                return Ok(None);
            };
            let (items, more) = follower.look().await?;
            let items = stream::iter(items.into_iter().map(Ok));
            Ok(Some((items, more.then_some(follower))))
        })
        .try_flatten()
        .boxed()
    }
}

struct Follower {
    logs: Logs,
    tail: Tail,
    patience: Patience,
    job_ended: bool,
    /// When something new came last, or the job was seen to end.
    last: SystemTime,
    first: bool,
}

impl Follower {
    /// Looks once: what is new, and whether to look again.
    async fn look(&mut self) -> Result<(Vec<LogItem>, bool), Error> {
        let clock = self.logs.job.client().clock().clone();
        if !std::mem::take(&mut self.first) {
            clock.sleep(self.logs.interval).await;
        }
        // The job is looked at before its log: what it wrote before it ended is
        // then in the log of this look.
        let mut gone = false;
        if !self.job_ended {
            match self.logs.job.refresh().await {
                Ok(()) => self.job_ended = self.logs.job.is_final(),
                Err(error) if error.is_not_found() => gone = true,
                Err(error) => self.patience.bear(error, &*clock)?,
            }
            if self.job_ended {
                self.last = clock.now();
            }
        }
        let mut items = match self.logs.preview().await {
            Ok(preview) => {
                self.patience.restore();
                self.tail.advance(&preview)
            }
            Err(error) if error.is_not_ready() => Vec::new(),
            Err(error) if error.is_not_found() => {
                gone = true;
                Vec::new()
            }
            Err(error) => {
                self.patience.bear(error, &*clock)?;
                Vec::new()
            }
        };
        if !items.is_empty() {
            self.last = clock.now();
        }
        let ended = gone || self.job_ended && since(&*clock, self.last) >= self.logs.quiet;
        if ended {
            items.extend(self.tail.finish());
        }
        Ok((items, !ended))
    }
}
