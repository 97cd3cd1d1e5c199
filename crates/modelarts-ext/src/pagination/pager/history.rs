//! The rows of a list that were read.

use std::{
    collections::{HashMap, VecDeque, hash_map::RandomState},
    hash::BuildHasher,
};

/// How many of the last rows are remembered in full: two of the largest windows.
const RECENT_ROWS: usize = 200;
/// How many rows are remembered by their hash: about 6 MB. A longer list is not read again,
/// and ends with an error when its rows change places.
const HASHED_ROWS: usize = 100_000;

/// Of how many rows without an id three quarters have to agree. Runs of equal ones should be
/// shorter.
const MIN_AGREEMENT: usize = 6;

/// How many rows before a run of equal ones are looked at besides, because some may have
/// gone meanwhile.
const ROWS_BEFORE_RUN: usize = 8;

/// Points for a row that agrees, and what is taken off for one that went away, and for
/// one that came in: ten that came in together should not look like one that went away.
const MATCH_SCORE: i32 = 20;
const DELETION_PENALTY: i32 = 10;
const INSERTION_PENALTY: i32 = 3;

/// The rows that were read: the last ones by their keys, many more by a hash of it, so that
/// none comes twice.
#[derive(Clone, Debug)]
pub(super) struct RowHistory {
    /// No two rows have the same key.
    unique: bool,
    recent: VecDeque<String>,
    counts: HashMap<u64, Count>,
    /// The rows of the counts, in the order in which they came.
    order: VecDeque<u64>,
    hasher: RandomState,
    /// How many rows were given.
    given: u64,
    /// How many rows were seen since the last new row, or change of the total.
    confirmed: u64,
    epoch: u32,
    /// Rows were read that are not among the recent ones.
    forgotten: bool,
    /// Rows were read that are not known: by another stream, or very many.
    incomplete: bool,
}

/// How often rows with one key came.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// How many were given.
    given: u32,
    /// How many one page held at most, of those in this epoch.
    confirmed: u32,
    epoch: u32,
}

impl RowHistory {
    pub(super) fn new(unique: bool) -> Self {
        Self {
            unique,
            recent: VecDeque::new(),
            counts: HashMap::new(),
            order: VecDeque::new(),
            hasher: RandomState::new(),
            given: 0,
            confirmed: 0,
            epoch: 0,
            forgotten: false,
            incomplete: false,
        }
    }

    /// Takes the rows before a saved position as given. `more`: whether there are others before
    /// these.
    pub(super) fn resume(&mut self, last: Vec<String>, more: bool) {
        let hashes = self.hashes(&last);
        self.admit(&hashes, 0);
        self.remember(last);
        self.forgotten |= more;
        self.incomplete = more;
    }

    /// Returns whether rows were read that are not remembered in full.
    pub(super) fn has_forgotten(&self) -> bool {
        self.forgotten
    }

    /// Returns whether rows were read that are not known: by another stream, or very many.
    pub(super) fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// Returns whether nothing that was read can come as new.
    pub(super) fn is_sure(&self) -> bool {
        !self.incomplete && (self.unique || !self.forgotten)
    }

    /// How many rows are remembered in full.
    pub(super) fn len(&self) -> usize {
        self.recent.len()
    }

    /// How many rows were given.
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// How many rows were seen since [`confirm`](Self::confirm) began anew.
    pub(super) fn confirmed(&self) -> u64 {
        self.confirmed
    }

    pub(super) fn hashes(&self, keys: &[String]) -> Vec<u64> {
        keys.iter().map(|key| self.hasher.hash_one(key)).collect()
    }

    pub(super) fn contains(&self, hash: u64) -> bool {
        self.counts.get(&hash).is_some_and(|count| count.given > 0)
    }

    /// The last keys, the oldest of them first.
    pub(super) fn last(&self, most: usize) -> Vec<String> {
        let skip = self.recent.len().saturating_sub(most);
        self.recent.iter().skip(skip).cloned().collect()
    }

    /// By how many rows windows should overlap: `usual`, or more when what was read ends
    /// with rows that are equal, or take turns, and would look the same if they had
    /// shifted. Up to `most`.
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

