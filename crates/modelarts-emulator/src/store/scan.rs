//! Search for a page of a list by scanning the jobs in their order.

use std::{cmp::Reverse, collections::BinaryHeap};

use rusqlite::{Connection, Row, params};

use crate::store::{
    selection::{Key, Selection, Test, passes_all},
    top_n::{SortKey, sort_key},
};

/// Maximum number of groups of a scan. Each group requires a separate statement.
const MAX_GROUPS: usize = 64;

impl Selection {
    /// Returns `None` if the scan would exceed `max_scanned` jobs.
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
