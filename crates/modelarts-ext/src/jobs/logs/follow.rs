//! Stream of the log of a task as it grows.

use modelarts_api::{
    BoxFuture,
    types::{LogLines, SortOrder},
};

use crate::{
    error::{Error, ErrorKind},
    jobs::{
        job::Job,
        logs::{
            Logs,
            fill::FillingReader,
            item::{LogAccess, LogItem},
            lines::{LineSource, MAX_LINES},
            long_lines::NumberedReader,
        },
        polling::{
            follower::{Follower, Part},
            rounds::{EndStatus, EndWatch, SourcePolls},
        },
    },
    pagination::page::PageStream,
};

/// Error code for a deleted log. The service deletes logs after 30 days unless they are exported.
const LOG_DELETED: &str = "ModelArts.2819";

impl Logs {
    /// Returns a stream of the existing and all new lines, until the job has ended.
    ///
    /// The stream ends with the first successful poll of the log after the end of the job, at most
    /// one [`interval`](Self::interval) after the end: logs are complete at that time, because a job
    /// reaches its final phase about half a minute after its code has ended (`openapi/SOURCES.md`,
    /// D-159). If the job ran and its log does not exist, the stream continues until the log exists,
    /// or until the [`quiet`](Self::quiet) time has passed. If the job is restarted meanwhile, the
    /// stream continues.
    ///
    /// Transient errors do not end the stream, and a poll that failed is not the last one. If the
    /// requests for the log, or for the details of the job, fail for 15 minutes, the stream ends
    /// with the error; throttling only slows the stream.
    ///
    /// If a log grows by more than a preview between two polls, the lines that the preview lacks are
    /// read by the link to the log, in their order. The same applies to a log that is longer than a
    /// preview when the stream begins. If the link does not have these lines, or the service does
    /// not state the length of the log, the stream contains a [gap](LogItem::Gap). If the service
    /// has deleted a log after 30 days, the stream contains only a gap.
    ///
    /// A line that exceeds a response by line numbers is read by the link, too. If the link does not
    /// have it, the stream contains its beginning and a gap.
    ///
    /// If a log drops its oldest lines, the stream continues after the last line that was returned.
    /// If a log is restarted with its task, it is read from its beginning. A line is returned when
    /// it is complete; an incomplete last line is returned at the end.
    ///
    /// A preview that consists of two or more of the last lines returned is treated as the rest of
    /// a log that dropped its oldest lines. If the log was in fact restarted with exactly these
    /// lines, they are not returned again.
    #[must_use]
    pub fn follow(self) -> PageStream<LogItem> {
        let (job, interval, quiet) = (self.job.clone(), self.interval, self.quiet);
        LogFollower::new(self).stream(job, interval, quiet)
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

/// State of the periodic polls of a log.
#[derive(Debug)]
pub(crate) struct LogFollower {
    logs: Logs,
    reader: Reader,
    pub(crate) polls: SourcePolls,
    /// Number of the existing lines that the first poll returns; `None` after it, and for all.
    tail: Option<usize>,
    /// `true` if the service has deleted the log.
    is_deleted: bool,
    /// `true` if the log did not exist yet at the last poll.
    is_not_ready: bool,
    /// `true` if an earlier poll returned items.
    has_items: bool,
}

#[derive(Debug)]
enum Reader {
    Preview(FillingReader),
    Lines(NumberedReader),
}

impl Reader {
    /// Returns the new items, and `true` if more items are available without a pause.
    async fn read(&mut self, logs: &Logs, is_last: bool) -> Result<Part<LogItem>, Error> {
        match self {
            Self::Preview(reader) => reader.poll(logs).await,
            Self::Lines(reader) => reader.poll(logs, is_last).await,
        }
    }

    /// Removes and returns the last line, if it is incomplete.
    fn finish(&mut self) -> Option<LogItem> {
        match self {
            Self::Preview(reader) => reader.finish(),
            Self::Lines(reader) => reader.finish(),
        }
    }
}

impl LogFollower {
    pub(crate) fn new(logs: Logs) -> Self {
        let reader = match (logs.access, logs.tail) {
            (Some(LogAccess::LineNumbers), None) => Reader::Lines(NumberedReader::default()),
            _ => Reader::Preview(FillingReader::default()),
        };
        Self {
            tail: logs.tail,
            logs,
            reader,
            polls: SourcePolls::default(),
            is_deleted: false,
            is_not_ready: false,
            has_items: false,
        }
    }

    pub(crate) fn task(&self) -> &str {
        &self.logs.task
    }

    /// Polls the log once. A log that does not exist yet yields no items; a deleted log yields a
    /// gap.
    pub(crate) async fn poll(&mut self, end_watch: &EndWatch) -> Result<Part<LogItem>, Error> {
        let is_last = self.polls.begin(end_watch);
        let part = self.read_part(is_last).await?;
        self.tail = None;
        self.has_items |= !part.0.is_empty();
        match part.1 {
            true => self.polls.progress(),
            false => self.polls.complete(),
        }
        Ok(part)
    }

    async fn read_part(&mut self, is_last: bool) -> Result<Part<LogItem>, Error> {
        if self.is_deleted {
            return Ok((Vec::new(), false));
        }
        let answer = match (&mut self.reader, self.tail) {
            (Reader::Preview(reader), Some(lines)) => reader.poll_last(&self.logs, lines).await,
            (reader, _) => reader.read(&self.logs, is_last).await,
        };
        self.is_not_ready = false;
        match answer {
            Err(error) if error.is_not_ready() => {
                self.is_not_ready = true;
                Ok((Vec::new(), false))
            }
            Err(error) if error.code() == Some(LOG_DELETED) => {
                self.is_deleted = true;
                let mut items = Vec::from_iter(self.reader.finish());
                items.push(LogItem::Gap { bytes: None });
                Ok((items, false))
            }
            // This error would otherwise suggest that the job does not exist. If lines were read
            // before, a 404 without an error code is transient.
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

    /// Removes and returns the last line, if it is incomplete.
    pub(crate) fn finish(&mut self) -> Option<LogItem> {
        self.reader.finish()
    }

    /// Returns `true` if the log does not exist, although its job ran. The service may not state the
    /// start of a job.
    pub(crate) fn lacks_log(&self, job: &Job) -> bool {
        self.is_not_ready && (self.has_items || job.started_at().is_some() || job.is_completed())
    }
}

impl Follower for LogFollower {
    type Item = LogItem;

    async fn read(&mut self, end_watch: &mut EndWatch) -> Result<Part<LogItem>, Error> {
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

    fn finish_round(&mut self, _end_watch: &EndWatch, status: EndStatus) -> Vec<LogItem> {
        match status.is_over {
            true => Vec::from_iter(self.finish()),
            false => Vec::new(),
        }
    }
}
