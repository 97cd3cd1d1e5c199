//! Which rows were read, as far as that is needed to go on.

use std::collections::{HashSet, VecDeque};

/// How many rows with an id are remembered. So many may appear before the rows that
/// were read without any of them coming twice.
const RECENT_IDS: usize = 10_000;
/// How many rows without an id are remembered: two of the largest windows.
const RECENT_ROWS: usize = 200;

/// Of how many rows without an id three quarters have to agree. Runs of equal ones should be shorter.
const AGREEMENT: usize = 6;

/// How many rows before a run of equal ones are looked at besides, because some may have
/// gone meanwhile.
const BEFORE_A_RUN: usize = 8;

/// Points for a row that agrees, and what is taken off for one that went away, and for
/// one that came in: ten that came in together should not look like one that went away.
const AGREE: i32 = 20;
const GONE: i32 = 10;
const CAME: i32 = 3;

/// The rows that were read last.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Whether no two rows have the same key.
    unique: bool,
    recent: VecDeque<String>,
    /// The same, where rows are unique.
    set: HashSet<String>,
    /// Rows without an id that were read and are not where they should be.
    missing: Vec<String>,
    /// Whether rows were read that are not remembered.
    forgotten: bool,
}

impl Known {
    pub(crate) fn new(unique: bool) -> Self {
        Self {
            unique,
            recent: VecDeque::new(),
            set: HashSet::new(),
            missing: Vec::new(),
            forgotten: false,
        }
    }

    pub(crate) fn has_forgotten(&self) -> bool {
        self.forgotten
    }

    pub(crate) fn forget_more(&mut self) {
        self.forgotten = true;
    }

    pub(crate) fn len(&self) -> usize {
        self.recent.len()
    }

    /// The last keys, the oldest of them first.
    pub(crate) fn last(&self, most: usize) -> Vec<String> {
        let skip = self.recent.len().saturating_sub(most);
        self.recent.iter().skip(skip).cloned().collect()
    }

    /// By how many rows windows should overlap: `usual`, or more when what was read ends
    /// with rows that are equal, or take turns, and would look the same if they had
    /// shifted. Up to `most`.
    pub(crate) fn overlap(&self, usual: u32, most: u32) -> u32 {
        if self.unique {
            return usual;
        }
        let newest = || self.recent.iter().rev();
        let runs = (1..=usual as usize / 2).filter_map(|period| {
            let pairs = newest().zip(newest().skip(period));
            let again = pairs.take_while(|(row, before)| row == before).count();
            (again >= period).then_some(period + again)
        });
        let run = runs.max().map_or(0, |run| run + BEFORE_A_RUN);
        usual.max(most.min(u32::try_from(run).unwrap_or(most)))
    }

    /// Nothing of what was read is there any more. Rows without an id that come now
    /// are others, even if they look the same.
    pub(crate) fn all_gone(&mut self) {
        if !self.unique {
            self.recent.clear();
        }
    }

    /// Of a window the rows from `split` on are new. What was read and does not stand in
    /// front of them is missing: it has gone, or lies behind rows that came in late. If
    /// an equal row comes, it is taken for it, and not given again. Where it is another
    /// one that only looks the same, it was given in its stead.
    pub(crate) fn pass_over(&mut self, keys: &[String], split: usize, new: &mut [bool]) {
        if self.unique {
            return;
        }
        if let Some(last) = split.checked_sub(1).and_then(|last| keys.get(last))
            && self.recent.contains(last)
        {
            let equal = |key: &&String| *key == last;
            while self.recent.back().is_some_and(|key| key != last) {
                self.missing.extend(self.recent.pop_back());
            }
            let read = self.recent.iter().rev().take_while(equal).count();
            // A late one may stand between equal ones. A window that begins with one
            // does not show them all.
            let window = keys[..split].iter().filter(equal).count();
            if keys[0] != *last {
                for _ in window..read {
                    self.missing.extend(self.recent.pop_back());
                }
            }
        }
        for (key, new) in keys.iter().zip(new).filter(|(_, new)| **new) {
            if let Some(at) = self.missing.iter().position(|missing| missing == key) {
                self.missing.remove(at);
                *new = false;
            }
        }
        let old = self.missing.len().saturating_sub(RECENT_ROWS);
        self.missing.drain(..old);
    }

