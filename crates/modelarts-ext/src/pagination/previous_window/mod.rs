//! Comparison of each window of a list with the previous window, which detects rows that moved.

use std::collections::{HashMap, HashSet};

use crate::pagination::answer::Answer;

/// Rows of the previous window.
#[derive(Debug)]
pub(super) struct PreviousWindow {
    pub(super) rows: Vec<u64>,
    /// Number of the first row.
    start: u64,
    /// Number of rows of the list when the window was read, if the service stated the number.
    count: Option<u64>,
}

/// Doubt that a pass has read every row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doubt {
    /// The rows kept their order.
    #[default]
    None,
    /// Rows may be missing, because the change of the number of rows does not explain how the rows
    /// moved.
    Moved,
    /// The order of the rows has changed, or a search did not find the rows that were read.
    Reordered,
}

impl PreviousWindow {
    pub(super) fn new(rows: Vec<u64>, start: u64, count: Option<u64>) -> Self {
        Self { rows, start, count }
    }

    pub(super) fn of(answer: &Answer) -> Self {
        Self::new(answer.hashes.clone(), answer.window.start, answer.counts.required)
    }

    /// Returns the number of distinct rows, and how many of them are among `others`.
    pub(super) fn distinct(&self, others: &[u64]) -> (usize, usize) {
        let rows: HashSet<u64> = self.rows.iter().copied().collect();
        (rows.len(), rows.iter().filter(|row| others.contains(row)).count())
    }

    /// Returns `true` if a window after the first has a new row before a known row, lacks a row
    /// between known rows, or if rows moved by another number than the change of the count.
    pub(super) fn is_moved(&self, now: &Self, is_seen: impl Fn(u64) -> bool) -> bool {
        let (places, places_now) = (places(&self.rows), places(&now.rows));
        // Indexes of the rows that occur exactly once in both windows.
        let mut common = now.rows.iter().filter_map(|row| {
            let place = |places: &HashMap<u64, Option<i64>>| places.get(row).copied().flatten();
            Some((place(&places)?, place(&places_now)?))
        });
        let counts = self.count.zip(now.count);
        let change = counts.map(|(before, now)| now.cast_signed() - before.cast_signed());
        let shift = now.start.cast_signed() - self.start.cast_signed();
        let is_moved = |(before, now): (i64, i64)| {
            let moved = shift + now - before;
            moved != 0 && Some(moved) != change
        };
        let last = now.rows.iter().rposition(|row| is_seen(*row)).unwrap_or(0);
        let is_preceded = now.rows[..last].iter().any(|row| !is_seen(*row));
        let mut from = self.rows.iter().skip_while(|row| !places_now.contains_key(*row));
        let is_gap = from.any(|row| !places_now.contains_key(row));
        now.start > 0 && (is_preceded || is_gap || common.any(is_moved))
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
