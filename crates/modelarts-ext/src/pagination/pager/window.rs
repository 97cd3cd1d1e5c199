//! Windows: the rows of each request, which overlap with those already read.

use modelarts_api::Offset;

/// The rows of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// The value of `offset`, in the unit of the service.
    pub(super) offset: u64,
    /// The value of `limit`.
    pub(super) limit: u32,
    /// The number of the first row.
    pub(super) start: u64,
}

impl Window {
    /// The number of the row behind the last one.
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.limit)
    }
}

/// Chooses the offset and limit of each page request.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowPlan {
    pub(super) meaning: Offset,
    /// The number of new rows of a window.
    pub(super) size: u32,
    /// The largest window that the service supports.
    pub(super) max: u32,
    /// The number of known rows at the beginning of a window. They show whether the list has
    /// shifted.
    pub(super) overlap: u32,
}

impl WindowPlan {
    /// The window behind the first `read` rows.
    pub(super) fn after(&self, read: u64) -> Window {
        self.overlapping(read, self.overlap.min(self.max / 2))
    }

    /// Like [`after`](Self::after), with another overlap.
    pub(super) fn overlapping(&self, read: u64, overlap: u32) -> Window {
        let overlap = u64::from(overlap).min(read);
        match self.meaning {
            Offset::PageIndex => (0..=overlap)
                .rev()
                .find_map(|overlap| self.page_after(read, overlap))
                .unwrap_or_else(|| self.around(read)),
            _ => Window {
                offset: read - overlap,
                limit: self.max.min(self.size.saturating_add(overlap as u32)),
                start: read - overlap,
            },
        }
    }

    /// The window where offsets count pages. Pages begin at multiples of their size, so that only
    /// some sizes overlap: of those that begin at least `overlap` rows before the end of the rows
    /// read, the one that adds the most rows, and of these the smallest.
    fn page_after(&self, read: u64, overlap: u64) -> Option<Window> {
        let pages = (1..=self.max).map(|limit| {
            let offset = (read - overlap) / u64::from(limit);
            Window {
                offset,
                limit,
                start: offset * u64::from(limit),
            }
        });
        pages.filter(|page| page.end() > read).max_by_key(|page| {
            let new = (page.end() - read).min(u64::from(self.size));
            (new, std::cmp::Reverse(page.limit))
        })
    }

    /// The largest window that includes this row.
    pub(super) fn around(&self, row: u64) -> Window {
        let limit = u64::from(self.max.max(1));
        let (offset, start) = match self.meaning {
            Offset::PageIndex => (row / limit, row / limit * limit),
            _ => (row, row),
        };
        Window {
            offset,
            limit: self.max.max(1),
            start,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(meaning: Offset, size: u32) -> WindowPlan {
        WindowPlan {
            meaning,
            size,
            max: 50,
            overlap: 3,
        }
    }

    #[test]
    fn windows_overlap_and_bring_nearly_all_that_fits() {
        for meaning in [Offset::PageIndex, Offset::Record] {
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
            // Without any overlap it would be 200.
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
        assert_eq!(sizes(Offset::Record), record);
        let pages = [(0, 2), (0, 2), (0, 2), (0, 2), (5, 2)];
        assert_eq!(sizes(Offset::PageIndex), pages);
    }

    #[test]
    fn a_service_that_makes_pages_of_one_row_is_read_without_overlap() {
        for meaning in [Offset::PageIndex, Offset::Record] {
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
}
