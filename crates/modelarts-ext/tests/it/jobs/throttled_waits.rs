//! Tests of waits for many jobs, and of their submission, while requests are throttled or fail.

use std::collections::BTreeMap;

use modelarts_emulator::faults::{Fault, FaultRule};
use modelarts_ext::{Error, Job, Outcome, jobs::wait::Waited};
use serde_json::json;

use crate::support::{
    clock::seconds,
    errors::refused,
    faults::{CREATE, LIST, status},
    simulated_site::SimulatedSite,
};

/// Returns a site whose jobs run for these times, by the ends of their names.
async fn site(runs: &[(&str, u64)]) -> SimulatedSite {
    let runs = runs.iter().map(
        |(name, duration)| json!({"name": format!("*-{name}"), "runs": [{"seconds": duration}]}),
    );
    // Pauses of a wait are up to 66 seconds.
    SimulatedSite::start(json!({"jobs": runs.collect::<Vec<_>>()}), seconds(100)).await
}

fn add(site: &SimulatedSite, times: u32, operation: &str, fault: Fault) {
    let rule = FaultRule::times(times, operation, fault);
    site.emulator.faults().add(rule).unwrap();
}

async fn submit(site: &SimulatedSite, name: &str, workspace: &str) -> Job {
    let job = site.job(name).workspace(workspace);
    job.submit().await.unwrap()
}

#[tokio::test]
async fn throttling_slows_a_wait_and_does_not_end_it() {
    let site = site(&[("short", 60)]).await;
    let jobs = [submit(&site, "a-short", "0").await];
    // With five attempts a round, more than half an hour.
    add(&site, 200, LIST, status(429, None));
    let start = site.now();
    let ends = site.client.training_jobs().wait_all(jobs).await.unwrap();
    assert!(ends[0].is_completed());
    assert_eq!(ends[0].errors(), 40);
    let took = site.now().duration_since(start).unwrap();
    assert!(took > seconds(1800), "{took:?}");
}

#[tokio::test]
async fn a_throttled_wait_ends_at_the_time_limit_of_the_caller() {
    let site = site(&[("short", 60)]).await;
    let jobs = [submit(&site, "a-short", "0").await];
    add(&site, u32::MAX, LIST, status(429, None));
    let start = site.now();
    let wait = site.client.training_jobs().wait_all(jobs);
    let ends = wait.timeout(seconds(3600)).await.unwrap();
    assert_eq!(*ends[0].outcome(), Outcome::TimedOut);
    let took = site.now().duration_since(start).unwrap();
    assert!((3600..3700).contains(&took.as_secs()), "{took:?}");
}

#[tokio::test]
async fn a_request_that_succeeds_begins_the_tolerated_time_anew() {
    let site = site(&[("long", 3000)]).await;
    let jobs = [submit(&site, "a-long", "0").await, submit(&site, "b-long", "w").await];
    // In each of 30 rounds, the search in the first workspace succeeds.
    for _ in 0..30 {
        add(&site, 1, LIST, Fault::TotalsAsText);
        add(&site, 5, LIST, status(503, None));
    }
    let ends = site.client.training_jobs().wait_all(jobs).await.unwrap();
    assert!(ends.iter().all(Waited::is_completed));
    assert_eq!(ends[1].errors(), 30);
}

#[tokio::test]
async fn the_error_of_a_wait_has_the_results_before_it() {
    let site = site(&[("short", 60), ("long", 3000)]).await;
    let jobs = [submit(&site, "a-short", "0").await, submit(&site, "b-long", "0").await];
    site.clock.advance(seconds(70)).await;
    add(&site, 1, LIST, Fault::TotalsAsText);
    add(&site, 1, LIST, status(403, None));
    let error = refused(site.client.training_jobs().wait_all(&jobs).await);
    assert_eq!(error.status(), Some(403));
    let ended: Vec<_> = error.ended().iter().map(|end| end.job().name()).collect();
    assert_eq!(ended, ["a-short"]);
    assert!(error.ended()[0].is_completed());
}

#[tokio::test]
async fn a_throttled_submission_is_repeated_and_an_error_names_the_job() {
    let site = site(&[("short", 60), ("long", 3000)]).await;
    let jobs = site.client.training_jobs();
    // With five attempts for a submission, more than 15 minutes.
    add(&site, 100, CREATE, status(429, None));
    let sweep = ["a-short", "b-short"].map(|name| site.job(name));
    let results = jobs.submit_all(sweep).at_most(1).await;
    let ends = results.into_iter().map(|end| end.unwrap().is_completed());
    assert_eq!(ends.collect::<Vec<_>>(), [true, true]);

    add(&site, u32::MAX, LIST, status(403, None));
    let results: Vec<Result<Waited, Error>> = jobs.submit_all([site.job("c-long")]).await;
    let error = refused(results.into_iter().next().unwrap());
    let ids = site.emulator.stored_ids().unwrap().into_iter().map(|id| {
        let job = site.emulator.stored_job(&id).unwrap().unwrap();
        (job.name, id)
    });
    let id = &ids.collect::<BTreeMap<_, _>>()["c-long"];
    let hint = format!("the job c-long ({id}) was submitted and continues");
    assert!(error.to_string().ends_with(&hint), "{error}");
}
