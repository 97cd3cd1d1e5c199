//! Facts about a call: attempts, request ids, times.

use std::time::Duration;

use futures::TryStreamExt;

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
    assert_eq!((job.request_id(), job.attempts()), (Some("r2"), 2));
    assert_eq!([job.elapsed()], *clock.slept());
    assert_eq!(job.raw(), JOB.as_bytes());
    job.refresh().await.unwrap();
    assert_eq!((job.request_id(), job.attempts()), (None, 1));

    let mut pages = client.training_jobs().list().pages();
    let page = pages.try_next().await.unwrap().unwrap();
    assert_eq!((page.request_id(), page.attempts()), (Some("r2"), 1));
    assert_eq!(page.raw(), list.as_bytes());
    // A row does not keep the body of its page in memory.
    assert_eq!(page.items[0].request_id(), Some("r2"));
    assert_eq!(page.items[0].raw(), b"");
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
    assert_eq!(answer.request_id().map(str::len), Some(32));
    assert_eq!(answer.attempts(), 1);
    assert_eq!(answer.elapsed(), Duration::ZERO);
    assert!(answer.skipped().is_empty());
    let raw: serde_json::Value = serde_json::from_slice(answer.raw()).unwrap();
    assert_eq!(raw["metadata"]["id"], job.id());
    assert_eq!(raw["status"]["phase"], "Completed");
    assert_eq!(
        answer.metadata.as_ref().unwrap().name.as_deref(),
        Some("called")
    );
}
