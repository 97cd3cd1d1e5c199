//! End of a list: decides that it is complete, is read again, or fails.

use crate::pagination::{
    pager::{
        bounds::{MAX_REREADS_UNCLEAR, MAX_REREADS_UNORDERED},
        error::ListError,
    },
    position::Position,
};

/// The progress of reading a list.
pub(super) struct Progress<'a> {
    /// The rows before the end of the last page.
    pub(super) read: u64,
    /// The rows returned so far, including those before a resumed position.
    pub(super) given: u64,
    /// The rows that the list must have: the count of the last page, and the lowest count of any
    /// page.
    pub(super) required: Option<u64>,
    pub(super) least: Option<u64>,
    /// `true` if rows were read whose keys are unknown: by another stream, or more than the history
    /// holds.
    pub(super) is_incomplete: bool,
    /// The service changes the order of the rows.
    pub(super) order_changed: bool,
    /// The service may have changed the order of the rows.
    pub(super) order_unclear: bool,
    pub(super) reread: Option<&'a Reread>,
}

/// The decision at the end of a list.
pub(super) enum End {
    /// All rows were returned.
    Complete,
    /// Rows are or may be missing; the list is read again from its beginning.
    Reread {
        times: u32,
        missing: Option<(u64, u64)>,
    },
    /// Rows are or may be missing, and reading the list again would not help.
    Failed(ListError),
}

/// The state of a list that is read again, from the end that it reached.
pub(super) struct Reread {
    pub(super) position: Position,
    /// The number of times that this end was reached.
    pub(super) times: u32,
    /// The rows that were returned by then.
    pub(super) given: u64,
    /// The rows returned and the rows required, if some were missing.
    pub(super) missing: Option<(u64, u64)>,
}

impl Progress<'_> {
    /// Decides at the end of the list.
    pub(super) fn end(&self) -> End {
        let missing = self.missing_rows();
        let times = self.reread.map_or(0, |reread| reread.times);
        let new = self.reread.is_none_or(|reread| reread.given < self.given);
        let unclear = self.order_unclear
            && !self.is_incomplete
            && self.required.is_some()
            && times < MAX_REREADS_UNCLEAR;
        let unordered = self.order_changed && times < MAX_REREADS_UNORDERED;
        if missing.is_none() && !self.order_changed && !unclear {
            return End::Complete;
        }
        if self.is_incomplete || self.required.is_none() || !(new || unordered || unclear) {
            return End::Failed(self.ended_early(missing));
        }
        End::Reread {
            times: times + 1,
            missing,
        }
    }

    /// Returns the error of a list that took too many requests; `None` if it reached an end before.
    pub(super) fn too_many_requests(&self, requests: u64) -> Option<ListError> {
        match self.reread {
            Some(reread) if reread.missing.is_none() && !self.order_changed => None,
            Some(reread) => Some(self.ended_early(reread.missing)),
            None => Some(ListError::TooManyRequests {
                requests,
                rows: self.given,
            }),
        }
    }

    /// Returns the error of a list whose rows would be returned twice if it were read again.
    pub(super) fn cannot_reread(&self) -> ListError {
        self.ended_early(self.reread.and_then(|reread| reread.missing))
    }

    /// The rows returned and the rows required, if some are missing. Rows inserted before those
    /// already read are not required, so the lowest count applies.
    fn missing_rows(&self) -> Option<(u64, u64)> {
        let last = self.required.map(|last| (self.read, last));
        let least = self.least.map(|least| (self.given, least));
        let least = least.filter(|_| !self.is_incomplete);
        last.into_iter().chain(least).find(|(came, all)| came < all)
    }

    /// The error of a list that ended, or may have ended, before all of its rows came.
    fn ended_early(&self, missing: Option<(u64, u64)>) -> ListError {
        match missing {
            Some((came, all)) if !self.order_changed => ListError::Ended { came, all },
            _ => ListError::OrderChanged { came: self.given },
        }
    }
}
