//! History of the rows that were read from a list, with which later windows are compared.

use std::{
    collections::{HashMap, HashSet, VecDeque, hash_map::RandomState},
    hash::BuildHasher,
    ops::Range,
};

use crate::pagination::previous_window::Doubt;

/// Number of most recent rows whose keys are stored: two pages of events.
const RECENT_ROWS: usize = 200;
/// Number of rows whose hashes are stored, which take about 6 MB. A longer list is not read a
/// second time.
const HASHED_ROWS: usize = 100_000;
/// Maximum number of keys in a saved position, usually and after a run of equal rows.
pub(super) const SAVED_KEYS: u32 = 30;
const SAVED_KEYS_IN_RUN: u32 = 75;
/// Threshold for rows without an id: the alignment must score at least as high as three quarters of
/// this number of matching rows. Longer runs of equal rows can be mistaken for each other.
const MIN_AGREEMENT: usize = 6;
/// Number of rows before a run of equal rows that the overlap includes, because some of these rows
/// may be removed.
const ROWS_BEFORE_RUN: usize = 8;
/// Alignment scores of a matching row, a removed row, and an inserted row. Ten rows inserted
/// together must not score like one removed row.
const MATCH_SCORE: i32 = 20;
const DELETION_PENALTY: i32 = 10;
const INSERTION_PENALTY: i32 = 3;

/// Keys of the most recent rows that were read, and hashes of many more rows.
#[derive(Debug, Default)]
pub(super) struct RowHistory {
    /// `true` if no two rows have the same key.
    unique: bool,
    hasher: RandomState,
    /// Keys of the last rows of this pass.
    recent: VecDeque<String>,
    rows: HashMap<u64, Known>,
    /// Hashes of the returned rows, in the order in which they were returned.
    order: VecDeque<u64>,
    /// Number of returned rows.
    pub(super) returned: u64,
    ranks: Ranks,
    /// Number of rows that the current pass has read.
    pub(super) seen: u64,
    /// `true` if other rows precede the rows in `recent`.
    has_earlier: bool,
    /// `true` if the hashes of some returned rows are unknown.
    pub(super) is_incomplete: bool,
}

/// Ranks of the rows: their places in the order of the rows that were read.
#[derive(Debug, Default)]
struct Ranks {
    /// Highest rank, and the highest rank before the current pass.
    last: u32,
    before: u32,
    /// Ranks of rows that may follow rows with higher ranks.
    displaced: Range<u32>,
}

/// Rows with the same key.
#[derive(Debug, Default)]
struct Known {
    rank: u32,
    /// Number of these rows that were returned.
    returned: u16,
    /// Largest number of these rows on a page of the last pass that read them.
    seen: u16,
}

impl RowHistory {
    pub(super) fn new(unique: bool) -> Self {
        Self { unique, ..Self::default() }
    }

    /// Records the rows before a saved position as returned. `more`: other rows precede these rows.
    pub(super) fn resume(&mut self, last: Vec<String>, more: bool) {
        let hashes = self.hashes(&last);
        self.admit(&hashes, 0);
        self.remember(last);
        self.has_earlier |= more;
        self.is_incomplete = more;
    }

    pub(super) fn begin_pass(&mut self) {
        self.ranks.before = self.ranks.last;
        self.seen = 0;
        self.recent.clear();
        self.has_earlier = false;
    }

    /// Restarts at the beginning of a list in which none of the last rows was found. Returns the
    /// doubt, or `None` if it is not certain which rows of the list were read.
    pub(super) fn restart(&mut self, has_equal_rows: bool) -> Option<Doubt> {
        if self.is_incomplete || !self.unique && !has_equal_rows && self.has_earlier {
            return None;
        }
        if !self.unique && !has_equal_rows {
            self.rows.clear();
            self.order.clear();
        }
        // It is not likely that all rows were removed a second time, or in a second pass.
        let doubt = if self.ranks.before > 0 { Doubt::Reordered } else { Doubt::None };
        self.begin_pass();
        Some(doubt)
    }

    pub(super) fn hashes(&self, keys: &[String]) -> Vec<u64> {
        keys.iter().map(|key| self.hasher.hash_one(key)).collect()
    }

    /// Returns `true` if this pass has read a row with this hash.
    pub(super) fn has_seen(&self, hash: u64) -> bool {
        self.rank(hash).is_some()
    }

    /// Returns `true` if the row has the highest rank, and for each row without an id.
    pub(super) fn is_frontier(&self, hash: u64) -> bool {
        !self.unique || self.rank(hash) == Some(self.ranks.last)
    }

    fn rank(&self, hash: u64) -> Option<u32> {
        self.rows.get(&hash).map(|row| row.rank).filter(|rank| *rank > self.ranks.before)
    }

    /// Returns `true` if rows that this pass has read are in another order in this window, which
    /// begins after all of them if `follows`. Equal rows do not show their order.
    pub(super) fn is_reordered(&self, hashes: &[u64], follows: bool) -> bool {
        let mut met = HashSet::new();
        let first = hashes.iter().filter(|hash| met.insert(**hash));
        let single = first.filter_map(|hash| self.rows.get(hash)).filter(|row| row.returned == 1);
        let Ranks { before, displaced, .. } = &self.ranks;
        let ranks = single.map(|row| row.rank).filter(|r| r > before && !displaced.contains(r));
        !follows.then_some(self.ranks.last).into_iter().chain(ranks).is_sorted()
    }

