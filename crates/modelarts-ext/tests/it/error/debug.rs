//! `Debug` of errors, which a `main` that returns an error and `unwrap` print.

use std::time::Duration;

use modelarts_emulator::faults::Fault;
use modelarts_ext::{Client, Credentials, Error};

use crate::support::{
    clock::TestClock,
    errors::refused,
    server::{PROJECT, Server, json_answer},
    site::Site,
};

/// Returns the text of an error, with the request id replaced. Both forms must agree.
fn debug(error: &Error) -> String {
    let text = format!("{error:?}");
    assert_eq!(format!("{error:#?}"), text);
    match error.request_id() {
        Some(id) => text.replace(id, "REQUEST"),
        None => text,
    }
}

#[tokio::test]
async fn an_error_of_the_service_shows_one_fact_a_line() {
    let site = Site::start().await;
    let error = refused(site.client.training_jobs().get("no-such-job").await);
    assert_eq!(
        debug(&error),
        "ShowTrainingJobDetails: Training job (ID: no-such-job) not found\n  \
           kind: Service\n  \
           status: 400\n  \
           code: ModelArts.2775 (TrainingJobNotFound)\n  \
           request id: REQUEST\n  \
           attempts: 1\n  \
           advice: Check whether the training job information in the request is valid"
    );
}

#[tokio::test]
async fn a_late_response_shows_its_uncertain_effect_unless_the_call_reads() {
    let site = Site::start().await;
    let job = site.run(site.script("done", "")).await;
    site.fault(
        9,
        "*",
        Fault::Status {
            status: 504,
            retry_after: None,
            error_code: None,
            error_msg: Some("upstream timed out".into()),
        },
    );
    let client = site.client().retry(modelarts_ext::RetryPolicy::none());
    let job = client.build().unwrap().training_jobs().job(job.id()).unwrap();
    for (error, operation, effect) in [
        (refused(job.get().await), "ShowTrainingJobDetails", ""),
        (
            refused(job.delete().await),
            "DeleteTrainingJob",
            "effect: the service may have executed the call\n  ",
        ),
    ] {
        assert!(error.is_uncertain());
        assert_eq!(
            debug(&error),
            format!(
                "{operation}: upstream timed out\n  \
                   kind: Service\n  \
                   status: 504\n  \
                   code: APIGW.0201 (BackendTimeout)\n  \
                   request id: REQUEST\n  \
                   attempts: 1\n  \
                   {effect}\
                   retry: the same call may succeed later\n  \
                   advice: Try again later"
            )
        );
    }
}

#[tokio::test]
async fn throttling_shows_the_delay_and_the_attempts() {
    let throttled = || {
        json_answer(
            "429 Too Many Requests",
            "retry-after: 7\r\n",
            concat!(
                r#"{"error_code":"APIGW.0308","#,
                r#""error_msg":"The throttling threshold has been reached"}"#
            ),
        )
    };
    let server = Server::start([throttled(), throttled()]).await;
    let clock = TestClock::new();
    let policy = modelarts_ext::RetryPolicy::default().max_attempts(2);
    let client = server.client(&clock).retry(policy).build().unwrap();
    let error = refused(client.training_jobs().get("some-job").await);
    assert_eq!(
        debug(&error),
        "ShowTrainingJobDetails: The throttling threshold has been reached\n  \
           kind: Service\n  \
           status: 429\n  \
           code: APIGW.0308 (Throttled)\n  \
           attempts: 2 in 7.0s\n  \
           retry: the same call may succeed after 7s\n  \
           advice: Call less often; the limit is per API and second"
    );
}

#[tokio::test]
async fn a_lost_connection_shows_its_causes_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::builder()
        .endpoint(&url)
        .project_id(PROJECT)
        .credentials(Credentials::keys("AK", "SK"))
        .clock(TestClock::new())
        .retry(modelarts_ext::RetryPolicy::none())
        .timeout(Duration::from_secs(3600))
        .build()
        .unwrap();
    let error = refused(client.training_jobs().get("some-job").await);
    let why = std::net::TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap_err();
    assert_eq!(
        debug(&error),
        format!(
            "ShowTrainingJobDetails: cannot connect to {url}: {why}\n  \
               kind: Connection\n  \
               attempts: 1\n  \
               retry: the same call may succeed later\n  \
               caused by: error sending request: client error (Connect): tcp connect error"
        )
    );
}

#[tokio::test]
async fn broken_rules_are_indented_below_their_job() {
    let site = Site::start().await;
    let error = refused(site.script("bad name", "").nodes(0).submit().await);
    let text = debug(&error);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("the job breaks 2 rules, so nothing was sent:"));
    for violation in error.violations() {
        assert_eq!(lines.next(), Some(format!("    {violation}").as_str()));
    }
    assert_eq!(lines.collect::<Vec<_>>(), ["  kind: Invalid"]);
}
