//! `JobUpdate`: an item of the stream of a followed job.

use crate::jobs::{events::event::Event, job::Job, logs::item::LogItem};

/// Item of the stream of a followed job.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JobUpdate {
    /// The phase changed. Holds the job as read at that time.
    Phase(Box<Job>),
    /// An event appeared.
    Event(Event),
    /// A task wrote to its log.
    Log {
        /// The task, such as `worker-0`.
        task: String,
        /// A line of the log, or a gap in it.
        item: LogItem,
    },
    /// The job was deleted.
    Vanished,
}
