//! Compares the results of calls with the database of the emulator.

use std::time::Duration;

use modelarts_emulator::jobs::StoredJob;
use modelarts_ext::{Error, Job, LogItem, Outcome};

use crate::world::World;

/// Returns the stored job, unless it was deleted.
fn stored(world: &World, id: &str) -> Option<StoredJob> {
    match world.emulator.stored_job(id) {
        Ok(job) => job.filter(|job| !job.deleted),
        Err(error) => {
            world.trace.fail(format_args!("the database: {error}"));
            None
        }
    }
}

fn ids(world: &World) -> Vec<String> {
    world.emulator.stored_ids().unwrap_or_else(|error| {
        world.trace.fail(format_args!("the database: {error}"));
        Vec::new()
    })
}

/// Returns the ids of all jobs that the service lists.
pub(crate) fn visible(world: &World) -> Vec<String> {
    let mut ids = ids(world);
    ids.retain(|id| stored(world, id).is_some());
    ids
}

/// Returns the id of the job with this name.
pub(crate) fn id_of(world: &World, name: &str) -> Option<String> {
    let mut ids = ids(world).into_iter();
    ids.find(|id| stored(world, id).is_some_and(|job| job.name == name))
}

/// Checks that the job handle on which the caller started a wait reports the same final state as
/// the result of the wait.
pub(crate) fn handle(world: &World, job: &Job, end: &Job) {
    if end.is_final()
        && (job.time_run() != end.time_run() || !job.exit_codes().eq(end.exit_codes()))
    {
        world.trace.fail(format_args!(
            "{} ran for {:?} after a wait that says {:?}",
            job.name(),
            job.time_run(),
            end.time_run()
        ));
    }
}

/// Returns the time at which the job reached its final phase.
pub(crate) fn ended_at(world: &World, job: &Job) -> Option<Duration> {
    world.clock.since_start(stored(world, job.id())?.ended?)
}

/// Checks the result of a job creation: the service must not have received a further create request
/// after it had executed one, and the returned job must exist. After an error, the job must not
/// exist, unless the error is uncertain.
pub(crate) fn created(world: &World, name: &str, result: &Result<Job, Error>) {
    let executed = world.executed.lock().unwrap();
    let times = executed.iter().filter(|made| *made == name).count();
    drop(executed);
    if times > 1 {
        let failure = format_args!("submit {name} reached the service {times} times");
        world.trace.fail(failure);
    }
    let all = ids(world);
    let mut jobs = all.iter().filter_map(|id| stored(world, id));
    let failure = match (result, jobs.find(|job| job.name == name)) {
        (Ok(given), Some(job)) if given.id() == job.id => return,
        (Ok(_), Some(_)) => "returned another job".to_owned(),
        (Ok(_), None) => "returned a job that does not exist".to_owned(),
        (Err(error), Some(_)) if !error.is_uncertain() => {
            format!("failed for certain, but the job exists: {error}")
        }
        (Err(_), _) => return,
    };
    world.trace.fail(format_args!("submit {name} {failure}"));
}

/// Checks that a job does not exist after a successful delete request.
pub(crate) fn deleted(world: &World, job: &Job, result: &Result<(), Error>) {
    if result.is_ok() && stored(world, job.id()).is_some() {
        let failure = format_args!("delete {} succeeded, but the job exists", job.name());
        world.trace.fail(failure);
    }
}

/// Checks that a job does not exist if a call has reported it as missing.
pub(crate) fn vanished(world: &World, job: &Job, what: &str) {
    if stored(world, job.id()).is_some() {
        let failure = format_args!(
            "{what} {} reported that the job does not exist, but it exists",
            job.name()
        );
        world.trace.fail(failure);
    }
}

/// Returns the messages of the events of a job, unless it was deleted.
pub(crate) fn messages(world: &World, job: &Job) -> Vec<String> {
    stored(world, job.id()).map_or_else(Vec::new, |job| job.events)
}

/// Event that may come after the end of a stream that follows a job.
const BILLED: &str = "Billing information synchronized.";

/// Checks that a call that followed a job to its end returned all events of the job. The billing
/// event may be missing, because the service writes it after the end.
pub(crate) fn followed<'a>(
    world: &World,
    job: &Job,
    what: &str,
    messages: impl Iterator<Item = &'a str> + Clone,
) {
    let Some(stored) = stored(world, job.id()) else {
        return;
    };
    if stored.ended.is_none() {
        world
            .trace
            .fail(format_args!("{what}: ended before the job did"));
        return;
    }
    let was_billed = messages.clone().any(|message| message == BILLED);
    let expected = stored.events.iter().map(String::as_str);
    let expected = expected.filter(|message| was_billed || *message != BILLED);
    each_once(world, what, expected, messages);
}

