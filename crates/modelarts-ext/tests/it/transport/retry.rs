//! Tests of retries: conditions, delays, and number of attempts.

use std::time::Duration;

use modelarts_emulator::faults::Fault;
use modelarts_ext::{ErrorKind, Job, RetryPolicy};

use crate::support::{
    errors::{message, refused},
    faults::{CREATE, LIST, status},
    server::words_for_a_reset,
    site::Site,
};

#[tokio::test]
async fn retry_after_is_waited_for() {
    let site = Site::start().await;
    site.fault(2, LIST, status(429, Some(7)));
    assert_eq!(site.list().await.unwrap().len(), 0);
    assert_eq!(site.clock.slept(), [Duration::from_secs(7); 2]);
    assert_eq!(site.count(LIST), (3, 1));
}

#[tokio::test]
async fn a_create_that_was_throttled_is_sent_again() {
    let site = Site::start().await;
    site.fault(1, CREATE, status(429, Some(3)));
    let job = site.script("throttled", "").submit().await.unwrap();
    assert_eq!(job.name(), "throttled");
    assert_eq!(site.clock.slept(), [Duration::from_secs(3)]);
    assert_eq!(site.count(CREATE), (2, 1));
}

#[tokio::test]
async fn waiting_longer_than_the_policy_admits_is_not_begun() {
    let site = Site::start().await;
    site.fault(1, LIST, status(429, Some(90)));
    let error = refused(site.list().await);
    assert_eq!(
        message(&error),
        "ListTrainingJobs: services too many requests (ModelArts.2799, HTTP 429, request id \
         REQUEST); call less often"
    );
    assert!(error.is_throttled() && error.is_retryable());
    assert_eq!(site.clock.slept(), [Duration::ZERO; 0]);
    assert_eq!(site.count(LIST), (1, 0));
}

#[tokio::test]
async fn a_read_is_sent_again_after_a_503() {
    for code in [500, 502, 503, 504] {
        let site = Site::start().await;
        site.fault(2, LIST, status(code, None));
        assert_eq!(site.list().await.unwrap().len(), 0);
        assert_eq!(site.count(LIST), (3, 1), "{code}");
        let slept = site.clock.slept();
        // The pauses have full jitter, and the maximum pause doubles with each retry.
        assert_eq!(slept.len(), 2);
        assert!(slept[0] <= Duration::from_millis(200), "{slept:?}");
        assert!(slept[1] <= Duration::from_millis(400), "{slept:?}");
    }
}

#[tokio::test]
async fn attempts_are_bounded() {
    let site = Site::start().await;
    site.fault(9, LIST, status(503, None));
    let error = refused(site.list().await);
    assert_eq!(
        message(&error),
        "ListTrainingJobs: Service Unavailable (Emulator.0503, HTTP 503, request id REQUEST, 5 \
         attempts)"
    );
    assert_eq!(error.kind(), ErrorKind::Service);
    assert_eq!(error.attempts(), 5);
    assert!(error.is_retryable());
    let slept: Duration = site.clock.slept().iter().sum();
    assert_eq!(error.elapsed(), slept);
    assert_eq!(site.count(LIST), (5, 0));
}

#[tokio::test]
async fn what_does_not_pass_is_not_sent_again() {
    for code in [400, 401, 403, 404, 409, 501] {
        let site = Site::start().await;
        site.fault(1, LIST, status(code, None));
        let error = refused(site.list().await);
        assert_eq!((error.status(), error.attempts()), (Some(code), 1));
        assert_eq!(site.count(LIST), (1, 0));
        assert_eq!(site.clock.slept(), [Duration::ZERO; 0]);
        assert_eq!(error.is_auth(), matches!(code, 401 | 403));
        assert_eq!(error.is_not_found(), code == 404);
        assert_eq!(error.is_conflict(), code == 409);
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn a_policy_of_none_sends_once() {
    let site = Site::start().await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    for fault in [status(429, Some(1)), status(503, None), Fault::Reset] {
        let before = site.count(LIST).0;
        site.fault(1, LIST, fault);
        let error = refused(client.training_jobs().list().collect(1).await);
        assert_eq!(error.attempts(), 1);
        assert_eq!(site.count(LIST).0 - before, 1);
    }
    assert_eq!(site.clock.slept(), [Duration::ZERO; 0]);
}

#[tokio::test]
async fn a_page_in_html_keeps_status_and_request_id() {
    let site = Site::start().await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    site.fault(1, LIST, Fault::Html { status: 502 });
    let error = refused(client.training_jobs().list().collect(1).await);
    assert_eq!(
        message(&error),
        format!(
            "ListTrainingJobs: an HTML page, \"502 Bad Gateway\" (HTTP 502, request id REQUEST); \
             the page is from a proxy, a login or another server, not from ModelArts; check the \
             endpoint {} and the settings of the proxy",
            site.emulator.url()
        )
    );
    assert_eq!(error.kind(), ErrorKind::Service);
    assert_eq!(error.status(), Some(502));
    assert_eq!(error.code(), None);
    assert!(error.request_id().is_some());
    assert!(error.is_retryable());

    site.fault(4, LIST, Fault::Html { status: 502 });
    assert_eq!(site.list().await.unwrap().len(), 0);
    assert_eq!(site.clock.slept().len(), 4);
}

#[tokio::test]
async fn reads_survive_resets() {
    for fault in [Fault::Reset, Fault::LostAnswer, Fault::ResetMidBody] {
        let site = Site::start().await;
        site.run(site.script("read", "")).await;
        site.fault(2, LIST, fault);
        let jobs = site.list().await.unwrap();
        assert_eq!(jobs.iter().map(Job::name).collect::<Vec<_>>(), ["read"]);
        // The page without a row is the second one.
        assert_eq!(site.count(LIST).0, 4);
        assert_eq!(site.clock.slept().len(), 2);
    }
}

#[tokio::test]
async fn a_reset_that_stays_is_told() {
    let site = Site::start().await;
    site.fault(9, LIST, Fault::Reset);
    let error = refused(site.list().await);
    let why = words_for_a_reset().await;
    assert_eq!(
        message(&error),
        format!(
            "ListTrainingJobs: the connection to {} broke: {why} (5 attempts)",
            site.emulator.url()
        )
    );
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert_eq!((error.status(), error.request_id()), (None, None));
    assert_eq!(error.attempts(), 5);
    assert!(error.is_retryable());
}
