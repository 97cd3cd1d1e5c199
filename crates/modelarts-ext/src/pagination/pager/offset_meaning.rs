//! Detection of the unit of offsets, where sources disagree.

use crate::pagination::{
    pager::{
        order_check::OrderCheck,
        window::{Window, start_of},
    },
    position::OffsetUnit,
};

/// A page requested in one unit, and the page before it.
pub(super) struct Evidence<'a> {
    pub(super) meaning: OffsetUnit,
    pub(super) window: &'a Window,
    /// The number of rows of the page.
    pub(super) rows: u64,
    /// The number of rows of the list, as the service counts.
    pub(super) total: Option<u64>,
    /// The rows of the page.
    pub(super) page: &'a [u64],
    pub(super) previous: &'a OrderCheck,
    /// `true` if the total did not change since the page before.
    pub(super) unmoved: bool,
}

impl Evidence<'_> {
    /// Compares the rows with those expected in each unit, or their number if the page is empty.
    /// `true`: the assumed unit is right; `false`: the other one; `None`: the page does not settle
    /// it.
    pub(super) fn verdict(&self) -> Option<bool> {
        let this = self.window.start;
        let other = self.other_start();
        let (here, there) = (self.expected(this), self.expected(other));
        if self.rows == 0 {
            return match (here, there) {
                (None, _) | (_, None) if other > this => Some(false),
                (Some(1..), Some(0)) => Some(false),
                (Some(0), Some(1..)) => Some(true),
                _ => None,
            };
        }
        // All rows shared with the page before are in their places, if there are any.
        let exact = self
            .equal_at(self.shift(this))
            .map(|(equal, all)| equal == all);
        match (self.agrees(this), self.agrees(other)) {
            // Equal rows only look like shifted ones, because nothing was inserted or removed.
            (true, false) if self.unmoved && exact == Some(false) => None,
            (true, false) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
            // Many rows are equal.
            (true, true) if there == Some(self.rows) && here.is_some_and(|n| n != self.rows) => {
                Some(false)
            }
            (true, true) => (exact == Some(true)).then_some(true),
        }
    }

    /// The number of the first row in the other unit.
    fn other_start(&self) -> u64 {
        start_of(self.meaning.other(), self.window.offset, self.window.limit)
    }

    /// The expected number of rows of a page that begins with row `start`.
    fn expected(&self, start: u64) -> Option<u64> {
        let rows = self.total?.saturating_sub(start);
        Some(rows.min(u64::from(self.window.limit)))
    }

    /// The index on this page of row 0 of the page before, if this page begins with row `start`.
    fn shift(&self, start: u64) -> i64 {
        self.previous.start.cast_signed() - start.cast_signed()
    }

    /// The number of rows of the page before that are on this one, moved by `shift`, and the number
    /// of possible ones; `None` if there are none.
    fn equal_at(&self, shift: i64) -> Option<(usize, usize)> {
        let first = usize::try_from(-shift).unwrap_or(0);
        let skipped = usize::try_from(shift).unwrap_or(0);
        let previous = self.previous.rows.iter().skip(first);
        let both = previous.zip(self.page.iter().skip(skipped));
        let (equal, all) = both.fold((0, 0), |(equal, all), (before, now)| {
            (equal + usize::from(before == now), all + 1)
        });
        (all > 0).then_some((equal, all))
    }

    /// Returns `true` if the page can begin with row `start`: half of the rows that it then shares
    /// with the page before match, moved by a few places at most.
    fn agrees(&self, start: u64) -> bool {
        if self.expected(start) == Some(0) {
            return false;
        }
        let distance = self.window.start.abs_diff(self.other_start());
        let near = distance.min(u64::from(self.window.limit)).cast_signed() / 4;
        let shift = self.shift(start);
        let mut overlaps = (shift - near..=shift + near)
            .filter_map(|shift| self.equal_at(shift))
            .peekable();
        if overlaps.peek().is_some() {
            return overlaps.any(|(equal, all)| 2 * equal >= all);
        }
        let known = |row: &&u64| self.previous.rows.contains(row);
        2 * self.page.iter().filter(known).count() < self.page.len()
    }
}
