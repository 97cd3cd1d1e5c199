//! Compares the results of calls with the state of the service, and with the record of the changes
//! that it has executed.

pub(crate) mod lists;

use std::time::Duration;

use modelarts_ext::{Error, Job, LogItem, Outcome};
use serde_json::{Value, json};

use crate::{
    calls::Op,
    service::Change,
    wish::Wish,
    world::{Ended, World, fail},
};

/// Error code for a job name that is in use.
const NAME_EXISTS: &str = "ModelArts.2751";
/// Default deadline of a call that may send several requests.
const CALL: Duration = Duration::from_secs(301);
/// Event that may come after the end of a stream that follows a job.
const BILLED: &str = "Billing information synchronized.";

/// Returns the details of a job as JSON.
pub(crate) fn shown(job: &Job) -> Value {
    serde_json::to_value(job.details()).unwrap_or_default()
}

/// Checks that a returned job has the settings that were asked for.
pub(crate) fn wished(world: &World, what: &str, wish: &Wish, job: &Job) {
    if let Some(difference) = wish.differences(&Wish::read(&shown(job))) {
        fail!(world; "{what} returned {difference}");
    }
}

/// Checks the result of a job creation: the service has not received a further create request after
/// it had executed one, and the returned job is that of the request, or one of an equal request.
/// After an error, the job does not exist, unless the error is uncertain.
pub(crate) async fn created(world: &World, wish: &Wish, ended: &Ended<Job>) {
    let what = &ended.what;
    ended.within(world, ended.took(), CALL);
    let changes = world.service.changes();
    let is_named = |change: &&Change| {
        change.op == Op::Create && {
            let other = Wish::read(&change.body);
            other.name == wish.name && other.workspace == wish.workspace
        }
    };
    let named: Vec<&Change> = changes.iter().filter(is_named).collect();
    let is_own = |change: &&&Change| change.call == Some(ended.call.number);
    let own: Vec<&&Change> = named.iter().filter(is_own).collect();
    let made = own.iter().position(|change| change.is_executed());
    let again = made.map_or(0, |made| own.len() - made - 1);
    // A jump of the clock may hide the age of the job.
    let jumps = world.conditions.jumps(ended.call.begun..ended.at) > Duration::ZERO;
    fail!(world, if again > 0 && !jumps; "{what} was sent again after it was executed");
    let is_rival = |change: &&Change| change.is_executed() && !is_own(&&&**change);
    let has_rival = named.iter().copied().any(|change| is_rival(&change));
    ended.require(world, |error| error.is_conflict() && has_rival);
    let made = made.and_then(|made| own[made].id.as_deref());
    match &ended.result {
        Ok(job) => returned(world, wish, ended, (job, made), &named),
        Err(error) if made.is_some() && !error.is_uncertain() => {
            fail!(world; "{what} failed for certain, but the job exists: {error}");
        }
        Err(error) if error.code() == Some(NAME_EXISTS) && !has_rival && made.is_none() => {
            fail!(world; "{what}: no job has the name: {error}");
        }
        Err(_) => {}
    }
}

/// Checks the job that a creation returned. `made` is the id of the job that its request created.
fn returned(
    world: &World,
    wish: &Wish,
    ended: &Ended<Job>,
    (job, made): (&Job, Option<&str>),
    named: &[&Change],
) {
    let what = &ended.what;
    let origin = named
        .iter()
        .find(|change| change.id.as_deref() == Some(job.id()));
    let Some(origin) = origin else {
        fail!(world; "{what} returned a job that no request created");
        return;
    };
    let executed = Wish::read(&origin.body);
    let is_own = executed == *wish || made.is_none() && wish.is_like(&executed);
    fail!(world, if !is_own; "{what} returned the job of {executed:?} instead of {wish:?}");
    if made.is_some_and(|made| made != job.id()) {
        fail!(world; "{what} returned the job of an equal request, not its own");
    }
    if made.is_none() && world.conditions.is_calm() {
        fail!(world; "{what} returned a job that it did not create");
    }
    wished(world, what, &executed, job);
    if !job.is_final() && shown(job)["metadata"]["description"] != wish.description {
        fail!(world; "{what} returned another description");
    }
}

/// Checks that two handles are of the same job, with the same settings.
pub(crate) fn identity(world: &World, what: &str, one: &Job, other: &Job) {
    if one.id() != other.id() || one.name() != other.name() {
        fail!(world; "{what} returned {}", other.name());
    }
    wished(world, what, &Wish::read(&shown(one)), other);
}

