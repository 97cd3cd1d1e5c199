//! The end of a list: it is complete, is read again, or fails.

use crate::pagination::{
    pager::{
        bounds::{MAX_REREADS_UNCLEAR, MAX_REREADS_UNORDERED},
        error::ListError,
    },
    position::Position,
};

/// How far the reading of a list has come.
pub(super) struct Progress<'a> {
    /// The rows before the end of the last page.
    pub(super) read: u64,
    /// The rows that came, those before a resumed position included.
    pub(super) given: u64,
    /// The rows that the list must have, by the last page, and by the page that counted fewest.
    pub(super) required: Option<u64>,
    pub(super) least: Option<u64>,
    /// Rows were read that are not known: by another stream, or very many.
    pub(super) is_incomplete: bool,
    /// The service changes the order of the rows.
    pub(super) order_changed: bool,
    /// The service may have changed the order of the rows.
    pub(super) order_unclear: bool,
    pub(super) reread: Option<&'a Reread>,
}

/// The decision at the end of a list.
pub(super) enum End {
    /// All rows came.
    Complete,
    /// Rows are missing, or may be; the list is read from its beginning.
    Reread {
        times: u32,
        missing: Option<(u64, u64)>,
    },
    /// The same, and reading it again is of no use.
    Failed(ListError),
}

/// A list that is read again from its beginning, since it came to this end.
pub(super) struct Reread {
    pub(super) position: Position,
    /// The number of times that it was reached.
    pub(super) times: u32,
    /// The rows that were given then.
    pub(super) given: u64,
    /// The rows that came, of those that had to come, if some were missing.
    pub(super) missing: Option<(u64, u64)>,
}

impl Progress<'_> {
    /// Decides about a list that has come to its end.
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

    /// The error of a list that took too many requests. `None`: it came to its end before.
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

    /// The error of a list whose rows would come again if it were read again.
    pub(super) fn cannot_reread(&self) -> ListError {
        self.ended_early(self.reread.and_then(|reread| reread.missing))
    }

    /// How many of how many rows came, if some are missing. Rows that were inserted before
    /// those that were read do not come, so only as many must come as there ever were.
    fn missing_rows(&self) -> Option<(u64, u64)> {
        let last = self.required.map(|last| (self.read, last));
        let least = self.least.map(|least| (self.given, least));
        let least = least.filter(|_| !self.is_incomplete);
        last.into_iter().chain(least).find(|(came, all)| came < all)
    }

    /// The error of a list that ended before all of its rows came, or perhaps before that.
    fn ended_early(&self, missing: Option<(u64, u64)>) -> ListError {
        match missing {
            Some((came, all)) if !self.order_changed => ListError::Ended { came, all },
            _ => ListError::OrderChanged { came: self.given },
        }
    }
}
