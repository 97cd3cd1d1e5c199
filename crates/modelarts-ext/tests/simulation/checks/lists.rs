//! Compares lists with the rows of the service.

use std::collections::{HashMap, HashSet};

use modelarts_ext::Job;
use serde_json::Value;

use crate::{
    checks::{shown, wished},
    users::condition::Condition,
    wish::Wish,
    world::{Ended, World, fail},
};

/// The rows that a list must contain.
pub(crate) struct Expected {
    /// The rows of the service before and after the list was read.
    pub(crate) before: Vec<Value>,
    pub(crate) after: Vec<Value>,
    pub(crate) condition: Condition,
    pub(crate) ascending: bool,
    /// The maximum number of rows that was asked for.
    pub(crate) most: Option<usize>,
    pub(crate) page: u32,
}

fn id(row: &Value) -> &str {
    row["metadata"]["id"].as_str().unwrap_or_default()
}

impl Expected {
    /// Compares a list: it contains no job twice, only jobs that meet its conditions, with the
    /// values of the service, and in its order. If reading ended with `Ok`, it contains every job
    /// that existed and met the conditions during the whole time.
    pub(crate) fn compare(&self, world: &World, ended: &Ended<Vec<Job>>) {
        let Ok(jobs) = &ended.result else { return };
        let what = &ended.what;
        let by_id = |rows: &[Value]| -> HashMap<String, Value> {
            rows.iter()
                .map(|row| (id(row).to_owned(), row.clone()))
                .collect()
        };
        let (before, after) = (by_id(&self.before), by_id(&self.after));
        let mut seen = HashSet::new();
        for job in jobs {
            fail!(world, if !seen.insert(job.id()); "{what}: {} was listed twice", job.name());
            let known = after.get(job.id()).or(before.get(job.id()));
            let Some(known) = known else { continue };
            if !self.condition.matches(&shown(job)) {
                fail!(world; "{what}: {} does not match", job.name());
            }
            wished(world, what, &Wish::read(known), job);
        }
        let is_kept = |row: &&Value| {
            self.condition.matches(row)
                && after
                    .get(id(row))
                    .is_some_and(|row| self.condition.matches(row))
        };
        let must: Vec<&Value> = self.before.iter().filter(is_kept).collect();
        self.complete(world, what, jobs, &must);
        if !world.conditions.unordered {
            // Jobs that are created meanwhile may be returned between the others.
            let known: Vec<&Job> = jobs
                .iter()
                .filter(|job| before.contains_key(job.id()))
                .collect();
            self.sorted(world, what, &known);
        }
        let cap = world.conditions.page_cap.unwrap_or(50);
        let page = u64::from(self.page).min(cap).max(1);
        let rows = usize::try_from(self.after.len() as u64 / page).unwrap_or(0);
        if !world.conditions.unordered {
            ended.sent_at_most(world, 20 + 4 * rows);
        }
    }

    /// Checks that the list contains the rows that it must contain.
    fn complete(&self, world: &World, what: &str, jobs: &[Job], must: &[&Value]) {
        let listed: HashSet<&str> = jobs.iter().map(|job| job.id()).collect();
        match self.most {
            None => {
                let missing = must.iter().filter(|row| !listed.contains(id(row))).count();
                if missing > 0 {
                    let all = must.len();
                    fail!(world; "{what}: {missing} of {all} jobs are missing");
                }
            }
            Some(most) if jobs.len() > most || jobs.len() < most.min(must.len()) => {
                let (count, all) = (jobs.len(), must.len());
                fail!(world; "{what}: {count} jobs of {all}, at most {most}");
            }
            Some(_) => {}
        }
    }

    /// Checks the order of the list.
    fn sorted(&self, world: &World, what: &str, jobs: &[&Job]) {
        let times: Vec<Option<i64>> = jobs
            .iter()
            .map(|job| shown(job)["metadata"]["create_time"].as_i64())
            .collect();
        let is_sorted = match self.ascending {
            true => times.is_sorted(),
            false => times.iter().rev().is_sorted(),
        };
        fail!(world, if !is_sorted; "{what}: the jobs are not in order");
    }
}

/// Checks a list of events: it must contain all events that existed before it was read, and no
/// event that does not exist afterwards, in the order in which they were written.
pub(crate) fn events(
    world: &World,
    what: &str,
    (before, after): (&[String], &[String]),
    listed: &[&str],
    newest_first: bool,
) {
    let mut listed = listed.to_vec();
    if newest_first {
        listed.reverse();
    }
    if newest_first && before != after {
        // New events have moved the others while the list was read.
        let lacks = before.iter().find(|one| !listed.contains(&one.as_str()));
        let extra = listed.len() > after.len();
        if lacks.is_some() || extra {
            fail!(world; "{what}: {lacks:?} is missing, or some came twice");
        }
        return;
    }
    // New events are written at the end of the list.
    let is_prefix = listed.len() >= before.len()
        && listed.len() <= after.len()
        && listed.iter().zip(after).all(|(one, other)| one == other);
    if !is_prefix {
        let at = listed
            .iter()
            .zip(after)
            .position(|(one, other)| one != other);
        fail!(world; "{what}: {} events, of {} before and {} after; the first other is {at:?}",
            listed.len(), before.len(), after.len());
    }
}
