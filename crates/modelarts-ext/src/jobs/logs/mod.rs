//! Log of a task: its newest part, a stream of its lines, the whole log as a file, and the numbers
//! in the log.
//!
//! The service returns the newest 5 MB of a log, called the preview, and a link to the whole log in
//! OBS. [`Logs::follow`] polls the preview, and returns the new lines of each poll, until the job
//! has ended. Lines that are missing between two polls are read by the link. If the link fails, the
//! stream contains a [gap](LogItem::Gap). The gap has a number of bytes if the service returns the
//! length of the log.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, client| {
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
//! # Ok(()) }) }
//! ```
//!
//! [`Logs::stream`] returns the lines that exist now, [`Logs::download`] writes them to a file, and
//! [`Logs::values`] returns the numbers that a script prints. These methods read the whole log, by
//! the link to it in OBS.
//!
//! The operation `ShowTrainingJobLogsFromAom`, which only Huawei Cloud documents, returns lines by
//! their numbers. [`Logs`] does not use it; call it with [`Client::call`](crate::Client::call).

// `preview` reads the newest part of a log, and `tail` its last lines; `link` reads a log from OBS,
// from any position on. `follow` polls the preview, and fills its gaps by the link. `whole` reads a
// whole log; `download` writes it to a file, and `values` finds numbers in it. `line_splitter`
// splits bytes into lines, `timestamp` parses the times at the beginning of lines, `platform`
// recognizes the lines of the platform, and `repeats` counts repeated lines.

mod download;
pub(crate) mod follow;
pub(crate) mod line_splitter;
mod link;
mod platform;
mod preview;
pub(crate) mod repeats;
pub(crate) mod tail;
pub(crate) mod timestamp;
mod values;
mod whole;

pub use download::DownloadedLog;
pub use line_splitter::LogItem;
pub use preview::LogEnd;
pub use repeats::{RepeatedLines, ShownLine};
pub use timestamp::LogTime;
pub use values::{LogValue, LogValues};

use std::time::Duration;

use crate::jobs::job::JobHandle;

/// Log of one task.
#[derive(Clone, Debug)]
#[must_use]
pub struct Logs {
    job: JobHandle,
    task: String,
    interval: Duration,
    quiet: Duration,
    pub(crate) tail: Option<usize>,
}

impl JobHandle {
    /// Returns the log of a task, such as `worker-0`.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "bert")?.submit().await?;
    /// # job.wait().await?.success()?;
    /// let log = job.logs("worker-0").end().await?;
    /// print!("{}", log.text);
    /// # assert!(log.text.contains("hello"));
    /// # Ok(()) }) }
    /// ```
    pub fn logs(&self, task: impl Into<String>) -> Logs {
        Logs {
            job: self.clone(),
            task: task.into(),
            interval: Duration::from_secs(5),
            quiet: Duration::from_secs(30),
            tail: None,
        }
    }
}

impl Logs {
    /// Begins [`follow`](Self::follow) with the last existing lines, at most this number and at
    /// most 5 MB, instead of the first line.
    pub fn tail_lines(mut self, lines: usize) -> Self {
        self.tail = Some(lines);
        self
    }

    /// Sets the pause of [`follow`](Self::follow) between two polls. The default is 5 seconds.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the quiet time: the maximum time for which [`follow`](Self::follow) waits for a log
    /// that does not exist, after the end of the job. The default is 30 seconds.
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }
}
