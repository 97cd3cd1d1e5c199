//! Response to the request of a window, the counts of a pass, and the limit on requests.

use crate::{
    list_position::OffsetUnit,
    pagination::{source::RowCounts, window::Window},
};

/// Response to the request of a window.
pub(super) struct Answer {
    /// Window, with the limit that the service applied.
    pub(super) window: Window,
    /// Number of the first row after the requested window.
    pub(super) requested_end: u64,
    /// `true` for the first response of a list that is read from its beginning.
    pub(super) is_first_page: bool,
    /// Keys of the rows, and the hashes of the keys.
    pub(super) keys: Vec<String>,
    pub(super) hashes: Vec<u64>,
    /// Number of rows that could not be decoded.
    pub(super) skipped: usize,
    pub(super) counts: RowCounts,
    /// Total that the service states, which may include rows that the conditions exclude.
    pub(super) total: Option<u64>,
    /// `true` if the service states that it applied the requested limit.
    pub(super) has_limit: bool,
    /// `true` if the response contains the whole list.
    pub(super) is_single: bool,
}

impl Answer {
    /// Returns the number of rows, including rows that could not be decoded.
    pub(super) fn rows(&self) -> u64 {
        (self.keys.len() + self.skipped) as u64
    }

    /// Returns the number of the first row after this page.
    pub(super) fn end(&self) -> u64 {
        self.window.start + self.rows()
    }

    /// Returns `true` if the page has fewer rows than requested.
    pub(super) fn is_short(&self) -> bool {
        self.rows() < u64::from(self.window.limit)
    }

    /// Returns `true` if the page is short and the service states no rows after this page.
    pub(super) fn is_last(&self) -> bool {
        self.is_short() && self.counts.most == Some(self.end())
    }

    /// Returns `true` if the service may have reduced the limit silently.
    pub(super) fn is_reduced(&self) -> bool {
        self.is_short() && !self.is_last() && !self.has_limit && self.rows() > 0
    }

    /// Returns `true` if the page is short although the list may continue: the service returns
    /// shorter pages than requested, or states a wrong count.
    pub(super) fn is_capped(&self, unit: OffsetUnit) -> bool {
        let is_possible = self.counts.most.is_some() || unit == OffsetUnit::Pages;
        is_possible && self.is_reduced() && !self.is_single
    }

    /// Returns `true` if the page has as many rows as requested, or is a shortened first page.
    pub(super) fn is_full(&self, unit: OffsetUnit) -> bool {
        !self.is_short() || self.is_first_page && self.is_capped(unit)
    }

    /// Returns `true` if the service states that rows follow this page.
    pub(super) fn has_more(&self) -> bool {
        self.counts.most.is_some_and(|most| most > self.end())
    }
}

/// Numbers of rows of the list, as the responses of a pass state them.
#[derive(Default)]
pub(super) struct PassCounts {
    /// `true` if the number has changed, or if a response lacks the number.
    pub(super) is_unsteady: bool,
    /// Last stated number, and the lowest stated number.
    pub(super) last: Option<u64>,
    pub(super) least: Option<u64>,
    /// Maximum number of rows of the list, according to the last response.
    pub(super) most: Option<u64>,
}

impl PassCounts {
    pub(super) fn add(&mut self, answer: &Answer) {
        let RowCounts { required, .. } = answer.counts;
        let is_first = self.last.is_none() && !self.is_unsteady;
        self.is_unsteady |= required.is_none() || !is_first && self.last != required;
        self.last = required;
        self.least = self.least.into_iter().chain(required).min();
        let total = answer.total.filter(|total| *total >= answer.end());
        self.most = required.filter(|count| *count > answer.end()).or(total);
    }
}

/// Values that bound the number of requests for a list.
#[derive(Default)]
pub(super) struct Budget {
    pub(super) requests: u64,
    /// Number of rows on the largest page, or the largest requested limit that a response states.
    pub(super) largest_page: u64,
    /// Number of rows before the end of the farthest window of a search.
    pub(super) farthest: u64,
}

impl Budget {
    /// Returns `true` if another request is allowed when this number of rows was read.
    pub(super) fn allows_request(&self, rows: u64, size: u32) -> bool {
        let rows = rows.max(self.farthest);
        let page = self.largest_page.clamp(1, u64::from(size));
        self.requests < REQUESTS_PER_PAGE * rows.div_ceil(page).max(1) + MORE_REQUESTS
    }
}

/// Maximum number of requests for each page of rows, and of additional requests for the list.
const REQUESTS_PER_PAGE: u64 = 3;
const MORE_REQUESTS: u64 = 8;
