//! Users who create jobs.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use futures::future::join_all;
use modelarts_ext::Job;
use tokio::time::sleep;

use crate::{
    calls::Kind,
    checks,
    users::{changes, lists, watches},
    wish::Wish,
    world::{World, seconds},
};

/// Default deadline of a call that may send several requests.
pub(crate) const CALL: Duration = Duration::from_secs(301);

/// User who creates a job, performs two actions on it in parallel, and reads its events.
pub(crate) async fn train(world: Arc<World>, number: usize, mut rng: Rng) {
    sleep(seconds(&mut rng, 900)).await;
    let wish = Wish::draw(&mut rng, &number.to_string());
    let Some(job) = submit(&world, &wish, &mut rng).await else {
        return;
    };
    let one = tend(&world, job.clone(), rng.fork());
    let other = tend(&world, job.clone(), rng.fork());
    futures::join!(one, other);
    lists::history(&world, &job, &mut rng).await;
}

/// Performs a random action on a job.
async fn tend(world: &World, job: Job, mut rng: Rng) {
    match rng.u8(..10) {
        0 | 1 => watches::follow(world, &job, &mut rng).await,
        2 => watches::follow_events(world, &job, &mut rng).await,
        3 => watches::follow_log(world, &job, &mut rng).await,
        4 | 5 => watches::wait(world, &job, &mut rng).await,
        6 => changes::stop(world, &job, &mut rng).await,
        7 => changes::delete(world, &job, &mut rng).await,
        8 => changes::describe(world, &job, &mut rng).await,
        _ => lists::get(world, &job, &mut rng).await,
    }
}

/// Users who create jobs of one name at about the same time. The jobs are equal, or differ in a
/// setting.
pub(crate) async fn compete(world: Arc<World>, number: usize, mut rng: Rng) {
    sleep(seconds(&mut rng, 900)).await;
    let first = Wish::draw(&mut rng, &format!("rival-{number}"));
    let longest = [1, 10, 50][rng.usize(..3)];
    let rivals = (0..rng.usize(2..6)).map(|_| {
        let mut wish = first.clone();
        for _ in 0..rng.u8(..3) {
            wish.change(&mut rng);
        }
        let (world, mut rng) = (&world, rng.fork());
        async move {
            sleep(seconds(&mut rng, longest)).await;
            submit(world, &wish, &mut rng).await;
        }
    });
    join_all(rivals.collect::<Vec<_>>()).await;
}

/// Creates a job. The user may give the call up in the middle, and then makes it again.
pub(crate) async fn submit(world: &World, wish: &Wish, rng: &mut Rng) -> Option<Job> {
    let request = wish.request(&world.client);
    let what = format!("submit {}", wish.name);
    for _ in 0..3 {
        let submit = request.clone().submit();
        let ended = world.hurried(&what, Kind::Several, rng, submit).await;
        // A request may still arrive after its call has ended.
        sleep(Duration::from_secs(10)).await;
        let Some(ended) = ended else { continue };
        ended.within(world, ended.took(), CALL);
        checks::created(world, wish, &ended).await;
        return ended.result.ok();
    }
    None
}
