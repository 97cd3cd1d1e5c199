//! Windows: the rows of each request, which overlap with the rows already read, and the search for
//! known rows in a list that has shifted.

use std::cmp::Reverse;

use crate::list_position::OffsetUnit;

/// The rows of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// The value of `offset`, in the unit of the service.
    pub(super) offset: u64,
    /// The value of `limit`.
    pub(super) limit: u32,
    /// The number of the first row, counted from the beginning of the list.
    pub(super) start: u64,
}

impl Window {
    /// Returns the number of the first row after the window.
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.limit)
    }
}

/// Returns the number of the first row of a page whose offset is in this unit.
pub(super) fn start_of(meaning: OffsetUnit, offset: u64, limit: u32) -> u64 {
    match meaning {
        OffsetUnit::Pages => offset * u64::from(limit),
        OffsetUnit::Records => offset,
    }
}

/// Chooses the offset and limit of each page request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowPlan {
    pub(super) meaning: OffsetUnit,
    /// Number of new rows in a window.
    pub(super) size: u32,
    /// The largest window that the service supports.
    pub(super) max: u32,
    /// The number of known rows at the beginning of a window, which show whether the list has
    /// shifted.
    pub(super) overlap: u32,
}

impl WindowPlan {
    pub(super) fn window(&self, offset: u64, limit: u32) -> Window {
        Window {
            offset,
            limit,
            start: start_of(self.meaning, offset, limit),
        }
    }

    /// Returns the usual overlap. It is at most half of the largest window, so that the window also
    /// contains new rows.
    pub(super) fn usual_overlap(&self) -> u32 {
        self.overlap.min(self.max / 2)
    }

    /// Returns the window after the first `read` rows.
    pub(super) fn after(&self, read: u64) -> Window {
        self.overlapping(read, self.usual_overlap())
    }

    /// Returns the window after the first `read` rows, like [`after`](Self::after), with the given
    /// overlap.
    pub(super) fn overlapping(&self, read: u64, overlap: u32) -> Window {
        let overlap = u64::from(overlap).min(read);
        match self.meaning {
            OffsetUnit::Pages => (0..=overlap)
                .rev()
                .find_map(|overlap| self.page_after(read, overlap))
                .unwrap_or_else(|| self.around(read)),
            OffsetUnit::Records => {
                let limit = self.size.saturating_add(overlap as u32);
                self.window(read - overlap, self.max.min(limit))
            }
        }
    }

    /// Returns the window of a list whose offsets count pages. Pages begin at multiples of their
    /// size, so only some sizes overlap with the rows read. Among pages that begin at least
    /// `overlap` rows before the end of the rows read, the function chooses the one that adds the
    /// most rows; among several of these, the smallest.
    fn page_after(&self, read: u64, overlap: u64) -> Option<Window> {
        let pages = (1..=self.max)
            .map(|limit| self.window((read - overlap) / u64::from(limit), limit))
            .filter(|page| page.end() > read);
        pages.max_by_key(|page| {
            let new = (page.end() - read).min(u64::from(self.size));
            (new, Reverse(page.limit))
        })
    }

    /// Returns the largest window that includes this row.
    pub(super) fn around(&self, row: u64) -> Window {
        let limit = self.max.max(1);
        match self.meaning {
            OffsetUnit::Pages => self.window(row / u64::from(limit), limit),
            OffsetUnit::Records => self.window(row, limit),
        }
    }
}

/// Search for the last rows that were read. It begins at the expected position and alternates
/// between both directions, at growing distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relocation {
    /// The row that the next window includes.
    pub(super) row: u64,
    /// First and last row that were searched; `None` if no rows remain in that direction.
    before: Option<u64>,
    behind: Option<u64>,
    backwards: bool,
}

impl Relocation {
    pub(super) fn new(row: u64) -> Self {
        Self {
            row,
            before: Some(row),
            behind: Some(row),
            backwards: false,
        }
    }

    /// Returns the next step of the search, `step` rows farther, after a window that begins with
    /// row `start` and contains no known row. `more` is `true` if the list continues after that
    /// window. Returns `None` when the whole list has been searched.
    pub(super) fn next(mut self, start: u64, step: u64, more: bool) -> Option<Self> {
        let step = step.max(1);
        self.before = self.before.filter(|_| start > 0);
        self.behind = self.behind.filter(|_| more);
        self.backwards = self.before.is_some() && (!self.backwards || self.behind.is_none());
        if self.backwards {
            self.row = self.before?.saturating_sub(step);
            self.before = Some(self.row);
        } else {
            self.row = self.behind? + step;
            self.behind = Some(self.row);
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(meaning: OffsetUnit, size: u32) -> WindowPlan {
        WindowPlan {
            meaning,
            size,
            max: 50,
            overlap: 3,
        }
    }

    #[test]
    fn windows_overlap_and_bring_nearly_all_that_fits() {
        for meaning in [OffsetUnit::Pages, OffsetUnit::Records] {
            let mut read = 0;
            let mut windows = 0;
            while read < 10_000 {
                let window = plan(meaning, 50).after(read);
                assert!(window.limit <= 50);
                assert!(window.start + read.min(3) <= read, "{meaning:?} {read}");
                assert!(window.end() > read, "{meaning:?} {read}");
                read = window.end();
                windows += 1;
            }
            // Without an overlap, 200 windows would be enough.
            assert!(windows <= 260, "{meaning:?} {windows}");
        }
    }

    #[test]
    fn small_pages_have_the_requested_rows() {
        let sizes = |meaning| {
            let mut read = 0;
            let windows = (0..5).map(move |_| {
                let window = plan(meaning, 2).after(read);
                let new = window.end() - read;
                read = window.end();
                (window.start, new)
            });
            windows.collect::<Vec<_>>()
        };
        let record = [(0, 2), (0, 2), (1, 2), (3, 2), (5, 2)];
        assert_eq!(sizes(OffsetUnit::Records), record);
        let pages = [(0, 2), (0, 2), (0, 2), (0, 2), (5, 2)];
        assert_eq!(sizes(OffsetUnit::Pages), pages);
    }

    #[test]
    fn a_service_that_makes_pages_of_one_row_is_read_without_overlap() {
        for meaning in [OffsetUnit::Pages, OffsetUnit::Records] {
            let plan = WindowPlan {
                max: 1,
                ..plan(meaning, 50)
            };
            let expected = Window {
                offset: 7,
                limit: 1,
                start: 7,
            };
            assert_eq!(plan.after(7), expected);
        }
    }

    fn searched(start: u64, length: u64) -> Vec<u64> {
        let plan = WindowPlan {
            max: 10,
            ..plan(OffsetUnit::Records, 10)
        };
        let mut relocation = Some(Relocation::new(start));
        let mut rows = Vec::new();
        while let Some(at) = relocation {
            let window = plan.around(at.row);
            rows.push(window.start);
            relocation = at.next(window.start, 5, window.end() <= length);
        }
        rows
    }

    #[test]
    fn the_whole_list_is_searched_from_the_expected_place_outwards() {
        assert_eq!(searched(12, 40), [12, 7, 17, 2, 22, 0, 27, 32]);
        assert_eq!(searched(12, 12), [12, 7, 2, 0]);
        assert_eq!(searched(0, 21), [0, 5, 10, 15]);
        assert_eq!(searched(0, 0), [0]);
    }
}
