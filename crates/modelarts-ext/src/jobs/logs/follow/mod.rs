//! Stream of the log of a task as it grows.

// `engine` decides the next request and the items that a response adds; `content` compares previews
// with the content that was read. Neither sends requests.

mod content;
#[cfg(test)]
mod content_tests;
mod engine;
#[cfg(test)]
mod tests;

use modelarts_api::codes;

use crate::{
    error::Error,
    jobs::{
        job::Job,
        logs::{
            Logs,
            follow::engine::{Answer, Engine, Request},
            line_splitter::LogItem,
            link::LinkReader,
        },
        polling::{
            follower::{Batch, Follower},
            rounds::{EndStatus, EndWatch, SourcePolls},
        },
    },
    pagination::page::PageStream,
};

/// Size in bytes at which the items from a link are returned: the maximum size of a preview.
const CHUNK: usize = 5 << 20;

impl Logs {
    /// Returns a stream of the existing and all new lines, until the job has ended.
    ///
    /// The stream returns each line of the log once, or a [gap](LogItem::Gap) in place of missing
    /// lines. The log is read by previews, which contain the newest part of the log, up to 5 MB. If
    /// a log grows by more than a preview between two polls, the lines that the preview lacks are
    /// read by the link to the log, in their order. The same applies to a log that is longer than a
    /// preview when the stream begins. If the link does not have these lines, or the service does
    /// not state the length of the log, the stream contains a gap.
    ///
    /// The stream ends with the first successful poll of the log after the end of the job, at most
    /// one [`interval`](Self::interval) after the end. Logs are complete at that time, because a
    /// job reaches its final phase about half a minute after its code has ended
    /// (`openapi/SOURCES.md`, D-159). If the job ran but the log does not exist, the stream
    /// continues until the log exists, or until the [`quiet`](Self::quiet) time has passed. If the
    /// job is restarted meanwhile, the stream continues.
    ///
    /// Transient errors do not end the stream, and a failed poll is not the last poll. If the
    /// requests for the log, or for the details of the job, fail for 15 minutes, the stream ends
    /// with the error. Throttling only slows the stream.
    ///
    /// A log that is replaced, as by a restart of its task, is read from its beginning, after a
    /// gap. If a log drops its oldest lines, the stream continues after the last line that was
    /// returned. If the service has deleted a log after 30 days, the stream contains only a gap. If
    /// a job is deleted while its log is read, the stream ends with a gap.
    ///
    /// A line is returned when it is complete; an incomplete last line is returned at the end.
    ///
    /// A preview that consists of two or more of the last lines returned is treated as the rest of
    /// a log that dropped its oldest lines. If the log was in fact replaced by exactly these lines,
    /// they are not returned again.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// use futures::TryStreamExt;
    /// use modelarts_ext::LogItem;
    ///
    /// let mut lines = job.logs("worker-0").tail_lines(100).follow();
    /// while let Some(item) = lines.try_next().await? {
    ///     if let LogItem::Line(line) = item {
    ///         println!("{line}");
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn follow(self) -> PageStream<LogItem> {
        let (job, interval, quiet) = (self.job.clone(), self.interval, self.quiet);
        LogFollower::new(self).stream(job, interval, quiet)
    }
}

/// Requests for a followed log, with the state of the log.
#[derive(Debug)]
pub(crate) struct LogFollower {
    logs: Logs,
    engine: Engine,
    /// Reader of the part that is currently read by the link.
    link: Option<LinkReader>,
    pub(crate) polls: SourcePolls,
}

impl LogFollower {
    pub(crate) fn new(logs: Logs) -> Self {
        Self { engine: Engine::new(logs.tail), logs, link: None, polls: SourcePolls::default() }
    }

    pub(crate) fn task(&self) -> &str {
        &self.logs.task
    }

    /// Polls the log once, and returns the new items.
    pub(crate) async fn poll(&mut self, end_watch: &EndWatch) -> Result<Batch<LogItem>, Error> {
        self.polls.begin(end_watch);
        let mut items = Vec::new();
        match self.engine.request() {
            Some(Request::Preview) => self.read_preview(&mut items).await?,
            Some(Request::Range { from, to }) => self.read_range(from, to, &mut items).await,
            None => {}
        }
        let has_more = self.engine.has_more();
        match has_more {
            true => self.polls.progress(),
            false => self.polls.complete(),
        }
        Ok((items, has_more))
    }

    async fn read_preview(&mut self, items: &mut Vec<LogItem>) -> Result<(), Error> {
        let preview = self.logs.preview().await;
        let answer = match &preview {
            Ok(preview) => Answer::Preview(preview),
            Err(error) if error.is_not_ready() => Answer::Absent,
            // The service deletes logs after 30 days unless they are exported.
            Err(error) if error.code() == Some(codes::LOG_FILE_HAS_CLEARED) => Answer::Deleted,
            Err(error) => return Err(error.clone()),
        };
        self.engine.step(answer, items);
        Ok(())
    }

    /// Reads the bytes of a range by the link. If the link fails, the bytes become a gap.
    async fn read_range(&mut self, from: u64, to: u64, items: &mut Vec<LogItem>) {
        let link = self.link.take();
        let mut link = link.unwrap_or_else(|| LinkReader::new(&self.logs, from, Some(to)));
        let mut size = 0;
        while matches!(self.engine.request(), Some(Request::Range { .. })) {
            if size >= CHUNK {
                self.link = Some(link);
                return;
            }
            match link.next().await {
                Ok(Some(bytes)) => {
                    size += bytes.len();
                    self.engine.step(Answer::Bytes(&bytes), items);
                }
                Ok(None) => self.engine.step(Answer::RangeEnd, items),
                Err(error) => {
                    tracing::debug!(%error, "the log cannot be read by its link, the gap remains");
                    self.engine.step(Answer::RangeEnd, items);
                }
            }
        }
    }

    /// Records that the service does not have the log, although the job exists.
    pub(crate) fn record_absence(&mut self) {
        if self.engine.has_content() {
            self.engine.step(Answer::Absent, &mut Vec::new());
        }
        self.polls.complete();
    }

    /// Returns the last items of the stream; `is_gone` is `true` if the job was deleted.
    pub(crate) fn finish(&mut self, is_gone: bool) -> Vec<LogItem> {
        if is_gone {
            self.engine.step(Answer::Absent, &mut Vec::new());
        }
        self.engine.finish()
    }

    /// Returns `true` if the log does not exist, although its job ran.
    pub(crate) fn lacks_log(&self, job: &Job) -> bool {
        let has_run = job.is_completed()
            || job.status().is_some_and(|status| status.start_time.max(status.duration) > Some(0));
        self.engine.is_absent() && (self.engine.has_content() || has_run)
    }
}

impl Follower for LogFollower {
    type Item = LogItem;

    async fn read(&mut self, end_watch: &mut EndWatch) -> Result<Batch<LogItem>, Error> {
        match self.poll(end_watch).await {
            Ok(part) => return Ok(part),
            Err(error) if error.is_gone() => end_watch.is_gone = true,
            Err(error) => self.polls.fail(error, end_watch)?,
        }
        Ok((Vec::new(), false))
    }

    fn polls(&mut self) -> Vec<&mut SourcePolls> {
        vec![&mut self.polls]
    }

    fn lacks_items(&self, job: &Job) -> bool {
        self.lacks_log(job)
    }

    fn finish_round(&mut self, end_watch: &EndWatch, status: EndStatus) -> Vec<LogItem> {
        match status.is_over {
            true => self.finish(end_watch.is_gone),
            false => Vec::new(),
        }
    }
}
