//! History of the rows that were read from a list, with which later pages are compared.

use std::{
    collections::{HashMap, VecDeque, hash_map::RandomState},
    hash::BuildHasher,
};

/// The number of most recent rows whose keys are stored: two of the largest windows.
const RECENT_ROWS: usize = 200;
/// The number of rows whose hashes are stored, which take about 6 MB. A longer list is not read
/// again, and ends with an error when the order of its rows changes.
const HASHED_ROWS: usize = 100_000;

/// The number of keys in a saved position.
pub(super) const SAVED_KEYS: u32 = 30;
/// The number of keys in a saved position if the last rows are a run of equal rows.
const SAVED_KEYS_IN_RUN: u32 = 75;

/// The threshold for rows without an id: the alignment must score at least as high as three
/// quarters of this number of matching rows. Runs of equal rows should be shorter.
const MIN_AGREEMENT: usize = 6;

/// The number of rows before a run of equal rows that the overlap includes, because some of them
/// may be removed.
const ROWS_BEFORE_RUN: usize = 8;

/// Alignment scores of a matching row, a removed row, and an inserted row. Ten rows inserted
/// together must not score like one removed row.
const MATCH_SCORE: i32 = 20;
const DELETION_PENALTY: i32 = 10;
const INSERTION_PENALTY: i32 = 3;

/// The rows that were read: keys of the most recent rows, and hashes of many more rows, so that no
/// row is returned twice.
#[derive(Debug, Default)]
pub(super) struct RowHistory {
    /// `true` if no two rows have the same key.
    unique: bool,
    recent: VecDeque<String>,
    /// The number of returned rows with each hash.
    counts: HashMap<u64, u32>,
    /// The hashes in `counts`, in the order in which the rows were read.
    order: VecDeque<u64>,
    hasher: RandomState,
    /// The number of returned rows.
    pub(super) given: u64,
    /// The number of rows read in the current epoch of [`confirm`](Self::confirm).
    pub(super) confirmed: u64,
    /// The largest number of rows with each hash on a single page of this epoch.
    page_counts: HashMap<u64, u32>,
    /// `true` if the keys of some rows that were read are no longer stored.
    forgotten: bool,
    /// `true` if the hashes of some rows that were read are unknown, because another stream read
    /// them or because they exceed the limit.
    pub(super) is_incomplete: bool,
}

impl RowHistory {
    pub(super) fn new(unique: bool) -> Self {
        Self {
            unique,
            ..Self::default()
        }
    }

    /// Records the rows before a saved position as already returned. `more` is `true` if the list
    /// has further rows before these.
    pub(super) fn resume(&mut self, last: Vec<String>, more: bool) {
        let hashes = self.hashes(&last);
        self.admit(&hashes, 0);
        self.remember(last);
        self.forgotten |= more;
        self.is_incomplete = more;
    }

    /// Returns `true` if the history is complete enough that no known row can be mistaken for a new
    /// row.
    pub(super) fn is_sure(&self) -> bool {
        !self.is_incomplete && (self.unique || !self.forgotten)
    }

    /// Returns the number of rows whose keys are stored.
    pub(super) fn len(&self) -> usize {
        self.recent.len()
    }

    pub(super) fn hashes(&self, keys: &[String]) -> Vec<u64> {
        keys.iter().map(|key| self.hasher.hash_one(key)).collect()
    }

    pub(super) fn contains(&self, hash: u64) -> bool {
        self.counts.contains_key(&hash)
    }

    /// Returns the keys of the most recent rows for a saved position, oldest first, and `true` if
    /// the list has rows before these.
    pub(super) fn saved(&self) -> (Vec<String>, bool) {
        let most = self.overlap(SAVED_KEYS, SAVED_KEYS_IN_RUN) as usize;
        let skip = self.recent.len().saturating_sub(most);
        let last = self.recent.iter().skip(skip).cloned().collect();
        (last, self.forgotten || skip > 0)
    }

