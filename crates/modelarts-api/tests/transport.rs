//! Tests of generated operations with a transport that returns responses from memory.
// clippy's exemption for tests covers only functions with a test attribute, not the helper
// functions that they call.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::Extensions;
use modelarts_api::{
    BoxFuture, Client, Context, Effect, Error, OPERATIONS, Operation, RawResponse, Response,
    Transport, TransportError, types,
};
use reqwest::{Request, StatusCode, header::HeaderMap};
use serde_json::json;

/// Transport that returns the same response to all requests, and records them.
struct Fake {
    answer: Box<dyn Fn() -> Result<RawResponse, TransportError> + Send + Sync>,
    seen: Mutex<Vec<(Request, &'static Operation)>>,
}

impl Transport for Fake {
    fn execute<'a>(
        &'a self,
        _: &'a reqwest::Client,
        request: Request,
        operation: &'static Operation,
    ) -> BoxFuture<'a, Result<RawResponse, TransportError>> {
        self.seen.lock().unwrap().push((request, operation));
        Box::pin(async { (self.answer)() })
    }
}

impl Fake {
    fn new(
        answer: impl Fn() -> Result<RawResponse, TransportError> + Send + Sync + 'static,
    ) -> (Client, Arc<Self>) {
        let fake = Arc::new(Self { answer: Box::new(answer), seen: Mutex::default() });
        let client =
            Client::new_with_client("http://service.example", http(), Context::new(fake.clone()));
        (client, fake)
    }

    /// Creates a client whose transport returns this status and body, and the transport.
    fn answering(status: u16, body: &'static str) -> (Client, Arc<Self>) {
        Self::new(move || Ok(response(status, body)))
    }

    fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    fn only(&self) -> (Request, &'static Operation) {
        let mut seen = self.seen.lock().unwrap();
        assert_eq!(seen.len(), 1, "requests");
        seen.remove(0)
    }
}

fn response(status: u16, body: &'static str) -> RawResponse {
    let mut headers = HeaderMap::new();
    headers.insert("x-request-id", "r-1".parse().unwrap());
    RawResponse::new(StatusCode::from_u16(status).unwrap(), headers, body.into())
}

/// Creates an HTTP client that no test uses for sending. `reqwest::Client::new()` would panic if a
/// feature enables TLS and no provider is installed.
fn http() -> reqwest::Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder().tls_backend_preconfigured(tls).build().unwrap()
}

#[tokio::test]
async fn the_transport_receives_the_operation_and_a_plain_request() {
    let (client, fake) = Fake::answering(200, "{}");
    client
        .show_training_job_details()
        .project_id("p")
        .training_job_id("job-1")
        .send()
        .await
        .unwrap();
    let (request, operation) = fake.only();
    assert_eq!(request.method(), "GET");
    assert_eq!(request.url().as_str(), "http://service.example/v2/p/training-jobs/job-1");
    assert_eq!(request.headers().get("accept").unwrap(), "application/json");
    assert!(!request.headers().contains_key("api-version"));
    let row = OPERATIONS.iter().find(|row| row.id == "ShowTrainingJobDetails").unwrap();
    assert_eq!(operation, row);
    assert_eq!(operation.effect, Effect::Read);
}

#[tokio::test]
async fn a_search_is_a_post_that_reads() {
    let (client, fake) = Fake::answering(200, r#"{"total":"0","items":null}"#);
    let page = client
        .list_training_jobs()
        .project_id("p")
        .body_map(|body| body.limit(5))
        .send()
        .await
        .unwrap();
    assert_eq!((page.total, page.items.len()), (Some(0), 0));
    let (request, operation) = fake.only();
    assert_eq!(request.method(), "POST");
    assert_eq!(operation.id, "ListTrainingJobs");
    assert_eq!(operation.effect, Effect::Read);
    let body = request.body().unwrap().as_bytes().unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(body).unwrap(), json!({ "limit": 5 }));
}

#[test]
fn every_operation_is_in_the_table_under_its_method() {
    for operation in OPERATIONS {
        assert_eq!(Operation::find(operation.method_name), Some(operation));
        assert!(operation.path.starts_with("/v2/{project_id}/"), "{operation:?}");
        assert_eq!(operation.id.to_lowercase(), operation.method_name.replace('_', ""),);
    }
    for name in ["", "show_training_job", "show_training_job_details_"] {
        assert_eq!(Operation::find(name), None);
    }
}

