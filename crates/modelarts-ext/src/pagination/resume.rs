//! Resuming a list at a saved position.

use crate::{error::Error, pagination::position::Position};

/// The number of keys that a saved position holds.
pub(super) const SAVED_KEYS: u32 = 30;
/// The number of keys that a saved position holds when they end with a run of equal ones.
pub(super) const SAVED_KEYS_IN_RUN: u32 = 75;
/// The largest number of rows before a position. No list is that long, and offsets computed
/// from it cannot overflow.
const MAX_ROWS: u64 = u32::MAX as u64;

impl Position {
    /// Rejects a position in another list, and a damaged one.
    pub(crate) fn check(&self, list: &str) -> Result<(), Error> {
        if self.list != list {
            return Err(Error::invalid(format!(
                "resume: the position is one in {}, and this is {list}",
                self.list
            )));
        }
        if self.read > MAX_ROWS {
            return Err(Error::invalid(format!(
                "resume: the position is damaged: `read` is {} and must be at most {MAX_ROWS}; \
                 read the list from its beginning",
                self.read
            )));
        }
        Ok(())
    }
}
