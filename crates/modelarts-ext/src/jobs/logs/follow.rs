//! Follows the log of a task as it grows.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::{
    BoxFuture,
    types::{LogLines, SortOrder},
};

use crate::{
    error::{Error, ErrorKind},
    jobs::{
        logs::{
            Logs,
            item::{LogAccess, LogItem},
            lines::{LineReader, LineSource, MAX_LINES},
            preview::PreviewReader,
        },
        polling::rounds::{EndWatch, SourcePolls},
    },
    pagination::page::PageStream,
};

/// The code for a deleted log. The service deletes logs after 30 days unless they are exported.
const LOG_DELETED: &str = "ModelArts.2819";

impl Logs {
    /// Returns a stream of the existing and all new lines, until the job has ended and been
    /// [`quiet`](Self::quiet). Transient errors do not end the stream, and do not count as quiet.
    /// If the requests for the log, or for the details of the job, fail for 15 minutes, the stream
    /// ends with the error.
    ///
    /// A log that outgrew the preview between two polls has a [gap](LogItem::Gap); one that lost
    /// its oldest lines continues behind the last line that was returned; one that was restarted
    /// with its task is read from its beginning; one that the service deleted after 30 days is only
    /// a gap. A line is returned when it is complete, the last one at the end.
    ///
    /// A preview that consists of two or more of the last lines returned is taken for the rest of a
    /// log that lost its oldest lines. If the log was restarted with exactly these lines, they are
    /// not returned again.
    #[must_use]
    pub fn follow(self) -> PageStream<LogItem> {
        let state = FollowState {
            end_watch: EndWatch::new(self.job.clone(), self.quiet),
            interval: self.interval,
            follower: LogFollower::new(self),
            skip_pause: true,
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

impl LineSource for Logs {
    fn fetch_lines(
        &self,
        base: Option<&str>,
        order: SortOrder,
    ) -> BoxFuture<'_, Result<LogLines, Error>> {
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
                        .lines(MAX_LINES)
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

/// The periodic polls of a log.
#[derive(Debug)]
pub(crate) struct LogFollower {
    logs: Logs,
    reader: Reader,
    pub(crate) polls: SourcePolls,
    /// `true` if the service has deleted the log.
    is_deleted: bool,
}

#[derive(Debug)]
enum Reader {
    Preview(PreviewReader),
    Lines(LineReader),
}

impl LogFollower {
    pub(crate) fn new(logs: Logs) -> Self {
        let has_line_numbers = logs.job.client().cloud().has_line_numbers();
        let reader = match logs.access {
            Some(LogAccess::LineNumbers) => Reader::Lines(LineReader::default()),
            None if has_line_numbers => Reader::Lines(LineReader::default()),
            _ => Reader::Preview(PreviewReader::default()),
        };
        Self {
            logs,
            reader,
            polls: SourcePolls::default(),
            is_deleted: false,
        }
    }

    pub(crate) fn task(&self) -> &str {
        &self.logs.task
    }

    /// Polls once. Returns the new items, and `true` if more can be read at once. A log that does
    /// not exist yet has no items; one that was deleted has a gap.
    pub(crate) async fn poll(
        &mut self,
        end_watch: &EndWatch,
    ) -> Result<(Vec<LogItem>, bool), Error> {
        self.polls.begin(end_watch);
        let (items, more) = self.read().await?;
        match more {
            true => self.polls.progress(),
            false => self.polls.complete(),
        }
        Ok((items, more))
    }

    async fn read(&mut self) -> Result<(Vec<LogItem>, bool), Error> {
        if self.is_deleted {
            return Ok((Vec::new(), false));
        }
        let mut answer = match &mut self.reader {
            Reader::Lines(reader) => reader.poll(&self.logs).await,
            Reader::Preview(reader) => Self::preview(&self.logs, reader).await,
        };
        if let (Err(error), Reader::Lines(reader)) = (&answer, &self.reader)
            && error.is_unknown_operation()
            && reader.is_new()
            && self.logs.access.is_none()
        {
            let mut reader = PreviewReader::default();
            answer = Self::preview(&self.logs, &mut reader).await;
            self.reader = Reader::Preview(reader);
        }
        match answer {
            Err(error) if error.is_not_ready() => Ok((Vec::new(), false)),
            Err(error) if error.code() == Some(LOG_DELETED) => {
                self.is_deleted = true;
                let mut items = Vec::from_iter(self.finish());
                items.push(LogItem::Gap { bytes: None });
                Ok((items, false))
            }
            // The error may suggest that the job is gone. Where there were lines before, a 404
            // without a code is transient.
            Err(error)
                if error.is_unknown_operation()
                    && matches!(&self.reader, Reader::Lines(reader) if reader.is_new() || !error.is_404_without_code()) =>
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

    async fn preview(
        logs: &Logs,
        reader: &mut PreviewReader,
    ) -> Result<(Vec<LogItem>, bool), Error> {
        Ok((reader.advance(&logs.preview().await?), false))
    }

    /// Returns the last line, if it is incomplete.
    pub(crate) fn finish(&mut self) -> Option<LogItem> {
        match &mut self.reader {
            Reader::Preview(reader) => reader.finish(),
            Reader::Lines(reader) => reader.finish(),
        }
    }
}

struct FollowState {
    follower: LogFollower,
    end_watch: EndWatch,
    interval: Duration,
    /// `true` if more can be read without a pause.
    skip_pause: bool,
}

impl FollowState {
    /// Polls once. Returns the new items, and `true` to continue.
    async fn next(&mut self) -> Result<(Vec<LogItem>, bool), Error> {
        let clock = self.end_watch.job.client().clock().clone();
        if !std::mem::take(&mut self.skip_pause) {
            let polls = [&mut self.follower.polls];
            clock
                .sleep(self.end_watch.pause(self.interval, polls))
                .await;
        }
        self.end_watch.poll().await?;
        let mut items = Vec::new();
        match self.follower.poll(&self.end_watch).await {
            Ok((new, more)) => {
                items = new;
                self.skip_pause = more;
            }
            Err(error) if error.is_gone() => self.end_watch.mark_gone(),
            Err(error) => self.follower.polls.fail(error, &*clock)?,
        }
        if !items.is_empty() {
            self.end_watch.saw_news();
        }
        let status = self.end_watch.end_round([&mut self.follower.polls]);
        let is_over = status.is_over && !self.skip_pause;
        if is_over {
            items.extend(self.follower.finish());
        }
        Ok((items, !is_over))
    }
}
