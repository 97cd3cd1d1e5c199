//! `JobUpdate`: an item of the stream of a followed job.

use crate::jobs::{events::event::Event, job::Job, logs::item::LogItem};

/// An update of a followed job.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JobUpdate {
    /// The phase changed. Holds the job as of then.
    Phase(Box<Job>),
    /// An event.
    Event(Event),
    /// Output of a task.
    Log {
        /// The task, such as `worker-0`.
        task: String,
        /// A line of the log, or a gap in it.
        item: LogItem,
    },
    /// The job was deleted.
    Vanished,
}
