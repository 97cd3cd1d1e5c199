//! Migrations of `state.sqlite3` from the layouts of earlier versions of the emulator to that of
//! `schema.sql`.
//!
//! A migration must not use code that reads or writes the current layout, because later versions
//! change that code. The first migration calls `address::network` on purpose: searches by address
//! compare the result of this function with the stored value, so that stored rows must contain the
//! values of its current version.

use rusqlite::{Connection, params};

use crate::job::address::network;

/// Step that changes the tables from one layout to the next, inside a transaction.
pub(crate) type Migration = fn(&Connection) -> rusqlite::Result<()>;

/// Steps of the migration. The first one starts from layout 1. Layout 0 had no version number, and
/// stored jobs in a form that is no longer supported.
pub(super) const MIGRATIONS: &[Migration] = &[trials_and_hosts, objects];

/// Migrates layout 1 to 2, which adds a row for each trial and allows searches for jobs by the
/// addresses of their workers.
fn trials_and_hosts(connection: &Connection) -> rusqlite::Result<()> {
    // The first version with layout 1 did not have the table given_metrics; later versions did.
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS given_metrics (pod TEXT PRIMARY KEY, minutes TEXT NOT NULL)
             WITHOUT ROWID;
         CREATE TABLE trials (
             job INTEGER NOT NULL,
             place INTEGER NOT NULL,
             trial TEXT NOT NULL,
             PRIMARY KEY (job, place)
         ) WITHOUT ROWID;
         INSERT INTO trials (job, place, trial)
             SELECT states.job, json_extract(trial.value, '$.index'), trial.value
             FROM states, json_each(states.state, '$.trials') AS trial;
         UPDATE states SET state = json_remove(state, '$.trials');
         ALTER TABLE jobs ADD COLUMN network INTEGER;
         ALTER TABLE jobs ADD COLUMN nodes INTEGER NOT NULL DEFAULT 1;
         UPDATE jobs SET nodes = coalesce(
             (SELECT json_extract(request, '$.spec.resource.node_count') FROM requests
              WHERE job = jobs.number), 1);
         CREATE INDEX jobs_by_network ON jobs (network) WHERE network IS NOT NULL;",
    )?;
    let mut placed = connection.prepare(
        "SELECT jobs.number, jobs.id FROM jobs JOIN states ON states.job = jobs.number
         WHERE json_extract(states.state, '$.started') IS NOT NULL",
    )?;
    let mut update = connection.prepare("UPDATE jobs SET network = ?2 WHERE number = ?1")?;
    let mut rows = placed.query([])?;
    while let Some(row) = rows.next()? {
        let id: String = row.get(1)?;
        update.execute(params![row.get::<_, i64>(0)?, network(&id)])?;
    }
    Ok(())
}

/// Migrates layout 2 to 3, which adds the records of objects and of uploads.
fn objects(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE obs_objects (
             bucket TEXT NOT NULL,
             key TEXT NOT NULL,
             size INTEGER NOT NULL,
             modified INTEGER NOT NULL,
             inode INTEGER NOT NULL,
             etag TEXT NOT NULL,
             headers TEXT NOT NULL,
             PRIMARY KEY (bucket, key)
         ) WITHOUT ROWID;
         CREATE TABLE obs_uploads (
             id TEXT PRIMARY KEY,
             bucket TEXT NOT NULL,
             key TEXT NOT NULL,
             started INTEGER NOT NULL,
             headers TEXT NOT NULL
         ) WITHOUT ROWID;
         CREATE TABLE obs_parts (
             upload TEXT NOT NULL,
             part INTEGER NOT NULL,
             size INTEGER NOT NULL,
             etag TEXT NOT NULL,
             modified INTEGER NOT NULL,
             PRIMARY KEY (upload, part)
         ) WITHOUT ROWID;",
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const LAYOUTS: [&str; 3] = [
        include_str!("../../tests/layouts/1.sql"),
        include_str!("../../tests/layouts/2.sql"),
        include_str!("../../tests/layouts/3.sql"),
    ];

    fn database(sql: &str) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(sql).unwrap();
        connection
    }

    fn rows(connection: &Connection, sql: &str) -> Vec<String> {
        let mut select = connection.prepare(sql).unwrap();
        let rows = select.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// Returns all tables, columns and indexes. The order of columns is not significant.
    fn shape(connection: &Connection) -> BTreeSet<String> {
        let columns = rows(
            connection,
            "SELECT format('%s.%s %s %d %d', m.name, c.name, c.type, c.\"notnull\", c.pk)
             FROM sqlite_schema AS m, pragma_table_info(m.name) AS c",
        );
        let indexes = rows(
            connection,
            "SELECT name || coalesce(sql, '') FROM sqlite_schema WHERE type <> 'table'",
        );
        columns.into_iter().chain(indexes).collect()
    }

    #[test]
    fn every_layout_leads_to_that_of_today() {
        let today = shape(&database(include_str!("schema.sql")));
        assert_eq!(LAYOUTS.len(), MIGRATIONS.len() + 1);
        for (sql, done) in LAYOUTS.iter().zip(0..) {
            let connection = database(sql);
            for migration in &MIGRATIONS[done..] {
                migration(&connection).unwrap();
            }
            assert_eq!(shape(&connection), today, "layout {}", done + 1);
        }
        // The first version with layout 1 did not have the table given_metrics.
        let connection = database(LAYOUTS[0]);
        connection
            .execute_batch("DROP TABLE given_metrics")
            .unwrap();
        for migration in MIGRATIONS {
            migration(&connection).unwrap();
        }
        assert_eq!(shape(&connection), today);
    }

    #[test]
    fn trials_get_rows_and_jobs_their_nodes() {
        let connection = database(LAYOUTS[0]);
        trials_and_hosts(&connection).unwrap();
        let jobs = "SELECT concat_ws(' ', name, nodes, network) FROM jobs ORDER BY number";
        let networks = match cfg!(target_os = "linux") {
            true => ["plain 2 12082", "search 1 37756", "waits 3"],
            false => ["plain 2 0", "search 1 0", "waits 3"],
        };
        assert_eq!(rows(&connection, jobs), networks);
        let trials = "SELECT format('%d %d %s', job, place, json_extract(trial, '$.values'))
                      FROM trials ORDER BY job, place";
        assert_eq!(
            rows(&connection, trials),
            [
                r#"2 0 {"x":6.570395114166052}"#,
                r#"2 1 {"x":5.346159873685892}"#,
                r#"2 2 {"x":3.451035575822265}"#,
            ]
        );
        let left = "SELECT state FROM states WHERE state LIKE '%trials%'";
        assert!(rows(&connection, left).is_empty());
    }
}
