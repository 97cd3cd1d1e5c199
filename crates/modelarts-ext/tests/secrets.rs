//! Secrets are in requests and answers, and nowhere else: not in `Debug`, not in
//! errors. For logs see `logging.rs`.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod support;

use std::{
    fmt::Debug,
    io,
    sync::{Arc, LazyLock, Mutex},
};

use modelarts_ext::{
    Client, Credentials, Error, ErrorKind, RetryPolicy, connector::ConnectorError,
};
use serde_json::json;
use support::{
    PROJECT, Reply, Server, Site, TestClock, json_answer,
    network::{Network, Said},
    refused,
};

const SECRET_KEY: &str = "sk-hidden-1";
const SECURITY_TOKEN: &str = "st-hidden-2";
const TOKEN: &str = "tk-hidden-3";
const JUPYTER_TOKEN: &str = "jl-hidden-4";
const ENVIRONMENT: &str = "env-hidden-5";
const IN_LOCATION: &str = "location-hidden-6";
const PASSWORD: &str = "password-hidden-7";

fn clean(text: &str) {
    assert!(!text.contains("-hidden-"), "{text}");
}

fn clean_debug(value: &impl Debug) {
    clean(&format!("{value:?}"));
    clean(&format!("{value:#?}"));
}

/// An error in every form in which programs print errors.
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

fn keys() -> Credentials {
    Credentials::temporary_keys("AK", SECRET_KEY, SECURITY_TOKEN)
}

/// A running job with JupyterLab beside it.
fn job_answer() -> Reply {
    let body = format!(
        r#"{{"kind":"job","metadata":{{"id":"some-job","name":"n"}},"status":{{"phase":"Running"}},
            "endpoints":{{"jupyter_lab":{{"url":"https://jl.test/","token":"{JUPYTER_TOKEN}"}}}}}}"#
    );
    json_answer("200 OK", "x-request-id: r1\r\n", &body)
}

