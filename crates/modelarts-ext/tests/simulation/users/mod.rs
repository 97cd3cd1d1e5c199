//! Users of a simulation, who create, list, follow, stop and delete jobs, and wait until jobs end.

pub(crate) mod condition;
mod create;
mod lists;
mod sweep;
mod watches;

use futures::FutureExt;

use crate::prelude::*;

/// Runs all users of a simulation until they have finished, and compares the jobs with those of the
/// service after the end of all faults.
pub(crate) async fn all_users(world: &Arc<World>, rng: &mut Rng) {
    let mut users: Vec<BoxFuture<'static, ()>> = Vec::new();
    let shared = || Arc::clone(world);
    for number in 0..rng.usize(0..4) {
        users.push(create::train(shared(), number, rng.fork()).boxed());
    }
    for number in 0..rng.usize(0..3) {
        users.push(create::compete(shared(), number, rng.fork()).boxed());
    }
    for _ in 0..rng.usize(0..3) {
        users.push(lists::list(shared(), rng.fork()).boxed());
    }
    users.push(lists::read(shared(), rng.fork()).boxed());
    if rng.bool() {
        users.push(sweep::sweep(shared(), rng.fork()).boxed());
    }
    users.push(restart(shared()).boxed());
    for end in join_all(users.into_iter().map(tokio::spawn)).await {
        if let Err(error) = end {
            fail!(world; "a call panicked: {error}");
        }
    }
    finish(world, rng).await;
}

/// Restarts the service at the times of the conditions.
async fn restart(world: Arc<World>) {
    for at in &world.conditions.restarts {
        sleep(at.saturating_sub(world.clock.elapsed())).await;
        world.trace.note("the service is restarted");
        if let Err(error) = world.service.restart().await {
            fail!(world; "the service cannot be restarted: {error}");
        }
    }
}

/// Waits for the end of all jobs after the end of all faults, and reads them again.
async fn finish(world: &World, rng: &mut Rng) {
    let quiet_from = world.conditions.quiet_from;
    sleep(quiet_from.saturating_sub(world.clock.elapsed()) + Duration::from_secs(200)).await;
    let mut rows = Vec::new();
    for workspace in WORKSPACES {
        rows.extend(world.service.rows(workspace).await);
    }
    let mut open = Vec::new();
    for row in &rows {
        let phase = row["status"]["phase"].as_str().unwrap_or_default();
        if !matches!(phase, "Completed" | "Failed" | "Terminated" | "Abnormal") {
            let jobs = world.client.training_jobs();
            let read = jobs.get(metadata(row, "id"));
            let ended = world.call("get an open job", Kind::Single, read).await;
            ended.require(world, Error::is_not_found);
            open.extend(ended.result);
        }
    }
    // The jobs that exist from the start do not end.
    for job in open.iter().filter(|job| job.name() == JOB_WITH_EVENTS) {
        create::stop(world, job, rng).await;
    }
    if !open.is_empty() {
        sweep::wait_all(world, &open, None).await;
    }
    for job in open.iter().take(2) {
        watches::follow(world, job, rng).await;
        lists::history(world, job, rng).await;
    }
    lists::list_once(world, rng).await;
    for _ in 0..2 {
        let Some(row) = rng.choice(&rows) else { break };
        lists::get_once(world, metadata(row, "id"), metadata(row, "name"), rng).await;
    }
}