    /// Returns the number of rows by which the next window should overlap the rows that were read.
    /// The result is `usual`, or up to `most` if the last rows are equal or alternate, because such
    /// a sequence looks the same after a shift.
    pub(super) fn overlap(&self, usual: u32, most: u32) -> u32 {
        if self.unique {
            return usual;
        }
        let newest = || self.recent.iter().rev();
        let runs = (1..=usual as usize / 2).filter_map(|period| {
            let pairs = newest().zip(newest().skip(period));
            let again = pairs.take_while(|(row, before)| row == before).count();
            (again >= period).then_some(period + again)
        });
        let run = runs.max().map_or(0, |run| run + ROWS_BEFORE_RUN);
        usual.max(most.min(u32::try_from(run).unwrap_or(most)))
    }

    /// Forgets all rows, because every row that was read has been removed. Later rows without an id
    /// count as new, even if they equal earlier ones.
    pub(super) fn forget_all(&mut self) {
        if !self.unique {
            self.recent.clear();
            self.counts.clear();
            self.page_counts.clear();
            self.order.clear();
        }
    }

    /// Returns for each row on a page the number of equal rows up to and including it. For rows
    /// with an id, the number is 1.
    fn occurrences(&self, hashes: &[u64]) -> Vec<u32> {
        if self.unique {
            return vec![1; hashes.len()];
        }
        let mut page: HashMap<u64, u32> = HashMap::new();
        let numbers = hashes.iter().map(|hash| {
            let number = page.entry(*hash).or_default();
            *number += 1;
            *number
        });
        numbers.collect()
    }

    /// Determines which rows of a page are returned. A row with an id is returned if it was not
    /// read before. Of equal rows without an id, those in excess of the largest number on any
    /// earlier page are returned. The rows before `first` have been read, even if their hashes are
    /// unknown.
    pub(super) fn admit(&mut self, hashes: &[u64], first: usize) -> Vec<bool> {
        let mut admitted = Vec::with_capacity(hashes.len());
        for (hash, number) in hashes.iter().zip(self.occurrences(hashes)) {
            let count = self.counts.entry(*hash).or_default();
            let new = number > *count;
            if new {
                *count = number;
                self.order.push_back(*hash);
            }
            admitted.push(new && admitted.len() >= first);
        }
        self.given += admitted.iter().filter(|new| **new).count() as u64;
        self.forget();
        admitted
    }

