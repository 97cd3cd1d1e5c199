//! Detection of the unit of offsets, for lists whose sources disagree.

use crate::pagination::pager::{
    reader::Reader,
    row_counts::RowCounts,
    window::{Window, start_of},
};

impl Reader {
    /// Compares the rows of a page with the rows that are expected in each unit; for an empty page,
    /// compares the number of rows. The result is `true` if the assumed unit is right, `false` if
    /// the other unit is right, and `None` if the page is not conclusive.
    pub(super) fn verdict(
        &self,
        window: &Window,
        rows: u64,
        counts: &RowCounts,
        page: &[u64],
    ) -> Option<bool> {
        let (before, limit) = (&self.order, u64::from(window.limit));
        // Number of the first row of the page, in the assumed unit and in the other unit.
        let this = window.start;
        let other = start_of(self.plan.meaning.other(), window.offset, window.limit);
        // Number of rows on a page that begins with row `start`.
        let expected = |start: u64| Some(counts.most?.saturating_sub(start).min(limit));
        let (here, there) = (expected(this), expected(other));
        if rows == 0 {
            return match (here, there) {
                (None, _) | (_, None) if other > this => Some(false),
                (Some(1..), Some(0)) => Some(false),
                (Some(0), Some(1..)) => Some(true),
                _ => None,
            };
        }
        // Index on this page of the first row of the previous page, if this page begins with row
        // `start`.
        let shift = |start: u64| before.start.cast_signed() - start.cast_signed();
        let near = this.abs_diff(other).min(limit).cast_signed() / 4;
        // The page may begin with row `start` if it then shares rows with the previous page, and at
        // least half of the shared rows match when moved by a few positions at most.
        let agrees = |start: u64| {
            if expected(start) == Some(0) {
                return false;
            }
            let shifts = shift(start) - near..=shift(start) + near;
            let shared = shifts.filter_map(|shift| before.shared(page, shift));
            let mut shared = shared.peekable();
            if shared.peek().is_some() {
                return shared.any(|(equal, all)| 2 * equal >= all);
            }
            let known = |row: &&u64| before.rows.contains(row);
            2 * page.iter().filter(known).count() < page.len()
        };
        let exact = before
            .shared(page, shift(this))
            .map(|(equal, all)| equal == all);
        let unmoved = counts.required.is_some() && counts.required == before.total;
        match (agrees(this), agrees(other)) {
            // No rows were inserted or removed, so equal rows only resemble shifted rows.
            (true, false) if unmoved && exact == Some(false) => None,
            (true, false) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
            // Both units match because many rows are equal, so the length of the page determines
            // the unit.
            (true, true) if there == Some(rows) && here.is_some_and(|here| here != rows) => {
                Some(false)
            }
            (true, true) => exact.filter(|exact| *exact),
        }
    }
}
