//! Tests of responses that the service itself does not send: redirects, and bodies that are
//! truncated, late, compressed, or of an unexpected type.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use futures::TryStreamExt;
use modelarts_ext::{
    Client, Credentials, Error, ErrorKind, Job, RetryPolicy,
    api::{BoxFuture, OPERATIONS, ParameterLocation},
    clock::Clock,
};
use serde_json::{Value, json};

use crate::{
    jobs::create::fixtures::minimal_create,
    support::{
        clock::TestClock,
        errors::refused,
        network::{self, client_of},
        server::{PROJECT, Reply, Server, json_answer},
    },
};

const EMPTY: &str = r#"{"total":0,"count":0,"limit":50,"offset":0,"items":[]}"#;

async fn list(client: &Client) -> Result<Vec<Job>, Error> {
    client.training_jobs().list().stream().try_collect().await
}

async fn get(client: &Client) -> Result<Job, Error> {
    client.training_jobs().get("some-job").await
}

/// Returns a server with this script, its clock, and a client for it.
async fn scripted(replies: impl IntoIterator<Item = Reply>) -> (Server, TestClock, Client) {
    let server = Server::start(replies).await;
    let clock = TestClock::new();
    let client = server.client(&clock).build().unwrap();
    (server, clock, client)
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start([json_answer("200 OK", "", EMPTY)]).await;
    let location = format!("location: {}/v2?token=SECRET\r\n", elsewhere.url);
    for (status, code) in [
        ("301 Moved Permanently", 301),
        ("302 Found", 302),
        ("303 See Other", 303),
        ("307 Temporary Redirect", 307),
        ("308 Permanent Redirect", 308),
    ] {
        let redirect = json_answer(status, &format!("{location}x-request-id: r1\r\n"), "");
        let (server, clock, client) = scripted([redirect]).await;
        let error = refused(list(&client).await);
        assert_eq!(
            error.to_string(),
            format!(
                "ListTrainingJobs: the service redirects to {}, which is not followed; check the \
                 endpoint (HTTP {code}, request id r1)",
                elsewhere.url
            )
        );
        assert_eq!(error.kind(), ErrorKind::Unexpected);
        assert_eq!(error.status(), Some(code));
        assert_eq!(error.request_id(), Some("r1"));
        assert_eq!(error.attempts(), 1);
        assert!(!error.is_retryable());
        assert_eq!(server.requests().len(), 1);
        assert_eq!(clock.slept(), [Duration::ZERO; 0]);
    }
    assert_eq!(elsewhere.requests(), [""; 0]);
}

#[tokio::test]
async fn a_redirect_to_nowhere() {
    for location in ["", "location: /login\r\n", "location: http://\r\n"] {
        let (_server, _, client) = scripted([json_answer("302 Found", location, "")]).await;
        let error = refused(list(&client).await);
        assert_eq!(
            error.to_string(),
            "ListTrainingJobs: the service redirects to an unknown place, which is not followed; \
             check the endpoint (HTTP 302)",
            "{location}"
        );
    }
}

