//! `JobUpdate`: an item of the stream of a followed job.

use crate::jobs::{events::event::Event, job::Job, logs::item::LogItem};

/// Something that a followed job did or said.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JobUpdate {
    /// The job is in another phase. The job is as it was then.
    Phase(Box<Job>),
    /// Something happened.
    Event(Event),
    /// A task wrote something.
    Log {
        /// Such as `worker-0`.
        task: String,
        /// A line of the log, or a gap in it.
        item: LogItem,
    },
    /// The job was deleted.
    Vanished,
}