    fn forget(&mut self) {
        let old = self.order.len().saturating_sub(HASHED_ROWS);
        self.is_incomplete |= old > 0;
        for hash in self.order.drain(..old) {
            if let Some(count) = self.counts.get_mut(&hash) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    self.counts.remove(&hash);
                }
            }
        }
    }

    /// Counts the rows of a page that were not read before in this epoch. `anew` is `true` if this
    /// page begins an epoch.
    pub(super) fn confirm(&mut self, hashes: &[u64], anew: bool) {
        if anew {
            self.page_counts.clear();
            self.confirmed = 0;
        }
        for (hash, number) in hashes.iter().zip(self.occurrences(hashes)) {
            if self.contains(*hash) {
                let most = self.page_counts.entry(*hash).or_default();
                self.confirmed += u64::from(number.saturating_sub(*most));
                *most = number.max(*most);
            }
        }
    }

    /// Stores the keys of the last rows.
    pub(super) fn remember(&mut self, keys: impl IntoIterator<Item = String>) {
        self.recent.extend(keys);
        let old = self.recent.len().saturating_sub(RECENT_ROWS);
        self.recent.drain(..old);
        self.forgotten |= old > 0;
    }

    /// Returns the number of rows at the beginning of a window that were read, or that precede a
    /// row that was read. `overlap` is the expected number if the list has not shifted. The result
    /// is `None` if an overlap is expected but no row is known, so that rows before the window may
    /// be missing.
    pub(super) fn split(&self, keys: &[String], overlap: Option<usize>) -> Option<usize> {
        let first = overlap == Some(0);
        if self.unique {
            let known = |key| self.contains(self.hasher.hash_one(key));
            return keys.iter().position(known).or(first.then_some(0));
        }
        // Returns `true` if these first rows of the window are the last rows that were read.
        let ends_with = |keys: &[String]| {
            let start = self.recent.len().checked_sub(keys.len());
            start.is_some_and(|start| self.recent.iter().skip(start).eq(keys))
        };
        let unmoved = overlap.filter(|overlap| *overlap > 0);
        let unmoved = unmoved.filter(|overlap| keys.get(..*overlap).is_some_and(ends_with));
        unmoved
            .or_else(|| self.align(keys, overlap))
            .or(first.then_some(0))
    }

    /// Returns the index of the first new row of a window.
    ///
    /// The function aligns the last rows that were read with the beginning of the window (sequence
    /// alignment). Matching rows increase the score; rows inserted or removed between them reduce
    /// it. Rows before the first match reduce it only slightly.
    ///
    /// If some rows are equal, a small number of matching rows can be a coincidence. If an overlap
    /// is expected, so that another window may match better, the result is then `None`.
    fn align(&self, keys: &[String], overlap: Option<usize>) -> Option<usize> {
        // Of several equal rows, the first are assumed to be those that were read.
        let floor = |at: usize| -INSERTION_PENALTY * at.min(5) as i32;
        let mut row: Vec<i32> = (0..=keys.len()).map(floor).collect();
        for read in &self.recent {
            let mut diagonal = row[0];
            for (at, key) in keys.iter().enumerate() {
                let above = row[at + 1];
                let agree = if read == key {
                    diagonal + MATCH_SCORE
                } else {
                    i32::MIN
                };
                let gap = (above - DELETION_PENALTY).max(row[at] - INSERTION_PENALTY);
                row[at + 1] = agree.max(gap).max(floor(at + 1));
                diagonal = above;
            }
        }
        let enough = overlap.map_or(1, |overlap| {
            MATCH_SCORE * 3 / 4 * MIN_AGREEMENT.min(overlap).min(self.recent.len()) as i32
        });
        let best = row.iter().copied().max();
        let best = best.filter(|best| *best >= enough.max(1))?;
        (0..row.len())
            .filter(|at| row[*at] == best)
            .min_by_key(|at| overlap.map_or(0, |overlap| at.abs_diff(overlap)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        text.chars().map(String::from).collect()
    }

    fn known(unique: bool, read: &str) -> RowHistory {
        let mut known = RowHistory::new(unique);
        let read = keys(read);
        let hashes = known.hashes(&read);
        known.admit(&hashes, 0);
        known.remember(read);
        known
    }

    /// Returns the new rows of `window` after the rows of `read` were read; `None` if the position
    /// of the window is unknown.
    fn given(unique: bool, read: &str, window: &str, overlap: Option<usize>) -> Option<String> {
        let mut known = known(unique, read);
        let window = keys(window);
        known.split(&window, overlap)?;
        let new = known.admit(&known.hashes(&window), 0);
        let rows = window.into_iter().zip(new);
        Some(rows.filter(|(_, new)| *new).map(|(row, _)| row).collect())
    }

    /// Returns the rows of `window` that follow those of `read`.
    fn behind(read: &str, window: &str, overlap: Option<usize>) -> Option<String> {
        let split = known(false, read).split(&keys(window), overlap)?;
        Some(window.chars().skip(split).collect())
    }

    #[test]
    fn rows_with_an_id_are_known_by_it() {
        let new = |window, overlap| given(true, "abcdef", window, Some(overlap));
        assert_eq!(new("efgh", 2).as_deref(), Some("gh"));
        // Two rows inserted before the window, one row deleted, and row `f` deleted.
        assert_eq!(new("cdef", 2).as_deref(), Some(""));
        assert_eq!(new("fghi", 2).as_deref(), Some("ghi"));
        assert_eq!(new("eghi", 2).as_deref(), Some("ghi"));
        // One row inserted in the middle, and one row listed twice.
        assert_eq!(new("exfgg", 2).as_deref(), Some("xg"));
        assert_eq!(new("ghij", 2), None);
        assert_eq!(new("", 2), None);
        assert_eq!(new("ghij", 0).as_deref(), Some("ghij"));
    }

    #[test]
    fn rows_without_an_id_are_known_by_their_neighbours() {
        let new = |read, window| behind(read, window, Some(4));
        assert_eq!(new("abcdef", "cdefgh").as_deref(), Some("gh"));
        // Among equal rows, the alignment prefers the expected overlap.
        assert_eq!(new("xaaaaa", "aaaaaab").as_deref(), Some("aab"));
        // A shift by two rows to the right, and a row inserted in the middle.
        assert_eq!(new("abcdef", "abcdef").as_deref(), Some(""));
        assert_eq!(new("abcdef", "cdxefg").as_deref(), Some("g"));
        // Too few rows match.
        assert_eq!(new("abcdef", "efghij"), None);
        assert_eq!(new("abcdef", "ghijkl"), None);
        assert_eq!(new("abcdef", ""), None);
    }

    #[test]
    fn rows_without_an_id_are_searched_for() {
        let new = |read, window| behind(read, window, None);
        assert_eq!(new("abcdef", "efghij").as_deref(), Some("ghij"));
        // Rows deleted at the end and in the middle.
        assert_eq!(new("abcdef", "cdeghi").as_deref(), Some("ghi"));
        assert_eq!(new("abcdef", "cefghi").as_deref(), Some("ghi"));
        // One equal row removed, and another one inserted.
        assert_eq!(new("abccc", "bccdd").as_deref(), Some("dd"));
        assert_eq!(new("abcde", "bcdxxxxef").as_deref(), Some("f"));
        assert_eq!(new("abcdef", "ghijkl"), None);
    }

    #[test]
    fn equal_rows_come_as_often_as_one_page_held_them() {
        let new = |read, window| given(false, read, window, Some(4));
        assert_eq!(new("xaaaaa", "aaaaaab").as_deref(), Some("ab"));
        assert_eq!(new("abcdef", "cdxefg").as_deref(), Some("xg"));
        assert_eq!(new("abcdeb", "cdebbb").as_deref(), Some("b"));
    }

    #[test]
    fn rows_are_confirmed_once_in_an_epoch() {
        let mut known = known(false, "");
        let mut confirm = |page, anew| {
            let hashes = known.hashes(&keys(page));
            known.admit(&hashes, 0);
            known.confirm(&hashes, anew);
            known.confirmed
        };
        assert_eq!(confirm("abb", true), 3);
        assert_eq!(confirm("bbbc", false), 5);
        assert_eq!(confirm("abc", false), 5);
        assert_eq!(confirm("ab", true), 2);
    }

    #[test]
    fn runs_of_equal_rows_need_a_longer_overlap() {
        let overlap = |read: &str| {
            let mut known = RowHistory::new(false);
            known.remember(keys(read));
            known.overlap(10, 20)
        };
        assert_eq!(overlap("abcdefgh"), 10);
        assert_eq!(overlap("abcdeeee"), 12);
        // The overlap includes eight rows before the run.
        assert_eq!(overlap("abcdefaaaaaa"), 14);
        assert_eq!(overlap("xyabababab"), 16);
        assert_eq!(overlap("aaaaaaaaaaaaaaaa"), 20);
    }

    #[test]
    fn the_last_rows_are_remembered_in_full() {
        let mut known = RowHistory::new(true);
        known.remember((0..RECENT_ROWS).map(|row| row.to_string()));
        assert!(!known.forgotten);
        known.remember(["last".to_owned()]);
        assert!(known.forgotten);
        assert_eq!(known.len(), RECENT_ROWS);
        let (last, more) = known.saved();
        assert_eq!((last.len(), more), (SAVED_KEYS as usize, true));
        assert!(last.ends_with(&[(RECENT_ROWS - 1).to_string(), "last".into()]));
    }

    #[test]
    fn memory_is_bounded() {
        for unique in [true, false] {
            let mut known = RowHistory::new(unique);
            let rows: Vec<u64> = (0..HASHED_ROWS as u64).collect();
            assert!(known.admit(&rows, 0).iter().all(|new| *new));
            assert!(!known.is_incomplete);
            assert_eq!(
                known.admit(&[7, u64::MAX, u64::MAX], 0),
                [false, true, !unique]
            );
            assert!(known.is_incomplete);
            assert!(!known.contains(0));
            assert_eq!(
                (known.counts.len(), known.order.len()),
                match unique {
                    true => (HASHED_ROWS, HASHED_ROWS),
                    false => (HASHED_ROWS - 1, HASHED_ROWS),
                }
            );
        }
    }
}
