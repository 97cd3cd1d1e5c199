//! The end of a list: it is complete, is read again, or fails.

use crate::{
    error::{Error, ErrorKind},
    pagination::{
        pager::{
            Pager,
            error::{self, ListError, Reread},
        },
        source::Source,
    },
};

impl<S: Source + ?Sized> Pager<S> {
    /// Returns whether all rows that the service counts were seen since it last said how many there
    /// are, and none of them was new.
    pub(super) fn is_confirmed(&self) -> bool {
        let confirmed = self.history.confirmed() + self.unreadable;
        self.required.is_some_and(|all| confirmed >= all)
    }

    /// How many of how many rows came, if some are missing. Rows that were inserted before
    /// those that were read do not come, so only as many must come as there ever were.
    pub(super) fn missing_rows(&self) -> Option<(u64, u64)> {
        let last = self.required.map(|last| (self.read, last));
        let least = self.least.map(|least| (self.given_rows(), least));
        let least = least.filter(|_| !self.history.is_incomplete());
        last.into_iter().chain(least).find(|(came, all)| came < all)
    }

    /// The list has come to its end. If rows are missing, or may be, it is read again; if
    /// that brings nothing, it ends with an error.
    pub(super) fn finish(&mut self) {
        if self.is_single_page || self.lenient {
            return;
        }
        let (missing, given) = (self.missing_rows(), self.given_rows());
        let resumed = self.history.is_incomplete();
        let times = self.reread.as_ref().map_or(0, |reread| reread.times);
        let new = self
            .reread
            .as_ref()
            .is_none_or(|reread| reread.given < given);
        let unclear = self.order_unclear
            && !resumed
            && self.required.is_some()
            && times < error::MAX_REREADS_UNCLEAR;
        let unordered = self.order_changed && times < error::MAX_REREADS_UNORDERED;
        if missing.is_none() && !self.order_changed && !unclear {
            return;
        }
        if resumed || self.required.is_none() || !(new || unordered || unclear) {
            self.failure = Some(self.ended_early(missing));
            return;
        }
        if self.reread.is_none() {
            self.requests = 0;
        }
        self.reread = Some(Reread {
            position: self.position(),
            times: times + 1,
            given,
            missing,
        });
        self.done = false;
        self.idle_pages = 0;
        self.plan.size = self.plan.max;
        self.restart();
    }

    pub(super) fn error(&self, error: ListError) -> Error {
        let text = format!("{}: {error}", self.source.operation());
        let failed = Error::new(ErrorKind::Unexpected, text).with_position(self.position());
        match error {
            ListError::OffsetUnclear | ListError::PageTooLong { .. } => {
                failed.with_retryable(false)
            }
            _ => failed,
        }
    }

    /// The error of a list that took too many requests. `None`: it came to its end before.
    pub(super) fn too_many_requests(&self) -> Option<Error> {
        match &self.reread {
            Some(reread) if reread.missing.is_none() && !self.order_changed => None,
            Some(reread) => Some(self.ended_early(reread.missing)),
            None => Some(self.error(ListError::TooManyRequests {
                requests: self.requests,
                rows: self.given_rows(),
            })),
        }
    }

    /// The list has ended, and not all rows came, or that is not certain.
    pub(super) fn ended_early(&self, missing: Option<(u64, u64)>) -> Error {
        let given = self.given_rows();
        self.error(ListError::ended_early(missing, self.order_changed, given))
    }
}