#[tokio::test]
async fn errors_of_the_transport_reach_the_caller() {
    #[derive(Debug)]
    struct NoCredentials;
    impl fmt::Display for NoCredentials {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("no credentials")
        }
    }
    impl std::error::Error for NoCredentials {}

    let (client, _) = Fake::new(|| Err(TransportError::Other(Box::new(NoCredentials))));
    let error = show(&client, "job-1").await.unwrap_err();
    assert_eq!(error.to_string(), "no credentials");
    let Error::Transport(TransportError::Other(error)) = error else {
        panic!("{error:?}");
    };
    assert!(error.downcast::<NoCredentials>().is_ok());
}

#[tokio::test]
async fn an_error_of_the_http_client_stays_what_it_is() {
    let (client, _) = Fake::new(|| {
        let error = http().get("no url").build().unwrap_err();
        Err(TransportError::Http(error))
    });
    let error = show(&client, "job-1").await.unwrap_err();
    assert!(matches!(error, Error::Transport(TransportError::Http(_))), "{error:?}");
}

async fn show(client: &Client, id: &str) -> Result<Response<types::TrainingJob>, Error> {
    client.show_training_job_details().project_id("p").training_job_id(id).send().await
}

async fn refused(status: u16, body: &'static str) -> types::ApiError {
    let (client, _) = Fake::answering(status, body);
    match show(&client, "job-1").await.unwrap_err() {
        Error::Service(answer) => {
            assert_eq!(answer.status().as_u16(), status);
            assert_eq!(answer.headers().get("x-request-id").unwrap(), "r-1");
            answer.into_inner()
        }
        other => panic!("{status} {body}: {other:?}"),
    }
}

