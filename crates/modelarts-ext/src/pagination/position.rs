//! Position: the point that the reading of a list has reached.
//!
//! A module below [`Error`](crate::error::Error), which carries a position.

use serde::{Deserialize, Serialize};

use crate::pagination::offset::OffsetUnit;

/// The point that the reading of a list has reached. It can be stored with serde and passed to
/// `resume` of the same list with the same conditions, also in another process.
///
/// It holds the last few rows that were read, or their ids, because row numbers change when a list
/// changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The operation that returns the list.
    pub(crate) list: String,
    /// The number of rows before it.
    pub(crate) read: u64,
    /// The keys of the last rows before it.
    pub(crate) last: Vec<String>,
    /// `true` if there are earlier rows, whose keys are not stored.
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
