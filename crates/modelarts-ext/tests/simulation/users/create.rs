//! Users who create, stop, delete and describe jobs.

use modelarts_ext::ErrorKind;

use crate::{
    prelude::*,
    users::{lists, watches},
};

/// User who creates a job, performs two actions on it in parallel, and reads its events.
pub(crate) async fn train(world: Arc<World>, number: usize, mut rng: Rng) {
    sleep(seconds(&mut rng, 900)).await;
    let wish = Wish::draw(&mut rng, &number.to_string());
    let job = submit(&world, &wish, &mut rng).await;
    let Some(job) = job else { return };
    let first = tend(&world, job.clone(), rng.fork());
    futures::join!(first, tend(&world, job.clone(), rng.fork()));
    lists::history(&world, &job, &mut rng).await;
}

/// Performs a random action on a job.
async fn tend(world: &World, job: Job, mut rng: Rng) {
    match rng.u8(..10) {
        0 | 1 => watches::follow(world, &job, &mut rng).await,
        2 => watches::follow_events(world, &job, &mut rng).await,
        3 => watches::follow_log(world, &job, &mut rng).await,
        4 | 5 => watches::wait(world, &job, &mut rng).await,
        6 => {
            sleep(seconds(&mut rng, 600)).await;
            stop(world, &job, &mut rng).await;
        }
        7 => delete(world, &job, &mut rng).await,
        8 => describe(world, &job, &mut rng).await,
        _ => lists::get(world, &job, &mut rng).await,
    }
}

/// Users who create jobs of one name at about the same time. The jobs are equal, or differ in a
/// setting.
pub(crate) async fn compete(world: Arc<World>, number: usize, mut rng: Rng) {
    sleep(seconds(&mut rng, 900)).await;
    let first = Wish::draw(&mut rng, &format!("rival-{number}"));
    let longest = one(&mut rng, &[1, 10, 50]);
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
        checks::created(world, wish, &ended).await;
        return ended.result.ok();
    }
    None
}

pub(crate) async fn stop(world: &World, job: &Job, rng: &mut Rng) {
    let what = format!("stop {}", job.name());
    let stop = job.terminate();
    let ended = world.hurried(what, Kind::Several, rng, stop).await;
    let Some(ended) = ended else { return };
    // The service rejects the request if the job has already ended.
    let is_rejected = |error: &Error| error.is_conflict() || error.kind() == ErrorKind::Service;
    checks::changed(world, job, &ended, is_rejected).await;
    checks::stopped(world, job, &ended).await;
}

async fn delete(world: &World, job: &Job, rng: &mut Rng) {
    sleep(seconds(rng, 900)).await;
    let what = format!("delete {}", job.name());
    let ended = world.hurried(what, Kind::Single, rng, job.delete()).await;
    sleep(Duration::from_secs(120)).await;
    let Some(ended) = ended else { return };
    checks::changed(world, job, &ended, Error::is_not_found).await;
    checks::deleted(world, job, &ended).await;
}

/// Changes the description of a job, by its method or by the name of the operation.
async fn describe(world: &World, job: &Job, rng: &mut Rng) {
    for number in 0..rng.u32(1..5) {
        sleep(seconds(rng, 200)).await;
        let (text, what) = (format!("text {number}"), format!("describe {}", job.name()));
        let by_name = rng.bool();
        let call = async {
            if !by_name {
                return job.set_description(&text).await;
            }
            let call = world.client.operation("ChangeTrainingJobDescription")?;
            let call = call.parameter("training_job_id", job.id());
            let sent = call.body(json!({ "description": text })).send().await;
            sent.map(|_| ())
        };
        let ended = world.call(what, Kind::Single, call).await;
        sleep(Duration::from_secs(10)).await;
        checks::changed(world, job, &ended, Error::is_not_found).await;
        checks::described(world, &text, &ended);
    }
}
