//! Users who follow jobs, and wait for their ends.

use std::time::Duration;

use fastrand::Rng;
use futures::TryStreamExt;
use modelarts_ext::{Error, Event, Job, LogItem, jobs::follow::JobUpdate};

use crate::{
    calls::Kind,
    checks,
    world::{Ended, World, fail, seconds},
};

/// Maximum duration of a watch after the end of the job or of the faults, whichever is later. A
/// watch ends after 15 minutes in which every request has failed, but any successful response
/// restarts this period.
const WATCH: Duration = Duration::from_secs(3600);
/// The same without faults.
const QUIET_WATCH: Duration = Duration::from_secs(240);

/// Checks the duration and the requests of a watch.
async fn check<T>(world: &World, job: &Job, ended: &Ended<T>) {
    let over = world.service.ended_at(job.id()).await.unwrap_or(ended.at);
    let quiet_from = world.conditions.quiet_from;
    let since = ended
        .at
        .saturating_sub(over.max(ended.call.begun).max(quiet_from));
    let most = match ended.call.begun >= quiet_from {
        true => QUIET_WATCH,
        false => WATCH,
    };
    ended.within(world, since, most);
    let seconds = usize::try_from(ended.took().as_secs()).unwrap_or(0);
    ended.sent_at_most(world, 100 + seconds);
    ended.require(world, Error::is_not_found);
    checks::gone_if_not_found(world, job, ended).await;
}

/// Makes a call, and makes it again if the user gives it up.
async fn repeated<T, F: Future<Output = Result<T, Error>>>(
    world: &World,
    job: &Job,
    what: &str,
    rng: &mut Rng,
    make: impl Fn() -> F,
) -> Option<T> {
    for _ in 0..3 {
        if let Some(ended) = world.hurried(what, Kind::Watch, rng, make()).await {
            check(world, job, &ended).await;
            return ended.result.ok();
        }
    }
    None
}

pub(crate) async fn follow_events(world: &World, job: &Job, rng: &mut Rng) {
    let what = format!("follow events of {}", job.name());
    let page = [9, 20, 100][rng.usize(..3)];
    let events = || {
        job.events()
            .page_size(page)
            .follow()
            .try_collect::<Vec<_>>()
    };
    if let Some(events) = repeated(world, job, &what, rng, events).await {
        let messages = events.iter().map(Event::message);
        checks::followed(world, job, &what, messages).await;
    }
}

pub(crate) async fn follow_log(world: &World, job: &Job, rng: &mut Rng) {
    let what = format!("follow log of {}", job.name());
    let access = world.log_access(rng);
    let log = || {
        job.logs("worker-0")
            .read_by(access)
            .follow()
            .try_collect::<Vec<_>>()
    };
    if let Some(items) = repeated(world, job, &what, rng, log).await {
        checks::log(world, job, 0, &items).await;
    }
}

pub(crate) async fn follow(world: &World, job: &Job, rng: &mut Rng) {
    let what = format!("follow {}", job.name());
    let access = world.log_access(rng);
    let updates = || {
        job.updates()
            .read_logs_by(access)
            .follow()
            .try_collect::<Vec<_>>()
    };
    if let Some(updates) = repeated(world, job, &what, rng, updates).await {
        followed(world, job, &what, &updates).await;
    }
}

async fn followed(world: &World, job: &Job, what: &str, updates: &[JobUpdate]) {
    if updates
        .iter()
        .any(|update| matches!(update, JobUpdate::Vanished))
    {
        checks::vanished(world, job, "follow").await;
        return;
    }
    let messages = updates.iter().filter_map(|update| match update {
        JobUpdate::Event(event) => Some(event.message()),
        _ => None,
    });
    checks::followed(world, job, what, messages).await;
    for (index, task) in job.tasks().iter().enumerate() {
        let items = updates.iter().filter_map(|update| match update {
            JobUpdate::Log { task: of, item } if of == task => Some(item.clone()),
            _ => None,
        });
        let items: Vec<LogItem> = items.collect();
        checks::log(world, job, u32::try_from(index).unwrap_or(0), &items).await;
    }
    let phases: Vec<String> = updates
        .iter()
        .filter_map(|update| match update {
            JobUpdate::Phase(job) => Some(job.phase().to_string()),
            _ => None,
        })
        .collect();
    if let Some(pair) = phases.windows(2).find(|pair| pair[0] == pair[1]) {
        fail!(world; "{what}: the phase {} came twice", pair[0]);
    }
    checks::phase(world, job, what, phases.last().map(String::as_str)).await;
}

pub(crate) async fn wait(world: &World, job: &Job, rng: &mut Rng) {
    let limit = rng.bool().then(|| seconds(rng, 1800));
    let what = format!("wait for {} with {limit:?}", job.name());
    let wait = match limit {
        Some(limit) => job.wait().timeout(limit),
        None => job.wait(),
    };
    let wait = async { wait.await };
    let Some(ended) = world.hurried(&what, Kind::Watch, rng, wait).await else {
        return;
    };
    if let Some(limit) = limit {
        ended.within(world, ended.took(), limit + Duration::from_secs(1));
    }
    check(world, job, &ended).await;
    let seconds = usize::try_from(ended.took().as_secs()).unwrap_or(0);
    ended.sent_at_most(world, 60 + seconds / 10);
    let Ok(waited) = &ended.result else { return };
    checks::identity(world, &what, job, waited.job());
    checks::outcome(world, waited.job(), waited.outcome(), limit, &ended).await;
    checks::handle(world, job, waited.job());
}
