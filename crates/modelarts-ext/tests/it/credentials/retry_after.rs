//! Tests of calls while IAM sends `Retry-After` or does not respond.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures::future::join;
use modelarts_ext::{Client, clock::Clock, credentials::FetchCredentials};
use serde_json::json;

use super::{
    fixtures::{ProviderBench, got, in_region, password, safe_message, token},
    manual_clock::{ManualClock, hours, minutes, start},
};
use crate::support::{
    fake_server::{FakeServer, reply},
    server::PROJECT,
};

/// Returns a simulated IAM that responds to the first requests with this status and `Retry-After`,
/// and to later requests with a token.
async fn asking_to_wait(status: u16, retry_after: &'static str, times: usize) -> FakeServer {
    let count = AtomicUsize::new(0);
    FakeServer::start(move |asked| {
        if count.fetch_add(1, Ordering::SeqCst) < times {
            return reply(status, "wait").with("Retry-After", retry_after);
        }
        match asked.method.as_str() {
            "GET" => reply(200, json!({"projects": [{"id": "p1", "name": "eu-de"}]})),
            _ => token("TK-s3cr3t-1", start()),
        }
    })
    .await
}

#[tokio::test]
async fn a_call_waits_as_long_as_iam_asks() {
    for (retry_after, seconds) in [("7", 7), ("Thu, 15 Jan 2026 08:30:56 GMT", 11)] {
        let iam = asking_to_wait(429, retry_after, 1).await;
        let service = FakeServer::start(|_| reply(200, r#"{"items":[]}"#)).await;
        let clock = ManualClock::new(|time| time < minutes(1));
        let client = Client::builder()
            .endpoint(&service.url)
            .project_id(PROJECT)
            .credentials(password(&iam.url).into_provider())
            .clock(clock.clone())
            .build()
            .unwrap();
        client.training_jobs().list().collect(1).await.unwrap();
        assert_eq!(clock.now(), start() + Duration::from_secs(seconds));
        assert_eq!(iam.asked().len(), 2);
    }
}

#[tokio::test]
async fn iam_gets_no_request_before_its_retry_after() {
    let iam = asking_to_wait(503, "100", 1).await;
    let bench = ProviderBench::new(password(&iam.url).into_provider());
    for (passed, left) in [(0, 100), (30, 70), (69, 1)] {
        bench.clock.advance(Duration::from_secs(passed));
        let error = bench.fails().await;
        assert_eq!(error.retry_after(), Some(Duration::from_secs(left)));
        assert!(error.is_retryable());
        assert_eq!(iam.asked().len(), 1);
    }
    bench.clock.advance(Duration::from_secs(1));
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    // A delay of a week is reduced to five minutes.
    let iam = asking_to_wait(503, "604800", 1).await;
    let bench = ProviderBench::new(password(&iam.url).into_provider());
    bench.fails().await;
    bench.clock.advance(minutes(5) - Duration::from_secs(1));
    bench.fails().await;
    assert_eq!(iam.asked().len(), 1);
    bench.clock.advance(Duration::from_secs(1));
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
}

#[tokio::test]
async fn the_old_token_is_used_for_as_long_as_iam_asks_to_wait() {
    let clock = ManualClock::still();
    let (time, count) = (clock.clone(), AtomicUsize::new(0));
    let iam = FakeServer::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        1 => reply(429, "wait").with("Retry-After", "200"),
        number => token(&format!("TK-s3cr3t-{number}"), time.now()),
    })
    .await;
    let mut bench = ProviderBench::new(password(&iam.url).into_provider());
    bench.tools = modelarts_ext::credentials::ProviderContext::new(clock.clone()).unwrap();
    assert_eq!(got(&bench).await, "TK-s3cr3t-0");
    clock.advance(hours(23) + minutes(40));
    for passed in [0, 100, 99] {
        clock.advance(Duration::from_secs(passed));
        assert_eq!(got(&bench).await, "TK-s3cr3t-0");
        assert_eq!(iam.asked().len(), 2);
    }
    clock.advance(Duration::from_secs(1));
    assert_eq!(got(&bench).await, "TK-s3cr3t-2");
}

#[tokio::test]
async fn a_call_does_not_end_with_a_renewal_that_hangs() {
    let count = AtomicUsize::new(0);
    let iam = FakeServer::closed(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        token(&format!("TK-s3cr3t-{number}"), start())
    })
    .await;
    iam.pass(1);
    let clock = ManualClock::still();
    let mut bench = ProviderBench::new(password(&iam.url).into_provider());
    bench.tools = modelarts_ext::credentials::ProviderContext::new(clock.clone()).unwrap();
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    clock.advance(hours(23) + minutes(40));
    let (token, ()) = join(got(&bench), async {
        iam.arrived(2).await;
        clock.advance(Duration::from_secs(10));
    })
    .await;
    assert_eq!(token, "TK-s3cr3t-1");
    // The next attempt follows a minute later.
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    assert_eq!(iam.asked().len(), 2);
    // Without valid credentials, calls have to wait.
    clock.advance(minutes(20));
    let (token, ()) = join(got(&bench), async {
        iam.arrived(3).await;
        clock.advance(Duration::from_secs(59));
        iam.open();
    })
    .await;
    assert_ne!(token, "TK-s3cr3t-1");
}

#[tokio::test]
async fn a_call_that_ends_before_it_is_sent_is_known_not_to_be_executed() {
    let iam = FakeServer::closed(|_| reply(503, "")).await;
    let service = FakeServer::start(|_| reply(200, r#"{"items":[]}"#)).await;
    let clock = ManualClock::still();
    let client = Client::builder()
        .endpoint(&service.url)
        .project_id(PROJECT)
        .credentials(password(&iam.url).into_provider())
        .clock(clock.clone())
        .timeout(Duration::from_secs(5))
        .build()
        .unwrap();
    let jobs = client.training_jobs();
    let job = jobs
        .create("early")
        .custom_image("image")
        .command("true")
        .flavor("flavor")
        // The create request is the only call of `submit`, and must end.
        .without_look_up()
        .submit();
    let (job, ()) = join(job, async {
        iam.arrived(1).await;
        clock.advance(Duration::from_secs(5));
    })
    .await;
    let error = job.unwrap_err();
    assert!(error.is_timeout());
    assert_eq!(safe_message(&error), "CreateTrainingJob: no answer within 5s");
    assert_eq!((error.attempts(), service.asked().len()), (0, 0));
}

#[tokio::test]
async fn a_look_up_waits_as_long_as_iam_asks() {
    let clock = || ManualClock::new(|time| time < minutes(1));
    let (iam, patient) = (asking_to_wait(429, "7", 2).await, clock());
    let client = in_region(&iam).clock(patient.clone()).connect().await;
    assert_eq!(client.unwrap().project_id(), "p1");
    assert_eq!(patient.now(), start() + Duration::from_secs(14));
    // The client does not wait for a delay that exceeds the retry time of calls.
    for retry_after in ["90", "99999999999999999999999"] {
        let (iam, patient) = (asking_to_wait(429, retry_after, 2).await, clock());
        let error = in_region(&iam).clock(patient.clone()).connect().await;
        assert!(error.unwrap_err().is_throttled());
        assert_eq!((patient.now(), iam.asked().len()), (start(), 1));
    }
}
