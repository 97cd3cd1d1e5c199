//! Tests that neither `Debug` nor errors show secrets of requests and responses. Logs are tested in
//! `process/logging.rs`.

use std::fmt::Debug;

use modelarts_ext::{Client, Credentials, Error, RetryPolicy};
use serde_json::json;

use crate::support::{
    clock::TestClock,
    errors::refused,
    network::{client_of, reply},
    secrets::{
        ENVIRONMENT, IN_LOCATION, JUPYTER_TOKEN, PASSWORD, SECRET_KEY, SECURITY_TOKEN, TOKEN,
        job_answer, keys,
    },
    server::{PROJECT, Reply, Server, json_answer},
    site::Site,
};

fn clean(text: &str) {
    assert!(!text.contains("-hidden-"), "{text}");
}

fn clean_debug(value: &impl Debug) {
    clean(&format!("{value:?}"));
    clean(&format!("{value:#?}"));
}

/// Checks every form in which programs print errors for secrets.
fn clean_error(error: &Error) {
    clean_debug(error);
    clean(&error.to_string());
    clean(&format!("{error:#}"));
    clean(error.message().unwrap_or_default());
    clean(error.solution().unwrap_or_default());
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        clean_debug(&error);
        clean(&error.to_string());
        source = error.source();
    }
}

#[tokio::test]
async fn nothing_shows_secrets() {
    for credentials in [keys(), Credentials::keys("AK", SECRET_KEY), Credentials::token(TOKEN)] {
        clean_debug(&credentials);
        let server = Server::start([job_answer("Running")]).await;
        let builder = server.client(&TestClock::new()).credentials(credentials);
        clean_debug(&builder);
        let client = builder.build().unwrap();
        clean_debug(&client);
        clean_debug(&client.api());
        let jobs = client.training_jobs();
        clean_debug(&jobs);
        clean_debug(&jobs.list());
        let create = jobs
            .create("n")
            .env("PASSWORD", ENVIRONMENT)
            .parameter("password", ENVIRONMENT)
            .command(format!("run {ENVIRONMENT}"));
        clean_debug(&create);
        let job = jobs.get("some-job").await.unwrap();
        clean_debug(&job);
        clean_debug(job.details());
        clean_debug(&job.events());
        clean_debug(&job.logs("worker-0"));
        clean_debug(&job.wait());

        let endpoints = job.details().endpoints.as_ref().unwrap();
        let token = endpoints.jupyter_lab.as_ref().unwrap().token.as_ref();
        assert_eq!(token.unwrap().expose(), JUPYTER_TOKEN);
    }
    // The request must have contained the secrets.
    let server = Server::start([job_answer("Running")]).await;
    let client = server.client(&TestClock::new()).credentials(keys());
    client.build().unwrap().training_jobs().get("some-job").await.unwrap();
    let request = &server.requests()[0];
    assert!(request.contains(&format!("x-security-token: {SECURITY_TOKEN}")));
    assert!(!request.contains(SECRET_KEY));
}

#[tokio::test]
async fn a_refused_signature_shows_no_secret() {
    // The gateway echoes the canonical request, including the security token.
    let site = Site::start().await;
    let access_key = site.emulator.access_key();
    let credentials = Credentials::temporary_keys(access_key, SECRET_KEY, SECURITY_TOKEN);
    let client = site.client().credentials(credentials).build().unwrap();
    let error = refused(client.training_jobs().get("some-job").await);
    assert!(error.is_auth());
    assert!(error.message().unwrap().contains("canonicalRequest:GET|"));
    clean_error(&error);
}

#[tokio::test]
async fn a_refused_token_shows_no_secret() {
    let site = Site::start().await;
    let client = site.client().credentials(Credentials::token(TOKEN)).build().unwrap();
    let error = refused(client.training_jobs().get("some-job").await);
    assert!(error.is_auth());
    clean_error(&error);
}

/// Returns the error for this response, from a client that is configured with all secrets.
async fn error_of(reply: Reply) -> Error {
    let server = Server::start([reply]).await;
    let client = server.client(&TestClock::new()).credentials(keys());
    let client = client.retry(RetryPolicy::none()).build().unwrap();
    refused(client.training_jobs().get("some-job").await)
}

#[tokio::test]
async fn a_redirect_shows_no_secret() {
    let location = format!(
        "location: https://user:{IN_LOCATION}@elsewhere.test/{IN_LOCATION}?t={IN_LOCATION}\r\n"
    );
    let error = error_of(json_answer("302 Found", &location, "")).await;
    assert_eq!(
        error.to_string(),
        "ShowTrainingJobDetails: the service redirects to https://elsewhere.test, which is not \
         followed; check the endpoint (HTTP 302)"
    );
    clean_error(&error);
}