/// Checks a list of events: it must contain all events that existed before it was read, and no
/// event that does not exist afterwards.
pub(crate) fn events<'a>(
    world: &World,
    job: &Job,
    what: &str,
    before: &[String],
    listed: impl Iterator<Item = &'a str> + Clone,
) {
    let Some(stored) = stored(world, job.id()) else {
        return;
    };
    let (missing, _) = difference(before.iter().map(String::as_str), listed.clone());
    let (_, extra) = difference(stored.events.iter().map(String::as_str), listed);
    report(world, what, &missing, &extra);
}

/// Checks that `items` and `expected` contain the same elements, each with the same number of
/// occurrences.
pub(crate) fn each_once<'a, 'b>(
    world: &World,
    what: &str,
    expected: impl Iterator<Item = &'a str>,
    came: impl Iterator<Item = &'b str>,
) {
    let (missing, extra) = difference(expected, came);
    report(world, what, &missing, &extra);
}

/// Returns the items of `expected` that are missing, and the items that are not in `expected`.
fn difference<'a, 'b>(
    expected: impl Iterator<Item = &'a str>,
    came: impl Iterator<Item = &'b str>,
) -> (Vec<&'a str>, Vec<&'b str>) {
    let mut missing: Vec<&'a str> = expected.collect();
    let mut extra = Vec::new();
    for one in came {
        match missing.iter().position(|other| *other == one) {
            Some(at) => drop(missing.remove(at)),
            None => extra.push(one),
        }
    }
    (missing, extra)
}

fn report(world: &World, what: &str, missing: &[&str], extra: &[&str]) {
    for (how, which) in [("missing", missing), ("doubled or unknown", extra)] {
        if !which.is_empty() {
            let count = which.len();
            world
                .trace
                .fail(format_args!("{what}: {count} {how}: {which:?}"));
        }
    }
}

/// Checks that every line of the log of a task was read. The job has ended, and its log is shorter
/// than a preview and younger than 30 days, so the service still has the complete log.
pub(crate) async fn log(world: &World, job: &Job, task: u32, items: &[LogItem]) {
    let Some(stored) = stored(world, job.id()) else {
        return;
    };
    let what = format!("log of {} worker-{task}", job.name());
    if stored.ended.is_none() {
        world
            .trace
            .fail(format_args!("{what}: ended before the job did"));
        return;
    }
    let log = match world.emulator.stored_log(job.id(), task).await {
        Ok(log) => String::from_utf8_lossy(&log).into_owned(),
        Err(error) => {
            world.trace.fail(format_args!("{what}: {error}"));
            return;
        }
    };
    let mut lines = Vec::new();
    for item in items {
        match item {
            LogItem::Line(line) => lines.push(line.as_str()),
            other => world
                .trace
                .fail(format_args!("{what}: {other:?}, but no line is missing")),
        }
    }
    let expected: Vec<&str> = log.lines().collect();
    if lines != expected {
        let at = lines.iter().zip(&expected).position(|(a, b)| a != b);
        world.trace.fail(format_args!(
            "{what}: {} lines of {}, which differ from line {:?} on",
            lines.len(),
            expected.len(),
            at.unwrap_or(lines.len().min(expected.len())) + 1,
        ));
    }
}

/// Checks that the last phase that a call returned is the phase in the database.
pub(crate) fn phase(world: &World, job: &Job, what: &str, returned: Option<&str>) {
    if let Some(stored) = stored(world, job.id())
        && returned != Some(stored.phase)
    {
        world.trace.fail(format_args!(
            "{what} {}: returned {returned:?}, but the stored phase is {}",
            job.name(),
            stored.phase
        ));
    }
}

/// Checks that the outcome of a wait corresponds to the final phase in the database.
pub(crate) fn outcome(world: &World, job: &Job, outcome: &Outcome) {
    let stored = stored(world, job.id());
    let phase = match outcome {
        Outcome::Completed => "Completed",
        Outcome::Failed { .. } => "Failed",
        Outcome::Terminated { .. } => "Terminated",
        Outcome::Abnormal { .. } => "Abnormal",
        Outcome::Vanished => return vanished(world, job, "a wait for"),
        _ => return,
    };
    if let Some(stored) = stored
        && stored.phase != phase
    {
        world.trace.fail(format_args!(
            "a wait for {} ended with {outcome:?}, but the stored phase is {}",
            job.name(),
            stored.phase
        ));
    }
}

/// Checks a list of jobs: it must not contain a job twice. If reading ended with `Ok`, the list
/// must contain every job that existed during the whole time.
pub(crate) fn listed(world: &World, what: &str, before: &[String], rows: &[String], ok: bool) {
    let mut seen = std::collections::HashSet::new();
    let doubled = rows.iter().filter(|id| !seen.insert(id.as_str())).count();
    if doubled > 0 {
        world
            .trace
            .fail(format_args!("{what}: {doubled} jobs were listed twice"));
    }
    if !ok {
        return;
    }
    let missing = before
        .iter()
        .filter(|id| !seen.contains(id.as_str()) && stored(world, id).is_some())
        .count();
    if missing > 0 {
        world.trace.fail(format_args!(
            "{what}: {missing} of {} jobs are missing",
            before.len()
        ));
    }
}
