//! The log of a task: its newest part, or all of it followed as it grows.
//!
//! The service shows the newest 5 MB of a log, without a position, and one cloud also lines by
//! their numbers. [`Logs::follow`] makes a stream of lines of either: it finds which lines are new,
//! and a line that could not be had is a [gap](LogItem::Gap) with its size, never silence.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, client) = start().await?;
//! # let job = hello(&emulator, &client, "logs")?.submit().await?;
//! # job.wait().await?;
//! use std::time::Duration;
//! use futures::TryStreamExt;
//! use modelarts_ext::LogItem;
//!
//! // The service writes logs late, the emulator does not.
//! let mut lines = job.logs("worker-0").quiet(Duration::ZERO).follow();
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
//! Logs are read by line numbers where the cloud has them, by preview elsewhere ([`LogAccess`]).

// `follow` polls the log with one of two readers, which find the lines that are new: `preview`
// compares the newest part of the log with what was read before, `lines` asks for lines by their
// numbers. Both give the items of `item`. `timestamp` reads the times that lines begin with.

pub(crate) mod follow;
pub(crate) mod item;
mod lines;
#[cfg(test)]
mod lines_tests;
mod preview;
pub(crate) mod timestamp;

pub use item::{LogAccess, LogItem};

use std::time::Duration;

use modelarts_api::types::LogPreview;

use crate::{error::Error, jobs::job::Job};

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

impl Job {
    /// The log of a task, such as `worker-0`.
    pub fn logs(&self, task: impl Into<String>) -> Logs {
        Logs {
            job: self.clone(),
            task: task.into(),
            interval: Duration::from_secs(5),
            quiet: Duration::from_secs(15),
            access: None,
        }
    }
}

impl Logs {
    /// How [`follow`](Self::follow) reads the log; by default by the numbers of its lines
    /// where the [cloud](crate::client::ClientBuilder::cloud) documents that, by preview elsewhere
    /// and where the service turns out to know no numbers.
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
}
