//! Compares the results of calls with the state of the service, and with the record of the changes
//! that it has executed.

pub(crate) mod lists;

use modelarts_emulator::jobs::StoredJob;

use crate::prelude::*;

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
/// it had executed one, and the returned job is that of the request. After an error, the job does
/// not exist, unless the error is uncertain.
pub(crate) async fn created(world: &World, wish: &Wish, ended: &Ended<Job>) {
    let what = &ended.what;
    ended.within(world, ended.took(), CALL);
    let mut named = world.service.changes();
    named.retain(|change| change.op == Op::Create && Wish::read(&change.body).is_named_as(wish));
    let is_own = |change: &&Change| change.call == Some(ended.call.number);
    let mut own = named.iter().filter(is_own);
    let made = own.find(|change| change.is_executed());
    let is_again = made.is_some() && own.next().is_some();
    fail!(world, if is_again; "{what} was sent again after it was executed");
    let is_rival = |change: &Change| change.is_executed() && !is_own(&change);
    let has_rival = named.iter().any(is_rival);
    ended.require(world, |error| error.is_conflict() && has_rival);
    let made = made.and_then(|made| made.id.as_deref());
    certain(world, made.is_some(), ended);
    match &ended.result {
        Ok(job) => returned(world, wish, (what, job, made), &named),
        Err(error) if error.code() == Some(NAME_EXISTS) && !has_rival && made.is_none() => {
            fail!(world; "{what}: no job has the name: {error}");
        }
        Err(_) => {}
    }
}

/// Checks the job that a creation returned. `made` is the id of the job that its request created,
/// and `named` are the requests for jobs of its name.
fn returned(
    world: &World,
    wish: &Wish,
    (what, job, made): (&str, &Job, Option<&str>),
    named: &[Change],
) {
    let is_origin = |change: &&Change| change.id.as_deref() == Some(job.id());
    let Some(origin) = named.iter().find(is_origin) else {
        fail!(world; "{what} returned a job that no request created");
        return;
    };
    let executed = Wish::read(&origin.body);
    fail!(world, if made != Some(job.id()); "{what} returned a job that it did not create");
    fail!(world, if executed != *wish; "{what} returned {executed:?} instead of {wish:?}");
    wished(world, what, &executed, job);
    let is_changed = shown(job)["metadata"]["description"] != wish.description;
    fail!(world, if is_changed && !job.is_final(); "{what} returned another description");
}

/// Checks that two handles are of the same job, with the same settings.
pub(crate) fn identity(world: &World, what: &str, one: &Job, other: &Job) {
    let is_other = one.id() != other.id() || one.name() != other.name();
    fail!(world, if is_other; "{what} returned {}", other.name());
    wished(world, what, &Wish::read(&shown(one)), other);
}

/// Checks details that were read: they are those of the service before or after the call.
pub(crate) fn details(world: &World, what: &str, before: &Value, after: &Value, job: &Job) {
    const PHASE: &str = "/status/phase";
    let got = shown(job);
    for path in ["/metadata/id", "/metadata/create_time", "/metadata/description", PHASE] {
        let values = [before, after].map(|job| job.pointer(path));
        let value = got.pointer(path);
        let is_known = values.contains(&None) || values.contains(&value);
        let is_between = path == PHASE && values[0] != values[1];
        fail!(world, if !is_known && !is_between; "{what}: {path} is {value:?}, not of {values:?}");
    }
    if before.pointer("/metadata/id").is_some() {
        wished(world, what, &Wish::read(before), job);
    }
}

/// Returns the change that this call asked for, if the service executed it.
fn executed<T>(world: &World, op: Op, ended: &Ended<T>) -> Option<Change> {
    let is_own = |one: &Change| one.call == Some(ended.call.number) && one.op == op;
    let mut changes = world.service.changes().into_iter();
    changes.find(|change| is_own(change) && change.is_executed())
}

/// Checks that the error of a call whose change was executed is uncertain.
fn certain<T>(world: &World, is_executed: bool, ended: &Ended<T>) {
    if let Err(error) = &ended.result {
        let is_wrong = is_executed && !error.is_uncertain();
        fail!(world, if is_wrong; "{} was executed, but failed for certain: {error}", ended.what);
    }
}

/// Checks that a job was stopped by a successful stop, and by no other.
pub(crate) async fn stopped(world: &World, job: &Job, ended: &Ended<Job>) {
    let is_executed = executed(world, Op::Stop, ended).is_some();
    certain(world, is_executed, ended);
    let phase = world.service.stored(job.id()).await.map(|job| job.phase);
    let runs = matches!(phase, Some("Running" | "Pending"));
    if let Ok(stopped) = &ended.result {
        identity(world, &ended.what, job, stopped);
        fail!(world, if !is_executed && runs; "{} succeeded, but the job runs", ended.what);
    }
}