    /// Nothing of what was read is there any more. Rows without an id that come now
    /// are others, even if they look the same.
    pub(super) fn forget_all(&mut self) {
        if !self.unique {
            self.recent.clear();
            self.counts.clear();
            self.order.clear();
        }
    }

    /// Tells for each row of a page if it is given: those with an id that did not come before,
    /// and of equal rows without an id as many as this page holds more than any before. The rows
    /// in front of `first` were read, even if they are not known.
    pub(super) fn admit(&mut self, hashes: &[u64], first: usize) -> Vec<bool> {
        let mut page: HashMap<u64, u32> = HashMap::new();
        let admitted = hashes.iter().enumerate().map(|(at, hash)| {
            let times = page.entry(*hash).or_default();
            *times += 1;
            let times = if self.unique { 1 } else { *times };
            let count = self.counts.entry(*hash).or_default();
            let new = times > count.given;
            if new {
                count.given = times;
                self.order.push_back(*hash);
            }
            new && at >= first
        });
        let admitted: Vec<bool> = admitted.collect();
        self.given += admitted.iter().filter(|new| **new).count() as u64;
        self.forget();
        admitted
    }

    fn forget(&mut self) {
        let old = self.order.len().saturating_sub(HASHED_ROWS);
        self.incomplete |= old > 0;
        for hash in self.order.drain(..old) {
            if let Some(count) = self.counts.get_mut(&hash) {
                count.given = count.given.saturating_sub(1);
                if count.given == 0 {
                    self.counts.remove(&hash);
                }
            }
        }
    }

    /// Counts the rows of a page that were not seen in this epoch. `anew`: it begins with
    /// this page.
    pub(super) fn confirm(&mut self, hashes: &[u64], anew: bool) {
        if anew {
            self.epoch += 1;
            self.confirmed = 0;
        }
        let mut page: HashMap<u64, u32> = HashMap::new();
        for hash in hashes {
            let times = page.entry(*hash).or_default();
            *times += 1;
            let times = if self.unique { 1 } else { *times };
            let Some(count) = self.counts.get_mut(hash) else {
                continue;
            };
            if count.epoch != self.epoch {
                count.epoch = self.epoch;
                count.confirmed = 0;
            }
            self.confirmed += u64::from(times.saturating_sub(count.confirmed));
            count.confirmed = count.confirmed.max(times);
        }
    }

    /// Remembers the last rows in full.
    pub(super) fn remember(&mut self, keys: impl IntoIterator<Item = String>) {
        self.recent.extend(keys);
        let old = self.recent.len().saturating_sub(RECENT_ROWS);
        self.recent.drain(..old);
        self.forgotten |= old > 0;
    }

    /// How many rows at the beginning of a window were read, or stand before one that was.
    /// `overlap` says how many that should be, if the list has not shifted. `None`: not
    /// one of them is known, though one should be, so rows may be missing between what was
    /// read and the window.
    pub(super) fn split(&self, keys: &[String], overlap: Option<usize>) -> Option<usize> {
        let first = overlap == Some(0);
        if self.unique {
            let known = |key| self.contains(self.hasher.hash_one(key));
            return keys.iter().position(known).or(first.then_some(0));
        }
        if self.recent.is_empty() && first {
            return Some(0);
        }
        match overlap.filter(|overlap| self.ends_with(keys, *overlap)) {
            Some(overlap) => Some(overlap),
            None => self.align(keys, overlap).or(first.then_some(0)),
        }
    }

    /// Returns whether what was read ends with the first `count` rows of the window.
    fn ends_with(&self, keys: &[String], count: usize) -> bool {
        let start = self.recent.len().checked_sub(count);
        start.is_some_and(|start| {
            count > 0 && count <= keys.len() && self.recent.iter().skip(start).eq(&keys[..count])
        })
    }

