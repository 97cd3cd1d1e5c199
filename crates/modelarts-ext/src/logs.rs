//! The log of a task: looked at, and followed as it grows.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::types::LogPreview;

use crate::{
    ending::Ending, error::Error, job::Job, page::Results, patience::Patience, tail::Tail,
};

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
    ///
    /// A log that outgrew the preview between two looks has a [gap](LogItem::Gap); one
    /// that began again, because its task did, is read from its beginning.
    #[must_use]
    pub fn follow(self) -> Results<LogItem> {
        let state = State {
            ending: Ending::new(self.job.clone(), self.quiet),
            interval: self.interval,
            watcher: Watcher::new(self),
            patience: Patience::default(),
            first: true,
        };
        stream::try_unfold(Some(state), |state| async move {
            let Some(mut state) = state else {
                return Ok::<_, Error>(None);
            };
            let (items, more) = state.look().await?;
            let items = stream::iter(items.into_iter().map(Ok));
            Ok(Some((items, more.then_some(state))))
        })
        .try_flatten()
        .boxed()
    }
}

/// Looks at a log again and again.
///
/// It is here that a line cursor would take the place of the preview, on a service that
/// has one.
#[derive(Debug)]
pub(crate) struct Watcher {
    logs: Logs,
    tail: Tail,
}

impl Watcher {
    pub(crate) fn new(logs: Logs) -> Self {
        Self {
            logs,
            tail: Tail::default(),
        }
    }

    pub(crate) fn task(&self) -> &str {
        &self.logs.task
    }

    /// What is new. A log that is not there yet has nothing new.
    pub(crate) async fn look(&mut self) -> Result<Vec<LogItem>, Error> {
        match self.logs.preview().await {
            Ok(preview) => Ok(self.tail.advance(&preview)),
            Err(error) if error.is_not_ready() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The last line, if it has no end.
    pub(crate) fn finish(&mut self) -> Option<LogItem> {
        self.tail.finish()
    }
}

struct State {
    watcher: Watcher,
    ending: Ending,
    interval: Duration,
    patience: Patience,
    first: bool,
}

impl State {
    /// Looks once: what is new, and whether to look again.
    async fn look(&mut self) -> Result<(Vec<LogItem>, bool), Error> {
        let clock = self.ending.job.client().clock().clone();
        if !std::mem::take(&mut self.first) {
            clock.sleep(self.interval).await;
        }
        self.ending.look(&mut self.patience).await?;
        let mut items = Vec::new();
        match self.watcher.look().await {
            Ok(new) => {
                self.patience.restore();
                items = new;
            }
            Err(error) if error.is_not_found() => self.ending.vanish(),
            Err(error) => self.patience.bear(error, &*clock)?,
        }
        if !items.is_empty() {
            self.ending.news();
        }
        let over = self.ending.is_over();
        if over {
            items.extend(self.watcher.finish());
        }
        Ok((items, !over))
    }
}
