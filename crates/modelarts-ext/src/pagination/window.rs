//! Windows: the rows of each request. Windows of rows with an id overlap by up to three rows,
//! which show whether the list has shifted.

use std::cmp::Reverse;

use crate::list_position::OffsetUnit;

/// Rows of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Value of `offset`, in the unit of the service.
    pub(super) offset: u64,
    /// Value of `limit`.
    pub(super) limit: u32,
    /// Number of the first row, counted from the beginning of the list.
    pub(super) start: u64,
}

impl Window {
    /// Returns the number of the first row after the window.
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.limit)
    }
}

/// Plan of windows, which determines the offset and the limit of each request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowPlan {
    pub(super) unit: OffsetUnit,
    /// Number of new rows that a window should contain.
    pub(super) size: u32,
    /// Number of rows of the largest window that the service supports.
    pub(super) max: u32,
    /// Number of rows of the previous window at the beginning of a window.
    pub(super) overlap: u64,
    /// The only limits that the service accepts; empty if it accepts each limit.
    pub(super) limits: &'static [u32],
}

impl WindowPlan {
    /// Returns `true` if each window is one row, so that offsets are the same in both units.
    pub(super) fn is_of_single_rows(&self) -> bool {
        self.size == 1 && (self.overlap == 0 || self.max == 1)
    }

    /// Returns the window at an offset, with the next limit that the service accepts.
    pub(super) fn window(&self, offset: u64, limit: u32) -> Window {
        let mut accepted = self.limits.iter().copied();
        let limit = accepted.find(|accepted| *accepted >= limit).unwrap_or(limit);
        let start = match self.unit {
            OffsetUnit::Pages => offset * u64::from(limit),
            OffsetUnit::Records => offset,
        };
        Window { offset, limit, start }
    }

    /// Returns the window after the first `read` rows.
    pub(super) fn after(&self, read: u64) -> Window {
        // A third of a page at most, so that two passes take at most three times the requests.
        let third = u64::from(self.max / 3).max(u64::from(self.max > 1));
        let overlap = self.overlap.min(third).min(read);
        match self.unit {
            OffsetUnit::Records => {
                let limit = self.max.min(self.size.saturating_add(overlap as u32));
                self.window(read - overlap, limit)
            }
            OffsetUnit::Pages if overlap > 0 => {
                self.page_over(read - overlap, read).unwrap_or_else(|| self.page_at(read))
            }
            OffsetUnit::Pages => self.page_at(read),
        }
    }

    /// Returns the page with this row.
    fn page_at(&self, row: u64) -> Window {
        let limit = self.window(0, self.size.min(self.max)).limit;
        self.window(row / u64::from(limit.max(1)), limit)
    }

    /// Returns the page that has the row `first` and the most rows from `read` on. Pages begin at
    /// multiples of their size, so only some sizes overlap.
    fn page_over(&self, first: u64, read: u64) -> Option<Window> {
        let pages = (1..=self.max)
            .map(|limit| self.window(first / u64::from(limit), limit))
            .filter(|page| page.limit <= self.max && page.end() > read);
        pages.max_by_key(|page| {
            let new = (page.end() - read).min(u64::from(self.size));
            (new, Reverse(page.limit))
        })
    }
}
