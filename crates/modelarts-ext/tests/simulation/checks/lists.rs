//! Compares lists with the rows of the service.

use crate::{
    checks::{shown, wished},
    prelude::*,
    users::condition::Condition,
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
    metadata(row, "id")
}

impl Expected {
    /// Compares a list: it contains no job twice, only jobs that meet its conditions, with the
    /// values of the service, and in its order. If reading ended with `Ok`, it contains every job
    /// that existed and met the conditions during the whole time.
    pub(crate) fn compare(&self, world: &World, ended: &Ended<Vec<Job>>) {
        let Ok(jobs) = &ended.result else { return };
        let what = &ended.what;
        fn by_id(rows: &[Value]) -> HashMap<&str, &Value> {
            rows.iter().map(|row| (id(row), row)).collect()
        }
        let (before, after) = (by_id(&self.before), by_id(&self.after));
        let mut seen = HashSet::new();
        // A position contains only the last rows before it.
        let may_repeat = world.conditions.unordered && what.starts_with("rest of");
        for job in jobs {
            let is_twice = !seen.insert(job.id()) && !may_repeat;
            fail!(world, if is_twice; "{what}: {} was listed twice", job.name());
            if let Some(known) = after.get(job.id()).or(before.get(job.id())) {
                let is_other = !self.condition.matches(&shown(job));
                fail!(world, if is_other; "{what}: {} does not match", job.name());
                wished(world, what, &Wish::read(known), job);
            }
        }
        let matches = |row: &&Value| self.condition.matches(row);
        let is_kept = |row: &&Value| matches(row) && after.get(id(row)).is_some_and(matches);
        let must = self.before.iter().filter(is_kept);
        let (count, all) = (jobs.len(), must.clone().count());
        if let Some(most) = self.most {
            let is_wrong = count > most || count < most.min(all);
            fail!(world, if is_wrong; "{what}: {count} jobs of {all}, at most {most}");
        } else {
            let missing = must.filter(|row| !seen.contains(id(row))).count();
            fail!(world, if missing > 0; "{what}: {missing} of {all} jobs are missing");
        }
        if world.conditions.unordered {
            return;
        }
        // Jobs that are created meanwhile, or meet the conditions only then, may be returned
        // between the others.
        let known = jobs.iter().filter(|job| before.get(job.id()).is_some_and(matches));
        let times = known.map(|job| shown(job)["metadata"]["create_time"].as_i64());
        let mut times: Vec<Option<i64>> = times.collect();
        if !self.ascending {
            times.reverse();
        }
        fail!(world, if !times.is_sorted(); "{what}: the jobs are not in order");
        let page = world.conditions.page_cap.unwrap_or(50);
        let page = page.min(usize::try_from(self.page).unwrap_or(1));
        let pages = self.after.len() / page.max(1);
        ended.sent_at_most(world, 11 + 3 * pages);
    }
}

/// Checks a list of events: it must contain all events that existed before it was read, and no
/// event that does not exist afterwards, in the order in which they were written.
pub(crate) fn events(
    world: &World,
    what: &str,
    (before, after): (&[String], &[String]),
    mut listed: Vec<&str>,
    newest_first: bool,
) {
    if newest_first {
        listed.reverse();
    }
    let (count, old, new) = (listed.len(), before.len(), after.len());
    if newest_first && before != after {
        // New events have moved the others while the list was read.
        let is_missing = before.iter().any(|one| !listed.contains(&one.as_str()));
        fail!(world, if is_missing || count > new; "{what}: one is missing, or some came twice");
        return;
    }
    // New events are written at the end of the list.
    let pairs = listed.iter().zip(after);
    let equal = pairs.take_while(|(one, other)| one == other).count();
    let is_wrong = count < old || equal < count;
    fail!(world, if is_wrong; "{what}: {count} of {old} before, {new} after, {equal} as expected");
}
