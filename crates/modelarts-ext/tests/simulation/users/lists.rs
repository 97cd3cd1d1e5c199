//! Users who read jobs, lists of jobs, and events.

use crate::{
    checks::lists::Expected,
    prelude::*,
    users::{condition::Condition, create, watches},
};

/// Reads the details of a job repeatedly.
pub(crate) async fn get(world: &World, job: &Job, rng: &mut Rng) {
    for _ in 0..rng.usize(1..20) {
        sleep(seconds(rng, 60)).await;
        if !get_once(world, job.id(), job.name(), rng).await {
            break;
        }
    }
}

/// Reads the details of a job. Returns false if the job does not exist.
pub(crate) async fn get_once(world: &World, id: &str, name: &str, rng: &mut Rng) -> bool {
    let what = format!("get {name}");
    let before = world.service.details(id).await;
    let read = world.client.training_jobs();
    let Some(ended) = world.hurried(&what, Kind::Single, rng, read.get(id)).await else {
        return true;
    };
    ended.sent_at_most(world, 1);
    ended.require(world, Error::is_not_found);
    let after = world.service.details(id).await;
    match &ended.result {
        Ok(job) => checks::details(world, &what, &before, &after, job),
        Err(error) if error.is_not_found() => {
            let exists = world.service.stored(id).await.is_some();
            fail!(world, if exists; "{what}: not found, but it exists");
            return false;
        }
        Err(_) => {}
    }
    true
}

/// User who repeatedly lists jobs.
pub(crate) async fn list(world: Arc<World>, mut rng: Rng) {
    for _ in 0..rng.usize(1..6) {
        sleep(seconds(&mut rng, 600)).await;
        list_once(&world, &mut rng).await;
    }
}

/// Lists jobs in a random way, and compares them with those of the service.
pub(crate) async fn list_once(world: &World, rng: &mut Rng) {
    let condition = Condition::draw(world.clock.time(), rng);
    let workspace = condition.workspace();
    let page = one(rng, &[1, 2, 7, 20, 50]);
    // After small pages, a short page that is counted seems to be the whole list.
    let is_short = world.conditions.page_cap.is_some() && world.conditions.counts_page;
    let page = if is_short { 50 } else { page };
    let in_flight = rng.usize(1..5);
    let list = condition.apply(world.client.training_jobs().list());
    let mut list = list.page_size(page).in_flight(in_flight);
    let ascending = rng.bool();
    if ascending {
        list = list.oldest_first();
    }
    let before = world.service.rows(workspace).await;
    let most = (rng.u8(..4) == 0).then(|| rng.usize(1..70));
    let what = format!(
        "list with {condition:?} by {page}, {in_flight} in flight, ascending {ascending}, {most:?}"
    );
    let ended = match (most, rng.u8(..4)) {
        (Some(most), _) => {
            let rows = list.collect(most);
            world.hurried(&what, Kind::Several, rng, rows).await
        }
        (None, 0) => Some(in_parts(world, list, &what, rng).await),
        (None, _) => {
            let rows = list.stream().try_collect();
            world.hurried(&what, Kind::Several, rng, rows).await
        }
    };
    let Some(ended) = ended else { return };
    let after = world.service.rows(workspace).await;
    ended.require(world, |_| false);
    Expected { before, after, condition, ascending, most, page }.compare(world, &ended);
}

/// Reads a list in two parts, the second of which continues at the position of the first. The first
/// part ends where the user drops it, or with an error.
async fn in_parts(world: &World, list: ListJobs, what: &str, rng: &mut Rng) -> Ended<Vec<Job>> {
    let mut pages = list.clone().pages();
    let mut rows = Vec::new();
    let mut position = None;
    let most = rng.usize(1..4) * 10;
    let first = async {
        while rows.len() < most
            && let Some(page) = pages.try_next().await?
        {
            rows.extend(page.items);
            position = Some(page.position);
        }
        Ok(())
    };
    let start = format!("start of {what}");
    let first = world.call(start, Kind::Several, first).await;
    let error = first.result.err();
    let stopped = error.as_ref().and_then(Error::position).cloned();
    let rest = match stopped.or(position) {
        Some(position) => list.resume(position),
        None => {
            rows.clear();
            list
        }
    };
    let what = format!("rest of {what}");
    let rest = async {
        let mut rest = rest.stream();
        while let Some(row) = rest.next().await {
            rows.push(row?);
        }
        Ok(rows)
    };
    world.call(what, Kind::Several, rest).await
}

/// User who reads the events of a job: page by page while the job is being stopped, and by
/// following the job after it has ended.
pub(crate) async fn read(world: Arc<World>, mut rng: Rng) {
    let rows = world.service.rows(WORKSPACES[0]).await;
    let mut rows = rows.iter();
    let row = rows.find(|row| metadata(row, "name") == JOB_WITH_EVENTS);
    let Some(id) = row.map(|row| metadata(row, "id")) else {
        return;
    };
    for _ in 0..rng.usize(1..4) {
        sleep(seconds(&mut rng, 600)).await;
        let Ok(job) = world.client.training_jobs().get(id).await else {
            continue;
        };
        let is_final = job.is_final();
        let mut fork = rng.fork();
        let stopped = async {
            if !is_final {
                sleep(seconds(&mut fork, 80)).await;
                create::stop(&world, &job, &mut fork).await;
            }
        };
        futures::join!(history(&world, &job, &mut rng), stopped);
        if is_final {
            watches::follow_events(&world, &job, &mut rng).await;
        }
    }
}

/// Reads all events of a job at once.
pub(crate) async fn history(world: &World, job: &Job, rng: &mut Rng) {
    // The service writes the last events some seconds after the end of the job.
    sleep(Duration::from_secs(60)).await;
    let page = one(rng, &[1, 3, 20, 100]);
    let mut events = job.events().page_size(page).in_flight(rng.usize(1..5));
    let newest_first = rng.bool();
    if newest_first {
        events = events.newest_first();
    }
    let what = format!("events of {} by {page}, newest first {newest_first}", job.name());
    let before = world.service.stored(job.id()).await;
    let events = events.stream().try_collect::<Vec<Event>>();
    let ended = world.hurried(&what, Kind::Several, rng, events).await;
    let Some(ended) = ended else { return };
    ended.require(world, Error::is_not_found);
    checks::gone_if_not_found(world, job, &ended).await;
    let after = world.service.stored(job.id()).await;
    if let (Ok(events), Some(before), Some(after)) = (&ended.result, before, after) {
        let listed: Vec<&str> = events.iter().map(Event::message).collect();
        let known = (before.events.as_slice(), after.events.as_slice());
        checks::lists::events(world, &what, known, listed, newest_first);
    }
}
