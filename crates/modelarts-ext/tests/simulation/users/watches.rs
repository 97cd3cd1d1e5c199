//! Users who follow jobs, and wait for their ends.

use modelarts_ext::jobs::follow::JobUpdate;

use crate::prelude::*;

/// Maximum duration of a watch after the end of the job or of the faults, whichever is later. Any
/// successful response restarts the 15 minutes in which every request must fail.
const WATCH: Duration = Duration::from_secs(3600);
const QUIET_WATCH: Duration = Duration::from_secs(240);

/// Checks the duration and the requests of a watch.
async fn check<T>(world: &World, job: &Job, ended: &Ended<T>) {
    let over = world.service.ended_at(job.id()).await.unwrap_or(ended.at);
    let (begun, quiet_from) = (ended.call.begun, world.conditions.quiet_from);
    let since = ended.at.saturating_sub(over.max(begun).max(quiet_from));
    let is_quiet = begun >= quiet_from;
    ended.within(world, since, if is_quiet { QUIET_WATCH } else { WATCH });
    // Events whose offset counts pages are read again, in up to 30 pages, with each poll.
    ended.sent_at_most(world, 150 + 5 * ended.seconds());
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
    let page = one(rng, &[9, 20, 100]);
    let events = || job.events().page_size(page).follow().try_collect::<Vec<_>>();
    if let Some(events) = repeated(world, job, &what, rng, events).await {
        let messages: Vec<&str> = events.iter().map(Event::message).collect();
        checks::events(world, job, &what, &messages).await;
    }
}

pub(crate) async fn follow_log(world: &World, job: &Job, rng: &mut Rng) {
    let what = format!("follow log of {}", job.name());
    let log = || job.logs("worker-0").follow().try_collect::<Vec<_>>();
    if let Some(items) = repeated(world, job, &what, rng, log).await {
        checks::log(world, job, 0, &items).await;
    }
}

pub(crate) async fn follow(world: &World, job: &Job, rng: &mut Rng) {
    let what = &format!("follow {}", job.name());
    let updates = || job.follow().try_collect::<Vec<_>>();
    let Some(updates) = repeated(world, job, what, rng, updates).await else {
        return;
    };
    let (mut messages, mut phases) = (Vec::new(), Vec::new());
    let mut logs: Vec<Vec<LogItem>> = vec![Vec::new(); job.tasks().len()];
    for update in &updates {
        match update {
            JobUpdate::Vanished => return checks::vanished(world, job, "follow").await,
            JobUpdate::Event(event) => messages.push(event.message()),
            JobUpdate::Phase(job) => phases.push(job.phase().to_string()),
            JobUpdate::Log { task, item } => match job.tasks().iter().position(|of| of == task) {
                Some(index) => logs[index].push(item.clone()),
                None => fail!(world; "{what}: a line of the unknown task {task}"),
            },
            _ => {}
        }
    }
    checks::events(world, job, what, &messages).await;
    for (task, items) in (0..).zip(&logs) {
        checks::log(world, job, task, items).await;
    }
    let is_repeated = phases.windows(2).any(|pair| pair[0] == pair[1]);
    fail!(world, if is_repeated; "{what}: a phase came twice in {phases:?}");
    checks::phase(world, job, what, phases.last().map(String::as_str)).await;
}

pub(crate) async fn wait(world: &World, job: &Job, rng: &mut Rng) {
    let limit = rng.bool().then(|| seconds(rng, 1800));
    let what = format!("wait for {} with {limit:?}", job.name());
    let wait = match limit {
        Some(limit) => job.wait().timeout(limit),
        None => job.wait(),
    };
    let ended = world.hurried(&what, Kind::Watch, rng, wait.into_future()).await;
    let Some(ended) = ended else { return };
    ended.within_limit(world, limit);
    check(world, job, &ended).await;
    ended.sent_at_most(world, 60 + ended.seconds() / 10);
    let Ok(waited) = &ended.result else { return };
    checks::identity(world, &what, job, waited.job());
    checks::outcome(world, waited.job(), waited.outcome(), limit, &ended).await;
}
