//! Log of a task: its newest part, a stream of its lines, the whole log as a file, and the numbers
//! in it.
//!
//! The service returns the newest 5 MB of a log, without their position in the log. Huawei Cloud
//! also returns lines by their numbers. [`Logs::follow`] polls the log in one of these forms, and
//! returns the new lines of each poll, until the job has ended. Lines that are missing between two
//! polls are read by the link to the log. If that fails, the stream contains a
//! [gap](LogItem::Gap). The gap has a number of bytes if the service returns the length of the log.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, client) = start().await?;
//! # let job = hello(&emulator, &client, "logs")?.submit().await?;
//! # job.wait().await?.success()?;
//! use futures::TryStreamExt;
//! use modelarts_ext::LogItem;
//!
//! let mut lines = job.logs("worker-0").follow();
//! while let Some(item) = lines.try_next().await? {
//!     match item {
//!         LogItem::Line(line) => println!("{line}"),
//!         LogItem::Gap { bytes } => println!("[{bytes:?} bytes are missing]"),
//!         other => println!("{other:?}"),
//!     }
//! }
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! [`Logs::stream`] returns the lines that exist now, [`Logs::download`] writes them to a file, and
//! [`Logs::values`] returns the numbers that a script prints. These methods read the whole log, by
//! the link to it in OBS.
//!
//! By default, [`Logs::follow`] polls the newest part ([`LogAccess`]).

// `follow` polls the log with one of two readers, which detect the new lines: `preview` compares
// the newest part of the log with the content read before, and `fill` reads the parts that it
// lacks; `lines` requests lines by their numbers, and `long_lines` reads those that the service
// cuts. Both return the types of `item`. `timestamp`
// parses the times at the beginning of lines. `link` reads a log from OBS, from any position on.
// `whole` adds the other readers for logs that are not in OBS; `download` writes the bytes of a log
// to a file, and `values` finds numbers in lines.

mod download;
mod fill;
pub(crate) mod follow;
pub(crate) mod item;
mod lines;
#[cfg(test)]
mod lines_tests;
mod link;
mod long_lines;
mod preview;
pub(crate) mod printable;
pub(crate) mod tail;
pub(crate) mod timestamp;
mod values;
mod whole;

pub use download::DownloadedLog;
pub use item::{LogAccess, LogItem};
pub use timestamp::LogTime;
pub use values::{LogValue, LogValues};

use std::time::Duration;

use modelarts_api::types::LogPreview;

use crate::{
    error::Error,
    jobs::{job::JobHandle, logs::printable::last_state},
};

/// Number of the last lines of a log that show the cause of a failure, in the result of a wait and
/// in a diagnosis.
pub(super) const LAST_LINES: usize = 10;

/// Log of one task.
#[derive(Clone, Debug)]
#[must_use]
pub struct Logs {
    job: JobHandle,
    task: String,
    interval: Duration,
    quiet: Duration,
    pub(crate) access: Option<LogAccess>,
    pub(crate) tail: Option<usize>,
}

impl JobHandle {
    /// Returns the log of a task, such as `worker-0`.
    pub fn logs(&self, task: impl Into<String>) -> Logs {
        Logs {
            job: self.clone(),
            task: task.into(),
            interval: Duration::from_secs(5),
            quiet: Duration::from_secs(15),
            access: None,
            tail: None,
        }
    }
}

impl Logs {
    /// Sets the method by which [`follow`](Self::follow) reads the log. Default:
    /// [`LogAccess::Preview`].
    pub fn read_by(mut self, access: LogAccess) -> Self {
        self.access = Some(access);
        self
    }

    /// Begins [`follow`](Self::follow) with the last of the existing lines, at most this number and
    /// at most 5 MB, instead of the first. The log is read by preview then.
    pub fn tail_lines(mut self, lines: usize) -> Self {
        self.tail = Some(lines);
        self
    }

    /// Sets the pause of [`follow`](Self::follow) between two polls. Default 5 seconds.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the quiet time: the time for which [`follow`](Self::follow) waits for a log that does
    /// not exist, after the end of its job. Default 15 seconds.
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }

    /// Reads the newest part of the log, at most 5 MB.
    ///
    /// # Errors
    /// Returns an error with [`Error::is_not_ready`] if the log does not exist yet.
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

    /// Returns the last lines of the log, oldest first, each cut to its last `max_line` characters.
    /// For a line that carriage returns overwrite, the last state is returned.
    pub(crate) async fn last_lines(
        &self,
        count: usize,
        max_line: usize,
    ) -> Result<Vec<String>, Error> {
        let preview = self.preview().await?;
        let text = preview.content.or(preview.context).unwrap_or_default();
        let mut lines: Vec<String> = text
            .trim_end()
            .lines()
            .rev()
            .take(count)
            .map(|line| {
                let line = last_state(line);
                let start = line.char_indices().rev().nth(max_line.saturating_sub(1));
                line[start.map_or(0, |(at, _)| at)..].to_owned()
            })
            .collect();
        lines.reverse();
        Ok(lines)
    }
}
