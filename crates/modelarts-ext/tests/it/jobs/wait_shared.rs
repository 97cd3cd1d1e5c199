//! Tests of single waits of one client, which share their requests.

use futures::{StreamExt, future::join_all, stream};
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

fn reject_searches(site: &SimulatedSite, times: u32, code: &str) {
    let fault = Fault::Status {
        status: 400,
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
async fn an_error_of_a_search_is_that_of_its_ten_waits() {
    let (site, jobs) = site().await;
    reject_searches(&site, 1, "ModelArts.2791");
    let ends = join_all(jobs.iter().map(|job| job.wait().into_future())).await;
    let errors = ends.iter().filter_map(|end| end.as_ref().err());
    let codes: Vec<_> = errors.map(|error| error.code().unwrap()).collect();
    assert_eq!(codes, ["ModelArts.2791"; 10]);
}

#[tokio::test]
async fn without_a_search_by_id_each_wait_reads_its_job() {
    let (site, jobs) = site().await;
    reject_searches(&site, u32::MAX, codes::UNSUPPORTED_CONDITION_KEY);
    assert!(wait(&jobs).await.iter().all(Waited::is_completed));
    let (searches, _) = requests(&site);
    assert!((1..=8).contains(&searches), "{searches}");
}
