//! Tests of single waits of one client, which share their requests.

use futures::{
    StreamExt,
    future::join_all,
    stream::{self, FuturesUnordered},
};
use modelarts_emulator::faults::{Fault, FaultRule};
use modelarts_ext::{Job, api::codes, jobs::wait::Waited};
use serde_json::json;

use crate::support::{clock::seconds, faults::LIST, simulated_site::SimulatedSite};

/// Starts a site with 100 jobs: 10 that run for a minute, and 90 that run for ten.
async fn site() -> (SimulatedSite, Vec<Job>) {
    let run = |name: &str, time: u64| json!({"name": name, "runs": [{"seconds": time}]});
    let jobs = json!({"jobs": [run("short-*", 60), run("long-*", 600)]});
    // The pauses of a wait are up to 33 seconds.
    let site = SimulatedSite::start(jobs, seconds(100)).await.rate_limit(2.0);
    let names =
        (0..100).map(|n| if n % 10 == 0 { format!("short-{n}") } else { format!("long-{n}") });
    let jobs = stream::iter(names).then(|name| {
        let job = site.job(&name).unchecked();
        async move { job.submit().await.unwrap() }
    });
    let jobs = jobs.collect().await;
    site.take_requests();
    (site, jobs)
}

async fn wait(jobs: &[Job]) -> Vec<Waited> {
    let ends = join_all(jobs.iter().map(|job| job.wait().into_future())).await;
    ends.into_iter().map(Result::unwrap).collect()
}

/// Returns the number of searches, and of all requests.
fn requests(site: &SimulatedSite) -> (usize, usize) {
    let requests = site.take_requests();
    let searches = requests.iter().filter(|(_, path)| path == "training-job-searches");
    (searches.count(), requests.len())
}

fn reject_searches(site: &SimulatedSite, times: u32, status: u16, code: &str) {
    let fault = Fault::Status {
        status,
        retry_after: None,
        error_code: Some(code.to_owned()),
        error_msg: Some("not possible".to_owned()),
    };
    site.emulator.faults().add(FaultRule::times(times, LIST, fault)).unwrap();
}

#[tokio::test]
async fn a_hundred_waits_search_for_ten_jobs_at_a_time() {
    let (site, jobs) = site().await;
    for (end, job) in wait(&jobs).await.iter().zip(&jobs) {
        assert!(end.is_completed());
        assert_eq!(end.job().id(), job.id());
        let run = if job.name().starts_with("short") { 60 } else { 600 };
        assert_eq!(end.job().time_run(), Some(seconds(run)), "{}", job.name());
    }
    // Alone, the waits read their jobs 2,800 times, and the last read of each is not shared.
    let (searches, all) = requests(&site);
    assert!(searches > 0 && all < 600, "{searches} of {all}");
}

#[tokio::test]
async fn waits_that_are_not_polled_do_not_hold_up_others() {
    let (site, mut jobs) = site().await;
    let last = jobs.pop().unwrap();
    let mut waits: FuturesUnordered<_> = jobs.iter().map(|job| job.wait().into_future()).collect();
    assert!(futures::poll!(waits.next()).is_pending());
    assert!(last.wait().await.unwrap().is_completed());
    drop(site);
}

#[tokio::test]
async fn a_search_that_fails_for_some_time_is_an_error_of_its_waits() {
    let (site, jobs) = site().await;
    // More than the attempts of all searches that are in flight.
    reject_searches(&site, 200, 503, "ModelArts.0000");
    let ends = wait(&jobs).await;
    assert!(ends.iter().all(Waited::is_completed));
    assert!(ends.iter().filter(|end| end.errors() > 0).count() >= 10);
}

#[tokio::test]
async fn without_a_search_each_wait_reads_its_job() {
    for (status, code) in [(400, codes::UNSUPPORTED_CONDITION_KEY), (403, "ModelArts.0103")] {
        let (site, jobs) = site().await;
        reject_searches(&site, u32::MAX, status, code);
        let ends = wait(&jobs).await;
        assert!(ends.iter().all(|end| end.is_completed() && end.errors() == 0), "{status}");
        let (searches, _) = requests(&site);
        assert!((1..=16).contains(&searches), "{searches}");
    }
}