    /// Where in a window the new rows begin.
    ///
    /// The end of what was read is laid over the beginning of the window so that most
    /// of it agrees (an alignment as of sequences in biology), with points for a row
    /// that is in both, and some off for one that came in or went away in between. What
    /// stands before the first agreement costs next to nothing.
    ///
    /// A few rows agree too easily where some are equal. Then the answer is none as
    /// long as there may be a better place to look, which is so where something is
    /// expected.
    fn align(&self, keys: &[String], overlap: Option<usize>) -> Option<usize> {
        // Of equal rows the first ones are those that were read.
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
        let best = row
            .iter()
            .copied()
            .max()
            .filter(|best| *best >= enough.max(1))?;
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

    /// The rows of a window that are given after these, if it is known where it is.
    fn given(unique: bool, read: &str, window: &str, overlap: Option<usize>) -> Option<String> {
        let mut known = known(unique, read);
        let window = keys(window);
        known.split(&window, overlap)?;
        let new = known.admit(&known.hashes(&window), 0);
        let rows = window.into_iter().zip(new);
        Some(rows.filter(|(_, new)| *new).map(|(row, _)| row).collect())
    }

    /// The rows of a window behind those that were read.
    fn behind(read: &str, window: &str, overlap: Option<usize>) -> Option<String> {
        let split = known(false, read).split(&keys(window), overlap)?;
        Some(window.chars().skip(split).collect())
    }

    #[test]
    fn rows_with_an_id_are_known_by_it() {
        let new = |window, overlap| given(true, "abcdef", window, Some(overlap));
        assert_eq!(new("efgh", 2).as_deref(), Some("gh"));
        // Two rows were inserted before, one deleted, `f` itself deleted.
        assert_eq!(new("cdef", 2).as_deref(), Some(""));
        assert_eq!(new("fghi", 2).as_deref(), Some("ghi"));
        assert_eq!(new("eghi", 2).as_deref(), Some("ghi"));
        // One came into the middle, one is there twice.
        assert_eq!(new("exfgg", 2).as_deref(), Some("xg"));
        assert_eq!(new("ghij", 2), None);
        assert_eq!(new("", 2), None);
        assert_eq!(new("ghij", 0).as_deref(), Some("ghij"));
    }

    #[test]
    fn rows_without_an_id_are_known_by_their_neighbours() {
        let new = |read, window| behind(read, window, Some(4));
        assert_eq!(new("abcdef", "cdefgh").as_deref(), Some("gh"));
        // Equal rows: what is expected comes first.
        assert_eq!(new("xaaaaa", "aaaaaab").as_deref(), Some("aab"));
        // Shifted by two to the right, and a row that came into the middle.
        assert_eq!(new("abcdef", "abcdef").as_deref(), Some(""));
        assert_eq!(new("abcdef", "cdxefg").as_deref(), Some("g"));
        // Too few agree.
        assert_eq!(new("abcdef", "efghij"), None);
        assert_eq!(new("abcdef", "ghijkl"), None);
        assert_eq!(new("abcdef", ""), None);
    }

    #[test]
    fn rows_without_an_id_are_searched_for() {
        let new = |read, window| behind(read, window, None);
        assert_eq!(new("abcdef", "efghij").as_deref(), Some("ghij"));
        // Deleted at the end and in the middle.
        assert_eq!(new("abcdef", "cdeghi").as_deref(), Some("ghi"));
        assert_eq!(new("abcdef", "cefghi").as_deref(), Some("ghi"));
        // One equal row goes, another comes.
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
            known.confirmed()
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
        // Eight rows before the run.
        assert_eq!(overlap("abcdefaaaaaa"), 14);
        assert_eq!(overlap("xyabababab"), 16);
        assert_eq!(overlap("aaaaaaaaaaaaaaaa"), 20);
    }

    #[test]
    fn the_last_rows_are_remembered_in_full() {
        let mut known = RowHistory::new(true);
        known.remember((0..RECENT_ROWS).map(|row| row.to_string()));
        assert!(!known.has_forgotten());
        known.remember(["last".to_owned()]);
        assert!(known.has_forgotten());
        assert_eq!(known.len(), RECENT_ROWS);
        assert_eq!(
            known.last(2),
            [(RECENT_ROWS - 1).to_string(), "last".into()]
        );
    }

    #[test]
    fn memory_is_bounded() {
        for unique in [true, false] {
            let mut known = RowHistory::new(unique);
            let rows: Vec<u64> = (0..HASHED_ROWS as u64).collect();
            assert!(known.admit(&rows, 0).iter().all(|new| *new));
            assert!(!known.is_incomplete());
            assert_eq!(
                known.admit(&[7, u64::MAX, u64::MAX], 0),
                [false, true, !unique]
            );
            assert!(known.is_incomplete());
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
