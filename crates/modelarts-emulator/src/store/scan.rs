//! Search for a page of a list by scanning the jobs in their order.

use std::{cmp::Reverse, collections::BinaryHeap};

use rusqlite::{Connection, Row, params};

use crate::store::selection::{Key, Selection, Test, passes_all};

/// Maximum number of groups of a scan. Each group requires a separate statement.
const MAX_GROUPS: usize = 64;

/// Position of a job in the order of creation: its creation time and its row id.
pub(super) type SortKey = (i64, i64);

/// Collector of the first positions, which keeps only the positions up to the end of a page.
#[derive(Debug)]
pub(super) struct TopN {
    ascending: bool,
    limit: u64,
    /// Kept positions, the last one at the top. For descending order, all bits are inverted.
    kept: BinaryHeap<SortKey>,
}

impl TopN {
    pub(super) fn new(ascending: bool, limit: u64) -> Self {
        Self { ascending, limit, kept: BinaryHeap::new() }
    }

    pub(super) fn add(&mut self, key: SortKey) {
        let key = sort_key(self.ascending, key);
        if (self.kept.len() as u64) < self.limit {
            self.kept.push(key);
        } else if let Some(mut last) = self.kept.peek_mut()
            && key < *last
        {
            *last = key;
        }
    }

    pub(super) fn after(self, skip: u64) -> Vec<SortKey> {
        let ascending = self.ascending;
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let kept = self.kept.into_sorted_vec().into_iter();
        kept.skip(skip).map(|key| sort_key(ascending, key)).collect()
    }
}

/// Inverts all bits for descending order. The function is its own inverse.
pub(super) fn sort_key(ascending: bool, key: SortKey) -> SortKey {
    if ascending { key } else { (!key.0, !key.1) }
}

impl Selection {
    /// Scans jobs for the page. Returns `None` for too many groups or scanned jobs.
    pub(crate) fn scan(
        &self,
        connection: &Connection,
        groups: &[i64],
        tests: &[&(Key, Test)],
        count: u64,
        max_scanned: u64,
    ) -> rusqlite::Result<Option<Vec<SortKey>>> {
        let take = self.limit.min(count.saturating_sub(self.skip));
        if groups.len() > MAX_GROUPS {
            return Ok(None);
        }
        let order = self.order();
        let sql = format!(
            "SELECT created, number, id, name, algorithm FROM jobs
             WHERE job_group = ?1 AND created BETWEEN ?2 AND ?3
             ORDER BY created {order}, number {order}"
        );
        let look = |row: &Row<'_>| -> rusqlite::Result<(SortKey, bool)> {
            let key = (row.get("created")?, row.get("number")?);
            Ok((sort_key(self.ascending, key), passes_all(tests, row)?))
        };
        let mut statements = Vec::new();
        for _ in groups {
            statements.push(connection.prepare_cached(&sql)?);
        }
        let mut all = Vec::new();
        // Heap with the next job of each group.
        let mut next = BinaryHeap::new();
        for (statement, group) in statements.iter_mut().zip(groups) {
            let mut rows = statement.query(params![group, self.since(), self.until()])?;
            if let Some(row) = rows.next()? {
                next.push(Reverse((look(row)?, all.len())));
            }
            all.push(rows);
        }
        let mut keys = Vec::new();
        let (mut scanned, mut skip) = (0, self.skip);
        while (keys.len() as u64) < take {
            let Some(Reverse(((key, passes), group))) = next.pop() else {
                break;
            };
            scanned += 1;
            if scanned > max_scanned {
                return Ok(None);
            }
            if passes && skip > 0 {
                skip -= 1;
            } else if passes {
                keys.push(sort_key(self.ascending, key));
            }
            if let Some(row) = all[group].next()? {
                next.push(Reverse((look(row)?, group)));
            }
        }
        Ok(Some(keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_that_of_the_sorted_list() {
        let places = [(5, 1), (3, 2), (i64::MIN, 3), (3, 4), (i64::MAX, 5), (-1, 6)];
        for ascending in [true, false] {
            let mut all = places;
            all.sort_unstable();
            if !ascending {
                all.reverse();
            }
            for limit in 0..=7 {
                for skip in 0..=limit {
                    let mut first = TopN::new(ascending, limit as u64);
                    places.iter().for_each(|key| first.add(*key));
                    let end = limit.min(all.len());
                    let page = &all[skip.min(end)..end];
                    assert_eq!(first.after(skip as u64), page, "{limit} {skip} {ascending}");
                }
            }
        }
    }
}
