//! Tests of waits for a single job.

use std::{sync::Arc, time::Duration};

use futures::TryStreamExt;
use modelarts_emulator::{Timing, faults::Fault};
use modelarts_ext::{Job, Outcome, RetryPolicy, jobs::wait::Observation, types::Phase};

use super::fixtures::details_of;
use crate::support::{
    clock::{TestClock, seconds},
    errors::refused,
    faults::{SHOW, status},
    script_barrier::ScriptBarrier,
    server::{Reply, Server},
    site::Site,
};

#[tokio::test]
async fn a_wait_ends_on_its_condition() {
    let mut timing = Timing::instant();
    timing.queuing = seconds(100);
    let site = Site::with(|builder| builder.timing(timing)).await;
    let barrier = ScriptBarrier::new().await;
    let job = site.script("until", &barrier.script("", "")).submit().await;
    let job = job.unwrap();
    site.emulator.wait_for(job.id(), "Pending").await.unwrap();
    let (emulator, clock, id) =
        (Arc::clone(&site.emulator), site.clock.clone(), job.id().to_owned());
    site.clock.step(async move {
        clock.advance(seconds(100));
        emulator.wait_for(&id, "Running").await.unwrap();
    });
    let running = |job: &Job| job.phase() == Phase::Running;
    let end = job.wait().until(running).await.unwrap();
    assert_eq!(*end.outcome(), Outcome::Reached);
    assert!(!end.is_completed());
    assert_eq!(end.job().phase(), Phase::Running);
    assert_eq!(site.clock.slept().len(), 1);

    // The wait ends as usual if the job ends without meeting the condition.
    let waiting = barrier.reached().await;
    site.at_pause(job.id(), async move {
        waiting.release().await;
    });
    let never = job.wait().until(|job| job.phase() == Phase::Abnormal);
    assert_eq!(*never.await.unwrap().outcome(), Outcome::Completed);
}

#[tokio::test]
async fn the_time_limit_of_a_wait_is_kept_while_the_service_does_not_answer() {
    let clock = TestClock::new();
    let hangs = || Reply::HangAnHour(Vec::new(), clock.clone());
    let server = Server::start([
        details_of("slow", "Running"),
        hangs(),
        details_of("slow", "Running"),
        hangs(),
        hangs(),
    ])
    .await;
    let client = server.client(&clock).timeout(seconds(7200));
    let client = client.build().unwrap();
    let job = client.training_jobs().get("slow").await.unwrap();
    // The time limit expires at the first poll, and at a later one.
    for looks in [2, 4] {
        let end = job.wait().timeout(seconds(1000)).await.unwrap();
        assert_eq!(*end.outcome(), Outcome::TimedOut);
        assert_eq!(end.job().phase(), Phase::Running);
        assert_eq!(server.requests().len(), looks);
    }
    let all = client.training_jobs().wait_all([job]);
    let all = all.timeout(seconds(1000)).await.unwrap();
    assert_eq!(*all[0].outcome(), Outcome::TimedOut);
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn a_wait_is_observed() {
    let mut timing = Timing::instant();
    timing.creating = seconds(100);
    timing.queuing = seconds(100);
    let site = Site::with(|builder| builder.timing(timing)).await;
    let barrier = ScriptBarrier::new().await;
    let script = barrier.script("", "");
    let job = site.script("observed", &script).submit().await.unwrap();
    for phase in ["Pending", "Running"] {
        let (emulator, clock, id) =
            (Arc::clone(&site.emulator), site.clock.clone(), job.id().to_owned());
        // A poll that detects no change yields no observation.
        site.clock.step(async {});
        site.clock.step(async move {
            clock.advance(seconds(100));
            emulator.wait_for(&id, phase).await.unwrap();
        });
    }
    site.at_pause(job.id(), async move {
        barrier.reached().await.release().await;
    });
    let seen: Vec<Observation> = job.wait().stream().try_collect().await.unwrap();
    let seen = seen.iter().map(|Observation { job, outcome, errors, .. }| {
        let secondary = job.secondary_phase().unwrap();
        format!("{} {secondary} {outcome:?} {errors}", job.phase())
    });
    assert_eq!(
        seen.collect::<Vec<_>>(),
        [
            "Creating Creating None 0",
            "Pending Queuing None 0",
            "Running Running None 0",
            "Completed Completed Some(Completed) 0",
        ]
    );
    assert_eq!(site.clock.steps_left(), 0);
    assert_eq!(site.clock.slept().len(), 5);
}

#[tokio::test]
async fn a_job_vanishes_while_it_is_waited_for() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    let script = barrier.script("", "");
    let job = site.script("deleted", &script).submit().await.unwrap();
    let waiting = barrier.reached().await;
    let (emulator, deleted) = (Arc::clone(&site.emulator), job.clone());
    site.clock.step(async move {
        deleted.delete().await.unwrap();
        emulator.wait_until_gone(deleted.id()).await;
    });
    let end = job.wait().await.unwrap();
    drop(waiting);
    assert_eq!(*end.outcome(), Outcome::Vanished);
    // The handle shows the job as last read.
    assert_eq!(end.job().phase(), Phase::Running);

    // A new wait also ends with `Vanished`: the handle shows that the job existed.
    assert_eq!(*job.wait().await.unwrap().outcome(), Outcome::Vanished);
    let all = site.client.training_jobs().wait_all([job.clone()]);
    assert_eq!(*all.await.unwrap()[0].outcome(), Outcome::Vanished);
    let error = refused(job.delete().await);
    assert!(error.is_not_found());
    assert_eq!(job.events().follow().try_collect::<Vec<_>>().await.unwrap(), []);
    assert_eq!(job.logs("worker-0").follow().try_collect::<Vec<_>>().await.unwrap(), []);
}