#[tokio::test]
async fn json_that_is_cut_off() {
    let answer = json_answer("200 OK", "x-request-id: r1\r\n", r#"{"total":0,"items":["#);
    let (server, _, client) = scripted([answer]).await;
    let error = refused(list(&client).await);
    assert_eq!(
        error.to_string(),
        "ListTrainingJobs: the answer is not understood: items: EOF while parsing a list at line 1 \
         column 20 (HTTP 200, request id r1)"
    );
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert_eq!(error.status(), Some(200));
    assert_eq!(error.request_id(), Some("r1"));
    assert_eq!(error.body(), Some(r#"{"total":0,"items":["#));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn json_of_another_shape() {
    let answer = json_answer("200 OK", "", r#"{"total":0,"items":7}"#);
    let (_server, _, client) = scripted([answer]).await;
    let error = refused(list(&client).await);
    assert_eq!(
        error.to_string(),
        "ListTrainingJobs: the answer is not understood: items: invalid type: integer `7`, \
         expected a list at line 1 column 20 (HTTP 200)"
    );
    assert_eq!(error.kind(), ErrorKind::Decode);
}

#[tokio::test]
async fn a_page_where_json_is_expected() {
    let page = "<html>Log in to the hotel's network</html>";
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: \
         close\r\n\r\n{page}",
        page.len()
    );
    let (server, _, client) = scripted([Reply::Bytes(answer.into_bytes())]).await;
    let error = refused(list(&client).await);
    assert_eq!(
        error.to_string(),
        format!(
            "ListTrainingJobs: the answer is an HTML page, \"Log in to the hotel's network\", \
             instead of JSON (HTTP 200); the page is from a proxy, a login or another server, not \
             from ModelArts; check the endpoint {} and the settings of the proxy",
            server.url
        )
    );
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert_eq!(error.body(), Some(page));

    // The client decodes JSON regardless of the content type.
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: \
         close\r\n\r\n{EMPTY}",
        EMPTY.len()
    );
    let (_server, _, client) = scripted([Reply::Bytes(answer.into_bytes())]).await;
    assert_eq!(list(&client).await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_success_that_no_document_knows() {
    // Sources disagree about the status of some successful responses (SOURCES D-30, D-33), so the
    // body determines success.
    let body = r#"{"metadata":{"id":"some-job","name":"n"},"status":{"phase":"Running"}}"#;
    for status in ["201 Created", "202 Accepted", "299 Fine"] {
        let (_server, _, client) = scripted([json_answer(status, "", body)]).await;
        assert_eq!(get(&client).await.unwrap().name(), "n");
    }
    let answer = json_answer("202 Accepted", "x-request-id: r1\r\n", "");
    let (server, _, client) = scripted([answer]).await;
    let error = refused(get(&client).await);
    assert_eq!(
        error.to_string(),
        "ShowTrainingJobDetails: the answer is not understood: EOF while parsing a value at line 1 \
         column 0 (HTTP 202, request id r1)"
    );
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert_eq!(error.status(), Some(202));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn nothing_yet() {
    let answer = "HTTP/1.1 204 No Content\r\nconnection: close\r\nx-request-id: r1\r\n\
                  retry-after: 7\r\n\r\n";
    let (server, _, client) = scripted([Reply::Bytes(answer.into())]).await;
    let error = refused(
        client
            .call(|api| {
                api.show_training_job_logs_preview()
                    .project_id(client.project_id())
                    .training_job_id("some-job")
                    .task_id("worker-0")
                    .send()
            })
            .await,
    );
    assert_eq!(
        error.to_string(),
        "ShowTrainingJobLogsPreview: not ready yet (HTTP 204, request id r1)"
    );
    assert!(error.is_not_ready() && error.is_retryable());
    assert_eq!(error.kind(), ErrorKind::NotReady);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    assert_eq!(error.attempts(), 1);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_endless_error_is_cut() {
    let mut answer = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n".to_vec();
    answer.resize(50 << 20, b'x');
    let (_server, _, client) = scripted([Reply::Bytes(answer)]).await;
    let error = refused(list(&client).await);
    assert_eq!(error.to_string(), format!("ListTrainingJobs: {} (HTTP 400)", "x".repeat(2048)));
    assert_eq!(error.kind(), ErrorKind::Service);
}

#[tokio::test]
async fn an_answer_that_is_packed() {
    let body = br#"{"total":1,"items":[{"metadata":{"id":"a","name":"packed"}}]}"#;
    let (server, _, client) = scripted([packed(body), packed(br#"{"items":[]}"#)]).await;
    let jobs = list(&client).await.unwrap();
    assert_eq!(jobs.iter().map(Job::name).collect::<Vec<_>>(), ["packed"]);
    assert!(server.requests()[0].contains("accept-encoding: gzip\r\n"));
}

#[tokio::test]
async fn a_raw_client_does_not_decode() {
    let body = b"as stored";
    let (server, _, client) = scripted([packed(body), packed(body)]).await;
    let context = client.provider_context();
    let url = server.url.parse().unwrap();
    for (http, expected) in
        [(context.client_for(&url), body.to_vec()), (context.raw_client_for(&url), gzip(body))]
    {
        let response = http.unwrap().get(server.url.as_str()).send().await.unwrap();
        assert_eq!(response.bytes().await.unwrap(), expected);
    }
    let requests = server.requests();
    let announced = requests.iter().map(|it| it.contains("accept-encoding: gzip\r\n"));
    assert_eq!(announced.collect::<Vec<_>>(), [true, false]);
}

/// Returns the response with this body in a gzip member.
fn packed(body: &[u8]) -> Reply {
    let packed = gzip(body);
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        packed.len()
    )
    .into_bytes();
    answer.extend(packed);
    Reply::Bytes(answer)
}

/// Returns the body as one stored block (RFC 1951, 3.2.4) in a gzip member (RFC 1952).
fn gzip(body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap();
    let mut crc = u32::MAX;
    for byte in body {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1];
    packed.extend(length.to_le_bytes());
    packed.extend((!length).to_le_bytes());
    packed.extend(body);
    packed.extend((!crc).to_le_bytes());
    packed.extend(u32::from(length).to_le_bytes());
    packed
}

#[tokio::test]
async fn a_body_that_does_not_come_to_its_end() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";
    for part in ["", head, &format!("{head}{{\"total\"")] {
        let clock = TestClock::new();
        let server = Server::start([Reply::HangAnHour(part.into(), clock.clone())]).await;
        let client = server.client(&clock).build().unwrap();
        let error = refused(list(&client).await);
        assert_eq!(error.to_string(), "ListTrainingJobs: no answer within 3600s");
        assert!(error.is_timeout() && error.is_retryable());
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert_eq!(error.attempts(), 1);
        assert_eq!(error.elapsed(), Duration::from_secs(3600));
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_read_that_breaks_off_is_sent_again() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";
    let half = format!("{head}{{\"total\"").into_bytes();
    for broken in [Reply::Reset(half.clone()), Reply::Bytes(half.clone())] {
        let good = json_answer("200 OK", "", EMPTY);
        let (server, clock, client) = scripted([broken.clone(), broken, good]).await;
        assert_eq!(list(&client).await.unwrap().len(), 0);
        assert_eq!((server.requests().len(), server.left()), (3, 0));
        assert_eq!(clock.slept().len(), 2);
    }
}

#[tokio::test]
async fn each_attempt_is_signed_anew() {
    let busy = json_answer("429 Too Many Requests", "retry-after: 30\r\n", "{}");
    let good = json_answer("200 OK", "", EMPTY);
    let (server, clock, client) = scripted([busy, good]).await;
    list(&client).await.unwrap();
    assert_eq!(clock.slept(), [Duration::from_secs(30)]);
    let requests = server.requests();
    let line = |request: &str, name: &str| {
        let line = request.lines().find(|line| line.starts_with(name));
        line.unwrap().to_owned()
    };
    assert_eq!(line(&requests[0], "x-sdk-date"), "x-sdk-date: 20260115T083045Z");
    assert_eq!(line(&requests[1], "x-sdk-date"), "x-sdk-date: 20260115T083115Z");
    let signatures = [0, 1].map(|at| line(&requests[at], "authorization"));
    assert_ne!(signatures[0], signatures[1]);
    let body = |request: &str| request.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!(body(&requests[0]), body(&requests[1]));
    assert_ne!(body(&requests[0]), "");
}

#[tokio::test]
async fn a_connection_that_breaks_off_for_good() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
    let server = Server::start([Reply::Bytes(head.into())]).await;
    let client = server.client(&TestClock::new()).retry(RetryPolicy::none());
    let error = refused(list(&client.build().unwrap()).await);
    assert_eq!(
        error.to_string(),
        format!(
            "ListTrainingJobs: the connection to {} broke: end of file before message length \
             reached",
            server.url
        )
    );
    assert_eq!(error.kind(), ErrorKind::Connection);
}

/// Clock that advances by a second each time it is read, and at no other time.
#[derive(Debug, Default)]
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn now(&self) -> SystemTime {
        let seconds = self.0.fetch_add(1, Ordering::Relaxed);
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_465_845 + seconds)
    }
    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn decoding_is_inside_the_time_limit_of_a_call() {
    let values = ["0"; 300_000].join(",");
    let body = format!(r#"{{"metrics":[{{"metric":"m","value":[{values}]}}]}}"#);
    for (timeout, good) in [(120, false), (3600, true)] {
        let body = body.clone();
        let network = move |_: &reqwest::Request| network::json(&body);
        let client = client_of(network)
            .clock(Ticking::default())
            .timeout(Duration::from_secs(timeout))
            .build()
            .unwrap();
        let call = client.call(|api| {
            api.show_training_job_metrics()
                .project_id(PROJECT)
                .training_job_id("j")
                .task_id("worker-0")
                .send()
        });
        let answer = call.await;
        if good {
            assert_eq!(answer.unwrap().metrics[0].value.len(), 300_000);
            continue;
        }
        let error = refused(answer);
        assert_eq!(
            error.to_string(),
            "ShowTrainingJobMetrics: the answer came, and was not decoded within 120s (HTTP 200)"
        );
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(error.is_uncertain());
    }
}

#[tokio::test]
async fn a_clock_that_is_set_forward_makes_no_good_answer_late() {
    let values = ["0"; 300_000].join(",");
    let body = format!(r#"{{"metrics":[{{"metric":"m","value":[{values}]}}]}}"#);
    let clock = TestClock::new();
    let time = clock.clone();
    let network = move |_: &reqwest::Request| {
        time.advance(Duration::from_secs(7200));
        network::json(&body)
    };
    let client =
        client_of(network).clock(clock).timeout(Duration::from_secs(3600)).build().unwrap();
    let call = client.call(|api| {
        api.show_training_job_metrics()
            .project_id(PROJECT)
            .training_job_id("j")
            .task_id("worker-0")
            .send()
    });
    assert_eq!(call.await.unwrap().metrics[0].value.len(), 300_000);
}

/// After a change, the service may answer with `null` (SOURCES D-31).
#[tokio::test]
async fn an_answer_without_a_value_to_a_call_by_name_is_null() {
    for body in ["", "null", "\"\"", " null\n"] {
        let client = client_of(move |_| network::json(body)).build().unwrap();
        for operation in OPERATIONS {
            let mut call = client.operation(operation.id).unwrap();
            for row in operation.parameters().filter(|row| row.required) {
                call = match row.location {
                    ParameterLocation::Body => call.body(json!({})),
                    _ if row.name == "project_id" => call,
                    _ => call.parameter(row.name, 1),
                };
            }
            match call.send().await {
                Ok(answer) => assert_eq!(*answer, Value::Null, "{} {body:?}", operation.id),
                Err(error) => panic!("{body:?}: {error}"),
            }
        }
    }
}

const ERROR: &str = r#"{"error_code":"ModelArts.2788","error_msg":"m"}"#;

/// An error body is an error with any status, and a response without its identity is none.
#[tokio::test]
async fn a_success_without_its_content_is_an_error() {
    for body in [ERROR, "{}", r#"{"metadata":{"name":"n"},"status":{"phase":"Running"}}"#] {
        let client = client_of(move |_| network::json(body)).build().unwrap();
        let job = client.training_jobs().job("j").unwrap();
        let kind = match body {
            ERROR => ErrorKind::Service,
            _ => ErrorKind::Decode,
        };
        let create = minimal_create(&client);
        let (got, stopped) = (job.get().await, job.terminate().await);
        let mut errors = vec![("get", refused(got)), ("terminate", refused(stopped))];
        if [ERROR, "{}"].contains(&body) {
            errors.push(("list", refused(list(&client).await)));
            let rows = client.operation("ListTrainingJobs").unwrap().body(json!({}));
            errors.push(("rows", refused(rows.list().collect(10).await)));
            let algorithms = client.algorithms().collect(10).await;
            errors.push(("algorithms", refused(algorithms)));
        }
        for (what, error) in errors {
            assert_eq!(error.kind(), kind, "{what} {body}: {error}");
            assert_eq!(error.status(), Some(200), "{what} {body}");
        }
        if body == ERROR {
            assert_eq!(refused(job.delete().await).code(), Some("ModelArts.2788"));
            let error = refused(create.submit().await);
            assert_eq!(error.code(), Some("ModelArts.2788"));
            // The job may exist: a rejection has another status.
            assert!(error.is_uncertain(), "{error}");
        }
    }
    let phase = r#"{"metadata":{"id":"j","name":"n"}}"#;
    let unknown = client_of(move |_| network::json(phase)).build().unwrap();
    let stopped = unknown.training_jobs().job("j").unwrap().terminate().await;
    assert_eq!(refused(stopped).kind(), ErrorKind::Decode);
}

/// A secret that an error body with status 200 echoes is masked.
#[tokio::test]
async fn an_error_body_with_status_200_is_masked() {
    let body = r#"{"error_code":"ModelArts.2788","error_msg":"token a-long-secret-token is no"}"#;
    let client = client_of(move |_| network::json(body));
    let client = client.credentials(Credentials::token("a-long-secret-token"));
    let client = client.build().unwrap();
    let error = refused(get(&client).await);
    assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
    let call = client.api().show_training_job_details();
    let error = call.project_id("p").training_job_id("j").send().await.unwrap_err();
    assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
}