/// Checks details that were read: they are those of the service before or after the call.
pub(crate) fn details(world: &World, what: &str, before: &Value, after: &Value, job: &Job) {
    let got = shown(job);
    for path in [
        "/metadata/id",
        "/metadata/create_time",
        "/metadata/description",
        "/status/phase",
    ] {
        let values = [before, after].map(|job| job.pointer(path));
        let value = got.pointer(path);
        let is_between = path == "/status/phase" && values[0] != values[1];
        let is_equal = values
            .iter()
            .any(|known| known.is_none() || *known == value);
        if !is_equal && !is_between {
            fail!(world; "{what}: {path} is {value:?}, not one of {values:?}");
        }
    }
    if before.pointer("/metadata/id").is_some() {
        wished(world, what, &Wish::read(before), job);
    }
}

/// Checks that the job handle on which the caller started a wait reports the same final state as
/// the result of the wait.
pub(crate) fn handle(world: &World, job: &Job, end: &Job) {
    if end.is_final()
        && (job.time_run() != end.time_run() || !job.exit_codes().eq(end.exit_codes()))
    {
        fail!(world; "{} ran for {:?} after a wait that says {:?}",
            job.name(), job.time_run(), end.time_run());
    }
}

/// Returns the change that this call asked for, if the service executed it.
fn executed<T>(world: &World, op: Op, ended: &Ended<T>) -> Option<Change> {
    let mut changes = world.service.changes().into_iter();
    changes.find(|change| {
        change.call == Some(ended.call.number) && change.op == op && change.is_executed()
    })
}

/// Checks that a job was stopped by a successful stop, and by no other.
pub(crate) async fn stopped(world: &World, job: &Job, ended: &Ended<Job>) {
    let executed = executed(world, Op::Stop, ended).is_some();
    let phase = world.service.stored(job.id()).await.map(|job| job.phase);
    match &ended.result {
        Ok(stopped) => {
            identity(world, &ended.what, job, stopped);
            if !executed && phase.is_some_and(|phase| phase == "Running" || phase == "Pending") {
                fail!(world; "{} succeeded, but the job runs", ended.what);
            }
        }
        Err(error) if executed && !error.is_uncertain() => {
            fail!(world; "{} failed for certain: {error}", ended.what);
        }
        Err(_) => {}
    }
}

/// Checks that a job does not exist after a successful delete request.
pub(crate) async fn deleted(world: &World, job: &Job, ended: &Ended<()>) {
    let exists = world.service.stored(job.id()).await.is_some();
    match &ended.result {
        Ok(()) if exists => {
            fail!(world; "{} succeeded, but the job exists", ended.what);
        }
        Err(error) if executed(world, Op::Delete, ended).is_some() && !error.is_uncertain() => {
            fail!(world; "{} failed for certain: {error}", ended.what);
        }
        _ => {}
    }
}

/// Checks that a successful change of a description was executed, and that one that failed was not.
pub(crate) fn described(world: &World, text: &str, ended: &Ended<()>) {
    let change = executed(world, Op::Change, ended);
    match &ended.result {
        Ok(())
            if change
                .as_ref()
                .is_none_or(|change| change.body["description"] != text) =>
        {
            fail!(world; "{} succeeded, but is not executed", ended.what);
        }
        Err(error) if change.is_some() && !error.is_uncertain() => {
            fail!(world; "{} failed for certain: {error}", ended.what);
        }
        _ => {}
    }
}

/// Checks that a job does not exist if a call has reported it as missing.
pub(crate) async fn vanished(world: &World, job: &Job, what: &str) {
    if world.service.stored(job.id()).await.is_some() {
        fail!(world; "{what} {}: the job is missing, but it exists", job.name());
    }
}

/// Checks a call that changes or reads a job: its time, and its error.
pub(crate) async fn changed<T>(
    world: &World,
    job: &Job,
    ended: &Ended<T>,
    is_allowed: impl Fn(&Error) -> bool,
) {
    ended.within(world, ended.took(), CALL);
    ended.require(world, is_allowed);
    gone_if_not_found(world, job, ended).await;
}

/// Checks that a job does not exist if the error of a call says so.
pub(crate) async fn gone_if_not_found<T>(world: &World, job: &Job, ended: &Ended<T>) {
    if ended.result.as_ref().is_err_and(Error::is_not_found) {
        vanished(world, job, &ended.what).await;
    }
}