#[tokio::test]
async fn a_wait_that_takes_too_long_is_no_error() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    let script = barrier.script("", "");
    let job = site.script("slow", &script).submit().await.unwrap();
    let waiting = barrier.reached().await;
    let end = job.wait().timeout(seconds(100)).await.unwrap();
    assert_eq!(*end.outcome(), Outcome::TimedOut);
    assert_eq!(end.job().phase(), Phase::Running);
    // The wait lasts exactly the time limit. Its pauses grow from one second, with a jitter of a
    // tenth.
    let slept = site.clock.slept();
    assert_eq!(slept.iter().sum::<Duration>(), seconds(100));
    assert!((0.9..=1.1).contains(&slept[0].as_secs_f64()), "{slept:?}");
    assert!(slept.iter().all(|pause| *pause <= seconds(33)), "{slept:?}");
    assert!(slept.len() > 5 && slept.len() < 20, "{slept:?}");
    drop(waiting);
}

#[tokio::test]
async fn an_unknown_phase_is_kept_and_the_wait_goes_on() {
    let site = Site::start().await;
    let job = site.run(site.script("phase", "")).await;
    let phase = "Hibernating".to_owned();
    site.fault(1, SHOW, Fault::UnknownPhase { phase });
    let seen: Vec<_> = job.wait().stream().try_collect().await.unwrap();
    let seen: Vec<_> = seen.iter().map(|seen| (seen.job.phase(), seen.outcome.clone())).collect();
    assert_eq!(
        seen,
        [(Phase::Other("Hibernating".into()), None), (Phase::Completed, Some(Outcome::Completed)),]
    );
}

#[tokio::test]
async fn bad_answers_do_not_end_a_wait() {
    let site = Site::start().await;
    let job = site.run(site.script("patient", "")).await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let job = client.training_jobs().get(job.id()).await.unwrap();
    site.fault(2, SHOW, status(503, None));
    site.fault(1, SHOW, Fault::Reset);
    site.fault(1, SHOW, Fault::Html { status: 502 });
    let end = job.wait().await.unwrap();
    assert_eq!(*end.outcome(), Outcome::Completed);
    assert_eq!(end.errors(), 4);

    site.fault(1, SHOW, status(403, None));
    assert!(refused(job.wait().await).is_auth());
}
