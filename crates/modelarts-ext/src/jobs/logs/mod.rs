//! The log of a task: looked at, and followed as it grows.

mod lines;
#[cfg(test)]
mod lines_tests;
mod preview;
pub(crate) mod timestamp;

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::{
    BoxFuture,
    types::{LogLines, LogPreview, SortOrder},
};

use crate::{
    error::{Error, ErrorKind},
    jobs::{
        job::Job,
        logs::{
            lines::{LineReader, Lines, MOST},
            preview::PreviewReader,
        },
        polling::end::{EndWatch, Polls},
    },
    pagination::page::PageStream,
};

/// What the service says of a log that was not kept: after 30 days, when there is no path
/// that logs are exported to.
const CLEARED: &str = "ModelArts.2819";

/// A piece of a followed log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogItem {
    /// A line, without its end. By preview, one that is longer than 1 MiB comes in pieces
    /// of up to 1 MiB each.
    Line(String),
    /// The log grew faster than it was looked at, or the service has thrown a part of it
    /// away, and this part is not to be had.
    Gap {
        /// How many bytes are missing, if the service says how long the log is.
        bytes: Option<u64>,
    },
}

/// How a log is read that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogAccess {
    /// By looking at its newest part, of up to 5 MB. Both clouds have that.
    Preview,
    /// By the numbers of its lines (`ShowTrainingJobLogsFromAom`): small answers, and no
    /// gap however fast the log grows. Huawei Cloud documents it, Open Telekom Cloud
    /// does not.
    LineNumbers,
}

/// The log of one task.
#[derive(Clone, Debug)]
#[must_use]
pub struct Logs {
    job: Job,
    task: String,
    interval: Duration,
    quiet: Duration,
    pub(crate) access: Option<LogAccess>,
}

impl Logs {
    pub(crate) fn new(job: Job, task: String) -> Self {
        Self {
            job,
            task,
            interval: Duration::from_secs(5),
            quiet: Duration::from_secs(15),
            access: None,
        }
    }

    /// How [`follow`](Self::follow) reads the log. If nothing is said: by the numbers of
    /// its lines where the [cloud](crate::client::builder::ClientBuilder::cloud) documents that, by preview elsewhere and where the
    /// service turns out to know no numbers.
    pub fn read_by(mut self, access: LogAccess) -> Self {
        self.access = Some(access);
        self
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
    /// been [`quiet`](Self::quiet). Answers that fail in passing do not end it, and do not
    /// count as quiet. When the log, or the details of the job, bring nothing but such
    /// answers for 15 minutes, the stream ends with the error.
    ///
    /// A log that outgrew the preview between two looks has a [gap](LogItem::Gap); one
    /// that has lost its oldest lines goes on behind the last line that was given; one
    /// that began again, because its task did, is read from its beginning; one that the
    /// service has cleared away after 30 days is nothing but a gap. A line comes
    /// when it has its end, and the last one when nothing follows any more.
    ///
    /// A preview that consists of two or more of the last lines given before is taken for the
    /// rest of a log that has lost its oldest lines. If the log has begun again with just these
    /// lines, they do not come again.
    #[must_use]
    pub fn follow(self) -> PageStream<LogItem> {
        let state = State {
            ending: EndWatch::new(self.job.clone(), self.quiet),
            interval: self.interval,
            watcher: LogFollower::new(self),
            at_once: true,
        };
        stream::try_unfold(Some(state), |state| async move {
            let Some(mut state) = state else {
                return Ok::<_, Error>(None);
            };
            let (items, more) = state.next().await?;
            let items = stream::iter(items.into_iter().map(Ok));
            Ok(Some((items, more.then_some(state))))
        })
        .try_flatten()
        .boxed()
    }
}

impl Lines for Logs {
    fn ask(&self, base: Option<&str>, order: SortOrder) -> BoxFuture<'_, Result<LogLines, Error>> {
        let client = self.job.client();
        let base = base.map(str::to_owned);
        Box::pin(async move {
            let answer = client
                .call(|api| {
                    let mut call = api
                        .show_training_job_logs_from_aom()
                        .project_id(client.project().clone())
                        .training_job_id(self.job.training_job_id().clone())
                        .task_id(self.task.clone())
                        .lines(MOST)
                        .order(order);
                    if let Some(base) = base {
                        call = call.base_line(base);
                    }
                    call.send()
                })
                .await?;
            Ok(answer.into_inner())
        })
    }
}

