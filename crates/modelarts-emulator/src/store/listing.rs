//! Lists of jobs. Jobs of a project with the same phase, user, kind, workspace and type of runtime
//! form a group.
//!
//! With conditions on groups only, the page is found by creation counts, independent of the number
//! of jobs. Otherwise an index for ids, addresses, tags or parts of names finds candidates, or all
//! jobs of the groups are tested. If the count is cached, a scan in the order of creation may be
//! faster.

use rusqlite::{Connection, Row, params, params_from_iter, types::Value};

use crate::{
    job::{Job, request::RUNTIME_TYPE},
    store::{
        JobStore,
        count_cache::CountKey,
        creation_counts, job_table,
        scan::{SortKey, TopN},
        selection::{Key, Selection, Test, passes_all},
        tags::{json_list, push_tag_test},
    },
};

#[derive(Debug, Default)]
pub(crate) struct JobPage {
    /// Number of all jobs of the project.
    pub(crate) total: u64,
    /// Number of matching jobs.
    pub(crate) count: u64,
    pub(crate) jobs: Vec<Job>,
}

/// Minimum offset of pages that are looked up in the creation counts. At smaller offsets, a scan is
/// faster. Tests use a smaller value, because they create few jobs.
const MIN_COUNTED_OFFSET: u64 = if cfg!(test) { 5 } else { 500 };

/// Minimum number of characters of a part of a name that the index can find.
const TRIGRAM_LENGTH: usize = 3;

impl JobStore {
    pub(crate) fn list(
        &self,
        project_id: &str,
        selection: &Selection,
    ) -> rusqlite::Result<JobPage> {
        // The cache is locked before the database, as for changes.
        let mut count_cache = self.count_cache.lock();
        let (total, count, texts) = self.database.read(|connection| {
            let Some(project) = job_table::known_project(connection, project_id)? else {
                return Ok((0, 0, Vec::new()));
            };
            let total = job_table::count(connection, project_id)?;
            let groups = selection.groups(connection, project)?;
            let own: Vec<&(Key, Test)> =
                selection.tests.iter().filter(|(key, _)| key.is_of_each_job()).collect();
            let (count, keys) =
                if own.is_empty() && selection.tags.is_empty() && selection.hosts.is_none() {
                    selection.page_by_counts(connection, &groups)?
                } else {
                    let key = CountKey::new(project_id, selection);
                    let known = key.as_ref().and_then(|it| count_cache.count(it));
                    let found = selection.page_by_tests(connection, &groups, &own, known)?;
                    if let (Some(key), None) = (key, known) {
                        count_cache.insert(key, found.0);
                    }
                    found
                };
            let mut texts = connection.prepare_cached(
                "SELECT request, state FROM requests JOIN states USING (job) WHERE job = ?1",
            )?;
            let texts: rusqlite::Result<Vec<(String, String)>> = keys
                .iter()
                .map(|(_, number)| texts.query_row([number], |row| Ok((row.get(0)?, row.get(1)?))))
                .collect();
            Ok((total, count, texts?))
        })?;
        drop(count_cache);
        // Parsing JSON takes longer than reading it, so the database is unlocked first.
        let jobs: rusqlite::Result<Vec<Job>> =
            texts.iter().map(|(request, state)| job_table::read(request, state)).collect();
        Ok(JobPage { total, count, jobs: jobs? })
    }
}

/// Row ids of groups, and the total number of their jobs.
type Groups = (Vec<i64>, u64);

