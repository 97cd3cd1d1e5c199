//! Log of the rows that a list has returned, with which later pages are compared.

use std::{
    collections::{HashMap, VecDeque, hash_map::RandomState},
    hash::BuildHasher,
};

use crate::list_position::Position;

/// Number of rows whose hashes are stored, which take about 6 MB. A longer list is not read a
/// second time.
const HASHED_ROWS: usize = 100_000;
/// Maximum number of keys in a saved position.
pub(super) const SAVED_KEYS: usize = 30;

/// Hashes of the rows that were read, and keys of the last ones. Rows without an id are counted.
#[derive(Debug, Default)]
pub(super) struct RowLog {
    /// `true` if no two rows have the same key.
    pub(super) unique: bool,
    hasher: RandomState,
    /// Number of the current pass, and that of the last pass that has read each row.
    pass: u8,
    passes: HashMap<u64, u8>,
    /// Hashes of the returned rows, and keys of the last ones, in their order.
    order: VecDeque<u64>,
    last: VecDeque<String>,
    /// Number of rows before the position from which the list was resumed.
    before: u64,
    /// Number of returned rows, and of different rows that the current pass has read.
    pub(super) returned: u64,
    pub(super) seen: u64,
    /// `true` if the hashes of some returned rows are unknown.
    pub(super) is_incomplete: bool,
}

impl RowLog {
    pub(super) fn new(unique: bool) -> Self {
        Self { unique, ..Self::default() }
    }

    /// Records the rows before a position as returned.
    pub(super) fn resume(&mut self, position: Position) {
        self.is_incomplete = position.more;
        self.before = position.read;
        if self.unique {
            let hashes = self.hashes(&position.last);
            self.admit(&hashes, &position.last, 0);
            (self.returned, self.seen) = (0, 0);
        }
        if self.unique && !position.more {
            self.begin_pass();
        }
    }

    /// Begins a pass from the beginning of the list.
    pub(super) fn begin_pass(&mut self) {
        self.pass += 1;
        self.seen = 0;
    }

    pub(super) fn hashes(&self, keys: &[String]) -> Vec<u64> {
        keys.iter().map(|key| self.hasher.hash_one(key)).collect()
    }

    /// Returns `true` if this pass has read a row with this hash and an id.
    pub(super) fn has_seen(&self, hash: u64) -> bool {
        self.passes.get(&hash) == Some(&self.pass)
    }

    /// Returns the number of rows that were returned, or are before the resumed position.
    pub(super) fn rows(&self) -> u64 {
        self.before + self.returned
    }

    /// Records a page, and determines which rows from `first` on are returned: with an id, those
    /// that were not returned before, and otherwise all.
    pub(super) fn admit(&mut self, hashes: &[u64], keys: &[String], first: usize) -> Vec<bool> {
        let mut returned = Vec::with_capacity(hashes.len());
        for (at, (hash, key)) in hashes.iter().zip(keys).enumerate() {
            let pass = if self.unique { self.passes.insert(*hash, self.pass) } else { None };
            self.seen += u64::from(pass != Some(self.pass));
            let is_new = at >= first && pass.is_none();
            returned.push(is_new);
            if is_new && self.unique {
                self.order.push_back(*hash);
                self.last.push_back(key.clone());
            }
            self.returned += u64::from(is_new);
        }
        while self.last.len() > SAVED_KEYS {
            self.last.pop_front();
        }
        while self.order.len() > HASHED_ROWS
            && let Some(hash) = self.order.pop_front()
        {
            self.is_incomplete = true;
            self.passes.remove(&hash);
        }
        returned
    }

    /// Returns the keys of the last rows for a saved position, oldest first, and `true` if the list
    /// has rows before these.
    pub(super) fn saved(&self) -> (Vec<String>, bool) {
        let last = self.last.iter().cloned().collect();
        (last, self.rows() > self.last.len() as u64)
    }
}
