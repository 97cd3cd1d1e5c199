//! Windows: the rows of each request, which overlap with the rows already read.

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

/// Returns the number of the first row of a page whose offset is in this unit.
pub(super) fn start_of(unit: OffsetUnit, offset: u64, limit: u32) -> u64 {
    match unit {
        OffsetUnit::Pages => offset * u64::from(limit),
        OffsetUnit::Records => offset,
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
    /// Number of known rows at the beginning of a window, which show shifts of the list.
    pub(super) overlap: u32,
    /// Minimum number of rows on a page for each overlapping row.
    pub(super) divisor: u32,
    /// The only limits that the service accepts; empty if it accepts each limit.
    pub(super) limits: &'static [u32],
}

impl WindowPlan {
    pub(super) fn window(&self, offset: u64, limit: u32) -> Window {
        Window { offset, limit, start: start_of(self.unit, offset, limit) }
    }

    /// Returns the limit, or the next larger one that the service accepts.
    pub(super) fn accepted(&self, limit: u32) -> u32 {
        self.limits.iter().copied().find(|accepted| *accepted >= limit).unwrap_or(limit)
    }

    /// Limits the largest window to this number of rows.
    pub(super) fn limit(&mut self, max: u32) {
        self.max = max;
        self.overlap = self.overlap.min(self.share(max));
    }

    /// Returns the maximum overlap of pages with this number of rows. If the overlap is a third of
    /// the rows, two passes take at most three times the requests of one pass without an overlap.
    pub(super) fn share(&self, rows: u32) -> u32 {
        (rows / self.divisor.max(2)).max(u32::from(rows > 1))
    }

    /// Returns the window after the first `read` rows, which begins about `overlap` rows earlier.
    pub(super) fn overlapping(&self, read: u64, overlap: u32) -> Window {
        let overlap = u64::from(overlap).min(read);
        match self.unit {
            OffsetUnit::Pages => (0..=overlap)
                .rev()
                .find_map(|overlap| self.page_after(read, overlap))
                .unwrap_or_else(|| self.around(read)),
            OffsetUnit::Records => {
                let limit = self.size.saturating_add(overlap as u32);
                self.window(read - overlap, self.accepted(self.max.min(limit)))
            }
        }
    }

    /// Returns the page that begins at least `overlap` rows before the end of the rows read and
    /// adds the most rows. Pages begin at multiples of their size, so only some sizes overlap.
    fn page_after(&self, read: u64, overlap: u64) -> Option<Window> {
        let pages = (1..=self.max)
            .filter(|limit| self.accepted(*limit) == *limit)
            .map(|limit| self.window((read - overlap) / u64::from(limit), limit))
            .filter(|page| page.end() > read);
        pages.max_by_key(|page| {
            let new = (page.end() - read).min(u64::from(self.size));
            (new, Reverse(page.limit))
        })
    }

    /// Returns the largest window that includes this row.
    pub(super) fn around(&self, row: u64) -> Window {
        let limit = self.accepted(self.max.max(1));
        match self.unit {
            OffsetUnit::Pages => self.window(row / u64::from(limit), limit),
            OffsetUnit::Records => self.window(row, limit),
        }
    }
}

#[cfg(test)]
mod tests;