/// Polls a log again and again.
#[derive(Debug)]
pub(crate) struct LogFollower {
    logs: Logs,
    reader: Reader,
    pub(crate) polls: Polls,
    /// Whether the service has thrown the log away, after which nothing comes any more.
    cleared: bool,
}

#[derive(Debug)]
enum Reader {
    Preview(PreviewReader),
    Lines(LineReader),
}

impl LogFollower {
    pub(crate) fn new(logs: Logs) -> Self {
        let numbers = logs.job.client().cloud().has_line_numbers();
        let reader = match logs.access {
            Some(LogAccess::LineNumbers) => Reader::Lines(LineReader::default()),
            None if numbers => Reader::Lines(LineReader::default()),
            _ => Reader::Preview(PreviewReader::default()),
        };
        Self {
            logs,
            reader,
            polls: Polls::default(),
            cleared: false,
        }
    }

    pub(crate) fn task(&self) -> &str {
        &self.logs.task
    }

    /// What is new, and whether there is more to be had at once. A log that is not there
    /// yet has nothing new; one that is not there any more has a gap.
    pub(crate) async fn poll(&mut self, ending: &EndWatch) -> Result<(Vec<LogItem>, bool), Error> {
        self.polls.begin(ending);
        let (items, more) = self.read().await?;
        match more {
            true => self.polls.progress(),
            false => self.polls.complete(),
        }
        Ok((items, more))
    }

    async fn read(&mut self) -> Result<(Vec<LogItem>, bool), Error> {
        if self.cleared {
            return Ok((Vec::new(), false));
        }
        let mut answer = match &mut self.reader {
            Reader::Lines(cursor) => cursor.look(&self.logs).await,
            Reader::Preview(tail) => Self::preview(&self.logs, tail).await,
        };
        if let (Err(error), Reader::Lines(cursor)) = (&answer, &self.reader)
            && error.is_unknown_operation()
            && cursor.is_new()
            && self.logs.access.is_none()
        {
            let mut tail = PreviewReader::default();
            answer = Self::preview(&self.logs, &mut tail).await;
            self.reader = Reader::Preview(tail);
        }
        match answer {
            Err(error) if error.is_not_ready() => Ok((Vec::new(), false)),
            Err(error) if error.code() == Some(CLEARED) => {
                self.cleared = true;
                let mut items = Vec::from_iter(self.finish());
                items.push(LogItem::Gap { bytes: None });
                Ok((items, false))
            }
            // It may look as if the job were gone. Where there were lines before, a 404
            // that says nothing passes.
            Err(error)
                if error.is_unknown_operation()
                    && matches!(&self.reader, Reader::Lines(cursor) if cursor.is_new() || !error.is_stray()) =>
            {
                Err(Error::new(
                    ErrorKind::Unexpected,
                    "the service does not give lines of logs by their numbers; read the log by \
                     preview",
                )
                .with_source(error))
            }
            answer => answer,
        }
    }

    async fn preview(logs: &Logs, tail: &mut PreviewReader) -> Result<(Vec<LogItem>, bool), Error> {
        Ok((tail.advance(&logs.preview().await?), false))
    }

    /// The last line, if it has no end.
    pub(crate) fn finish(&mut self) -> Option<LogItem> {
        match &mut self.reader {
            Reader::Preview(tail) => tail.finish(),
            Reader::Lines(cursor) => cursor.finish(),
        }
    }
}

struct State {
    watcher: LogFollower,
    ending: EndWatch,
    interval: Duration,
    /// Whether there is something to be had without waiting.
    at_once: bool,
}

impl State {
    /// Polls once: what is new, and whether to poll again.
    async fn next(&mut self) -> Result<(Vec<LogItem>, bool), Error> {
        let clock = self.ending.job.client().clock().clone();
        if !std::mem::take(&mut self.at_once) {
            let polls = [&mut self.watcher.polls];
            clock.sleep(self.ending.pause(self.interval, polls)).await;
        }
        self.ending.poll().await?;
        let mut items = Vec::new();
        match self.watcher.poll(&self.ending).await {
            Ok((new, more)) => {
                items = new;
                self.at_once = more;
            }
            Err(error) if error.is_gone() => self.ending.mark_gone(),
            Err(error) => self.watcher.polls.fail(error, &*clock)?,
        }
        if !items.is_empty() {
            self.ending.news();
        }
        let end = self.ending.settle([&mut self.watcher.polls]);
        let over = end.is_over && !self.at_once;
        if over {
            items.extend(self.watcher.finish());
        }
        Ok((items, !over))
    }
}
