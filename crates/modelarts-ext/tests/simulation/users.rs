//! Users of a simulation, who create, list, follow, stop and delete jobs, and wait until jobs end.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use futures::{StreamExt, TryStreamExt, future::join_all};
use modelarts_ext::{ErrorKind, Event, Job, LogItem, jobs::follow::JobUpdate};
use tokio::time::sleep;

use crate::{
    checks,
    world::{JOB_WITH_EVENTS, World},
};

/// Default deadline of a call that may send several requests.
const CALL: Duration = Duration::from_secs(300);
/// Maximum duration of a watch after the end of the job or of the last outage, whichever is later.
/// A watch ends after 15 minutes in which every request has failed, but any successful response
/// restarts this period.
const WATCH: Duration = Duration::from_secs(3600);

fn seconds(rng: &mut Rng, below: u64) -> Duration {
    Duration::from_millis(rng.u64(..below * 1000))
}

/// User who creates a job, performs two actions on it in parallel, and reads its events.
async fn train(world: Arc<World>, number: usize, mut rng: Rng) {
    sleep(seconds(&mut rng, 900)).await;
    let kind = ["steps", "fails", "quick", "faulty", "twins"][rng.usize(..5)];
    let name = format!("{kind}-{number}");
    let Some(job) = submit(&world, &name, &mut rng).await else {
        return;
    };
    let one = tend(Arc::clone(&world), job.clone(), rng.fork());
    let other = tend(Arc::clone(&world), job.clone(), rng.fork());
    futures::join!(one, other);
    history(&world, &job, &mut rng).await;
}

async fn submit(world: &World, name: &str, rng: &mut Rng) -> Option<Job> {
    let nodes = rng.u32(1..3);
    let create = world
        .client
        .training_jobs()
        .create(name)
        .custom_image("org/image:1")
        .command("run")
        .flavor("modelarts.vm.cpu.8u")
        .nodes(nodes);
    let begun = world.clock.elapsed();
    let result = create.submit().await;
    let took = world.clock.elapsed() - begun;
    let what = format!("submit {name}");
    world.check_call(&what, &result, took, Some(CALL + Duration::from_secs(1)));
    // A request may still arrive after its call was cancelled.
    sleep(Duration::from_secs(10)).await;
    checks::created(world, name, &result);
    result.ok()
}

/// Performs a random action on a job.
async fn tend(world: Arc<World>, job: Job, mut rng: Rng) {
    let name = job.name().to_owned();
    let begun = world.clock.elapsed();
    match rng.u8(..9) {
        0 | 1 => follow(&world, &job, &mut rng).await,
        2 => {
            let events = job.events().follow().try_collect::<Vec<_>>().await;
            let took = watch_time(&world, &job, begun);
            let what = format!("follow events of {name}");
            world.check_call(&what, &events, took, Some(WATCH));
            if let Ok(events) = events {
                let messages = events.iter().map(Event::message);
                checks::followed(&world, &job, &what, messages);
            }
        }
        3 => {
            let access = world.log_access(&mut rng);
            let log = job.logs("worker-0").read_by(access);
            let items = log.follow().try_collect::<Vec<_>>().await;
            let took = watch_time(&world, &job, begun);
            world.check_call(&format!("follow log of {name}"), &items, took, Some(WATCH));
            if let Ok(items) = items {
                checks::log(&world, &job, 0, &items).await;
            }
        }
        4 | 5 => wait(&world, &job, &mut rng).await,
        6 => {
            sleep(seconds(&mut rng, 600)).await;
            let begun = world.clock.elapsed();
            let result = job.terminate().await;
            let took = world.clock.elapsed() - begun;
            match &result {
                // The service rejects the stop request if the job has already ended.
                Err(error) if error.is_conflict() || error.kind() == ErrorKind::Service => {
                    world.trace.note(format_args!("stop {name}: {error}"));
                }
                _ => world.check_call(&format!("stop {name}"), &result, took, Some(CALL)),
            }
        }
        7 => {
            sleep(seconds(&mut rng, 900)).await;
            let begun = world.clock.elapsed();
            let result = job.delete().await;
            let took = world.clock.elapsed() - begun;
            world.check_call(&format!("delete {name}"), &result, took, Some(CALL));
            sleep(Duration::from_secs(120)).await;
            checks::deleted(&world, &job, &result);
        }
        _ => {
            for _ in 0..rng.usize(1..20) {
                sleep(seconds(&mut rng, 60)).await;
                let begun = world.clock.elapsed();
                let result = world.client.training_jobs().get(job.id()).await;
                let took = world.clock.elapsed() - begun;
                world.check_call(&format!("get {name}"), &result, took, Some(CALL));
                match result {
                    Ok(got) if got.id() != job.id() => {
                        world
                            .trace
                            .fail(format_args!("get {name} returned {}", got.name()));
                    }
                    Err(error) if error.is_not_found() => checks::vanished(&world, &job, "get"),
                    _ => {}
                }
            }
        }
    }
}

