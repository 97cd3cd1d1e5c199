//! Users who create several jobs and wait for all of them.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use futures::{StreamExt, TryStreamExt};
use modelarts_ext::{Error, Job};
use tokio::time::sleep;

use crate::{
    calls::Kind,
    checks,
    users::create::submit,
    wish::Wish,
    world::{World, fail, seconds},
};

/// Maximum number of jobs for which a wait is not delayed by its rate limit.
const FEW: usize = 10;

/// User who creates several jobs, and waits for all of them.
pub(crate) async fn sweep(world: Arc<World>, mut rng: Rng) {
    sleep(seconds(&mut rng, 600)).await;
    let count = match rng.u8(..3) {
        0 => rng.usize(11..30),
        _ => rng.usize(2..6),
    };
    let wishes: Vec<Wish> = (0..count)
        .map(|number| Wish::draw(&mut rng, &format!("sweep-{number}")))
        .collect();
    match rng.bool() {
        true => submit_all(&world, &wishes, &mut rng).await,
        false => {
            let mut jobs = Vec::new();
            for wish in &wishes {
                jobs.extend(submit(&world, wish, &mut rng).await);
            }
            let limit = rng.bool().then(|| seconds(&mut rng, 3600));
            wait_all(&world, &jobs, limit).await;
        }
    }
}

/// Waits for jobs, and checks the result of each.
pub(crate) async fn wait_all(world: &World, jobs: &[Job], limit: Option<Duration>) {
    let mut wait = world.client.training_jobs().wait_all(jobs.to_vec());
    if let Some(limit) = limit {
        wait = wait.timeout(limit);
    }
    let what = format!("wait for {} with {limit:?}", jobs.len());
    let results = wait.stream().try_collect::<Vec<_>>();
    let ended = world.call(&what, Kind::WatchAll, results).await;
    if let Some(limit) = limit {
        ended.within(world, ended.took(), limit + Duration::from_secs(1));
    }
    let mut over = ended.call.begun.max(world.conditions.quiet_from);
    for job in jobs {
        over = over.max(world.service.ended_at(job.id()).await.unwrap_or(ended.at));
    }
    let late = ended.at.saturating_sub(over);
    ended.within(
        world,
        late,
        Duration::from_secs(if jobs.len() > FEW { 600 } else { 300 }),
    );
    let seconds = usize::try_from(ended.took().as_secs()).unwrap_or(0);
    ended.sent_at_most(world, 60 + seconds);
    ended.require(world, |_| false);
    let Ok(waited) = &ended.result else { return };
    checks::each_once(
        world,
        &what,
        jobs.iter().map(Job::name),
        waited.iter().map(|waited| waited.job().name()),
    );
    for waited in waited {
        checks::outcome(world, waited.job(), waited.outcome(), limit, &ended).await;
    }
}

/// Submits jobs, a few at a time, and checks the result of each.
async fn submit_all(world: &World, wishes: &[Wish], rng: &mut Rng) {
    let requests = wishes.iter().map(|wish| wish.request(&world.client));
    let at_most = rng.usize(1..12);
    let all = world
        .client
        .training_jobs()
        .submit_all(requests)
        .at_most(at_most);
    let what = format!("submit {} jobs, at most {at_most}", wishes.len());
    let results = async { Ok(all.stream().collect::<Vec<_>>().await) };
    let Some(ended) = world.hurried(&what, Kind::WatchAll, rng, results).await else {
        return;
    };
    let Ok(results) = &ended.result else { return };
    let mut indices: Vec<usize> = results.iter().map(|(index, _)| *index).collect();
    indices.sort_unstable();
    if !indices.into_iter().eq(0..wishes.len()) {
        fail!(world; "{what}: a job has no result, or several");
    }
    for (index, result) in results {
        match result {
            Ok(waited) => {
                checks::wished(world, &what, &wishes[*index], waited.job());
                checks::outcome(world, waited.job(), waited.outcome(), None, &ended).await;
            }
            Err(error) => refused(world, &what, error, &wishes[*index], ended.call.begun),
        }
    }
}

/// Checks the error of a job: without a fault there is none, and throttling does not end a job.
fn refused(world: &World, what: &str, error: &Error, wish: &Wish, begun: Duration) {
    let conditions = &world.conditions;
    let is_throttled = conditions.only_throttles() && error.is_throttled();
    if begun >= conditions.quiet_from || is_throttled {
        fail!(world; "{what}: {} failed: {error}", wish.name);
    }
    let made = world
        .service
        .changes()
        .into_iter()
        .any(|change| change.is_executed() && change.body["metadata"]["name"] == *wish.name);
    let says_made = error.is_uncertain() || error.to_string().contains("was submitted");
    if made && !says_made && error.operation() == Some("CreateTrainingJob") {
        fail!(world; "{what}: {} exists, in spite of {error}", wish.name);
    }
}