    pub(crate) fn remember(&mut self, keys: impl IntoIterator<Item = String>) {
        let most = if self.unique { RECENT_IDS } else { RECENT_ROWS };
        for key in keys {
            if self.unique {
                self.set.insert(key.clone());
            }
            self.recent.push_back(key);
            if self.recent.len() > most {
                let oldest = self.recent.pop_front();
                if let Some(oldest) = oldest.filter(|_| self.unique) {
                    self.set.remove(&oldest);
                }
                self.forgotten = true;
            }
        }
    }

    /// Which rows of a window are new. `overlap` says how many of them should be
    /// known, if the list has not shifted. `None`: not one of them is known, though
    /// one should be, so rows may be missing between what was read and the window.
    pub(crate) fn new_among(&self, keys: &[String], overlap: Option<usize>) -> Option<Vec<bool>> {
        let first = overlap == Some(0);
        if self.unique {
            let known = keys.iter().position(|key| self.set.contains(key));
            let known = match known {
                Some(at) => at,
                None if first => 0,
                None => return None,
            };
            let mut seen = HashSet::new();
            let new = keys.iter().enumerate().map(|(at, key)| {
                // Before what is remembered lies what was read and forgotten.
                let before = self.forgotten && at < known;
                !before && !self.set.contains(key) && seen.insert(key)
            });
            return Some(new.collect());
        }
        if self.recent.is_empty() && first {
            return Some(vec![true; keys.len()]);
        }
        let split = match overlap.filter(|overlap| self.ends_with(keys, *overlap)) {
            Some(overlap) => Some(overlap),
            None => self.align(keys, overlap).or(first.then_some(0)),
        };
        split.map(|split| (0..keys.len()).map(|at| at >= split).collect())
    }

    /// Whether what was read ends with the first `count` rows of the window.
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
        let floor = |at: usize| -CAME * at.min(5) as i32;
        let mut row: Vec<i32> = (0..=keys.len()).map(floor).collect();
        for read in &self.recent {
            let mut diagonal = row[0];
            for (at, key) in keys.iter().enumerate() {
                let above = row[at + 1];
                let agree = if read == key {
                    diagonal + AGREE
                } else {
                    i32::MIN
                };
                let gap = (above - GONE).max(row[at] - CAME);
                row[at + 1] = agree.max(gap).max(floor(at + 1));
                diagonal = above;
            }
        }
        let enough = overlap.map_or(1, |overlap| {
            AGREE * 3 / 4 * AGREEMENT.min(overlap).min(self.recent.len()) as i32
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

    fn new(unique: bool, read: &str, window: &str, overlap: Option<usize>) -> Option<String> {
        let mut known = Known::new(unique);
        known.remember(keys(read));
        let window = keys(window);
        let new = known.new_among(&window, overlap)?;
        let rows = window.into_iter().zip(new);
        Some(rows.filter(|(_, new)| *new).map(|(row, _)| row).collect())
    }

    #[test]
    fn rows_with_an_id_are_known_by_it() {
        let new = |window, overlap| new(true, "abcdef", window, Some(overlap));
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
        let new = |read, window| new(false, read, window, Some(4));
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
        let new = |read, window| new(false, read, window, None);
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
    fn runs_of_equal_rows_need_a_longer_overlap() {
        let overlap = |read: &str| {
            let mut known = Known::new(false);
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
    fn memory_is_bounded() {
        for (unique, most) in [(true, RECENT_IDS), (false, RECENT_ROWS)] {
            let mut known = Known::new(unique);
            known.remember((0..most).map(|row| row.to_string()));
            assert!(!known.has_forgotten());
            known.remember(["last".to_owned()]);
            assert!(known.has_forgotten());
            assert_eq!(known.recent.len(), most);
            assert_eq!(known.set.len(), if unique { most } else { 0 });
            assert_eq!(known.last(2), [(most - 1).to_string(), "last".into()]);
        }
    }
}
