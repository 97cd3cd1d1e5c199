//! Comparison of each window of a list with the previous one, which shows whether the order of the
//! rows holds, and the unit of offsets.

use std::{
    collections::{HashMap, HashSet},
    mem,
};

use crate::{
    list_position::OffsetUnit,
    pagination::{answer::Answer, window::start_of},
};

/// The rows of the previous window.
#[derive(Debug, Default)]
pub(super) struct PreviousWindow {
    rows: Vec<u64>,
    /// The number of the first row.
    start: u64,
    /// The number of rows of the list at that time, if the service stated it.
    count: Option<u64>,
    /// `true` if the last row was new, so that no row that was read follows it.
    is_frontier: bool,
    /// The rows of earlier windows that were missing in the next one. Either inserted rows pushed
    /// them farther back, or that response was generated earlier.
    missing: HashSet<u64>,
}

/// Doubt that a pass has read every row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doubt {
    /// The rows kept their order.
    #[default]
    None,
    /// The order of the rows may have changed, because insertions or removals at a single position
    /// do not explain how the rows moved.
    Moved,
    /// The order of the rows has changed.
    Reordered,
}

impl PreviousWindow {
    pub(super) fn new(rows: Vec<u64>, start: u64, count: Option<u64>) -> Self {
        Self { rows, start, count, ..Self::default() }
    }

    pub(super) fn of(answer: &Answer) -> Self {
        let Answer { window, hashes, counts, .. } = answer;
        Self::new(hashes.clone(), window.start, counts.required)
    }

    /// Compares the next window with this one. `is_seen` returns `true` for a row that this pass
    /// has read.
    ///
    /// Insertions and removals preserve the order of the other rows, and move them by the change
    /// of the number of rows. A window at the beginning of the list hides no row.
    pub(super) fn compare(&self, now: &Self, is_seen: impl Fn(u64) -> bool) -> Doubt {
        let (places, places_now) = (places(&self.rows), places(&now.rows));
        // Indexes of the rows that occur exactly once in both windows.
        let common = now.rows.iter().filter_map(|row| {
            let place = |places: &HashMap<u64, Option<i64>>| places.get(row).copied().flatten();
            Some((place(&places)?, place(&places_now)?))
        });
        let common: Vec<(i64, i64)> = common.collect();
        let is_inverted = common.windows(2).any(|pair| pair[0].0 >= pair[1].0);
        let first = now.rows.iter().position(|row| places.contains_key(row));
        let following = &now.rows[first.unwrap_or(now.rows.len())..];
        let is_returned =
            |row: &u64| !places.contains_key(row) && !self.missing.contains(row) && is_seen(*row);
        if is_inverted || self.is_frontier && following.iter().any(is_returned) {
            return Doubt::Reordered;
        }
        let counts = self.count.zip(now.count);
        let change = counts.map(|(before, now)| now.cast_signed() - before.cast_signed());
        let shift = now.start.cast_signed() - self.start.cast_signed();
        let is_moved = |(before, now): &(i64, i64)| {
            let moved = shift + now - before;
            moved != 0 && Some(moved) != change
        };
        let last = now.rows.iter().rposition(|row| is_seen(*row)).unwrap_or(0);
        let is_preceded = now.rows[..last].iter().any(|row| !is_seen(*row));
        let mut from = self.rows.iter().skip_while(|row| !places_now.contains_key(*row));
        let is_gap = from.any(|row| !places_now.contains_key(row));
        match now.start > 0 && (is_preceded || is_gap || common.iter().any(is_moved)) {
            true => Doubt::Moved,
            false => Doubt::None,
        }
    }

    /// Replaces this window by the next one.
    pub(super) fn replace(&mut self, mut now: Self, is_seen: impl Fn(u64) -> bool) {
        let rows: HashSet<u64> = now.rows.iter().copied().collect();
        let first = self.rows.iter().position(|row| rows.contains(row));
        let after = self.rows[first.unwrap_or(0)..].iter();
        now.missing = mem::take(&mut self.missing);
        now.missing.extend(after.filter(|row| !rows.contains(*row)));
        now.is_frontier = now.rows.last().is_none_or(|row| !is_seen(*row));
        *self = now;
    }

    /// Returns the number of rows that also occur on this page, moved by `shift`, and the number of
    /// rows that were compared; `None` if no rows can be compared.
    fn shared(&self, page: &[u64], shift: i64) -> Option<(usize, usize)> {
        let first = usize::try_from(-shift).unwrap_or(0);
        let skipped = usize::try_from(shift).unwrap_or(0);
        let both = self.rows.iter().skip(first).zip(page.iter().skip(skipped));
        let (equal, all) = both.fold((0, 0), |(equal, all), (before, now)| {
            (equal + usize::from(before == now), all + 1)
        });
        (all > 0).then_some((equal, all))
    }

    /// Compares the rows of a page with the rows that are expected in each unit of offsets; for an
    /// empty page, compares the number of rows. The result is `true` if the assumed unit is right,
    /// `false` if the other unit is right, and `None` if the page is not conclusive.
    pub(super) fn has_unit(&self, unit: OffsetUnit, answer: &Answer) -> Option<bool> {
        let Answer { window, counts, hashes: page, .. } = answer;
        let rows = answer.rows();
        let limit = u64::from(window.limit);
        // Number of the first row of the page, in the assumed unit and in the other unit.
        let this = window.start;
        let other = start_of(unit.other(), window.offset, window.limit);
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
        let shift = |start: u64| self.start.cast_signed() - start.cast_signed();
        let near = this.abs_diff(other).min(limit).cast_signed() / 4;
        // The page may begin with row `start` if it then shares rows with the previous page, and at
        // least half of the shared rows match when moved by a few positions at most.
        let agrees = |start: u64| {
            if expected(start) == Some(0) {
                return false;
            }
            let shifts = shift(start) - near..=shift(start) + near;
            let shared = shifts.filter_map(|shift| self.shared(page, shift));
            let mut shared = shared.peekable();
            if shared.peek().is_some() {
                return shared.any(|(equal, all)| 2 * equal >= all);
            }
            let known = |row: &&u64| self.rows.contains(row);
            2 * page.iter().filter(known).count() < page.len()
        };
        let exact = self.shared(page, shift(this));
        let exact = exact.map(|(equal, all)| equal == all);
        let unmoved = counts.required.is_some() && counts.required == self.count;
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

/// Returns the index of each row; the index is `None` for a row that occurs more than once.
fn places(rows: &[u64]) -> HashMap<u64, Option<i64>> {
    let mut places = HashMap::with_capacity(rows.len());
    for (at, row) in (0_i64..).zip(rows) {
        let again = places.entry(*row).and_modify(|place| *place = None);
        again.or_insert(Some(at));
    }
    places
}

#[cfg(test)]
mod tests;
