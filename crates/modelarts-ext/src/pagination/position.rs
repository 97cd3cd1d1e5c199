//! Where a list was left, to go on another time.

use modelarts_api::Offset;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The number of keys that a saved position holds.
pub(crate) const SAVED: u32 = 30;
/// The same, if they end with a run of equal ones.
pub(crate) const SAVED_OF_A_RUN: u32 = 75;
/// The largest number of rows before a position: no list is so long, and the numbers of the
/// requests behind it overflow nothing.
const MOST_ROWS: u64 = u32::MAX as u64;

/// Where a list was left. It can be stored with serde, and given to `resume` of the
/// same list with the same conditions, in another process and on another day.
///
/// It holds the last few rows that were read, or their ids, because numbers of rows
/// mean nothing in a list that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The operation that makes the list.
    pub(crate) list: String,
    /// How many rows of the list lie before it.
    pub(crate) read: u64,
    /// The keys of the last rows.
    pub(crate) last: Vec<String>,
    /// Whether rows were read that are not among them.
    pub(crate) more: bool,
    /// What offsets count, where that was found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) counts: Option<OffsetUnit>,
}

/// What offsets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OffsetUnit {
    Pages,
    Records,
}

impl OffsetUnit {
    pub(crate) fn of(offset: Offset) -> Option<Self> {
        match offset {
            Offset::PageIndex => Some(Self::Pages),
            Offset::Record => Some(Self::Records),
            _ => None,
        }
    }

    pub(crate) fn offset(self) -> Offset {
        match self {
            Self::Pages => Offset::PageIndex,
            Self::Records => Offset::Record,
        }
    }
}

impl Position {
    /// How many rows of the list lie before it.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.read
    }

    /// Refuses a position in another list, and a damaged one.
    pub(crate) fn check(&self, list: &str) -> Result<(), Error> {
        if self.list != list {
            return Err(Error::invalid(format!(
                "resume: the position is one in {}, and this is {list}",
                self.list
            )));
        }
        if self.read > MOST_ROWS {
            return Err(Error::invalid(format!(
                "resume: the position is damaged: `read` is {} and must be at most {MOST_ROWS}; \
                 read the list from its beginning",
                self.read
            )));
        }
        Ok(())
    }
}
