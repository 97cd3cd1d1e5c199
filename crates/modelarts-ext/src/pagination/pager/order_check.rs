//! Detection of lists whose order changes while they are read.

use std::collections::{HashMap, HashSet};

/// Comparison of each page with the previous page.
///
/// Insertions and removals preserve the order of the other rows. The order itself has therefore
/// changed if two rows are swapped, or if a row of an earlier page follows the end of the previous
/// page. The service may return rows with equal times in any order, because it sorts by time only.
#[derive(Debug, Default)]
pub(super) struct OrderCheck {
    /// The rows of the previous page, in their order.
    pub(super) rows: Vec<u64>,
    /// The number of the first row of the previous page, followed by the total number of rows at
    /// that time, if the service stated it.
    pub(super) start: u64,
    pub(super) total: Option<u64>,
    /// Rows of earlier pages that were missing on the next page. Either inserted rows pushed them
    /// farther back, or that page was generated earlier, because concurrent requests can overtake
    /// each other.
    pending: HashSet<u64>,
    /// `true` if no known row follows the previous page, except pending ones.
    at_end: bool,
}

/// Change of the row order since the previous page.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderChange {
    /// `true` if the rows contradict the order of the previous page.
    pub(super) is_certain: bool,
    /// `true` if the order may have changed, because insertions or removals at a single position do
    /// not explain the rows: they moved by a number other than the change of the total, or a new
    /// row precedes them.
    pub(super) is_possible: bool,
}

impl OrderCheck {
    /// Compares a page whose first row has the number `start` with the previous page. `is_known`
    /// returns `true` for a row of an earlier page.
    pub(super) fn compare(
        &self,
        rows: &[u64],
        start: u64,
        total: Option<u64>,
        is_known: impl Fn(u64) -> bool,
    ) -> OrderChange {
        let (before, now) = (positions(&self.rows), positions(rows));
        // Positions of the rows that occur exactly once on both pages.
        let common = rows.iter().filter_map(|row| {
            let (before, now) = (before.get(row).copied()??, now.get(row).copied()??);
            Some((before, now))
        });
        let common: Vec<(usize, usize)> = common.collect();
        let inverted = common.windows(2).any(|pair| pair[0].0 >= pair[1].0);
        let first = rows.iter().position(|row| before.contains_key(row));
        let (inserted, following) = rows.split_at(first.unwrap_or(0));
        let returned =
            |row: &u64| !before.contains_key(row) && !self.pending.contains(row) && is_known(*row);
        let returned = self.at_end && first.is_some() && following.iter().any(returned);

        let moved = self.total.zip(total).is_some_and(|(all_before, all_now)| {
            let changed = all_now.cast_signed() - all_before.cast_signed();
            let shift = start.cast_signed() - self.start.cast_signed();
            let moves = |(before, now): &(usize, usize)| {
                let moved = shift + now.cast_signed() as i64 - before.cast_signed() as i64;
                moved != 0 && moved != changed
            };
            inserted.iter().any(|row| !is_known(*row)) || common.iter().any(moves)
        });
        OrderChange {
            is_certain: inverted || returned,
            is_possible: moved,
        }
    }

    /// Returns the number of rows of the previous page that also occur on this page, moved by
    /// `shift`, and the number of rows that were compared; `None` if no rows can be compared.
    pub(super) fn shared(&self, page: &[u64], shift: i64) -> Option<(usize, usize)> {
        let first = usize::try_from(-shift).unwrap_or(0);
        let skipped = usize::try_from(shift).unwrap_or(0);
        let both = self.rows.iter().skip(first).zip(page.iter().skip(skipped));
        let (equal, all) = both.fold((0, 0), |(equal, all), (before, now)| {
            (equal + usize::from(before == now), all + 1)
        });
        (all > 0).then_some((equal, all))
    }

    /// Stores the page for the comparison with the next one.
    pub(super) fn take(&mut self, rows: Vec<u64>, start: u64, total: Option<u64>) {
        let now: HashSet<u64> = rows.iter().copied().collect();
        let first = self.rows.iter().position(|row| now.contains(row));
        self.at_end = self.rows.is_empty() || self.at_end && first.is_some();
        let missing = self.rows[first.unwrap_or(0)..].iter();
        let missing = missing.filter(|row| !now.contains(*row));
        if self.at_end {
            self.pending.extend(missing);
        } else {
            self.pending.clear();
        }
        self.rows = rows;
        self.start = start;
        self.total = total;
    }
}

/// Returns the index of each row; the index is `None` for a row that occurs more than once.
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

    /// Returns `true` if the order of the last page contradicts that of the earlier pages.
    fn changed(pages: &[&[u64]]) -> bool {
        let mut known = HashSet::new();
        let mut check = OrderCheck::default();
        let mut changed = false;
        for page in pages {
            changed = check
                .compare(page, 0, None, |row| known.contains(&row))
                .is_certain;
            check.take(page.to_vec(), 0, None);
            known.extend(page.iter().copied());
        }
        changed
    }

    #[test]
    fn inserted_and_removed_rows_keep_the_order() {
        for last in [
            &[3, 4, 5, 6][..],
            // Two rows inserted at the head, one row inserted in the middle, one row removed, and
            // all rows removed.
            &[1, 2, 3, 4, 5],
            &[3, 90, 4, 5, 6],
            &[3, 5, 6],
            &[6, 7],
            &[],
        ] {
            assert!(!changed(&[&[1, 2, 3, 4, 5], last]), "{last:?}");
        }
        assert!(!changed(&[&[1, 2, 3], &[2, 90, 91], &[90, 91, 3, 4]]));
        // Equal rows without an id do not show a changed order.
        assert!(!changed(&[&[1, 2, 2, 2], &[2, 2, 2, 3]]));
    }

    #[test]
    fn rows_that_change_places_are_detected() {
        assert!(changed(&[&[1, 2, 3, 4, 5], &[4, 3, 5, 6]]));
        // Row 1 was read, and occurs again after rows that were read later.
        assert!(changed(&[&[1, 2, 3], &[2, 3, 4, 5], &[4, 5, 1, 6]]));
    }

    #[test]
    fn rows_move_by_the_change_of_the_total() {
        let explains = |page: &[u64], start, total| {
            let mut check = OrderCheck::default();
            check.take(vec![1, 2, 3, 4], 10, Some(20));
            !check
                .compare(page, start, Some(total), |row| row < 5)
                .is_possible
        };
        assert!(explains(&[3, 4, 5], 12, 20));
        // One or two rows inserted at the beginning or farther back, and two rows removed.
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
