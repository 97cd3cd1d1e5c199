//! Tests of the rate limit of waits for many jobs, and of the delay that follows from it.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_emulator::faults::FaultRule;
use modelarts_ext::{
    Error, Job, Outcome,
    jobs::{JobRef, wait::TerminatedBy},
};
use serde_json::json;

use crate::support::{
    clock::seconds,
    errors::refused,
    faults::{LIST, SHOW, status},
    simulated_site::SimulatedSite,
    site::Site,
};

const EVENTS: &str = "ListTrainingJobEvents";
const LOG: &str = "ShowTrainingJobLogsPreview";

/// Allowed deviation of calculated pauses.
const ROUNDING: Duration = Duration::from_millis(1);

async fn submit(site: &SimulatedSite, names: impl IntoIterator<Item = String>) -> Vec<Job> {
    let jobs = stream::iter(names).map(|name| {
        let job = site.job(&name).unchecked();
        async move { job.submit().await.unwrap() }
    });
    let jobs = jobs.buffered(8).collect().await;
    site.take_requests();
    jobs
}

/// Asserts that any two requests were at least `spacing` apart, and returns the number of requests
/// by the last segment of their paths.
fn assert_spread(requests: Vec<(SystemTime, String)>, spacing: Duration) -> BTreeMap<String, u32> {
    for pair in requests.windows(2) {
        let apart = pair[1].0.duration_since(pair[0].0).unwrap();
        assert!(apart + ROUNDING >= spacing, "{apart:?}: {pair:?}");
    }
    let mut counts = BTreeMap::new();
    for (_, path) in requests {
        *counts.entry(path).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn a_thousand_jobs_take_one_request_a_second_and_end_in_time() {
    // Three groups of 200 end one after another when the pauses have grown; 400 jobs end together.
    let group_end = |group: u64| 420 + 43 * group;
    let mut script = Vec::new();
    for group in 0..3 {
        let name = format!("g{group}-*");
        script.push(json!({"name": name, "runs": [{"seconds": group_end(group)}]}));
    }
    script.push(json!({"name": "z-*", "runs": [{"seconds": 560}]}));
    // The pauses of a wait are up to 66 seconds.
    let site = SimulatedSite::start(json!({"jobs": script}), seconds(100)).await;
    let names = (0..600).map(|n| format!("g{}-{n}", n % 3));
    let names = names.chain((0..400).map(|n| format!("z-{n}")));
    let jobs = submit(&site, names).await;
    let start = site.now();
    let mut ends = site.client.training_jobs().wait_all(&jobs).stream();
    let mut delays = BTreeMap::new();
    let mut count = 0;
    while let Some(end) = ends.try_next().await.unwrap() {
        assert!(end.is_completed());
        let group = end.job().name().split('-').next().unwrap().to_owned();
        let ended = match group.strip_prefix('g') {
            Some(number) => group_end(number.parse().unwrap()),
            None => 560,
        };
        let delay = site.now().duration_since(start + seconds(ended)).unwrap();
        let most: &mut Duration = delays.entry(group).or_default();
        *most = delay.max(*most);
        count += 1;
    }
    assert_eq!(count, 1000);
    for (group, delay) in &delays {
        // The bounds that the documentation of `WaitAll` states.
        let most = if group == "z" { 150 } else { 120 };
        assert!(*delay <= seconds(most), "{group}: {delay:?}");
    }
    let took = site.now().duration_since(start).unwrap().as_secs();
    let requests = site.take_requests();
    let total = u64::try_from(requests.len()).unwrap();
    let counts = assert_spread(requests, seconds(1));
    assert!(total <= took, "{total} requests in {took} s");
    // Hardly any job was read alone.
    let searches = counts["training-job-searches"];
    assert!(total - u64::from(searches) < 20, "{counts:?}");
}

#[tokio::test]
async fn jobs_that_fail_or_stop_together_keep_to_the_rate() {
    let script = json!({"jobs": [
        {"name": "bad-*", "runs": [{"seconds": 100, "exit_code": 3, "log": ["no data"]}]},
        {"name": "long-*", "runs": [{"seconds": 100_000}]},
    ]});
    // The time limit for details is 92 seconds.
    let site = SimulatedSite::start(script, seconds(60)).await;
    let bad = (0..120).map(|n| format!("bad-{n}"));
    let jobs = submit(&site, bad.chain((0..30).map(|n| format!("long-{n}")))).await;
    // The jobs have started, so they have logs.
    site.clock.advance(seconds(1)).await;
    for job in &jobs[120..] {
        job.terminate().await.unwrap();
    }
    site.clock.advance(seconds(100)).await;
    site.take_requests();
    let start = site.now();
    let wait = site.client.training_jobs().wait_all(&jobs);
    let mut ends = wait.interval(seconds(5), seconds(50)).stream();
    let mut last = BTreeMap::new();
    let (mut failed, mut with_details) = (0, 0);
    while let Some(end) = ends.try_next().await.unwrap() {
        let kind = match end.outcome() {
            Outcome::Failed { exit_code: Some(3), .. } => {
                failed += 1;
                let details = (end.last_events().len(), end.last_lines().len());
                with_details += u32::from(details == (5, 1));
                assert!([(5, 1), (0, 0)].contains(&details), "{details:?}");
                "failed"
            }
            Outcome::Terminated { by: TerminatedBy::User } => "stopped",
            other => panic!("{other:?}"),
        };
        last.insert(kind, site.now().duration_since(start).unwrap());
    }
    assert_eq!(failed, 120);
    // The budget of a round was shared by failed and stopped jobs.
    assert!((1..=10).contains(&with_details), "{with_details}");
    // Failed jobs did not wait for the events of others.
    assert!(last["failed"] <= seconds(30), "{last:?}");
    assert!(last["stopped"] <= seconds(70), "{last:?}");
    let counts = assert_spread(site.take_requests(), seconds(1));
    // Each stop has one request for its cause. Lines are read for the first jobs only.
    assert_eq!(counts["events"], 30 + with_details);
    assert_eq!(counts["preview"], 10);
    assert!(counts["training-job-searches"] <= 8, "{counts:?}");
    assert_eq!(counts.len(), 3, "{counts:?}");
}

#[tokio::test]
async fn retries_and_other_rates_are_limited_as_well() {
    let script = json!({"default": [{"seconds": 300}]});
    let site = SimulatedSite::start(script, seconds(100)).await;
    let jobs = submit(&site, (0..60).map(|n| format!("job-{n}"))).await;
    let rule = FaultRule::times(3, LIST, status(503, None));
    site.emulator.faults().add(rule).unwrap();
    let wait = site.client.training_jobs().wait_all(jobs).rate_limit(0.25);
    assert_eq!(wait.await.unwrap().len(), 60);
    let counts = assert_spread(site.take_requests(), seconds(4));
    assert!(counts["training-job-searches"] > 5, "{counts:?}");
}

#[tokio::test]
async fn ten_jobs_that_fail_together_are_returned_at_once() {
    let site = Site::start().await;
    let mut jobs = Vec::new();
    for number in 0..10 {
        let job = site.script(&format!("j{number}"), "print('text')\nexit(3)");
        jobs.push(site.run(job).await);
    }
    let ends = site.client.training_jobs().wait_all(&jobs).await.unwrap();
    assert_eq!(ends.len(), 10);
    assert!(ends.iter().all(|end| end.last_events().len() == 5));
    assert_eq!((site.count(EVENTS).0, site.count(LOG).0), (10, 10));
    assert_eq!(site.clock.slept(), [Duration::ZERO; 0]);
}

#[tokio::test]
async fn jobs_handles_and_ids_can_be_waited_for() {
    let site = Site::start().await;
    let jobs = site.client.training_jobs();
    let job = site.script("job", "").submit().await.unwrap();
    let other = site.script("other", "").workspace("w").submit().await;
    let other = jobs.job(other.unwrap().id()).unwrap();
    for id in [job.id(), other.id()] {
        site.emulator.wait_until_settled(id).await;
    }
    let absent = "cf63aba9-63b1-4219-b717-708a2665100b";
    let before = site.count(SHOW).0;
    let ends = jobs
        .wait_all([
            JobRef::from(&job),
            JobRef::from(&other),
            JobRef::from(absent),
            JobRef::from(job.id()),
        ])
        .await
        .unwrap();
    let ends: BTreeMap<_, _> =
        ends.iter().map(|end| (end.job().id().to_owned(), end.outcome().clone())).collect();
    assert_eq!(
        ends,
        BTreeMap::from([
            (job.id().to_owned(), Outcome::Completed),
            (other.id().to_owned(), Outcome::Completed),
            (absent.to_owned(), Outcome::Vanished),
        ])
    );
    // The search for the job of the other workspace does not find it, because only its id is known.
    assert_eq!(site.count(SHOW).0 - before, 2);
    // The job that was passed does not change.
    assert!(!job.is_completed());
    let ends = jobs.wait_all([job.id()]).await.unwrap();
    assert!(ends[0].is_completed());
}

#[tokio::test]
async fn wrong_ids_and_rates_are_errors_before_a_request() {
    let site = Site::start().await;
    let jobs = site.client.training_jobs();
    let error: Error = refused(jobs.wait_all(["good", "not good"]).await);
    assert!(error.to_string().starts_with("the job id \"not good\" is wrong"), "{error}");
    for rate in [0.0, -1.0, f64::NAN] {
        let error = refused(jobs.wait_all(["good"]).rate_limit(rate).await);
        assert_eq!(
            error.to_string(),
            format!("rate_limit: {rate} calls a second; must be above 0")
        );
    }
    assert_eq!((site.count(LIST).0, site.count(SHOW).0), (0, 0));
}

#[tokio::test]
async fn returned_jobs_have_no_rate_limit() {
    let script = json!({"default": [{"seconds": 60}]});
    let site = SimulatedSite::start(script, seconds(100)).await;
    let jobs = submit(&site, (0..11).map(|n| format!("job-{n}"))).await;
    let ends = site.client.training_jobs().wait_all(jobs).await.unwrap();
    let before = site.now();
    for end in &ends {
        end.job().get().await.unwrap();
    }
    assert_eq!((ends.len(), site.now()), (11, before));
}