#[tokio::test]
async fn refusals_keep_status_and_headers_whatever_their_body_is() {
    let error = refused(
        400,
        r#"{"error_code":"ModelArts.2775","error_msg":"gone","error_solution":"look"}"#,
    )
    .await;
    assert_eq!(error.error_code.as_deref(), Some("ModelArts.2775"));
    assert_eq!(error.error_solution.as_deref(), Some("look"));

    let error = refused(502, "<html>\n<title>502 Bad Gateway</title>\n</html>\n").await;
    assert_eq!(error.error_code, None);
    assert_eq!(error.error_msg.as_deref(), Some("an HTML page, \"502 Bad Gateway\""));

    let error = refused(404, "").await;
    assert_eq!(error.error_msg.as_deref(), Some(""));

    let error = refused(401, include_str!("fixtures/error_iam_nested.json")).await;
    assert_eq!(error.error_code.as_deref(), Some("401"));
    assert_eq!(error.error_msg.as_deref(), Some("The token has expired and must be renewed."));
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_given_back_as_it_came() {
    let (client, _) = Fake::answering(200, "<html>maintenance</html>");
    match show(&client, "job-1").await.unwrap_err() {
        Error::Decode { response, error, timed_out: false } => {
            assert_eq!(response.body, "<html>maintenance</html>");
            assert_eq!(error.to_string(), "expected value at line 1 column 1");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_log_that_is_not_ready_is_an_empty_answer_with_its_status() {
    let (client, _) = Fake::answering(204, "");
    let answer = client
        .show_training_job_logs_preview()
        .project_id("p")
        .training_job_id("job-1")
        .task_id("worker-0")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16(), 204);
    assert_eq!((&answer.content, answer.full_size), (&None, None));
}

#[tokio::test]
async fn a_deletion_has_no_body_in_any_spelling() {
    for body in ["", "\"\"", "null", "{}"] {
        let (client, fake) = Fake::answering(202, body);
        client.delete_training_job().project_id("p").training_job_id("job-1").send().await.unwrap();
        assert_eq!(fake.only().1.effect, Effect::Idempotent);
    }
}

#[tokio::test]
async fn an_identifier_that_would_change_the_path_is_never_sent() {
    for id in ["", ".", "..", "a/b", "a?b", "a b", "a%2Fb", "job\n", "ä"] {
        let (client, fake) = Fake::answering(200, "{}");
        let error = show(&client, id).await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{id:?}: {error:?}");
        let error = client
            .delete_training_job()
            .project_id(id)
            .training_job_id("job-1")
            .send()
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{id:?}: {error:?}");
        let error = client
            .show_training_job_logs_preview()
            .project_id("p")
            .training_job_id("job-1")
            .task_id(id)
            .send()
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{id:?}: {error:?}");
        assert_eq!(fake.requests(), 0, "{id:?}");
    }
    let (client, fake) = Fake::answering(200, "{}");
    let error = client.show_training_job_details().project_id("p").send().await;
    match error {
        Err(Error::Invalid(message)) => {
            assert_eq!(message, "training_job_id must be given");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fake.requests(), 0, "a missing identifier");
}

#[tokio::test]
async fn a_name_in_a_path_stays_in_its_segment() {
    for (name, segment) in [("lr:0", "lr%3A0"), ("a\\..\\b", "a%5C..%5Cb"), ("lr_0", "lr_0")] {
        let (client, fake) = Fake::answering(200, "{}");
        client
            .show_auto_search_param_analysis_result_path()
            .project_id("p")
            .training_job_id("job-1")
            .parameter_name(name)
            .send()
            .await
            .unwrap();
        let path = fake.only().0.url().path().to_owned();
        assert!(path.contains(&format!("/{segment}")), "{path}");
        assert_eq!(path.matches("..").count(), segment.matches("..").count());
    }
}

#[tokio::test]
async fn a_response_has_its_body_and_counts_skipped_elements() {
    const BODY: &str = r#"{"items":[null,"......",{"status":{"tasks":["a",null]}}]}"#;
    let (client, _) = Fake::answering(200, BODY);
    let page =
        client.list_training_jobs().project_id("p").body_map(|body| body).send().await.unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.raw().body, BODY);
    assert_eq!((page.skipped().rows, page.skipped().nested), (2, 1));
}

/// Number of a call, as an example of metadata that the transport passes to the caller.
#[derive(Clone, Debug, PartialEq)]
struct CallNumber(u32);

#[tokio::test]
async fn the_transport_passes_facts_to_the_caller_of_any_response() {
    for (status, body) in [(200, "{}"), (200, "no JSON"), (400, "{}"), (302, "")] {
        let (client, _) = Fake::new(move || {
            let mut response = response(status, body);
            response.extensions.insert(CallNumber(7));
            Ok(response)
        });
        let facts = match show(&client, "job-1").await {
            Ok(response) => response.raw().extensions.clone(),
            Err(Error::Service(response)) => response.raw().extensions.clone(),
            Err(Error::Decode { response, .. } | Error::Unexpected(response)) => {
                response.extensions
            }
            Err(error) => panic!("{error:?}"),
        };
        assert_eq!(facts.get(), Some(&CallNumber(7)), "{status} {body}");
    }
}

/// A transport that masks the word "secret", and whose deadline may have passed.
struct Masking {
    answer: RawResponse,
    /// Results of `is_late` in reverse order; further calls return `false`.
    late: Mutex<Vec<bool>>,
    masked: Mutex<Vec<String>>,
}

impl Transport for Masking {
    fn execute<'a>(
        &'a self,
        _: &'a reqwest::Client,
        _: Request,
        _: &'static Operation,
    ) -> BoxFuture<'a, Result<RawResponse, TransportError>> {
        Box::pin(async { Ok(self.answer.clone()) })
    }

    fn is_late(&self, call: &Extensions) -> bool {
        assert_eq!(call.get(), Some(&CallNumber(7)));
        self.late.lock().unwrap().pop().unwrap_or_default()
    }

    fn mask(&self, call: &Extensions, text: &str) -> Option<String> {
        assert_eq!(call.get(), Some(&CallNumber(7)));
        self.masked.lock().unwrap().push(text.to_owned());
        text.contains("secret").then(|| text.replace("secret", "***"))
    }
}

fn masking(late: Vec<bool>, body: impl Into<Bytes>) -> (Client, Arc<Masking>) {
    let mut answer = RawResponse::new(StatusCode::OK, HeaderMap::new(), body.into());
    answer.extensions.insert(CallNumber(7));
    let transport = Arc::new(Masking { answer, late: Mutex::new(late), masked: Mutex::default() });
    let context = Context::new(transport.clone());
    let client = Client::new_with_client("http://service.example", http(), context);
    (client, transport)
}

#[tokio::test]
async fn an_answer_that_is_too_late_is_not_masked() {
    // The deadline of the call has passed when decoding fails.
    let (client, late) = masking(vec![true], r#"{"metadata":"not an object"}"#);
    let error = show(&client, "job-1").await.unwrap_err();
    let Error::Decode { response, error, timed_out: true } = error else {
        panic!("{error:?}");
    };
    assert_eq!(response.body, "");
    assert_eq!(error.to_string(), "time ran out while it was decoded");
    assert_eq!(*late.masked.lock().unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_deadline_that_ends_decoding_is_not_asked_for_again() {
    let rows = vec!["{}"; 2000].join(",");
    let (client, _) = masking(vec![true], format!("{{\"items\":[{rows}]}}"));
    let jobs = client.list_training_jobs().project_id("p");
    let error = jobs.body_map(|body| body).send().await.unwrap_err();
    assert!(matches!(error, Error::Decode { timed_out: true, .. }), "{error:?}");
}

#[tokio::test]
async fn no_part_of_an_error_repeats_or_quotes_the_response() {
    let (client, _) = Fake::answering(200, r#"{"metadata":"s3cr3t"}"#);
    let error = show(&client, "job-1").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the answer is not understood: metadata: invalid type: string, expected an object at \
         line 1 column 20"
    );
    assert!(std::error::Error::source(&error).is_none());
    assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");

    let (client, _) = Fake::new(|| Err(TransportError::Other("no credentials".into())));
    let error = show(&client, "job-1").await.unwrap_err();
    assert_eq!(error.to_string(), "no credentials");
    assert!(std::error::Error::source(&error).is_none());
}

#[tokio::test]
async fn an_error_of_the_service_is_printed_with_status_and_code() {
    for (body, text) in [
        (r#"{"error_code":"ModelArts.2775","error_msg":"gone"}"#, "HTTP 404: ModelArts.2775: gone"),
        (r#"{"error_msg":"gone"}"#, "HTTP 404: gone"),
        (r#"{"error_code":"X.1"}"#, "HTTP 404: X.1"),
        (r#"{"error_code":"X.1","error_msg":""}"#, "HTTP 404: X.1"),
    ] {
        let (client, _) = Fake::answering(404, body);
        let error = show(&client, "job-1").await.unwrap_err();
        assert_eq!(error.to_string(), text);
    }
}

#[tokio::test]
async fn errors_of_decoding_are_masked() {
    let (client, _) = masking(vec![], r#"{"metadata":"secret"}"#);
    let Error::Decode { response, error, .. } = show(&client, "job-1").await.unwrap_err() else {
        panic!("decoded");
    };
    assert_eq!(response.body, r#"{"metadata":"***"}"#);
    assert_eq!(
        error.to_string(),
        "metadata: invalid type: string, expected an object at line 1 column 20"
    );
    // The error of a skipped element does not quote values, but the path in it may contain a
    // secret.
    let (client, masking) = masking(vec![], r#"{"items":["secret"]}"#);
    let jobs = client.list_training_jobs().project_id("p");
    let page = jobs.body_map(|body| body).send().await.unwrap();
    let error = page.skipped().first_error.clone().unwrap();
    assert_eq!(*masking.masked.lock().unwrap(), [error]);
}

#[test]
fn contexts_and_clients_print_no_transport() {
    let (client, _) = Fake::answering(200, "{}");
    let printed = format!("{client:?}");
    assert!(printed.contains("inner: Context }"), "{printed}");
}

#[test]
fn calls_can_move_between_threads() {
    fn send<T: Send>(_: T) {}
    fn share<T: Send + Sync + Clone>(_: T) {}
    let (client, _) = Fake::answering(200, "{}");
    send(client.create_training_job().send());
    send(client.list_training_jobs().send());
    send(client.show_training_job_details().send());
    send(client.delete_training_job().send());
    send(client.stop_training_job().send());
    send(client.list_training_job_events().send());
    send(client.show_training_job_logs_preview().send());
    share(client);
}

#[tokio::test]
async fn no_answer_of_the_service_is_a_failure_of_the_transport() {
    for status in [100, 101, 304, 600, 999] {
        let (client, _) = Fake::answering(status, "odd");
        let error = show(&client, "job-1").await.unwrap_err();
        assert_eq!(error.status().map(|status| status.as_u16()), Some(status));
        let Error::Unexpected(response) = error else {
            panic!("{status}: {error:?}");
        };
        assert_eq!(response.status.as_u16(), status);
    }
}
