//! Tests of the rate that a wait for many jobs reaches, whatever the latency of the service.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use futures::TryStreamExt;
use modelarts_ext::{
    Client, Credentials,
    api::BoxFuture,
    clock::Clock,
    connector::{ConnectorError, HttpConnector},
    jobs::wait::WaitAll,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::server::PROJECT;

/// Number of jobs, all of which have failed.
const JOBS: usize = 1000;

/// Clock of tokio, whose time is paused in these tests.
#[derive(Debug)]
struct PausedClock(Instant);

impl Clock for PausedClock {
    fn now(&self) -> SystemTime {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_465_845);
        start + self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(sleep(duration))
    }
}

/// Times of all requests, the number of requests in flight, and the largest such number.
#[derive(Default)]
struct Traffic {
    times: Vec<Instant>,
    in_flight: usize,
    most: usize,
}

/// Service that answers each request after the same time.
#[derive(Clone)]
struct SlowService {
    latency: Duration,
    traffic: Arc<Mutex<Traffic>>,
}

impl fmt::Debug for SlowService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SlowService")
    }
}

impl HttpConnector for SlowService {
    fn send(
        &self,
        request: reqwest::Request,
    ) -> BoxFuture<'static, Result<reqwest::Response, ConnectorError>> {
        let service = self.clone();
        Box::pin(async move {
            {
                let mut traffic = service.traffic.lock().unwrap();
                traffic.times.push(Instant::now());
                traffic.in_flight += 1;
                traffic.most = traffic.most.max(traffic.in_flight);
            }
            sleep(service.latency).await;
            service.traffic.lock().unwrap().in_flight -= 1;
            Ok(http::Response::new(answer(&request).to_string()).into())
        })
    }
}

fn answer(request: &reqwest::Request) -> Value {
    match request.url().path().rsplit('/').next().unwrap() {
        "training-job-searches" => {
            let body = request.body().unwrap().as_bytes().unwrap();
            found(&serde_json::from_slice(body).unwrap())
        }
        "events" => {
            let event = json!({"time": "2026-01-15T08:30:07Z", "message": "Training job failed."});
            json!({"total": 1, "limit": 100, "events": [event]})
        }
        _ => json!({"content": "a\n", "current_size": 2, "full_size": 2}),
    }
}

/// Returns a page of the jobs, if the search is for final phases.
fn found(search: &Value) -> Value {
    let number = |field: &str| usize::try_from(search[field].as_u64().unwrap()).unwrap();
    let is_final = search["filters"].to_string().contains("Failed");
    let total = if is_final { JOBS } else { 0 };
    let start = (number("offset") * number("limit")).min(total);
    let end = (start + number("limit")).min(total);
    let rows = (start..end).map(|n| {
        json!({"metadata": {"id": format!("j{n}"), "name": "n", "create_time": 1000},
               "status": {"phase": "Failed", "start_time": 1000, "tasks": ["worker-0"]}})
    });
    json!({"total": total, "limit": number("limit"), "items": rows.collect::<Vec<_>>()})
}

fn wait(latency: Duration, rate: f64) -> (Arc<Mutex<Traffic>>, WaitAll) {
    let traffic = Arc::default();
    let service = SlowService { latency, traffic: Arc::clone(&traffic) };
    let client = Client::builder()
        .endpoint("https://modelarts.test")
        .project_id(PROJECT)
        .credentials(Credentials::token("t"))
        .clock(PausedClock(Instant::now()))
        .connector(service);
    let jobs = client.build().unwrap().training_jobs();
    let wait = jobs.wait_all((0..JOBS).map(|n| format!("j{n}")));
    (traffic, wait.rate_limit(rate).budget(JOBS))
}

/// Asserts that requests were spread evenly, and returns their number.
fn assert_spread(traffic: &Traffic, rate: f64) -> usize {
    // Timers of tokio have a resolution of a millisecond.
    let spacing = Duration::from_secs_f64(1.0 / rate).saturating_sub(Duration::from_millis(1));
    for pair in traffic.times.windows(2) {
        assert!(pair[1] - pair[0] >= spacing, "{:?}", pair[1] - pair[0]);
    }
    traffic.times.len()
}

#[tokio::test(start_paused = true)]
async fn the_rate_limit_is_reached_with_any_latency() {
    // The latency in milliseconds, the rate limit, and the maximum number of requests in flight.
    for (latency, rate, most) in
        [(20, 200.0, 64), (200, 200.0, 64), (200, 50.0, 50), (2000, 1.0, 16)]
    {
        let (traffic, wait) = wait(Duration::from_millis(latency), rate);
        let start = Instant::now();
        let ends = wait.await.unwrap();
        let took = start.elapsed().as_secs_f64();
        assert!(ends.iter().all(|end| end.last_lines().len() == 1));
        let ids = ends.iter().map(|end| end.job().id());
        assert!(ids.is_sorted(), "the results are in the order of the ids");
        let traffic = traffic.lock().unwrap();
        let requests = assert_spread(&traffic, rate);
        // Searches, and two requests for each job.
        assert!((2 * JOBS..2 * JOBS + 50).contains(&requests), "{requests}");
        assert_eq!(ends.len(), JOBS);
        let measured = f64::from(u32::try_from(requests).unwrap()) / took;
        // The first searches and the details of the first job are read one after another.
        let share = if rate > 100.0 { 0.85 } else { 0.95 };
        assert!(measured >= share * rate, "{latency} ms, {rate}: {measured}");
        assert!(traffic.most <= most, "{latency} ms, {rate}: {}", traffic.most);
    }
}

/// Service that returns the same page of running jobs for each search, without a total.
#[derive(Debug)]
struct RepeatingService(Arc<Mutex<usize>>);

impl HttpConnector for RepeatingService {
    fn send(
        &self,
        _: reqwest::Request,
    ) -> BoxFuture<'static, Result<reqwest::Response, ConnectorError>> {
        *self.0.lock().unwrap() += 1;
        let rows = (0..50)
            .map(|n| json!({"metadata": {"id": format!("j{n}")}, "status": {"phase": "Running"}}));
        let page = json!({"items": rows.collect::<Vec<_>>()});
        Box::pin(async move { Ok(http::Response::new(page.to_string()).into()) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_ignores_offsets_is_not_read_without_an_end() {
    let requests = Arc::default();
    let client = Client::builder()
        .endpoint("https://modelarts.test")
        .project_id(PROJECT)
        .credentials(Credentials::token("t"))
        .clock(PausedClock(Instant::now()))
        .connector(RepeatingService(Arc::clone(&requests)));
    let jobs = client.build().unwrap().training_jobs();
    let wait = jobs.wait_all((0..50).map(|n| format!("j{n}"))).rate_limit(f64::INFINITY);
    let ends = wait.timeout(Duration::from_secs(10)).await.unwrap();
    assert_eq!(ends.len(), 50);
    // A round has two searches: the first page, and the second, which has no new job.
    let requests = *requests.lock().unwrap();
    assert!((2..=20).contains(&requests), "{requests}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_not_polled_for_a_time_keeps_to_its_rate() {
    let (traffic, wait) = wait(Duration::from_millis(200), 10.0);
    let mut ends = wait.stream();
    for _ in 0..100 {
        assert!(ends.try_next().await.unwrap().is_some());
        sleep(Duration::from_secs(5)).await;
    }
    assert_spread(&traffic.lock().unwrap(), 10.0);
}
