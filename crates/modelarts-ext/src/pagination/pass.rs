//! Pass through a list: how far it is, and whether its pages fit together.

use std::cmp::Ordering;

use crate::{
    list_position::Position,
    pagination::{row_log::RowLog, source::Counts, window::Window},
};

/// Pass through the list, from its beginning or from a position.
#[derive(Clone, Default)]
pub(super) struct Pass {
    /// Number of rows before the end of the last page, and of the last requested window.
    pub(super) read: u64,
    pub(super) planned: u64,
    pub(super) previous: Option<Previous>,
    /// Number of consecutive pages that equal the page before.
    pub(super) repeated: u32,
    /// Number of rows of the list that the last response states.
    pub(super) stated: Option<u64>,
    /// `true` if a response states no number, or another one than before.
    pub(super) is_unsteady: bool,
    /// `true` if a response stated more rows than it had, so that the number is not that of a page.
    pub(super) is_of_list: bool,
    /// `true` if rows contradict the stated number.
    pub(super) is_count_wrong: bool,
    /// `true` if a page had fewer rows than requested.
    pub(super) was_short: bool,
    /// `true` if unread rows may have moved to pages that were read.
    pub(super) is_disturbed: bool,
    /// `true` until a page has rows after the last ones before the resumed position.
    pub(super) is_finding: bool,
    /// In a second pass, the position after the first one.
    pub(super) first_end: Option<Position>,
}

/// Previous page.
#[derive(Clone)]
pub(super) struct Previous {
    pub(super) start: u64,
    pub(super) rows: Vec<u64>,
    /// `true` if the places of some rows are unknown, because they could not be decoded.
    pub(super) is_blurred: bool,
}

impl Pass {
    /// Continues after the first `read` rows. The requests in flight must be cancelled.
    pub(super) fn go_to(&mut self, read: u64) {
        (self.read, self.planned) = (read, read);
    }

    /// Records the number of rows that a response states, and returns how it has changed.
    pub(super) fn count(&mut self, stated: &Counts, rows: u64) -> Option<Ordering> {
        let now = stated.total.or(stated.count.filter(|count| *count > rows));
        let change = now.zip(self.stated).map(|(now, before)| now.cmp(&before));
        self.is_unsteady |= now.is_none() || change.is_some_and(Ordering::is_ne);
        self.is_of_list |= now > Some(rows);
        self.stated = now.or(self.stated);
        change
    }

    /// Compares a page with the page before.
    pub(super) fn compare(&mut self, page: &Page<'_>, log: &RowLog, change: Option<Ordering>) {
        let start = page.window.start;
        let Some(Previous { start: previous_start, rows: previous, is_blurred }) = &self.previous
        else {
            return;
        };
        let is_repeated = *previous_start < start && page.rows > 0 && page.begins_with(previous);
        self.repeated = if is_repeated { self.repeated + 1 } else { 0 };
        let is_smaller = change == Some(Ordering::Less);
        if !log.unique {
            self.is_disturbed |= is_smaller;
            return;
        }
        if self.is_finding || page.is_blurred() || *is_blurred {
            return;
        }
        // More rows come again if rows were inserted before them, and fewer if rows were removed.
        // Without an overlap, only the stated number shows this.
        let (lead, overlap) = (page.lead(log), self.read - start);
        let is_joined = match overlap {
            0 if lead == 0 => !is_smaller,
            0 => change == Some(Ordering::Greater),
            _ => lead > 0,
        };
        let (known, new) = page.hashes.split_at(lead);
        let is_in_order = previous.ends_with(known) && !new.iter().any(|row| log.has_seen(*row));
        self.is_disturbed |= !is_joined || !is_in_order;
        let moved = (lead as u64).cmp(&overlap);
        self.is_count_wrong |= moved.is_ne() && change != Some(moved);
    }

    /// Advances to the end of a page.
    pub(super) fn advance(&mut self, page: Page<'_>, log: &RowLog) {
        let end = page.end();
        self.read = self.read.max(end);
        let least = if self.first_end.is_some() { end.max(log.returned) } else { end };
        self.is_count_wrong |= self.stated.is_some_and(|all| all < least);
        if page.rows > 0 {
            let is_blurred = page.is_blurred();
            let start = page.window.start;
            self.previous = Some(Previous { start, rows: page.hashes, is_blurred });
        }
    }

    /// Returns `true` if the stated number shows that the last page was the end of the list.
    pub(super) fn is_counted(&self) -> bool {
        let is_reliable = self.is_of_list && !self.is_count_wrong && !self.was_short;
        is_reliable && !self.is_disturbed && self.stated == Some(self.read)
    }
}

/// Response to the request of a window.
pub(super) struct Page<'a> {
    pub(super) window: Window,
    pub(super) keys: &'a [String],
    pub(super) hashes: Vec<u64>,
    /// Number of rows, with those that could not be decoded.
    pub(super) rows: u64,
    pub(super) stated: &'a Counts,
}

impl Page<'_> {
    /// Returns `true` if the page has fewer rows than requested.
    pub(super) fn is_short(&self) -> bool {
        self.rows < u64::from(self.window.limit)
    }

    /// Returns `true` if the page is longer than requested and is not the whole list.
    pub(super) fn is_too_long(&self) -> bool {
        let all = self.stated.total.or(self.stated.count);
        let is_whole = self.window.offset == 0 && all == Some(self.rows);
        self.rows > u64::from(self.window.limit) && !is_whole
    }

    /// Returns the limit that the service states, if it is smaller than the requested one.
    pub(super) fn smaller_limit(&self) -> Option<u32> {
        let limit = self.stated.limit.filter(|limit| self.rows <= u64::from(*limit));
        limit.filter(|limit| (1..self.window.limit).contains(limit))
    }

    /// Returns the number of the first row after this page.
    pub(super) fn end(&self) -> u64 {
        self.window.start + self.rows
    }

    /// Returns `true` if the places of some rows are unknown, because they could not be decoded.
    pub(super) fn is_blurred(&self) -> bool {
        self.rows > self.hashes.len() as u64
    }

    /// Returns the number of rows at the beginning that this pass has read.
    pub(super) fn lead(&self, log: &RowLog) -> usize {
        self.hashes.iter().take_while(|row| log.has_seen(**row)).count()
    }

    /// Returns `true` if the page begins with these rows, or they with all rows of the page.
    pub(super) fn begins_with(&self, rows: &[u64]) -> bool {
        let mut pairs = self.hashes.iter().zip(rows).peekable();
        pairs.peek().is_some() && pairs.all(|(a, b)| a == b)
    }

    /// Returns `true` if the page at offset 1 shows that offsets count rows, so that it begins with
    /// the second row of the list, and `false` if they count pages. Returns `None` if both are the
    /// same row, or if all rows are equal. `is_open`: without this page, the unit is not known.
    pub(super) fn counts_records(&self, first: &[u64], is_open: bool) -> Option<bool> {
        let at_page = first.get(self.window.limit as usize..).unwrap_or_default();
        let at_row = first.get(1..).unwrap_or_default();
        if !is_open || self.begins_with(at_page) {
            return Some(self.begins_with(at_row) && !self.begins_with(at_page));
        }
        let is_equal =
            first.iter().chain(self.hashes.first()).all(|row| Some(row) == first.first());
        if self.window.limit == 1 || first.len() > 1 && is_equal {
            return None;
        }
        // Rows may have been inserted or removed between both requests.
        let mut distinct = self.hashes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let known = distinct.iter().filter(|row| first.contains(row)).count();
        Some(self.begins_with(at_row) || 2 * known > distinct.len().max(2))
    }
}
