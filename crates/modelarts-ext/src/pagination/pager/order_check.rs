//! Detection of lists whose order changes while they are read.

use std::collections::{HashMap, HashSet};

/// Compares each page with the page before.
///
/// Inserting and removing rows keeps the order of the others. So two rows that change places, or a
/// row of an earlier page behind the end of the page before, mean that the order itself changed.
/// The service does this to rows with equal times, where it sorts by nothing else.
#[derive(Clone, Debug, Default)]
pub(super) struct OrderCheck {
    /// The rows of the page before, in their order.
    previous: Vec<u64>,
    /// The number of the first of them, and the number of rows of the list at that time.
    start: u64,
    total: Option<u64>,
    /// Rows of earlier pages that were missing on the next page: pushed farther, or that page was
    /// made earlier, because concurrent requests can overtake each other.
    pending: HashSet<u64>,
    /// `true` if no known row lies behind the page before, except pending ones.
    at_end: bool,
}

impl OrderCheck {
    /// The rows of the page before.
    pub(super) fn previous(&self) -> &[u64] {
        &self.previous
    }

    /// The number of the first row of the page before.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The number of rows of the list at that time, if the service stated it.
    pub(super) fn total(&self) -> Option<u64> {
        self.total
    }

    /// Returns `true` if a page contradicts the order of the page before. `is_known`: the row was
    /// on an earlier page.
    pub(super) fn is_broken_by(&self, rows: &[u64], is_known: impl Fn(u64) -> bool) -> bool {
        let (before, now) = (positions(&self.previous), positions(rows));
        let common: Vec<usize> = rows
            .iter()
            .filter(|row| now.get(row).is_some_and(Option::is_some))
            .filter_map(|row| before.get(row).copied().flatten())
            .collect();
        let inverted = common.windows(2).any(|pair| pair[0] >= pair[1]);
        let first = rows.iter().position(|row| before.contains_key(row));
        let returned =
            |row: &u64| !before.contains_key(row) && !self.pending.contains(row) && is_known(*row);
        inverted || self.at_end && first.is_some_and(|first| rows[first..].iter().any(returned))
    }

    /// Returns `true` if insertions or removals in one place since the page before explain the rows
    /// of a page that begins with row `start`: they moved by the change of the total or not at all,
    /// and no new row precedes them. Otherwise rows may have changed places as well.
    pub(super) fn explains(
        &self,
        rows: &[u64],
        start: u64,
        total: Option<u64>,
        is_known: impl Fn(u64) -> bool,
    ) -> bool {
        let (Some(before), Some(now)) = (self.total, total) else {
            return true;
        };
        let changed = now.cast_signed() - before.cast_signed();
        let (previous, current) = (positions(&self.previous), positions(rows));
        let mut common = rows.iter().filter_map(|row| {
            let before = self.start + previous.get(row).copied()?? as u64;
            let now = start + current.get(row).copied()?? as u64;
            Some(now.cast_signed() - before.cast_signed())
        });
        let first = rows.iter().position(|row| previous.contains_key(row));
        let new = first.is_some_and(|first| rows[..first].iter().any(|row| !is_known(*row)));
        !new && common.all(|moved| moved == 0 || moved == changed)
    }

    /// Stores the page for the comparison with the next one.
    pub(super) fn take(&mut self, rows: Vec<u64>, start: u64, total: Option<u64>) {
        let now: HashSet<u64> = rows.iter().copied().collect();
        let first = self.previous.iter().position(|row| now.contains(row));
        self.at_end = self.previous.is_empty() || self.at_end && first.is_some();
        let missing = self.previous[first.unwrap_or(0)..].iter();
        let missing = missing.filter(|row| !now.contains(*row));
        if self.at_end {
            self.pending.extend(missing);
        } else {
            self.pending.clear();
        }
        self.previous = rows;
        self.start = start;
        self.total = total;
    }
}

/// The index of each row; `None` for a row that is there more than once.
fn positions(rows: &[u64]) -> HashMap<u64, Option<usize>> {
    let mut positions = HashMap::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        positions
            .entry(*row)
            .and_modify(|position| *position = None)
            .or_insert(Some(at));
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `true` if the order of the last of these pages contradicts those before.
    fn changed(pages: &[&[u64]]) -> bool {
        let mut known = HashSet::new();
        let mut check = OrderCheck::default();
        let mut changed = false;
        for page in pages {
            changed = check.is_broken_by(page, |row| known.contains(&row));
            check.take(page.to_vec(), 0, None);
            known.extend(page.iter().copied());
        }
        changed
    }

    #[test]
    fn inserted_and_removed_rows_keep_the_order() {
        for last in [
            &[3, 4, 5, 6][..],
            // Two inserted at the head, one in the middle, one removed, all removed.
            &[1, 2, 3, 4, 5],
            &[3, 90, 4, 5, 6],
            &[3, 5, 6],
            &[6, 7],
            &[],
        ] {
            assert!(!changed(&[&[1, 2, 3, 4, 5], last]), "{last:?}");
        }
        assert!(!changed(&[&[1, 2, 3], &[2, 90, 91], &[90, 91, 3, 4]]));
        // Equal rows without an id.
        assert!(!changed(&[&[1, 2, 2, 2], &[2, 2, 2, 3]]));
    }

    #[test]
    fn rows_that_change_places_are_detected() {
        assert!(changed(&[&[1, 2, 3, 4, 5], &[4, 3, 5, 6]]));
        // 1 was read, and comes again behind rows that were read after it.
        assert!(changed(&[&[1, 2, 3], &[2, 3, 4, 5], &[4, 5, 1, 6]]));
    }

    #[test]
    fn rows_move_by_the_change_of_the_total() {
        let explains = |page: &[u64], start, total| {
            let mut check = OrderCheck::default();
            check.take(vec![1, 2, 3, 4], 10, Some(20));
            check.explains(page, start, Some(total), |row| row < 5)
        };
        assert!(explains(&[3, 4, 5], 12, 20));
        // One or two inserted, at the head or farther behind; two removed.
        assert!(explains(&[2, 3, 4], 12, 21));
        assert!(explains(&[3, 4, 5], 12, 22));
        assert!(explains(&[4], 11, 18));
        assert!(explains(&[7, 8], 12, 21));
        assert!(!explains(&[2, 3, 4], 12, 20));
        assert!(!explains(&[2, 3, 4], 12, 22));
        assert!(!explains(&[9, 3, 4], 11, 20));
        assert!(!explains(&[4, 5], 12, 20));
        assert!(!explains(&[2, 3, 4], 12, 18));
    }
}