/// Returns response bodies that contain a secret and cannot be decoded.
fn bodies() -> [String; 4] {
    [
        // The document is truncated.
        format!(r#"{{"endpoints":{{"jupyter_lab":{{"token":"{JUPYTER_TOKEN}"}}"#),
        // The secret is in a document of another shape, at different depths.
        format!(r#"{{"endpoints":{{"jupyter_lab":{{"token":"{JUPYTER_TOKEN}"}}}},"status":7}}"#),
        format!(r#"{{"endpoints":{{"jupyter_lab":"{JUPYTER_TOKEN}"}}}}"#),
        format!(r#"{{"endpoints":"{JUPYTER_TOKEN}"}}"#),
    ]
}

#[tokio::test]
async fn debug_of_an_answer_that_is_not_understood_shows_no_secret() {
    for body in bodies() {
        let error = error_of(json_answer("200 OK", "", &body)).await;
        assert_eq!(error.kind(), modelarts_ext::ErrorKind::Decode);
        // The accessor returns the complete body.
        assert_eq!(error.body(), Some(body.as_str()));
        clean_error(&error);
    }
}

#[tokio::test]
async fn bodies_that_cannot_be_decoded_are_not_quoted() {
    for body in bodies() {
        let error = error_of(json_answer("200 OK", "", &body)).await;
        clean(&error.to_string());
    }
}

#[tokio::test]
async fn items_that_are_left_out_of_a_list_are_not_quoted() {
    let good = r#"{"kind":"job","metadata":{"id":"some-job","name":"n"}}"#;
    for (bad, why) in [
        (format!(r#""{JUPYTER_TOKEN}""#), "invalid type: string, expected an object"),
        (
            format!(r#"{{"endpoints":"{JUPYTER_TOKEN} \", expected {JUPYTER_TOKEN}"}}"#),
            "invalid type: string, expected an object",
        ),
    ] {
        let body = format!(r#"{{"total":2,"items":[{bad},{good}]}}"#);
        let server = Server::start([json_answer("200 OK", "", &body)]).await;
        let client = server.client(&TestClock::new()).build().unwrap();
        let answer = client
            .call(|api| {
                api.list_training_jobs()
                    .project_id(client.project_id())
                    .body(modelarts_ext::types::ListTrainingJobsRequest::builder())
                    .send()
            })
            .await
            .unwrap();
        assert_eq!(answer.skipped().rows, 1);
        assert_eq!(answer.skipped().first_error.as_deref(), Some(why));
        clean_debug(answer.skipped());
    }
}

#[tokio::test]
async fn broken_connections_show_no_secret() {
    clean_error(&error_of(Reply::Reset(Vec::new())).await);
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx";
    clean_error(&error_of(Reply::Bytes(cut.into())).await);
    clean_error(&error_of(Reply::Bytes("nonsense\r\n\r\n".into())).await);
}

#[test]
fn a_wrong_setup_shows_no_secret() {
    for endpoint in [
        format!("https://user:{PASSWORD}@host.test"),
        format!("https://user:{PASSWORD}@host.test:99999"),
        format!("https://host.test/?token={PASSWORD}"),
        format!("http://user:{PASSWORD}@host.test"),
    ] {
        let builder = Client::builder().endpoint(endpoint).credentials(keys());
        clean_debug(&builder);
        clean_error(&refused(builder.build()));
    }
    for credentials in [
        Credentials::keys("AK", format!("{SECRET_KEY}\n")),
        Credentials::temporary_keys("AK", "x", format!("{SECURITY_TOKEN} ")),
        Credentials::token(format!("\t{TOKEN}")),
    ] {
        let builder = Client::builder()
            .endpoint("https://host.test")
            .project_id("p")
            .credentials(credentials);
        clean_debug(&builder);
        clean_error(&refused(builder.build()));
    }
}

#[tokio::test]
async fn what_is_left_out_of_a_list_shows_no_secret_of_the_client() {
    let network = |_: &reqwest::Request| {
        Some(reply(
            200,
            json!({"items": [
                {"metadata": {"create_time": {TOKEN: TOKEN}}},
                {"metadata": {"create_time": TOKEN}}
            ]}),
        ))
    };
    let client = client_of(network)
        .credentials(Credentials::token(TOKEN))
        .clock(TestClock::new())
        .build()
        .unwrap();
    let body = modelarts_ext::types::ListTrainingJobsRequest::builder();
    let answer = client
        .call(|api| api.list_training_jobs().project_id(PROJECT).body(body).send())
        .await
        .unwrap();
    assert_eq!(answer.skipped().rows, 2);
    clean_debug(answer.skipped());
}

#[tokio::test]
async fn an_error_that_is_cut_does_not_end_with_the_beginning_of_a_secret() {
    // Error responses are truncated after 64 KiB; here, the cut is inside the token.
    let mut body = " ".repeat((64 << 10) - 100);
    body.push_str(&format!("{:<94}{TOKEN}{}", "said", " ".repeat(200)));
    let network = move |_: &reqwest::Request| {
        let response = http::Response::builder().status(400).body(body.clone());
        Some(Ok(response.unwrap()))
    };
    let client = client_of(network)
        .credentials(Credentials::token(TOKEN))
        .clock(TestClock::new())
        .build()
        .unwrap();
    let error = refused(client.training_jobs().get("j").await);
    assert_eq!(error.message(), Some("said"));
}
