//! Numbers of jobs by group and by span of about nine minutes of their creation time. The number of
//! jobs before a time is the sum of the earlier spans and of the earlier rows in its span; an index
//! would read all rows.

use rusqlite::{Connection, params, params_from_iter};

/// Length of a span in milliseconds, as an exponent of two.
const SPAN: u32 = 19;

pub(crate) fn add(
    connection: &Connection,
    group: i64,
    created: i64,
    change: i64,
) -> rusqlite::Result<()> {
    let span = created >> SPAN;
    let execute = |sql: &str, values: &[i64]| {
        let mut statement = connection.prepare_cached(sql)?;
        statement.execute(params_from_iter(values)).map(|_| ())
    };
    execute("UPDATE job_groups SET jobs = jobs + ?2 WHERE number = ?1", &[group, change])?;
    execute(
        "INSERT INTO tallies (job_group, span, jobs) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET jobs = jobs + excluded.jobs",
        &[group, span, change],
    )?;
    execute("DELETE FROM tallies WHERE job_group = ?1 AND span = ?2 AND jobs = 0", &[group, span])
}

pub(crate) fn before(
    connection: &Connection,
    groups: &[i64],
    timestamp: i64,
) -> rusqlite::Result<u64> {
    let span = timestamp >> SPAN;
    let sql = "WITH chosen AS (SELECT value AS job_group FROM json_each(?1))
         SELECT (SELECT coalesce(sum(jobs), 0) FROM chosen JOIN tallies USING (job_group)
                 WHERE span < ?2)
              + (SELECT count(*) FROM chosen JOIN jobs USING (job_group)
                 WHERE created >= ?3 AND created < ?4)";
    let mut select = connection.prepare_cached(sql)?;
    let values = params![format!("{groups:?}"), span, span << SPAN, timestamp];
    select.query_row(values, |row| row.get(0))
}

/// Span of time, with the number of jobs before it and in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) before: u64,
    pub(super) jobs: u64,
}

/// Returns the span of the job at position `rank` in the order of creation, if the job exists.
pub(super) fn span_at(
    connection: &Connection,
    groups: &[i64],
    rank: u64,
) -> rusqlite::Result<Option<Span>> {
    let mut spans = connection.prepare_cached(
        "SELECT span, sum(jobs) FROM tallies
         WHERE job_group IN (SELECT value FROM json_each(?1)) GROUP BY span ORDER BY span",
    )?;
    let mut rows = spans.query([format!("{groups:?}")])?;
    let mut before = 0;
    while let Some(row) = rows.next()? {
        let (span, jobs): (i64, u64) = (row.get(0)?, row.get(1)?);
        if rank < before + jobs {
            let (start, end) = (span << SPAN, (span + 1) << SPAN);
            return Ok(Some(Span { start, end, before, jobs }));
        }
        before += jobs;
    }
    Ok(None)
}