#[tokio::test]
async fn nothing_shows_secrets() {
    for credentials in [
        keys(),
        Credentials::keys("AK", SECRET_KEY),
        Credentials::token(TOKEN),
    ] {
        clean_debug(&credentials);
        let server = Server::start([job_answer()]).await;
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
    // The request did carry them.
    let server = Server::start([job_answer()]).await;
    let client = server.client(&TestClock::new()).credentials(keys());
    client
        .build()
        .unwrap()
        .training_jobs()
        .get("some-job")
        .await
        .unwrap();
    let request = &server.requests()[0];
    assert!(request.contains(&format!("x-security-token: {SECURITY_TOKEN}")));
    assert!(!request.contains(SECRET_KEY));
}

#[tokio::test]
async fn a_refused_signature_shows_no_secret() {
    // The gateway gives back what it was to sign, security token and all.
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
    let client = site
        .client()
        .credentials(Credentials::token(TOKEN))
        .build()
        .unwrap();
    let error = refused(client.training_jobs().get("some-job").await);
    assert!(error.is_auth());
    clean_error(&error);
}

/// An error of a client with all secrets, for one answer.
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

/// Answers that hold a secret and cannot be understood.
fn bodies() -> [String; 4] {
    [
        // Cut off.
        format!(r#"{{"endpoints":{{"jupyter_lab":{{"token":"{JUPYTER_TOKEN}"}}"#),
        // Of another shape, here and there.
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
        // Who asks for it gets it.
        assert_eq!(error.body(), Some(body.as_str()));
        clean_error(&error);
    }
}

#[tokio::test]
async fn what_is_not_understood_is_not_quoted() {
    for body in bodies() {
        let error = error_of(json_answer("200 OK", "", &body)).await;
        clean(&error.to_string());
    }
}

#[tokio::test]
async fn what_is_left_out_of_a_list_is_not_quoted() {
    let good = r#"{"kind":"job","metadata":{"id":"some-job","name":"n"}}"#;
    for (bad, why) in [
        (
            format!(r#""{JUPYTER_TOKEN}""#),
            "invalid type: string, expected an object",
        ),
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
        assert_eq!(answer.dropped().rows, 1);
        assert_eq!(answer.dropped().first_error.as_deref(), Some(why));
        clean_debug(answer.dropped());
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

/// Everything that was traced, by all tests of this program.
static LOG: LazyLock<Log> = LazyLock::new(|| {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing_subscriber::util::SubscriberInitExt::init(subscriber);
    log
});

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The secrets of a request, and the key that it was signed with.
fn secrets_of(request: &reqwest::Request) -> Vec<String> {
    let header = |name: &str| Some(request.headers().get(name)?.to_str().unwrap().to_owned());
    let signature = header("authorization").map(|value| {
        let (_, signature) = value.split_once("Signature=").unwrap();
        signature.to_owned()
    });
    let sent = [
        header("x-auth-token"),
        header("x-security-token"),
        signature,
    ];
    let mut secrets: Vec<_> = sent.into_iter().flatten().collect();
    if header("authorization").is_some() {
        secrets.push(SECRET_KEY.to_owned());
    }
    secrets
}

fn in_address(text: &str) -> String {
    text.replace('/', "%2F")
        .replace('+', "%2B")
        .replace('=', "%3D")
}

/// An answer that says a secret again.
type Echo = fn(&str) -> Said;

fn answer(status: u16) -> http::response::Builder {
    http::Response::builder().status(status)
}

fn said(status: u16, body: impl ToString) -> Said {
    Ok(answer(status).body(body.to_string()).unwrap())
}

/// Each way in which a text from outside comes into an error or a log.
const ECHOES: &[(&str, Echo)] = &[
    ("message", |secret| {
        said(
            400,
            json!({"error_code": "ModelArts.1", "error_msg": format!("you sent {secret}")}),
        )
    }),
    ("code, solution, id", |secret| {
        let all = json!({"error_code": secret, "error_msg": "m", "error_solution": secret,
            "request_id": secret});
        said(403, all)
    }),
    ("escaped", |secret| {
        let escaped: String = secret
            .chars()
            .map(|c| format!("\\u{:04x}", c as u32))
            .collect();
        said(
            400,
            format!(r#"{{"error_code":"ModelArts.1","error_msg":"{escaped}"}}"#),
        )
    }),
    ("in an address", |secret| {
        let escaped = in_address(secret);
        let small = escaped
            .replace("%2F", "%2f")
            .replace("%2B", "%2b")
            .replace("%3D", "%3d");
        said(404, format!("no /v2?token={small} and {escaped}"))
    }),
    ("nested", |secret| {
        said(500, json!({"error": {"code": 5, "message": secret}}))
    }),
    ("another shape", |secret| {
        said(503, json!({"echo": {secret: [secret]}}))
    }),
    ("page", |secret| {
        said(502, format!("<html><title>{secret}</title></html>"))
    }),
    ("text", |secret| said(418, format!("headers: {secret}"))),
    ("long text", |secret| {
        said(400, format!("{}{secret}", "x".repeat(2044)))
    }),
    ("refused signature", |secret| {
        let message = format!("verify aksk signature fail, canonicalRequest:GET|/|a:{secret}|x");
        said(
            401,
            json!({"error_code": "APIGW.0301", "error_msg": message}),
        )
    }),
    ("no document", |secret| said(600, secret)),
    ("redirect", |secret| {
        let target = format!("https://{secret}.test/{secret}");
        Ok(answer(302)
            .header("location", target)
            .body(String::new())
            .unwrap())
    }),
    ("id of the request", |secret| {
        let body = json!({"error_code": "ModelArts.1", "error_msg": "m"}).to_string();
        Ok(answer(400)
            .header("x-request-id", secret)
            .body(body)
            .unwrap())
    }),
    ("id of a good request", |secret| {
        let body = json!({"metadata": {"id": "other"}}).to_string();
        Ok(answer(200)
            .header("x-request-id", secret)
            .body(body)
            .unwrap())
    }),
    ("not understood", |secret| {
        said(200, format!("{{\"metadata\":\"{secret}\""))
    }),
    ("not understood, in a name", |secret| {
        said(200, json!({"status": {"duration": {secret: 1}}, secret: 1}))
    }),
    ("not there yet", |secret| {
        Ok(answer(204)
            .header("x-request-id", secret)
            .body(String::new())
            .unwrap())
    }),
    ("another object", |secret| {
        said(200, json!({"metadata": {"id": secret}}))
    }),
    ("broken connection", |secret| {
        Err(ConnectorError::Lost(format!("sent {secret}").into()))
    }),
    ("no connection", |secret| {
        Err(ConnectorError::NotSent(format!("for {secret}").into()))
    }),
];

#[tokio::test]
async fn what_a_server_says_again_is_masked() {
    LazyLock::force(&LOG);
    // Characters that are written in several ways, and letters of both cases.
    let odd = "tk-hidden-3/A+b==";
    for (kind, credentials, count) in [
        ("token", Credentials::token(TOKEN), 1),
        ("odd token", Credentials::token(odd), 1),
        ("keys", Credentials::keys("AK", SECRET_KEY), 2),
        ("temporary keys", keys(), 3),
    ] {
        for (name, echo) in ECHOES {
            for at in 0..count {
                let sent = Arc::new(Mutex::new(Vec::new()));
                let seen = Arc::clone(&sent);
                let network = move |request: &reqwest::Request| {
                    let secrets = secrets_of(request);
                    assert_eq!(secrets.len(), count);
                    seen.lock().unwrap().extend(secrets.clone());
                    Some(echo(&secrets[at]))
                };
                let client = Client::builder()
                    .endpoint("https://modelarts.test")
                    .project_id(PROJECT)
                    .credentials(credentials.clone())
                    .clock(TestClock::new())
                    .connector(Network(network))
                    .build()
                    .unwrap();
                let error = refused(client.training_jobs().get("some-job").await);
                let mut raw = String::new();
                if error.kind() != ErrorKind::Connection {
                    let generated = client
                        .api()
                        .show_training_job_details()
                        .project_id(PROJECT)
                        .training_job_id("some-job")
                        .send()
                        .await;
                    raw = generated.map_or_else(
                        |error| format!("{error} {error:?}"),
                        |answer| format!("{:?}", answer.status()),
                    );
                }
                let mut source = std::error::Error::source(&error);
                let mut all = format!(
                    "{error} {error:?} {error:#?} {raw} {:?} {:?} {:?} {:?} {:?} {:?}",
                    error.message(),
                    error.code(),
                    error.solution(),
                    error.advice(),
                    error.body(),
                    error.request_id(),
                );
                while let Some(error) = source {
                    all.push_str(&format!("{error} {error:?}"));
                    source = error.source();
                }
                let logged = String::from_utf8(LOG.0.lock().unwrap().clone()).unwrap();
                for secret in sent.lock().unwrap().iter() {
                    let escaped = in_address(secret);
                    for form in [secret, &escaped, &secret.to_lowercase()] {
                        assert!(!all.contains(form), "{kind}, {name}, {at}: {form} in {all}");
                        assert!(
                            !logged.contains(form),
                            "{kind}, {name}, {at}: {form} is logged"
                        );
                    }
                }
                if !["no document", "not there yet", "id of a good request"].contains(name) {
                    assert!(all.contains("***"), "{kind}, {name}, {at}: {all}");
                }
            }
        }
    }
}

#[tokio::test]
async fn what_is_left_out_of_a_list_shows_no_secret_of_the_client() {
    let network = |_: &reqwest::Request| {
        Some(said(
            200,
            json!({"items": [{"metadata": {"create_time": {TOKEN: TOKEN}}}, {"metadata": {"create_time": TOKEN}}]}),
        ))
    };
    let client = Client::builder()
        .endpoint("https://modelarts.test")
        .project_id(PROJECT)
        .credentials(Credentials::token(TOKEN))
        .clock(TestClock::new())
        .connector(Network(network))
        .build()
        .unwrap();
    let body = modelarts_ext::types::ListTrainingJobsRequest::builder();
    let answer = client
        .call(|api| {
            api.list_training_jobs()
                .project_id(PROJECT)
                .body(body)
                .send()
        })
        .await
        .unwrap();
    assert_eq!(answer.dropped().rows, 2);
    clean_debug(answer.dropped());
}

#[tokio::test]
async fn an_error_that_is_cut_does_not_end_with_the_beginning_of_a_secret() {
    // Error answers are cut after 64 KiB: here, within the token.
    let mut body = " ".repeat((64 << 10) - 100);
    body.push_str(&format!("{:<94}{TOKEN}{}", "said", " ".repeat(200)));
    let network = move |_: &reqwest::Request| {
        let response = http::Response::builder().status(400).body(body.clone());
        Some(Ok(response.unwrap()))
    };
    let client = Client::builder()
        .endpoint("https://modelarts.test")
        .project_id(PROJECT)
        .credentials(Credentials::token(TOKEN))
        .clock(TestClock::new())
        .connector(Network(network))
        .build()
        .unwrap();
    let error = refused(client.training_jobs().get("j").await);
    assert_eq!(error.message(), Some("said"));
}
