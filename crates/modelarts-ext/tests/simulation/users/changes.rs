//! Users who stop, delete and describe jobs.

use std::time::Duration;

use fastrand::Rng;
use modelarts_ext::{Error, ErrorKind, Job};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    calls::Kind,
    checks,
    users::create::CALL,
    world::{Ended, World, seconds},
};

pub(crate) async fn stop(world: &World, job: &Job, rng: &mut Rng) {
    sleep(seconds(rng, 600)).await;
    stop_now(world, job, rng).await;
}

/// Stops a job now.
pub(crate) async fn stop_now(world: &World, job: &Job, rng: &mut Rng) {
    let what = format!("stop {}", job.name());
    let Some(ended) = world
        .hurried(what, Kind::Several, rng, job.terminate())
        .await
    else {
        return;
    };
    ended.within(world, ended.took(), CALL);
    // The service rejects the request if the job has already ended.
    let is_rejected = |error: &Error| error.is_conflict() || error.kind() == ErrorKind::Service;
    ended.require(world, is_rejected);
    checks::gone_if_not_found(world, job, &ended).await;
    checks::stopped(world, job, &ended).await;
}

pub(crate) async fn delete(world: &World, job: &Job, rng: &mut Rng) {
    sleep(seconds(rng, 900)).await;
    let what = format!("delete {}", job.name());
    let ended = world.hurried(what, Kind::Single, rng, job.delete()).await;
    sleep(Duration::from_secs(120)).await;
    let Some(ended) = ended else { return };
    ended.within(world, ended.took(), CALL);
    ended.require(world, Error::is_not_found);
    checks::gone_if_not_found(world, job, &ended).await;
    checks::deleted(world, job, &ended).await;
}

/// Changes the description of a job, by its method or by the name of the operation.
pub(crate) async fn describe(world: &World, job: &Job, rng: &mut Rng) {
    for number in 0..rng.u32(1..5) {
        sleep(seconds(rng, 200)).await;
        let (text, what) = (format!("text {number}"), format!("describe {}", job.name()));
        let ended = match rng.bool() {
            true => {
                let call = job.set_description(&text);
                world.call(what, Kind::Single, call).await
            }
            false => {
                let call = async {
                    let call = world.client.operation("ChangeTrainingJobDescription")?;
                    let call = call.parameter("training_job_id", job.id());
                    call.body(json!({ "description": text }))
                        .send()
                        .await
                        .map(|_| ())
                };
                world.call(what, Kind::Single, call).await
            }
        };
        sleep(Duration::from_secs(10)).await;
        checked(world, job, &ended).await;
        checks::described(world, &text, &ended);
    }
}

async fn checked(world: &World, job: &Job, ended: &Ended<()>) {
    ended.within(world, ended.took(), CALL);
    ended.require(world, Error::is_not_found);
    checks::gone_if_not_found(world, job, ended).await;
}
