//! End-of-list handling: determines whether the list is complete, must be read again, or ends with
//! an error.

use crate::{
    error::Error,
    pagination::pager::reader::{Reader, Reread},
};

/// The maximum number of rereads of a list whose rows change their order.
const MAX_REREADS_UNORDERED: u32 = 16;
/// The maximum number of rereads of a list in which rows were inserted and removed at the same
/// time. Such changes cannot be distinguished from a change of the order.
const MAX_REREADS_UNCLEAR: u32 = 2;

/// The number of requests that are allowed for every list, and the number of additional requests
/// for each page of rows.
const BASE_REQUESTS: u64 = 64;
const REQUESTS_PER_PAGE: u64 = 4;
/// The maximum number of rows after the last row read that a relocation searches, where the service
/// states no total.
const MAX_ROWS_AHEAD: u64 = 10_000;

impl Reader {
    /// Returns the number of rows returned, including those before a resumed position.
    pub(super) fn given(&self) -> u64 {
        self.unknown_before + self.history.given + self.unreadable
    }

    /// Returns `true` if a list whose order may have changed is confirmed as complete: since the
    /// total last changed, as many rows were read as the service counts, and none of them was new.
    pub(super) fn is_confirmed(&self) -> bool {
        let confirmed = self.history.confirmed + self.unreadable;
        (self.order_changed || self.order_unclear)
            && self.required.is_some_and(|all| confirmed >= all)
    }

    /// Returns the maximum number of requests for a list of this length.
    pub(super) fn max_requests(&self) -> u64 {
        let new = self
            .plan
            .size
            .min(self.plan.max - self.plan.usual_overlap());
        let new = new.min(self.half_page.unwrap_or(new)).max(1);
        let rows = self.largest.max(self.given()).max(self.read);
        let farthest = rows.saturating_mul(2).saturating_add(MAX_ROWS_AHEAD);
        let farthest = farthest.min(self.farthest);
        let step = u64::from((self.plan.max / 2).max(1));
        let pages = rows.div_ceil(u64::from(new));
        let pages = pages.saturating_add(farthest.div_ceil(step));
        BASE_REQUESTS.saturating_add(REQUESTS_PER_PAGE.saturating_mul(pages))
    }

    /// Returns the error of a list that took too many requests; `None` if the list had reached an
    /// end before.
    pub(super) fn too_many_requests(&self) -> Option<Error> {
        match &self.reread {
            Some(reread) if reread.missing.is_none() && !self.order_changed => None,
            Some(reread) => Some(self.ended_early(reread.missing)),
            None => Some(self.error(format!(
                "{} requests brought {} rows, and the list has not ended; a list must take no more \
                 than {BASE_REQUESTS} requests and {REQUESTS_PER_PAGE} for each page; read it \
                 again",
                self.requests,
                self.given()
            ))),
        }
    }

    /// Ends the list, or restarts it if rows are or may be missing.
    pub(super) fn finish(&mut self) {
        if self.is_single_page || self.allow_early_end {
            return;
        }
        let given = self.given();
        // Rows inserted before the rows already read are not required, so the lowest count applies.
        let last = self.required.map(|last| (self.read, last));
        let least = self.least.map(|least| (given, least));
        let least = least.filter(|_| !self.history.is_incomplete);
        let missing = last.into_iter().chain(least).find(|(came, all)| came < all);

        let times = self.reread.as_ref().map_or(0, |reread| reread.times);
        let unclear = self.order_unclear
            && !self.history.is_incomplete
            && self.required.is_some()
            && times < MAX_REREADS_UNCLEAR;
        if missing.is_none() && !self.order_changed && !unclear {
            return;
        }
        let new = self.reread.as_ref().is_none_or(|last| last.given < given);
        let unordered = self.order_changed && times < MAX_REREADS_UNORDERED;
        if self.history.is_incomplete || self.required.is_none() || !(new || unordered || unclear) {
            // Reading the list again would return the same rows.
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

    /// Returns the error of a list that ended, or may have ended, before all of its rows were read.
    pub(super) fn ended_early(&self, missing: Option<(u64, u64)>) -> Error {
        self.error(match missing {
            Some((came, all)) if !self.order_changed => format!(
                "the list ended after {came} of the {all} rows that the service stated; read on \
                 from the position of this error, or read it again"
            ),
            _ => format!(
                "rows changed places while the list was read, or were inserted and removed at the \
                 same time, so some may be missing among the {} that came; read it again, or sort \
                 it by what is different in each row",
                self.given()
            ),
        })
    }
}
