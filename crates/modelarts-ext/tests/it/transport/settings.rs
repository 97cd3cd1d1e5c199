//! Tests of settings for all requests: HTTP client, observer, rate limit, proxy.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use modelarts_emulator::faults::Fault;
use modelarts_ext::{
    Client, ClientBuilder, RetryPolicy,
    client::Attempt,
    credentials::{FetchCredentials, Password},
};
use tokio_rustls::rustls::crypto::ring;

use super::fixtures::JOB;
use crate::support::{
    clock::TestClock,
    errors::refused,
    fake_server::{FakeServer, reply},
    faults::{LIST, status},
    site::Site,
};

/// Attempts that a client reported, as one line each.
#[derive(Clone, Default)]
struct Attempts(Arc<Mutex<Vec<String>>>);

impl Attempts {
    fn observer(&self) -> impl Fn(&Attempt<'_>) + Send + Sync + 'static {
        let lines = Arc::clone(&self.0);
        move |attempt| {
            let Attempt { operation, number, next, .. } = attempt;
            let result = match attempt.result {
                Ok(status) => status.to_string(),
                Err(error) => error.to_string(),
            };
            let mut line = format!("{operation} {number}: {result}");
            if let Some(next) = next {
                line += &format!(", again in {next:?}");
            }
            lines.lock().unwrap().push(line);
        }
    }

    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[tokio::test]
async fn each_attempt_is_observed() {
    let site = Site::start().await;
    let attempts = Attempts::default();
    let client = site.client().on_attempt(attempts.observer()).build().unwrap();
    site.fault(1, LIST, status(429, Some(7)));
    client.training_jobs().list().collect(1).await.unwrap();
    assert_eq!(
        attempts.lines(),
        ["ListTrainingJobs 1: 429, again in 7s", "ListTrainingJobs 2: 200"]
    );
    site.fault(1, LIST, Fault::Reset);
    let once = site.client().on_attempt(attempts.observer()).retry(RetryPolicy::none());
    refused(once.build().unwrap().training_jobs().list().collect(1).await);
    let lines = attempts.lines();
    let start = "ListTrainingJobs 1: the connection to http://127.0.0.1";
    assert!(lines.len() == 1 && lines[0].starts_with(start), "{lines:?}");
}

/// The addresses have no port, so only the HTTP client of the test can reach them.
#[tokio::test]
async fn one_http_client_sends_the_requests_to_all_servers() {
    let _ = ring::default_provider().install_default();
    let clock = TestClock::new();
    let iam = FakeServer::start(|_| {
        let body = r#"{"token": {"expires_at": "2026-01-16T08:30:45.000000Z"}}"#;
        reply(201, body).with("X-Subject-Token", "T-s3cr3t")
    });
    let service = FakeServer::start(|_| reply(200, JOB));
    let (iam, service) = tokio::join!(iam, service);
    let address = |server: &FakeServer| server.url["http://".len()..].parse().unwrap();
    let http = reqwest::Client::builder()
        .no_proxy()
        .resolve("iam.localhost", address(&iam))
        .resolve("modelarts.localhost", address(&service))
        .build()
        .unwrap();
    let attempts = Attempts::default();
    let password = Password::new("http://iam.localhost", "alice", "PW-s3cr3t").domain("OTC01");
    let client = Client::builder()
        .endpoint("http://modelarts.localhost")
        .project_id("p")
        .credentials(password.project_id("p").into_provider())
        .clock(clock)
        .timeout(Duration::from_secs(3600))
        .http_client(http)
        .on_attempt(attempts.observer())
        .build()
        .unwrap();
    client.training_jobs().get("j").await.unwrap();
    assert_eq!(iam.lines(), ["POST /v3/auth/tokens?nocatalog=true"]);
    assert_eq!(service.lines(), ["GET /v2/p/training-jobs/j"]);
    assert_eq!(attempts.lines(), ["IAM 1: 201", "ShowTrainingJobDetails 1: 200"]);
}

/// A retry has its own pause, and a turn of the rate limit.
#[tokio::test]
async fn every_pause_ends_at_the_maximum() {
    let site = Site::start().await;
    let max = Duration::from_millis(5);
    let client = site.client().rate_limit(0.1).max_pause(max).build().unwrap();
    site.fault(2, LIST, Fault::retry_after(429, 20));
    client.training_jobs().list().collect(1).await.unwrap();
    assert_eq!(site.clock.slept(), [max; 4]);

    // The variable of the emulator applies, unless the client has a clock of its own.
    let of_emulator = || ClientBuilder::from_vars(site.emulator.vars());
    for (client, expected) in [
        (of_emulator(), Duration::from_millis(20)),
        (of_emulator().clock(site.clock.clone()), Duration::MAX),
        (of_emulator().clock(site.clock.clone()).max_pause(max), max),
    ] {
        let context = client.build().unwrap().provider_context().clone();
        assert_eq!(context.clock.max_pause(), expected);
    }
    let vars = site.emulator.vars();
    let wrong = move |name: &str| match name {
        "MODELARTS_MAX_PAUSE_MS" => Some("5 ms".to_owned()),
        name => vars(name),
    };
    assert_eq!(
        refused(ClientBuilder::from_vars(wrong).build()).to_string(),
        "MODELARTS_MAX_PAUSE_MS is \"5 ms\"; it must be a number of milliseconds"
    );
}

#[tokio::test]
async fn all_calls_of_a_client_share_its_limit() {
    let site = Site::start().await;
    let half = Duration::from_millis(500);
    let client = site.client().rate_limit(2.0).build().unwrap();
    let other = client.with_timeout(Duration::from_secs(7200));
    for client in [&client, &other, &client] {
        client.training_jobs().list().collect(1).await.unwrap();
    }
    assert_eq!(site.clock.slept(), [half; 2]);
    // A retry is a request too.
    site.fault(1, LIST, status(429, None));
    client.training_jobs().list().collect(1).await.unwrap();
    let slept = site.clock.slept();
    assert_eq!(slept.len(), 5, "a turn, the pause of the retry, and its turn: {slept:?}");
    // A wait keeps the limit of the client beside its own.
    let job = site.run(site.script("done", "")).await;
    let before = site.clock.slept().len();
    let waited = client.training_jobs().wait_all([job.id()]).rate_limit(f64::INFINITY).await;
    assert_eq!(waited.unwrap().len(), 1);
    let slept = site.clock.slept().split_off(before);
    assert!(!slept.is_empty() && slept.iter().all(|pause| *pause <= half), "{slept:?}");
}

#[test]
fn a_rate_limit_must_be_above_zero() {
    let client = Client::builder()
        .endpoint("http://127.0.0.1:1")
        .project_id("p")
        .credentials(modelarts_ext::Credentials::keys("AK", "SK"))
        .rate_limit(0.0);
    let error = client.build().unwrap_err();
    assert_eq!(error.to_string(), "rate_limit: 0 calls a second; must be above 0");
}
