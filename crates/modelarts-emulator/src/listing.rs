//! Which jobs a list shows, answered from the database.
//!
//! What most lists choose by (phase, user, kind, workspace, type of runtime) is the same for all
//! jobs of a group, and groups are few. So a list chooses groups, and their jobs by time are
//! counted already: neither its length nor its pages depend on how many jobs there are. Parts of
//! names are looked up in an index; that takes the time of what they match. Only names of less than
//! three characters, and what a name or an id is not, are looked for in all jobs.

use rusqlite::{Connection, params};

use crate::clock::Moment;
use crate::job_rows;
use crate::store::{Job, Store};
use crate::tally;

/// What a value is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Contains(String),
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl Test {
    fn passes(&self, own: &str) -> bool {
        match self {
            Self::Contains(part) => own.contains(part.as_str()),
            Self::In(values) => values.iter().any(|value| value == own),
            Self::NotIn(values) => values.iter().all(|value| value != own),
        }
    }
}

/// What jobs are chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    // The same for all jobs of a group:
    Workspace,
    UserId,
    Kind,
    RuntimeType,
    Phase,
    // Different for each job:
    Id,
    Name,
    AlgorithmName,
}

/// Which jobs, and which page of them.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// All have to pass.
    pub(crate) tests: Vec<(Key, Test)>,
    /// Created then or later.
    pub(crate) from: Option<Moment>,
    /// Created then or earlier.
    pub(crate) to: Option<Moment>,
    /// The oldest first; jobs of the same millisecond in the order in which they came.
    pub(crate) ascending: bool,
    pub(crate) skip: u64,
    pub(crate) limit: u64,
}

/// A page, and how many there are.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// All jobs of the project.
    pub(crate) total: u64,
    /// Those that were asked for.
    pub(crate) count: u64,
    /// The page.
    pub(crate) jobs: Vec<Job>,
}

/// A job's place in the order: when it was created, and its number.
type Place = (i64, i64);

/// Pages that begin behind this place are looked up in the tallies; before it, going through the
/// jobs is faster.
const NEAR: u64 = 500;

/// The shortest part of a name that the index knows.
const TRIGRAM: usize = 3;

impl Store {
    /// A page of the jobs of a project.
    pub(crate) fn list(&self, project: &str, selection: &Selection) -> rusqlite::Result<Found> {
        let (total, count, texts) = self.database.read(|connection| {
            let Some(project) = job_rows::known_project(connection, project)? else {
                return Ok((0, 0, Vec::new()));
            };
            let total = job_rows::count(connection, project)?;
            let groups = selection.groups(connection, project)?;
            let own: Vec<&(Key, Test)> = selection
                .tests
                .iter()
                .filter(|(key, _)| key.of_each_job())
                .collect();
            let (count, places) = if own.is_empty() {
                selection.counted(connection, &groups)?
            } else {
                selection.looked_up(connection, &groups, &own)?
            };
            let mut texts = connection.prepare_cached(
                "SELECT request, state FROM requests JOIN states USING (job) WHERE job = ?1",
            )?;
            let texts: rusqlite::Result<Vec<(String, String)>> = places
                .iter()
                .map(|(_, number)| texts.query_row([number], |row| Ok((row.get(0)?, row.get(1)?))))
                .collect();
            Ok((total, count, texts?))
        })?;
        // Reading JSON takes longer than finding it: others have the database meanwhile.
        let jobs: rusqlite::Result<Vec<Job>> = texts
            .iter()
            .map(|(request, state)| job_rows::read(request, state))
            .collect();
        Ok(Found {
            total,
            count,
            jobs: jobs?,
        })
    }
}

impl Key {
    fn of_each_job(self) -> bool {
        matches!(self, Self::Id | Self::Name | Self::AlgorithmName)
    }

    /// The column: of a group, or of a job.
    fn column(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::UserId => "user_id",
            Self::Kind => "kind",
            Self::RuntimeType => "runtime",
            Self::Phase => "phase",
            Self::Id => "id",
            Self::Name => "name",
            Self::AlgorithmName => "algorithm",
        }
    }
}

/// A group, and how many jobs it has.
type Group = (i64, u64);

impl Selection {
    fn since(&self) -> i64 {
        self.from.map_or(i64::MIN, Moment::millis)
    }

    fn until(&self) -> i64 {
        self.to.map_or(i64::MAX, Moment::millis)
    }

    /// The groups of a project that may have such jobs.
    fn groups(&self, connection: &Connection, project: i64) -> rusqlite::Result<Vec<Group>> {
        let sql = "SELECT * FROM job_groups WHERE project = ?1 AND jobs > 0";
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query([project])?;
        let mut groups = Vec::new();
        while let Some(row) = rows.next()? {
            let mut passes = true;
            for (key, test) in &self.tests {
                passes &= key.of_each_job() || test.passes(row.get_ref(key.column())?.as_str()?);
            }
            if passes {
                let jobs: i64 = row.get("jobs")?;
                groups.push((row.get("number")?, u64::try_from(jobs).unwrap_or(0)));
            }
        }
        Ok(groups)
    }