/// Returns the time since the latest of these: the end of the job, the start of the watch, and the
/// end of the last outage.
fn watch_time(world: &World, job: &Job, begun: Duration) -> Duration {
    let now = world.clock.elapsed();
    let ended = checks::ended_at(world, job).unwrap_or(now);
    let quiet = world.conditions.last_outage();
    now.saturating_sub(ended.max(begun).max(quiet))
}

async fn follow(world: &World, job: &Job, rng: &mut Rng) {
    let access = world.log_access(rng);
    let begun = world.clock.elapsed();
    let news = job.updates().read_logs_by(access).follow();
    let result = news.try_collect::<Vec<_>>().await;
    let took = watch_time(world, job, begun);
    let what = format!("follow {}", job.name());
    world.check_call(&what, &result, took, Some(WATCH));
    let Ok(news) = result else { return };
    if news.iter().any(|news| matches!(news, JobUpdate::Vanished)) {
        checks::vanished(world, job, "follow");
        return;
    }
    let messages = news.iter().filter_map(|news| match news {
        JobUpdate::Event(event) => Some(event.message()),
        _ => None,
    });
    checks::followed(world, job, &what, messages);
    for (index, task) in job.tasks().iter().enumerate() {
        let items: Vec<LogItem> = news
            .iter()
            .filter_map(|news| match news {
                JobUpdate::Log { task: of, item } if of == task => Some(item.clone()),
                _ => None,
            })
            .collect();
        checks::log(world, job, u32::try_from(index).unwrap_or(0), &items).await;
    }
    let last = news.iter().rev().find_map(|news| match news {
        JobUpdate::Phase(job) => Some(job.phase().to_string()),
        _ => None,
    });
    checks::phase(world, job, "follow", last.as_deref());
}

async fn wait(world: &World, job: &Job, rng: &mut Rng) {
    let begun = world.clock.elapsed();
    let limit = rng.bool().then(|| seconds(rng, 1800));
    let wait = match limit {
        Some(limit) => job.wait().timeout(limit),
        None => job.wait(),
    };
    let result = wait.await;
    let took = world.clock.elapsed() - begun;
    let what = format!("wait for {} with {limit:?}", job.name());
    let most = limit.map(|limit| limit + Duration::from_secs(1));
    world.check_call(&what, &result, took, most);
    let Ok(waited) = result else { return };
    checks::outcome(world, job, waited.outcome());
    checks::handle(world, job, waited.job());
}

/// User who creates several jobs and waits for all of them.
async fn automate(world: Arc<World>, mut rng: Rng) {
    sleep(seconds(&mut rng, 600)).await;
    let names = (0..rng.usize(2..6)).map(|number| format!("batch-{number}"));
    let mut jobs = Vec::new();
    for name in names {
        jobs.extend(submit(&world, &name, &mut rng).await);
    }
    let begun = world.clock.elapsed();
    let limit = seconds(&mut rng, 3600);
    let all = world.client.training_jobs().wait_all(jobs.clone());
    let result = all.timeout(limit).stream().try_collect::<Vec<_>>().await;
    let took = world.clock.elapsed() - begun;
    let most = limit + Duration::from_secs(1);
    world.check_call("wait for all", &result, took, Some(most));
    let Ok(waited) = result else { return };
    checks::each_once(
        &world,
        "wait for all",
        jobs.iter().map(Job::name),
        waited.iter().map(|waited| waited.job().name()),
    );
    for waited in &waited {
        checks::outcome(&world, waited.job(), waited.outcome());
    }
}

