//! Users who create several jobs and wait for all of them.

use crate::{prelude::*, users::create::submit};

/// Maximum number of jobs for which a wait is not delayed by its rate limit.
const FEW: usize = 10;

/// User who creates several jobs, and waits for all of them.
pub(crate) async fn sweep(world: Arc<World>, mut rng: Rng) {
    sleep(seconds(&mut rng, 600)).await;
    let count = match rng.u8(..3) {
        0 => rng.usize(11..30),
        _ => rng.usize(2..6),
    };
    let wishes = (0..count).map(|number| Wish::draw(&mut rng, &format!("sweep-{number}")));
    let wishes: Vec<Wish> = wishes.collect();
    if rng.bool() {
        return submit_all(&world, &wishes, &mut rng).await;
    }
    let mut jobs = Vec::new();
    for wish in &wishes {
        jobs.extend(submit(&world, wish, &mut rng).await);
    }
    let limit = rng.bool().then(|| seconds(&mut rng, 3600));
    wait_all(&world, &jobs, limit).await;
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
    ended.within_limit(world, limit);
    let mut over = ended.call.begun.max(world.conditions.quiet_from);
    for job in jobs {
        over = over.max(world.service.ended_at(job.id()).await.unwrap_or(ended.at));
    }
    let most = Duration::from_secs(if jobs.len() > FEW { 600 } else { 300 });
    ended.within(world, ended.at.saturating_sub(over), most);
    ended.sent_at_most(world, 60 + ended.seconds());
    ended.require(world, |_| false);
    let Ok(waited) = &ended.result else { return };
    let came = waited.iter().map(|waited| waited.job().name());
    checks::each_once(world, &what, jobs.iter().map(Job::name), came);
    for waited in waited {
        checks::outcome(world, waited.job(), waited.outcome(), limit, &ended).await;
    }
}

/// Submits jobs, a few at a time, and checks the result of each.
async fn submit_all(world: &World, wishes: &[Wish], rng: &mut Rng) {
    let requests = wishes.iter().map(|wish| wish.request(&world.client));
    let most = rng.usize(1..12);
    let all = world.client.training_jobs().submit_all(requests).at_most(most);
    let what = format!("submit {} jobs, at most {most}", wishes.len());
    let results = async { Ok(all.stream().collect::<Vec<_>>().await) };
    let ended = world.hurried(&what, Kind::WatchAll, rng, results).await;
    let Some(ended) = ended else { return };
    let Ok(results) = &ended.result else { return };
    let mut indices: Vec<usize> = results.iter().map(|(index, _)| *index).collect();
    indices.sort_unstable();
    let is_wrong = !indices.into_iter().eq(0..wishes.len());
    fail!(world, if is_wrong; "{what}: a job has no result, or several");
    for (index, result) in results {
        match result {
            Ok(waited) => {
                checks::wished(world, &what, &wishes[*index], waited.job());
                checks::outcome(world, waited.job(), waited.outcome(), None, &ended).await;
            }
            Err(error) => refused(world, error, &wishes[*index].name, ended.call.begun),
        }
    }
}

/// Checks the error of a job: without a fault there is none, and throttling does not end a job.
fn refused(world: &World, error: &Error, name: &str, begun: Duration) {
    let conditions = &world.conditions;
    let is_throttled = conditions.only_throttles() && error.is_throttled();
    let is_wrong = begun >= conditions.quiet_from || is_throttled;
    fail!(world, if is_wrong; "submit_all: {name} failed: {error}");
    let changes = world.service.changes();
    let is_made =
        changes.iter().any(|one| one.is_executed() && metadata(&one.body, "name") == name);
    let is_denied = !error.is_uncertain() && !error.to_string().contains("was submitted");
    let is_wrong = is_made && is_denied && error.operation() == Some("CreateTrainingJob");
    fail!(world, if is_wrong; "submit_all: {name} exists, in spite of {error}");
}
