//! Decides what the offset of a list counts, where the documents disagree.

use modelarts_api::Offset;

use crate::pagination::pager::window::Window;

/// How sure it is what the offset counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It is documented, said by the caller, or was found out.
    Known,
    /// The documents disagree. The number of pages that did not settle it.
    Disputed(u32),
}

/// The pages that may leave open what the offset counts. Each is followed by the first
/// page, where both meanings agree.
const MAX_DOUBTS: u32 = 6;

impl Meaning {
    pub(super) fn is_known(self) -> bool {
        self == Self::Known
    }

    /// Returns whether a page did not settle it.
    pub(super) fn is_in_doubt(self) -> bool {
        matches!(self, Self::Disputed(1..))
    }

    /// The meaning after one more page that did not settle it; `None` when there were too
    /// many of them.
    pub(super) fn with_doubt(self) -> Option<Self> {
        match self {
            Self::Disputed(doubts) if doubts < MAX_DOUBTS => Some(Self::Disputed(doubts + 1)),
            _ => None,
        }
    }
}

/// The other one of the two meanings that are disputed.
pub(super) fn other_meaning(meaning: Offset) -> Offset {
    match meaning {
        Offset::PageIndex => Offset::Record,
        _ => Offset::PageIndex,
    }
}

/// The answer of a page to the question if the meaning by which it was asked for is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The offset counts what it was taken to count.
    Confirmed,
    /// It counts the other.
    Disproved,
    /// The list has changed too much to tell.
    Open,
}

/// A page that was asked for by one meaning, and the page before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence<'a> {
    pub(super) meaning: Offset,
    pub(super) window: &'a Window,
    /// How many rows came.
    pub(super) rows: u64,
    /// How many the service says there are.
    pub(super) total: Option<u64>,
    /// The rows that came.
    pub(super) page: &'a [u64],
    /// The rows of the page before, which began at row `start`.
    pub(super) previous: &'a [u64],
    pub(super) start: u64,
    /// The list has as many rows as it had then.
    pub(super) unmoved: bool,
}

impl Evidence<'_> {
    /// Compares the rows that came with those that each meaning lets expect, or their number,
    /// where none came.
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
            // Equal rows may only look like rows that have moved, and nothing moved.
            (true, false) if self.unmoved && !self.is_exact() => Verdict::Open,
            (true, false) => Verdict::Confirmed,
            (false, true) => Verdict::Disproved,
            (false, false) => Verdict::Open,
            // Many rows are equal to others.
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

    /// The number of the first row by this meaning, and by the other.
    fn starts(&self) -> (u64, u64) {
        let other = match self.meaning {
            Offset::PageIndex => self.window.offset,
            _ => self.window.offset * u64::from(self.window.limit),
        };
        (self.window.start, other)
    }

    /// How many rows a page that begins there has, as the service counts.
    fn expected(&self, start: u64) -> Option<u64> {
        let rows = self.total?.saturating_sub(start);
        Some(rows.min(u64::from(self.window.limit)))
    }

    /// Where row 0 of the page before is on this page if this one begins with row `start`.
    fn shift(&self, start: u64) -> i64 {
        self.start.cast_signed() - start.cast_signed()
    }

    /// Returns whether all rows of the page before that must be on this page by this meaning are in
    /// their places.
    fn is_exact(&self) -> bool {
        let (this, _) = self.starts();
        self.equal_at(self.shift(this))
            .is_none_or(|(equal, all)| equal == all)
    }

    /// How many rows of the page before are on this one, moved by `shift`, and how many there
    /// can be; `None` if there can be none.
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

    /// Returns whether the page can begin with row `start`: half of the rows that it then has in
    /// common with the page before are there, moved by a few places at most.
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