impl Selection {
    fn groups(&self, connection: &Connection, project: i64) -> rusqlite::Result<Groups> {
        let sql = "SELECT * FROM job_groups WHERE project = ?1 AND jobs > 0";
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query([project])?;
        let (mut groups, mut jobs) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let mut passes = true;
            for (key, test) in &self.tests {
                if key.is_of_each_job() {
                    continue;
                }
                passes &= match (key, row.get_ref(key.column())?.as_str()?) {
                    (Key::RuntimeType, "") => test.accepts(RUNTIME_TYPE),
                    (_, own) => test.accepts(own),
                };
            }
            if passes {
                groups.push(row.get("number")?);
                jobs += row.get::<_, u64>("jobs")?;
            }
        }
        Ok((groups, jobs))
    }

    /// Returns a page of all jobs of the given groups in a time span, found by the creation counts.
    fn page_by_counts(
        &self,
        connection: &Connection,
        (groups, all): &Groups,
    ) -> rusqlite::Result<(u64, Vec<SortKey>)> {
        let before = match self.from {
            None => 0,
            Some(from) => creation_counts::before(connection, groups, from.millis())?,
        };
        let end = match self.to {
            None => *all,
            Some(to) => creation_counts::before(connection, groups, to.millis().saturating_add(1))?,
        };
        let count = end.saturating_sub(before);
        let left = count.saturating_sub(self.skip);
        let take = self.limit.min(left);
        if take == 0 {
            return Ok((count, Vec::new()));
        }
        let (mut since, mut until, mut skip) = (self.since(), self.until(), self.skip);
        if skip >= MIN_COUNTED_OFFSET {
            let first = if self.ascending { before + skip } else { end - 1 - skip };
            if let Some(span) = creation_counts::span_at(connection, groups, first)? {
                let within = first - span.before;
                if self.ascending {
                    since = since.max(span.start);
                    skip = within.min(first - before);
                } else {
                    until = until.min(span.end - 1);
                    skip = (span.jobs - 1 - within).min(end - 1 - first);
                }
            }
        }
        let mut first = TopN::new(self.ascending, skip.saturating_add(take));
        let order = self.order();
        let sql = format!(
            "SELECT created, number FROM jobs WHERE job_group = ?1 AND created BETWEEN ?2 AND ?3
             ORDER BY created {order}, number {order} LIMIT ?4"
        );
        let mut select = connection.prepare_cached(&sql)?;
        let most = i64::try_from(skip + take).unwrap_or(i64::MAX);
        for group in groups {
            let rows = select.query_map(params![group, since, until, most], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
            for key in rows {
                first.add(key?);
            }
        }
        Ok((count, first.after(skip)))
    }

    /// Finds a page by tests. With a known count, first scans the jobs in the order of the list, if
    /// this will probably test no more jobs than an index would find, and at most as many.
    fn page_by_tests(
        &self,
        connection: &Connection,
        (groups, all): &Groups,
        tests: &[&(Key, Test)],
        known: Option<u64>,
    ) -> rusqlite::Result<(u64, Vec<SortKey>)> {
        if let Some(count) = known {
            let end = self.skip.saturating_add(self.limit).min(count);
            let expected = end.saturating_mul(*all) / count.max(1);
            let most = if has_index(tests) { count } else { u64::MAX };
            if expected <= most
                && let Some(keys) = self.scan(connection, groups, tests, count, most)?
            {
                return Ok((count, keys));
            }
        }
        self.page_by_candidates(connection, groups, tests)
    }

    /// Finds a page by testing all candidates. Keeps only jobs up to the end of the page in memory.
    fn page_by_candidates(
        &self,
        connection: &Connection,
        groups: &[i64],
        tests: &[&(Key, Test)],
    ) -> rusqlite::Result<(u64, Vec<SortKey>)> {
        let (sql, values) = self.candidates(groups, tests)?;
        let mut select = connection.prepare_cached(&sql)?;
        let mut rows = select.query(params_from_iter(values))?;
        let mut best = TopN::new(self.ascending, self.skip.saturating_add(self.limit));
        let mut count = 0;
        while let Some(row) = rows.next()? {
            if passes_all(tests, row)? && self.runs_on_hosts(row)? {
                count += 1;
                best.add((row.get("created")?, row.get("number")?));
            }
        }
        Ok((count, best.after(self.skip)))
    }

    fn runs_on_hosts(&self, row: &Row<'_>) -> rusqlite::Result<bool> {
        let Some(hosts) = &self.hosts else {
            return Ok(true);
        };
        let (network, nodes): (Option<u16>, u32) = (row.get("network")?, row.get("nodes")?);
        let mut hosts = hosts.iter();
        Ok(hosts.any(|host| Some(host.network) == network && host.index < nodes))
    }

    /// Returns a query that uses one index, with its parameters. `+` disables the index by time.
    fn candidates(
        &self,
        groups: &[i64],
        tests: &[&(Key, Test)],
    ) -> rusqlite::Result<(String, Vec<Value>)> {
        let ids = tests.iter().find_map(|test| match test {
            (Key::Id, Test::In(ids)) => Some(ids),
            _ => None,
        });
        let mut values = Vec::new();
        let mut sql =
            "SELECT created, number, id, name, algorithm, network, nodes FROM jobs WHERE "
                .to_owned();
        if let Some(ids) = ids {
            sql.push_str("id IN (SELECT value FROM json_each(?)) AND ");
            values.push(json_list(ids)?);
        } else if let Some(hosts) = &self.hosts {
            sql.push_str("network IN (SELECT value FROM json_each(?)) AND ");
            let networks: Vec<u16> = hosts.iter().map(|host| host.network).collect();
            values.push(format!("{networks:?}").into());
        } else if let Some((key, any)) = self.tags.first() {
            sql.push_str("number IN (SELECT job FROM tags WHERE ");
            push_tag_test(&mut sql, &mut values, key, any)?;
            sql.push_str(") AND ");
        } else if let Some(phrase) = phrase(tests) {
            sql.push_str("number IN (SELECT rowid FROM job_names WHERE job_names MATCH ?) AND ");
            values.push(phrase.into());
        }
        let plus = if values.is_empty() { "" } else { "+" };
        sql.push_str(&format!(
            "{plus}job_group IN (SELECT value FROM json_each(?)) AND {plus}created BETWEEN ? AND ?"
        ));
        values.push(format!("{groups:?}").into());
        values.extend([self.since().into(), self.until().into()]);
        for (key, any) in &self.tags {
            sql.push_str(" AND EXISTS (SELECT 1 FROM tags WHERE job = number AND ");
            push_tag_test(&mut sql, &mut values, key, any)?;
            sql.push(')');
        }
        Ok((sql, values))
    }
}

fn has_index(tests: &[&(Key, Test)]) -> bool {
    let by_id = |test: &&(Key, Test)| matches!(test, (Key::Id, Test::In(_)));
    tests.iter().any(by_id) || phrase(tests).is_some()
}

/// Maximum number of characters looked up in the index. The rest is compared in the candidates.
const MAX_PHRASE_LENGTH: usize = 64;

/// Returns the longest part of a name as a query of the index, or `None` if all are too short.
fn phrase(tests: &[&(Key, Test)]) -> Option<String> {
    let parts = tests.iter().filter_map(|(key, test)| match test {
        Test::Contains(part) if !part.contains('\0') => Some((key, part)),
        _ => None,
    });
    let (key, part) = parts.max_by_key(|(_, part)| part.chars().count())?;
    let begin: String = part.chars().take(MAX_PHRASE_LENGTH).collect();
    let quoted = begin.replace('"', "\"\"");
    (part.chars().count() >= TRIGRAM_LENGTH).then(|| format!("{}: \"{quoted}\"", key.column()))
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "listing_cost_tests.rs"]
mod cost_tests;
