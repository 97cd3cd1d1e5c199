//! Tests of call metadata: attempts, request ids, durations.

use std::time::Duration;

use futures::TryStreamExt;
use modelarts_ext::{
    Client, Error,
    api::{self, TransportError, types::TrainingJob},
    client::CallInfo,
};

use super::fixtures::{JOB, unavailable};
use crate::support::{
    clock::TestClock,
    errors::refused,
    server::{Server, json_answer},
    site::Site,
};

#[tokio::test]
async fn what_is_known_about_a_call_is_kept_with_what_it_brought() {
    let list = format!(r#"{{"total":1,"items":[{JOB}]}}"#);
    let id = "x-request-id: r2\r\n";
    let server = Server::start([
        unavailable(),
        json_answer("200 OK", id, JOB),
        json_answer("200 OK", "", JOB),
        json_answer("200 OK", id, &list),
    ])
    .await;
    let clock = TestClock::new();
    let client = server.client(&clock).build().unwrap();
    let mut job = client.training_jobs().get("j").await.unwrap();
    assert_eq!((job.call().request_id(), job.call().attempts()), (Some("r2"), 2));
    assert_eq!([job.call().elapsed()], *clock.slept());
    assert_eq!(job.raw(), JOB.as_bytes());
    job.refresh().await.unwrap();
    assert_eq!((job.call().request_id(), job.call().attempts()), (None, 1));

    let mut pages = client.training_jobs().list().pages();
    let page = pages.try_next().await.unwrap().unwrap();
    assert_eq!((page.call().request_id(), page.call().attempts()), (Some("r2"), 1));
    assert_eq!(page.raw(), list.as_bytes());
    // A row does not keep the body of its page in memory.
    assert_eq!(page.items[0].call().request_id(), Some("r2"));
    assert_eq!(page.items[0].raw(), b"");
}

#[tokio::test]
async fn the_generated_client_passes_on_the_facts_about_a_call() {
    async fn get(client: &Client) -> Result<api::Response<TrainingJob>, api::Error> {
        let call = client.api().show_training_job_details();
        let call = call.project_id(client.project_id()).training_job_id("j");
        call.send().await
    }
    let id = "x-request-id: r2\r\n";
    let clock = TestClock::new();
    for (status, body) in [
        ("200 OK", JOB),
        ("200 OK", "no JSON"),
        ("400 Bad Request", "{}"),
        ("304 Not Modified", ""),
    ] {
        let server = Server::start([unavailable(), json_answer(status, id, body)]).await;
        let client = server.client(&clock).build().unwrap();
        let raw = match get(&client).await {
            Ok(response) => response.raw().clone(),
            Err(api::Error::Service(response)) => response.raw().clone(),
            Err(api::Error::Decode { response, .. } | api::Error::Unexpected(response)) => response,
            Err(error) => panic!("{status}: {error}"),
        };
        let call = raw.extensions.get::<CallInfo>().unwrap();
        assert_eq!((call.request_id(), call.attempts()), (Some("r2"), 2));
        assert_eq!(call.operation(), Some("ShowTrainingJobDetails"));
        assert_eq!(call.elapsed(), *clock.slept().last().unwrap());
    }
    let redirect = format!("{id}location: http://elsewhere.test\r\n");
    let server = Server::start([unavailable(), json_answer("302 Found", &redirect, "")]).await;
    let client = server.client(&clock).build().unwrap();
    let error = get(&client).await.unwrap_err();
    let api::Error::Transport(TransportError::Other(error)) = error else {
        panic!("{error}");
    };
    let error = error.downcast::<Error>().unwrap();
    assert_eq!((error.request_id(), error.attempts()), (Some("r2"), 2));
}

#[tokio::test]
async fn a_gateway_without_such_an_api_does_not_say_that_a_job_is_missing() {
    for prefix in ["APIGW", "APIG", "APIC"] {
        let body = format!(r#"{{"error_code":"{prefix}.0101","error_msg":"no such API"}}"#);
        let server = Server::start([json_answer("404 Not Found", "", &body)]).await;
        let client = server.client(&TestClock::new()).build().unwrap();
        let error = refused(client.training_jobs().get("j").await);
        assert!(!error.is_not_found(), "{prefix}");
        let body = format!(r#"{{"error_code":"{prefix}.0308","error_msg":"slower"}}"#);
        let server = Server::start([json_answer("403 Forbidden", "", &body)]).await;
        let client = server.client(&TestClock::new()).build().unwrap();
        let error = refused(client.training_jobs().get("j").await);
        assert!(error.is_throttled(), "{prefix}");
    }
}

#[tokio::test]
async fn a_call_tells_what_is_known_about_it() {
    let site = Site::start().await;
    let job = site.run(site.script("called", "")).await;
    let answer = site
        .client
        .call(|api| {
            api.show_training_job_details()
                .project_id(site.client.project_id())
                .training_job_id(job.id())
                .send()
        })
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.call().request_id().map(str::len), Some(32));
    assert_eq!(answer.call().attempts(), 1);
    assert_eq!(answer.call().elapsed(), Duration::ZERO);
    assert!(answer.skipped().is_empty());
    let raw: serde_json::Value = serde_json::from_slice(answer.raw()).unwrap();
    assert_eq!(raw["metadata"]["id"], job.id());
    assert_eq!(raw["status"]["phase"], "Completed");
    assert_eq!(answer.metadata.as_ref().unwrap().name.as_deref(), Some("called"));
}