/// User who repeatedly lists all jobs.
async fn list(world: Arc<World>, mut rng: Rng) {
    for _ in 0..rng.usize(1..6) {
        sleep(seconds(&mut rng, 600)).await;
        let mut list = world.client.training_jobs().list();
        let page = [1, 2, 7, 20, 50][rng.usize(..5)];
        list = list.page_size(page).in_flight(rng.usize(1..5));
        if rng.bool() {
            list = list.oldest_first();
        }
        let before = checks::visible(&world);
        let begun = world.clock.elapsed();
        let mut rows = list.stream();
        let mut seen = Vec::new();
        let result = loop {
            match rows.next().await {
                Some(Ok(job)) => seen.push(job.id().to_owned()),
                Some(Err(error)) => break Err(error),
                None => break Ok(()),
            }
        };
        let took = world.clock.elapsed() - begun;
        let what = format!("list by {page}");
        world.check_call(&what, &result, took, None);
        checks::listed(&world, &what, &before, &seen, result.is_ok());
    }
}

/// User who reads the events of a job: page by page while the job is being stopped, and by
/// following the job after it has ended.
async fn read(world: Arc<World>, mut rng: Rng) {
    let Some(id) = checks::id_of(&world, JOB_WITH_EVENTS) else {
        return;
    };
    for _ in 0..rng.usize(1..4) {
        sleep(seconds(&mut rng, 600)).await;
        let Ok(job) = world.client.training_jobs().get(&id).await else {
            continue;
        };
        let is_final = job.is_final();
        let stop_after = seconds(&mut rng, 80);
        let stopped = async {
            if !is_final {
                sleep(stop_after).await;
                let stopped = job.terminate().await.is_ok();
                world
                    .trace
                    .note(format_args!("stop {JOB_WITH_EVENTS}: {stopped}"));
            }
        };
        futures::join!(history(&world, &job, &mut rng), stopped);
        if !is_final {
            continue;
        }
        let begun = world.clock.elapsed();
        let page = [9, 20, 100][rng.usize(..3)];
        let events = job.events().page_size(page);
        let result = events.follow().try_collect::<Vec<_>>().await;
        let took = watch_time(&world, &job, begun);
        let what = format!("follow events of {JOB_WITH_EVENTS} by {page}");
        world.check_call(&what, &result, took, Some(WATCH));
        if let Ok(events) = result {
            let messages = events.iter().map(Event::message);
            checks::followed(&world, &job, &what, messages);
        }
    }
}

/// Reads all events of a job at once.
async fn history(world: &World, job: &Job, rng: &mut Rng) {
    // The service writes the last events some seconds after the end of the job.
    sleep(Duration::from_secs(60)).await;
    let page = [1, 3, 20, 100][rng.usize(..4)];
    let mut events = job.events().page_size(page).in_flight(rng.usize(1..5));
    if rng.bool() {
        events = events.newest_first();
    }
    let before = checks::messages(world, job);
    let begun = world.clock.elapsed();
    let result = events.stream().try_collect::<Vec<_>>().await;
    let took = world.clock.elapsed() - begun;
    let what = format!("events of {} by {page}", job.name());
    world.check_call(&what, &result, took, None);
    if let Ok(events) = result {
        let listed = events.iter().map(Event::message);
        checks::events(world, job, &what, &before, listed);
    }
}

/// Runs all users of a simulation until they have finished.
pub(crate) async fn all_users(world: &Arc<World>, rng: &mut Rng) {
    let mut users: Vec<futures::future::BoxFuture<'static, ()>> = Vec::new();
    for number in 0..rng.usize(0..5) {
        users.push(Box::pin(train(Arc::clone(world), number, rng.fork())));
    }
    for _ in 0..rng.usize(0..3) {
        users.push(Box::pin(list(Arc::clone(world), rng.fork())));
    }
    users.push(Box::pin(read(Arc::clone(world), rng.fork())));
    if rng.bool() {
        users.push(Box::pin(automate(Arc::clone(world), rng.fork())));
    }
    for end in join_all(users.into_iter().map(tokio::spawn)).await {
        if let Err(error) = end {
            world.trace.fail(format_args!("a call panicked: {error}"));
        }
    }
}
