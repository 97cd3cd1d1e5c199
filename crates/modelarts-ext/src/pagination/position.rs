//! The position at which reading a list stopped.
//!
//! It stands below [`Error`](crate::error::Error), which carries one.

use serde::{Deserialize, Serialize};

use crate::pagination::offset::OffsetUnit;

/// The position at which reading a list stopped. It can be stored with serde, and given to
/// `resume` of the same list with the same conditions, in another process and on another day.
///
/// It holds the last few rows that were read, or their ids, because numbers of rows
/// mean nothing in a list that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The operation that makes the list.
    pub(crate) list: String,
    /// The number of rows before it.
    pub(crate) read: u64,
    /// The keys of the last rows.
    pub(crate) last: Vec<String>,
    /// True if rows were read that are not among them.
    pub(crate) more: bool,
    /// The unit of offsets, where it was detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) counts: Option<OffsetUnit>,
}

impl Position {
    /// The number of rows before it.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.read
    }
}