    /// Returns `true` if a row with this hash is known to have been returned.
    pub(super) fn has_returned(&self, hash: u64) -> bool {
        self.rows.contains_key(&hash)
    }

    /// Returns the keys of the most recent rows for a saved position, oldest first, and `true` if
    /// the list has rows before these.
    pub(super) fn saved(&self) -> (Vec<String>, bool) {
        let most = self.overlap(SAVED_KEYS, SAVED_KEYS_IN_RUN) as usize;
        let skip = self.recent.len().saturating_sub(most);
        let last = self.recent.iter().skip(skip).cloned().collect();
        (last, self.has_earlier || skip > 0)
    }

    /// Returns the number of rows by which the next window overlaps: `usual`, or up to `most` if
    /// the last rows are equal or alternate, because such a sequence looks the same after a shift.
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

    /// Records a page, and determines which rows from `first` on are returned: of equal rows,
    /// those in excess of the largest number on any earlier page.
    pub(super) fn admit(&mut self, hashes: &[u64], first: usize) -> Vec<bool> {
        let mut numbers: HashMap<u64, u16> = HashMap::new();
        let mut admitted = Vec::with_capacity(hashes.len());
        let ranks = self.rank_page(hashes);
        for (at, (hash, rank)) in hashes.iter().zip(ranks).enumerate() {
            let row = self.rows.entry(*hash).or_default();
            let number = numbers.entry(*hash).or_default();
            *number = if self.unique { 1 } else { number.saturating_add(1) };
            if row.rank <= self.ranks.before {
                row.seen = 0;
            }
            row.rank = rank;
            self.seen += u64::from(number.saturating_sub(row.seen));
            row.seen = row.seen.max(*number);
            let new = *number > row.returned;
            if new {
                row.returned = *number;
                self.order.push_back(*hash);
            }
            admitted.push(new && at >= first);
        }
        self.returned += admitted.iter().filter(|new| **new).count() as u64;
        let old = self.order.len().saturating_sub(HASHED_ROWS);
        self.is_incomplete |= old > 0;
        for hash in self.order.drain(..old) {
            if let Some(row) = self.rows.get_mut(&hash) {
                row.returned -= 1;
                if row.returned == 0 {
                    self.rows.remove(&hash);
                }
            }
        }
        admitted
    }

    /// Returns the ranks of the rows of a page. A new row has the rank of the next known row of the
    /// page, or the next rank after all others if no known row follows.
    fn rank_page(&mut self, hashes: &[u64]) -> Vec<u32> {
        let mut ranks: Vec<_> = hashes.iter().map(|hash| self.rank(*hash)).collect();
        let last = ranks.iter().flatten().next_back().copied();
        let is_passed = |last: &u32| ranks.last() == Some(&None) && *last < self.ranks.last;
        if let Some(last) = last.filter(is_passed) {
            // The rows that followed this row were removed, or follow the new rows.
            self.ranks.displaced = last + 1..self.ranks.last + 1;
        }
        let mut next = None;
        for rank in ranks.iter_mut().rev() {
            next = rank.or(next);
            *rank = next;
        }
        let mut highest = || {
            self.ranks.last += 1;
            self.ranks.last
        };
        ranks.into_iter().map(|rank| rank.unwrap_or_else(&mut highest)).collect()
    }

    pub(super) fn remember(&mut self, keys: impl IntoIterator<Item = String>) {
        self.recent.extend(keys);
        let old = self.recent.len().saturating_sub(RECENT_ROWS);
        self.recent.drain(..old);
        self.has_earlier |= old > 0;
    }

    /// Returns the index from which rows of a window may be new: for rows with an id, that of the
    /// first known row. Returns `None` if the window lacks a required known row.
    pub(super) fn split(&self, keys: &[String], overlap: Option<usize>) -> Option<usize> {
        let first = (overlap == Some(0)).then_some(0);
        if self.unique {
            let seen = |key| self.has_seen(self.hasher.hash_one(key));
            return keys.iter().position(seen).or(first);
        }
        // Returns `true` if these first rows of the window are the last rows that were read.
        let ends_with = |keys: &[String]| {
            let start = self.recent.len().checked_sub(keys.len());
            start.is_some_and(|start| self.recent.iter().skip(start).eq(keys))
        };
        let unmoved = overlap.filter(|overlap| *overlap > 0);
        let unmoved = unmoved.filter(|overlap| keys.get(..*overlap).is_some_and(ends_with));
        unmoved.or_else(|| self.align(keys, overlap)).or(first)
    }

    /// Returns the index of the first new row of a window, by sequence alignment with the last rows
    /// that were read. Returns `None` if so few rows match that they may be other, equal rows.
    fn align(&self, keys: &[String], overlap: Option<usize>) -> Option<usize> {
        // The first of several equal rows are assumed to be the rows that were read.
        let floor = |at: usize| -INSERTION_PENALTY * at.min(5) as i32;
        let mut row: Vec<i32> = (0..=keys.len()).map(floor).collect();
        for read in &self.recent {
            let mut diagonal = row[0];
            for (at, key) in keys.iter().enumerate() {
                let above = row[at + 1];
                let agree = if read == key { diagonal + MATCH_SCORE } else { i32::MIN };
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
mod tests;
