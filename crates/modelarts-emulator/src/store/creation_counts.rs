//! Counts of jobs by creation time, stored in the database for lists.
//!
//! Time spans have five lengths, from a second to half a year. For each group of jobs, the database
//! stores the number of jobs that were created in each span. The number of jobs before a point in
//! time is the sum of the counts of a few spans of each length and of a small number of rows. To
//! find the job at a given position, a query starts with the longest spans and continues with
//! shorter ones. The duration of both queries hardly depends on the number of jobs.

use rusqlite::{Connection, params};

/// Lengths of time spans in milliseconds, as exponents of two: about a second, a minute, an hour,
/// three days, half a year. Except on the first level, a span consists of 64 spans of the previous
/// level.
const LEVELS: [u32; 5] = [10, 16, 22, 28, 34];

/// Adds `change` to the counts of all time spans that contain `created`.
pub(crate) fn add(
    connection: &Connection,
    group: i64,
    created: i64,
    change: i64,
) -> rusqlite::Result<()> {
    let sql = "UPDATE job_groups SET jobs = jobs + ?2 WHERE number = ?1";
    connection
        .prepare_cached(sql)?
        .execute(params![group, change])?;
    let mut add = connection.prepare_cached(
        "INSERT INTO tallies (job_group, level, span, jobs) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET jobs = jobs + excluded.jobs RETURNING jobs",
    )?;
    for level in LEVELS {
        let span = created >> level;
        let jobs: i64 = add.query_row(params![group, level, span, change], |row| row.get(0))?;
        if jobs == 0 {
            let sql = "DELETE FROM tallies WHERE job_group = ?1 AND level = ?2 AND span = ?3";
            let mut delete = connection.prepare_cached(sql)?;
            delete.execute(params![group, level, span])?;
        }
    }
    Ok(())
}

/// Returns the number of jobs of these groups that were created before `timestamp`.
pub(crate) fn before(
    connection: &Connection,
    groups: &[i64],
    timestamp: i64,
) -> rusqlite::Result<u64> {
    let mut spans = connection.prepare_cached(
        "SELECT coalesce(sum(jobs), 0) FROM tallies
         WHERE job_group = ?1 AND level = ?2 AND span >= ?3 AND span < ?4",
    )?;
    let mut rows = connection.prepare_cached(
        "SELECT count(*) FROM jobs WHERE job_group = ?1 AND created >= ?2 AND created < ?3",
    )?;
    let mut sum: u64 = 0;
    for group in groups {
        // All jobs created before this time are included in the count.
        let mut counted = i64::MIN;
        for level in LEVELS.into_iter().rev() {
            let end = timestamp >> level;
            let values = params![group, level, counted >> level, end];
            sum += spans.query_row(values, |row| row.get::<_, u64>(0))?;
            counted = end << level;
        }
        let values = params![group, counted, timestamp];
        sum += rows.query_row(values, |row| row.get::<_, u64>(0))?;
    }
    Ok(sum)
}

/// Short time span, with the number of jobs before it and in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) before: u64,
    pub(super) jobs: u64,
}

/// Returns the time span of the job at position `rank` in the order of creation, counted from 0;
/// `None` beyond the last job.
pub(super) fn span_at(
    connection: &Connection,
    groups: &[i64],
    rank: u64,
) -> rusqlite::Result<Option<Span>> {
    let mut spans = connection.prepare_cached(
        "SELECT span, sum(jobs) FROM tallies
         WHERE job_group IN (SELECT value FROM json_each(?1))
         AND level = ?2 AND span >= ?3 AND span < ?4
         GROUP BY span ORDER BY span",
    )?;
    let groups = format!("{groups:?}");
    let mut found = Span {
        start: i64::MIN,
        end: i64::MAX,
        before: 0,
        jobs: 0,
    };
    for level in LEVELS.into_iter().rev() {
        let (start, end) = (found.start >> level, found.end >> level);
        let mut rows = spans.query(params![groups, level, start, end])?;
        loop {
            let Some(row) = rows.next()? else {
                return Ok(None);
            };
            let (span, jobs): (i64, u64) = (row.get(0)?, row.get(1)?);
            if rank < found.before + jobs {
                found.start = span << level;
                found.end = (span + 1) << level;
                found.jobs = jobs;
                break;
            }
            found.before += jobs;
        }
    }
    Ok(Some(found))
}
