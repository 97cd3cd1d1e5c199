//! Tests with the error bodies of `openapi/vectors/errors.json`, which clients in all languages
//! share.

use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use modelarts_ext::{
    Client, Credentials, Error,
    api::BoxFuture,
    connector::{ConnectorError, HttpConnector},
    credentials::{ProvideCredentials, ProviderContext},
    types::CreateTrainingJobRequest,
};
use serde::Deserialize;

use crate::support::{clock::TestClock, errors::refused};

const PROJECT: &str = "0123456789abcdef0123456789abcdef";

#[derive(Deserialize)]
struct Vectors {
    cases: Vec<Case>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    effect: String,
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
    expected: Expected,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Expected {
    code: Option<String>,
    message: Option<String>,
    retry: String,
}

/// Connector that returns the response of a case to every request.
#[derive(Debug)]
struct Answer(Case);

impl HttpConnector for Answer {
    fn send(
        &self,
        _: reqwest::Request,
    ) -> BoxFuture<'static, Result<reqwest::Response, ConnectorError>> {
        let mut answer = http::Response::builder().status(self.0.status);
        for (name, value) in &self.0.headers {
            answer = answer.header(name, value);
        }
        let answer = answer.body(self.0.body.clone()).unwrap();
        Box::pin(async { Ok(answer.into()) })
    }
}

/// Provider of renewable tokens that counts the renewals.
#[derive(Clone, Debug, Default)]
struct Tokens(Arc<AtomicUsize>);

impl ProvideCredentials for Tokens {
    fn credentials<'a>(
        &'a self,
        _: &'a ProviderContext,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async { Ok(Credentials::token("SECRET-OF-THIS-TEST")) })
    }

    fn renew(&self, _: &Credentials) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        true
    }
}

/// Returns the error of the call, and the number of token renewals.
async fn error(case: &Case) -> (Error, usize) {
    let tokens = Tokens::default();
    let client = Client::builder()
        .endpoint("https://modelarts.test")
        .project_id(PROJECT)
        .credentials(tokens.clone())
        .clock(TestClock::new())
        .connector(Answer(case.clone()))
        .build()
        .unwrap();
    let error = match case.effect.as_str() {
        "create" => {
            let body: CreateTrainingJobRequest =
                serde_json::from_str(r#"{"kind":"job","metadata":{"name":"n"}}"#).unwrap();
            let call =
                client.call(|api| api.create_training_job().project_id(PROJECT).body(body).send());
            refused(call.await)
        }
        "idempotent" => {
            let call = client.call(|api| {
                api.delete_training_job().project_id(PROJECT).training_job_id("j").send()
            });
            refused(call.await)
        }
        // The preview of a log is one of the operations with responses of status 204.
        _ => {
            let call = client.call(|api| {
                api.show_training_job_logs_preview()
                    .project_id(PROJECT)
                    .training_job_id("j")
                    .task_id("worker-0")
                    .send()
            });
            refused(call.await)
        }
    };
    (error, tokens.0.load(Ordering::Relaxed))
}

/// Returns the retry class that corresponds to the client's error and behavior.
fn retry(error: &Error, effect: &str, renewals: usize) -> &'static str {
    let may_be_executed = effect == "create" && error.is_uncertain();
    match error.is_retryable() && !may_be_executed {
        _ if renewals > 0 => "token",
        _ if error.is_not_ready() => "poll",
        true => "backoff",
        false => "never",
    }
}

/// Returns the expected excerpt that serves as the message for a body without a message.
fn excerpt(name: &str) -> Option<&'static str> {
    match name {
        "HTML page, of a call that reads" | "HTML page, of a call that creates" => {
            Some(r#"an HTML page, "502 Bad Gateway""#)
        }
        "HTML page that claims to be JSON" => Some(r#"an HTML page, "Service unavailable""#),
        "HTML page of a refusal" => Some(r#"an HTML page, "Forbidden""#),
        "JSON that says nothing of an error" => Some(r#"{"status":"down"}"#),
        "JSON null" => Some("null"),
        // All other cases have no body.
        _ => None,
    }
}

#[tokio::test]
async fn error_bodies_of_every_shape_are_read_as_the_vectors_say() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/vectors/errors.json");
    let vectors: Vectors = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(vectors.cases.len(), 53);
    for case in &vectors.cases {
        let (error, renewals) = error(case).await;
        let message = match &case.expected.message {
            Some(_) => error.message(),
            None => {
                assert_eq!(error.message(), excerpt(&case.name), "{}", case.name);
                None
            }
        };
        let actual = Expected {
            code: error.code().map(str::to_owned),
            message: message.map(str::to_owned),
            retry: retry(&error, &case.effect, renewals).to_owned(),
        };
        assert_eq!(actual, case.expected, "{}", case.name);
        assert_eq!(error.status(), Some(case.status), "{}", case.name);
        // For a known code with an unexpected status, each client may behave differently, so no
        // case covers this.
        let row = error.known_code();
        assert!(row.is_none_or(|row| row.status == case.status), "{}", case.name);
        // The client requests a new token once.
        let sent_again = if renewals > 0 { 2 } else { 1 };
        if case.expected.retry != "backoff" {
            assert_eq!(error.attempts(), sent_again, "{}", case.name);
        }
    }
}
