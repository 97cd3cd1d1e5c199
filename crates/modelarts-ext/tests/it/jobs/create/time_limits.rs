//! Tests of the time limits of `submit`, and of other methods that send several requests.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use modelarts_ext::{
    Client, Credentials, Error, ErrorKind,
    api::BoxFuture,
    connector::ConnectorError,
    credentials::{ProvideCredentials, ProviderContext},
};
use serde_json::{Value, json};

use super::fixtures::minimal_create;
use crate::support::{
    clock::TestClock,
    errors::refused,
    network::{self, NetworkReply, client_of},
};

/// Returns the settings of a client that uses a simulated network.
fn within(
    clock: &TestClock,
    network: impl Fn(&str, &Value) -> Option<NetworkReply> + Send + Sync + 'static,
) -> modelarts_ext::ClientBuilder {
    let network = move |request: &reqwest::Request| {
        let path = request.url().path().rsplit('/').next().unwrap();
        let body = request.body().and_then(|body| body.as_bytes());
        let body = serde_json::from_slice(body.unwrap_or(b"null")).unwrap();
        network(&format!("{} {path}", request.method()), &body)
    };
    client_of(network).clock(clock.clone()).timeout(Duration::from_secs(3600))
}

#[tokio::test]
async fn a_search_without_end_does_not_hang_a_create() {
    let clock = TestClock::new();
    let (time, pages) = (clock.clone(), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&pages);
    let client = within(&clock, move |line, body| {
        if line == "POST training-jobs" {
            return Some(Err(ConnectorError::Lost("cut".into())));
        }
        // Each page takes ten seconds, and the list never ends.
        time.advance(Duration::from_secs(10));
        let page = count.fetch_add(1, Ordering::Relaxed);
        assert!(page < 100, "this does not end");
        let offset = body["offset"].as_u64().unwrap_or(0);
        let limit = body["limit"].as_u64().unwrap_or(50);
        let rows: Vec<_> = (offset * limit..(offset + 1) * limit)
            .map(|row| {
                let (id, name) = (format!("j-{row}"), format!("lost-{row}"));
                json!({"metadata": {"id": id, "name": name}})
            })
            .collect();
        network::json(json!({"total": 1_000_000, "items": rows}))
    });
    let client = client.build().unwrap();
    let error = refused(minimal_create(&client).submit().await);
    assert_eq!(
        error.to_string(),
        "CreateTrainingJob: not finished within 300s: time ran out while the job of a lost \
         create was being searched for; the job may exist all the same: look for a job named \
         \"lost\" before \
         sending it again"
    );
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 1));
    assert!(error.is_uncertain());
    let pages = pages.load(Ordering::Relaxed);
    assert!((30..35).contains(&pages), "{pages}");
}

#[tokio::test]
async fn a_create_that_is_not_answered_ends_and_may_have_been_executed() {
    let clock = TestClock::new();
    let time = clock.clone();
    let client = within(&clock, move |line, _| {
        assert_eq!(line, "POST training-jobs");
        time.advance(Duration::from_secs(400));
        None
    });
    let client = client.overall_timeout(Duration::from_secs(400));
    let error = refused(minimal_create(&client.build().unwrap()).submit().await);
    assert_eq!(
        error.to_string(),
        "CreateTrainingJob: not finished within 400s: time ran out while the job was being sent; \
         the job may exist all the same: look for a job named \"lost\" before sending it again"
    );
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 1));
    assert!(error.is_uncertain());
}

/// Provider whose credentials never become available.
#[derive(Debug)]
struct Never(TestClock);

impl ProvideCredentials for Never {
    fn credentials<'a>(
        &'a self,
        _: &'a ProviderContext,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        self.0.advance(Duration::from_secs(300));
        Box::pin(pending())
    }
}

#[tokio::test]
async fn a_create_without_credentials_ends_and_was_not_sent() {
    let clock = TestClock::new();
    let client = within(&clock, |line, _| panic!("{line}"));
    let client = client.credentials(Never(clock.clone()));
    let error = refused(minimal_create(&client.build().unwrap()).submit().await);
    assert_eq!(
        error.to_string(),
        "CreateTrainingJob: not finished within 300s: time ran out while the job was being sent; \
         it was not sent"
    );
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 0));
    assert!(!error.is_uncertain());
}

#[tokio::test]
async fn methods_that_make_several_calls_have_one_time_limit() {
    let clock = TestClock::new();
    let time = clock.clone();
    let shown = AtomicU64::new(0);
    let client = within(&clock, move |line, _| match line {
        "GET j" if shown.fetch_add(1, Ordering::Relaxed) == 0 => {
            network::json(r#"{"metadata":{"id":"j","name":"n"}}"#)
        }
        _ => {
            time.advance(Duration::from_secs(300));
            None
        }
    });
    let client = client.build().unwrap();
    let jobs = client.training_jobs();
    let job = jobs.get("j").await.unwrap();
    let create = || jobs.create("n").algorithm("a").flavor("f");
    let timed_out = |doing: &str| format!("not finished within 300s: time ran out while {doing}");
    for (error, text, uncertain) in [
        (
            refused(create().submit().await),
            timed_out("algorithm and flavor were being looked up; nothing was sent"),
            false,
        ),
        (
            refused(create().look_up().await),
            timed_out("algorithm and flavor were being looked up"),
            false,
        ),
        (refused(job.metrics("worker-0").await), timed_out("metrics were being requested"), false),
        (refused(job.terminate().await), timed_out("the job was being stopped"), true),
        (refused(jobs.delete_many([&job]).await), timed_out("jobs were being deleted"), true),
    ] {
        assert_eq!(error.to_string(), text);
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert_eq!(error.is_uncertain(), uncertain, "{text}");
    }
    let builder = Client::builder()
        .endpoint("https://modelarts.test")
        .credentials(Never(clock.clone()))
        .clock(clock);
    let error = refused(builder.connect().await);
    assert_eq!(error.to_string(), timed_out("the project was being looked up"));
}
