//! Users of a simulation, who create, list, follow, stop and delete jobs, and wait until jobs end.

mod changes;
mod create;
mod lists;
mod sweep;
mod watches;

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use futures::future::{BoxFuture, join_all};
use modelarts_ext::Job;
use serde_json::Value;
use tokio::time::sleep;

use crate::{calls::Kind, wish::WORKSPACES, world::World};

/// Runs all users of a simulation until they have finished, and compares the jobs with those of the
/// service after the end of all faults.
pub(crate) async fn all_users(world: &Arc<World>, rng: &mut Rng) {
    let mut users: Vec<BoxFuture<'static, ()>> = Vec::new();
    for number in 0..rng.usize(0..4) {
        users.push(Box::pin(create::train(
            Arc::clone(world),
            number,
            rng.fork(),
        )));
    }
    for number in 0..rng.usize(0..3) {
        users.push(Box::pin(create::compete(
            Arc::clone(world),
            number,
            rng.fork(),
        )));
    }
    for _ in 0..rng.usize(0..3) {
        users.push(Box::pin(lists::list(Arc::clone(world), rng.fork())));
    }
    users.push(Box::pin(lists::read(Arc::clone(world), rng.fork())));
    if rng.bool() {
        users.push(Box::pin(sweep::sweep(Arc::clone(world), rng.fork())));
    }
    users.push(Box::pin(restart(Arc::clone(world))));
    for end in join_all(users.into_iter().map(tokio::spawn)).await {
        if let Err(error) = end {
            world.fail(format_args!("a call panicked: {error}"));
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
            world.fail(format_args!("the service cannot be restarted: {error}"));
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
        let id = row["metadata"]["id"].as_str().unwrap_or_default();
        let Some(job) = open_job(world, row, id).await else {
            continue;
        };
        open.push(job);
    }
    // The jobs that exist from the start do not end.
    for job in open
        .iter()
        .filter(|job| !job.name().contains('-') || job.name() == "with-events")
    {
        changes::stop_now(world, job, rng).await;
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
        let text = |path: &str| {
            row.pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        lists::get_once(world, text("/metadata/id"), text("/metadata/name"), rng).await;
    }
}

/// Reads a job that has not ended.
async fn open_job(world: &World, row: &Value, id: &str) -> Option<Job> {
    let phase = row["status"]["phase"].as_str().unwrap_or_default();
    if matches!(phase, "Completed" | "Failed" | "Terminated" | "Abnormal") {
        return None;
    }
    let jobs = world.client.training_jobs();
    let ended = world
        .call(format!("get {id}"), Kind::Single, jobs.get(id))
        .await;
    ended.require(world, modelarts_ext::Error::is_not_found);
    ended.result.ok()
}