/// Checks that a job does not exist after a successful delete request.
pub(crate) async fn deleted(world: &World, job: &Job, ended: &Ended<()>) {
    let is_executed = executed(world, Op::Delete, ended).is_some();
    certain(world, is_executed, ended);
    let is_gone = ended.result.as_ref().is_err_and(Error::is_not_found);
    fail!(world, if is_executed && is_gone; "{} failed after it was executed", ended.what);
    let exists = world.service.stored(job.id()).await.is_some();
    let is_wrong = ended.result.is_ok() && exists;
    fail!(world, if is_wrong; "{} succeeded, but the job exists", ended.what);
}

/// Checks that a successful change of a description was executed, and that one that failed was not.
pub(crate) fn described(world: &World, text: &str, ended: &Ended<()>) {
    let change = executed(world, Op::Change, ended);
    certain(world, change.is_some(), ended);
    let is_made = change.is_some_and(|change| change.body["description"] == text);
    let is_wrong = ended.result.is_ok() && !is_made;
    fail!(world, if is_wrong; "{} succeeded, but is not executed", ended.what);
}

/// Checks that a job does not exist if a call has reported it as missing.
pub(crate) async fn vanished(world: &World, job: &Job, what: &str) {
    let exists = world.service.stored(job.id()).await.is_some();
    fail!(world, if exists; "{what} {}: the job is missing, but it exists", job.name());
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

/// Returns the stored job, unless it was deleted. A call that followed the job has ended, so the
/// job must have.
async fn followed(world: &World, job: &Job, what: &str) -> Option<StoredJob> {
    let stored = world.service.stored(job.id()).await?;
    fail!(world, if stored.ended.is_none(); "{what}: ended before the job did");
    stored.ended.is_some().then_some(stored)
}

/// Checks that a call that followed a job to its end returned all events of the job. The billing
/// event may be missing, because the service writes it after the end.
pub(crate) async fn events(world: &World, job: &Job, what: &str, messages: &[&str]) {
    let Some(stored) = followed(world, job, what).await else {
        return;
    };
    let was_billed = messages.contains(&BILLED);
    let expected = stored.events.iter().map(String::as_str);
    let expected = expected.filter(|message| was_billed || *message != BILLED);
    each_once(world, what, expected, messages.iter().copied());
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
        fail!(world, if !which.is_empty(); "{what}: {} {how}: {which:?}", which.len());
    }
}

/// Checks that every line of the log of a task was read. The job has ended, and its log is shorter
/// than a preview and younger than 30 days, so the service still has the complete log.
pub(crate) async fn log(world: &World, job: &Job, task: u32, items: &[LogItem]) {
    let what = format!("log of {} worker-{task}", job.name());
    if followed(world, job, &what).await.is_none() {
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
    let pairs = lines.iter().zip(&expected);
    let equal = pairs.take_while(|(a, b)| a == b).count();
    let (count, all) = (lines.len(), expected.len());
    fail!(world, if lines != expected; "{what}: {count} lines of {all}, {equal} as expected");
}

/// Checks that the last phase that a call returned is that of the service.
pub(crate) async fn phase(world: &World, job: &Job, what: &str, returned: Option<&str>) {
    if let Some(StoredJob { phase, .. }) = world.service.stored(job.id()).await {
        let is_other = returned != Some(phase);
        fail!(world, if is_other; "{what}: returned {returned:?}, but the phase is {phase}");
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
    let what = format!("{}: {outcome:?}", ended.what);
    let expected = match outcome {
        Outcome::Completed => "Completed",
        Outcome::Failed { .. } => "Failed",
        Outcome::Terminated { .. } => "Terminated",
        Outcome::Abnormal { .. } => "Abnormal",
        Outcome::Vanished => return vanished(world, job, &what).await,
        Outcome::TimedOut => {
            let jumps = world.conditions.jumps(ended.call.begun..ended.at);
            let is_early = limit.is_none_or(|limit| ended.took() + jumps < limit);
            return fail!(world, if is_early; "{what} after {:?}", ended.took());
        }
        _ => return fail!(world; "{what} was not asked for"),
    };
    phase(world, job, &what, Some(expected)).await;
    if let Outcome::Failed { exit_code, .. } = outcome {
        let details = world.service.details(job.id()).await;
        let code = details.pointer("/status/task_statuses/0/exit_code");
        let is_other = code.is_some_and(|code| *code != json!(exit_code));
        fail!(world, if is_other; "{what}, but the exit code is {code:?}");
    }
}