/// Checks that a call that followed a job to its end returned all events of the job. The billing
/// event may be missing, because the service writes it after the end.
pub(crate) async fn followed<'a>(
    world: &World,
    job: &Job,
    what: &str,
    messages: impl Iterator<Item = &'a str> + Clone,
) {
    let Some(stored) = world.service.stored(job.id()).await else {
        return;
    };
    if stored.ended.is_none() {
        fail!(world; "{what}: ended before the job did");
        return;
    }
    let was_billed = messages.clone().any(|message| message == BILLED);
    let expected = stored.events.iter().map(String::as_str);
    let expected = expected.filter(|message| was_billed || *message != BILLED);
    each_once(world, what, expected, messages);
}

/// Checks that `came` and `expected` contain the same elements, each with the same number of
/// occurrences.
pub(crate) fn each_once<'a, 'b>(
    world: &World,
    what: &str,
    expected: impl Iterator<Item = &'a str>,
    came: impl Iterator<Item = &'b str>,
) {
    let mut missing: Vec<&'a str> = expected.collect();
    let mut extra = Vec::new();
    for one in came {
        match missing.iter().position(|other| *other == one) {
            Some(at) => drop(missing.remove(at)),
            None => extra.push(one),
        }
    }
    for (how, which) in [("missing", missing), ("doubled or unknown", extra)] {
        if !which.is_empty() {
            let count = which.len();
            fail!(world; "{what}: {count} {how}: {which:?}");
        }
    }
}

/// Checks that every line of the log of a task was read. The job has ended, and its log is shorter
/// than a preview and younger than 30 days, so the service still has the complete log.
pub(crate) async fn log(world: &World, job: &Job, task: u32, items: &[LogItem]) {
    let Some(stored) = world.service.stored(job.id()).await else {
        return;
    };
    let what = format!("log of {} worker-{task}", job.name());
    if stored.ended.is_none() {
        fail!(world; "{what}: ended before the job did");
        return;
    }
    let log = world.service.log(job.id(), task).await.unwrap_or_default();
    let mut lines = Vec::new();
    for item in items {
        match item {
            LogItem::Line(line) => lines.push(line.as_str()),
            other => fail!(world; "{what}: {other:?}, but no line is missing"),
        }
    }
    let expected: Vec<&str> = log.lines().collect();
    if lines != expected {
        let at = lines.iter().zip(&expected).position(|(a, b)| a != b);
        fail!(world; "{what}: {} lines of {}, which differ from line {:?} on",
            lines.len(), expected.len(), at.unwrap_or(lines.len().min(expected.len())) + 1);
    }
}

/// Checks that the last phase that a call returned is that of the service.
pub(crate) async fn phase(world: &World, job: &Job, what: &str, returned: Option<&str>) {
    if let Some(stored) = world.service.stored(job.id()).await
        && returned != Some(stored.phase)
    {
        fail!(world; "{what}: returned {returned:?}, but the phase is {}", stored.phase);
    }
}

/// Checks that the outcome of a wait corresponds to the final phase of the job, and that the wait
/// did not end before its time limit.
pub(crate) async fn outcome<T>(
    world: &World,
    job: &Job,
    outcome: &Outcome,
    limit: Option<Duration>,
    ended: &Ended<T>,
) {
    let what = &ended.what;
    let details = world.service.details(job.id()).await;
    let stored = world.service.stored(job.id()).await;
    let phase = match outcome {
        Outcome::Completed => "Completed",
        Outcome::Failed { .. } => "Failed",
        Outcome::Terminated { .. } => "Terminated",
        Outcome::Abnormal { .. } => "Abnormal",
        Outcome::Vanished => return vanished(world, job, what).await,
        Outcome::TimedOut => {
            let jumps = world.conditions.jumps(ended.call.begun..ended.at);
            if limit.is_none_or(|limit| ended.took() + jumps < limit) {
                fail!(world; "{what}: timed out after {:?}", ended.took());
            }
            return;
        }
        other => return fail!(world; "{what}: {other:?} was not asked for"),
    };
    if let Some(stored) = stored
        && stored.phase != phase
    {
        fail!(world; "{what}: {outcome:?}, but the phase is {}", stored.phase);
    }
    if let Outcome::Failed { exit_code, .. } = outcome {
        let code = details.pointer("/status/task_statuses/0/exit_code");
        if code.is_some_and(|code| *code != json!(exit_code)) {
            fail!(world; "{what}: {outcome:?}, but the exit code is {code:?}");
        }
    }
}