    /// All jobs of some groups in a span of time. Nothing is counted that was not counted before.
    fn counted(
        &self,
        connection: &Connection,
        groups: &[Group],
    ) -> rusqlite::Result<(u64, Vec<Place>)> {
        let all = groups.iter().map(|(_, jobs)| jobs).sum();
        let groups: Vec<i64> = groups.iter().map(|(number, _)| *number).collect();
        let before = match self.from {
            None => 0,
            Some(from) => tally::before(connection, &groups, from.millis())?,
        };
        let end = match self.to {
            None => all,
            Some(to) => tally::before(connection, &groups, to.millis().saturating_add(1))?,
        };
        let count = end.saturating_sub(before);
        let left = count.saturating_sub(self.skip);
        let take = self.limit.min(left);
        if take == 0 {
            return Ok((count, Vec::new()));
        }
        let (mut since, mut until, mut skip) = (self.since(), self.until(), self.skip);
        if skip >= NEAR {
            let first = if self.ascending {
                before + skip
            } else {
                end - 1 - skip
            };
            if let Some(span) = tally::at(connection, &groups, first)? {
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
        let mut places = Vec::new();
        let sql = if self.ascending {
            "SELECT created, number FROM jobs WHERE job_group = ?1 AND created BETWEEN ?2 AND ?3
             ORDER BY created, number LIMIT ?4"
        } else {
            "SELECT created, number FROM jobs WHERE job_group = ?1 AND created BETWEEN ?2 AND ?3
             ORDER BY created DESC, number DESC LIMIT ?4"
        };
        let mut select = connection.prepare_cached(sql)?;
        let most = i64::try_from(skip + take).unwrap_or(i64::MAX);
        for group in &groups {
            let rows = select.query_map(params![group, since, until, most], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
            for place in rows {
                places.push(place?);
            }
        }
        Ok((count, page(places, self.ascending, skip, take)))
    }

    /// Jobs that are looked at one by one: as few as the tests allow.
    fn looked_up(
        &self,
        connection: &Connection,
        groups: &[Group],
        tests: &[&(Key, Test)],
    ) -> rusqlite::Result<(u64, Vec<Place>)> {
        const ROW: &str = "SELECT created, number, job_group, id, name, algorithm FROM jobs";
        let ids = tests.iter().find_map(|test| match test {
            (Key::Id, Test::In(ids)) => Some(ids),
            _ => None,
        });
        let phrase = phrase(tests);
        let groups: Vec<i64> = groups.iter().map(|(number, _)| *number).collect();
        let numbers = format!("{groups:?}");
        let (sql, first) = if let Some(ids) = ids {
            let ids = serde_json::to_string(ids).map_err(crate::database::unwritable)?;
            let sql = "WHERE id IN (SELECT value FROM json_each(?1))
                       AND job_group IN (SELECT value FROM json_each(?2))";
            (format!("{ROW} {sql} AND created BETWEEN ?3 AND ?4"), ids)
        } else if let Some(phrase) = phrase {
            let sql = "WHERE number IN (SELECT rowid FROM job_names WHERE job_names MATCH ?1)
                       AND +job_group IN (SELECT value FROM json_each(?2))";
            (
                format!("{ROW} {sql} AND +created BETWEEN ?3 AND ?4"),
                phrase,
            )
        } else {
            let sql = "WHERE ?1 = '' AND job_group IN (SELECT value FROM json_each(?2))";
            (
                format!("{ROW} {sql} AND created BETWEEN ?3 AND ?4"),
                String::new(),
            )
        };
        let mut select = connection.prepare_cached(&sql)?;
        let mut rows = select.query(params![first, numbers, self.since(), self.until()])?;
        let mut places: Vec<Place> = Vec::new();
        while let Some(row) = rows.next()? {
            let mut passes = true;
            for (key, test) in tests {
                passes &= test.passes(row.get_ref(key.column())?.as_str()?);
            }
            if passes {
                places.push((row.get(0)?, row.get(1)?));
            }
        }
        let count = places.len() as u64;
        Ok((count, page(places, self.ascending, self.skip, self.limit)))
    }
}

/// The longest part of a name that is asked for, as the index takes it.
fn phrase(tests: &[&(Key, Test)]) -> Option<String> {
    let parts = tests.iter().filter_map(|(key, test)| match test {
        Test::Contains(part) if !part.contains('\0') => Some((key, part)),
        _ => None,
    });
    let (key, part) = parts.max_by_key(|(_, part)| part.chars().count())?;
    let quoted = part.replace('"', "\"\"");
    (part.chars().count() >= TRIGRAM).then(|| format!("{}: \"{quoted}\"", key.column()))
}

fn page(mut places: Vec<Place>, ascending: bool, skip: u64, take: u64) -> Vec<Place> {
    places.sort_unstable();
    if !ascending {
        places.reverse();
    }
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    let take = usize::try_from(take).unwrap_or(usize::MAX);
    places.into_iter().skip(skip).take(take).collect()
}
