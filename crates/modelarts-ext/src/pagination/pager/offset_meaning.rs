//! Detection of the unit of offsets, where sources disagree.

use modelarts_api::Offset;

use crate::pagination::pager::window::Window;

/// The certainty about the unit of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Documented, set by the caller, or detected.
    Known,
    /// Disputed, with the number of pages that did not settle it.
    Disputed(u32),
}

/// The pages that may leave the unit undecided. Each is followed by a request for the first page,
/// which is the same in both units.
const MAX_DOUBTS: u32 = 6;

impl Meaning {
    pub(super) fn is_known(self) -> bool {
        self == Self::Known
    }

    /// Returns `true` if a page did not settle it.
    pub(super) fn is_in_doubt(self) -> bool {
        matches!(self, Self::Disputed(1..))
    }

    /// The state after one more page that did not settle it; `None` after too many.
    pub(super) fn with_doubt(self) -> Option<Self> {
        match self {
            Self::Disputed(doubts) if doubts < MAX_DOUBTS => Some(Self::Disputed(doubts + 1)),
            _ => None,
        }
    }
}

/// The other one of the two disputed units.
pub(super) fn other_meaning(meaning: Offset) -> Offset {
    match meaning {
        Offset::PageIndex => Offset::Record,
        _ => Offset::PageIndex,
    }
}

/// The verdict of a page on the assumed unit of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The assumed unit is right.
    Confirmed,
    /// The other unit is right.
    Disproved,
    /// The page does not settle it.
    Open,
}

/// A page requested in one unit, and the page before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence<'a> {
    pub(super) meaning: Offset,
    pub(super) window: &'a Window,
    /// The number of rows of the page.
    pub(super) rows: u64,
    /// The number of rows of the list, as the service counts.
    pub(super) total: Option<u64>,
    /// The rows of the page.
    pub(super) page: &'a [u64],
    /// The rows of the page before, which began at row `start`.
    pub(super) previous: &'a [u64],
    pub(super) start: u64,
    /// `true` if the list has as many rows as for the page before.
    pub(super) unmoved: bool,
}

impl Evidence<'_> {
    /// Compares the rows with those expected in each unit, or their number if the page is empty.
    pub(super) fn verdict(&self) -> Verdict {
        let (this, other) = self.starts();
        if self.rows == 0 {
            return match (self.expected(this), self.expected(other)) {
                (None, _) | (_, None) if other > this => Verdict::Disproved,
                (Some(1..), Some(0)) => Verdict::Disproved,
                (Some(0), Some(1..)) => Verdict::Confirmed,
                _ => Verdict::Open,
            };
        }
        match (self.agrees(this), self.agrees(other)) {
            // Equal rows only look like shifted ones, because nothing was inserted or removed.
            (true, false) if self.unmoved && !self.is_exact() => Verdict::Open,
            (true, false) => Verdict::Confirmed,
            (false, true) => Verdict::Disproved,
            (false, false) => Verdict::Open,
            // Many rows are equal.
            (true, true) => match (self.expected(this), self.expected(other)) {
                (Some(here), Some(there)) if here != self.rows && there == self.rows => {
                    Verdict::Disproved
                }
                _ if self
                    .equal_at(self.shift(this))
                    .is_some_and(|(equal, all)| equal == all) =>
                {
                    Verdict::Confirmed
                }
                _ => Verdict::Open,
            },
        }
    }

    /// The number of the first row in this unit, and in the other.
    fn starts(&self) -> (u64, u64) {
        let other = match self.meaning {
            Offset::PageIndex => self.window.offset,
            _ => self.window.offset * u64::from(self.window.limit),
        };
        (self.window.start, other)
    }

    /// The expected number of rows of a page that begins with row `start`.
    fn expected(&self, start: u64) -> Option<u64> {
        let rows = self.total?.saturating_sub(start);
        Some(rows.min(u64::from(self.window.limit)))
    }

    /// The index on this page of row 0 of the page before, if this page begins with row `start`.
    fn shift(&self, start: u64) -> i64 {
        self.start.cast_signed() - start.cast_signed()
    }

    /// Returns `true` if all rows shared with the page before in this unit are in their places.
    fn is_exact(&self) -> bool {
        let (this, _) = self.starts();
        self.equal_at(self.shift(this))
            .is_none_or(|(equal, all)| equal == all)
    }

    /// The number of rows of the page before that are on this one, moved by `shift`, and the number
    /// of possible ones; `None` if there are none.
    fn equal_at(&self, shift: i64) -> Option<(usize, usize)> {
        let first = usize::try_from(-shift).unwrap_or(0);
        let skipped = usize::try_from(shift).unwrap_or(0);
        let previous = self.previous.iter().skip(first);
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
        let (this, other) = self.starts();
        let near = this
            .abs_diff(other)
            .min(u64::from(self.window.limit))
            .cast_signed()
            / 4;
        let shift = self.shift(start);
        let mut overlaps = false;
        for shift in shift - near..=shift + near {
            if let Some((equal, all)) = self.equal_at(shift) {
                overlaps = true;
                if 2 * equal >= all {
                    return true;
                }
            }
        }
        let known = |row: &&u64| self.previous.contains(row);
        !overlaps && 2 * self.page.iter().filter(known).count() < self.page.len()
    }
}
