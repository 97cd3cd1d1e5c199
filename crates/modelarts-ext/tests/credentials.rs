//! Where credentials come from, how they are renewed, and what is said when there are
//! none.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod iam_support;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures::future::{join, join_all};
use iam_support::{
    Asked, Bench, Fake, Hands, Place, Said, hours, minutes, nowhere, said, set_mode, start, token,
    written, wrong_password,
};
use modelarts_ext::{
    Client, ClientBuilder, Clock, Credentials, Error, ErrorKind, FetchCredentials, Metadata, Oidc,
    Outcome, Password, ProvideCredentials, Renewing, RetryPolicy, Signing,
};
use serde_json::{Value, json};

const PROJECT: &str = "0123456789abcdef0123456789abcdef";
/// No secret may be seen anywhere; each has this in it.
const MARK: &str = "s3cr3t";

fn password(iam: &str) -> Password {
    Password::new(iam, "alice", "PW-s3cr3t")
        .domain("OTC01")
        .project("eu-de")
}

fn oidc(sts: &str, file: &std::path::Path) -> Oidc {
    Oidc::from_file(sts, "urn:provider", "urn:agency", file)
}

fn temporary(name: &str, end: SystemTime) -> Value {
    json!({
        "access_key_id": format!("AK-{name}"),
        "secret_access_key": format!("SK-s3cr3t-{name}"),
        "security_token": format!("ST-s3cr3t-{name}"),
        "expiration": written(end),
    })
}

/// What would be sent, as far as one may see it.
async fn sent(credentials: impl ProvideCredentials) -> Asked {
    let service = Fake::start(|_| said(200, r#"{"items":[]}"#)).await;
    let client = Client::builder()
        .endpoint(&service.url)
        .project_id(PROJECT)
        .credentials(credentials)
        .clock(Hands::still())
        .build()
        .unwrap();
    client.training_jobs().list().collect(1).await.unwrap();
    service.asked().remove(0)
}

/// The token that is got, or the security token.
async fn got<P: ProvideCredentials>(bench: &Bench<P>) -> String {
    let asked = sent(bench.get().await.unwrap()).await;
    let header = |name| asked.header(name).map(str::to_owned);
    header("x-auth-token")
        .or(header("x-security-token"))
        .unwrap()
}

/// All that is shown of an error has no secret in it.
fn told(error: &Error) -> String {
    let all = format!("{error} {error:?} {error:#?}");
    assert!(!all.contains(MARK), "{all}");
    error.to_string()
}

// Password.

#[tokio::test]
async fn a_password_becomes_a_token_for_a_project() {
    let iam = Fake::start(|_| token("TK-s3cr3t-1", start())).await;
    let bench = Bench::new(password(&format!("{}/v3", iam.url)).renewing());
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    assert_eq!(bench.provider.project_id().as_deref(), Some(PROJECT));
    let asked = iam.asked().remove(0);
    assert_eq!(asked.line(), "POST /v3/auth/tokens?nocatalog=true");
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(
        asked.json(),
        json!({"auth": {
            "identity": {
                "methods": ["password"],
                "password": {"user": {
                    "name": "alice",
                    "password": "PW-s3cr3t",
                    "domain": {"name": "OTC01"},
                }},
            },
            "scope": {"project": {"name": "eu-de"}},
        }})
    );
    // Ids instead of names.
    let login = Password::new(&iam.url, "", "PW-s3cr3t")
        .user_id("u1")
        .project_id("p1");
    Bench::new(login.renewing()).get().await.unwrap();
    let auth = iam.asked().remove(1).json()["auth"].clone();
    assert_eq!(
        auth["identity"]["password"]["user"],
        json!({"id": "u1", "password": "PW-s3cr3t"})
    );
    assert_eq!(auth["scope"], json!({"project": {"id": "p1"}}));
}

#[tokio::test]
async fn what_iam_says_is_told() {
    type Case = (fn() -> Said, &'static str, bool);
    let cases: [Case; 10] = [
        (
            wrong_password,
            "gives the user \"alice\" no token: The username or password is wrong (HTTP 401, \
             request id token_eu-de_null_1)",
            false,
        ),
        (
            || {
                said(
                    400,
                    r#"{"error_code":"IAM.0011","error_msg":"PW-s3cr3t is short"}"#,
                )
            },
            "gives the user \"alice\" no token: *** is short (IAM.0011, HTTP 400)",
            false,
        ),
        (
            || said(403, ""),
            "gives the user \"alice\" no token: it gave no reason (HTTP 403)",
            false,
        ),
        (
            || said(503, "<html>busy</html>"),
            "gives the user \"alice\" no token: <html>busy</html> (HTTP 503)",
            true,
        ),
        (
            || said(429, json!({"error": {"code": 429, "message": "slow down"}})),
            "gives the user \"alice\" no token: slow down (HTTP 429)",
            true,
        ),
        (
            || said(500, json!({"error": {"code": 500, "title": "Internal"}})),
            "gives the user \"alice\" no token: Internal (HTTP 500)",
            true,
        ),
        (
            || said(302, "").with("Location", "https://elsewhere.test/"),
            "gives the user \"alice\" no token: it redirects, which is not followed; check its \
             address (HTTP 302)",
            false,
        ),
        (
            || said(201, "{}"),
            "gave an answer without a token in X-Subject-Token",
            false,
        ),
        (
            || said(201, "[").with("X-Subject-Token", "TK-s3cr3t"),
            "gave an answer that does not describe the token",
            false,
        ),
        (
            || said(201, r#"{"token":{}}"#).with("X-Subject-Token", "TK s3cr3t"),
            "",
            false,
        ),
    ];
    for (answer, text, passing) in cases {
        let iam = Fake::start(move |_| answer()).await;
        let error = Bench::new(password(&iam.url).renewing()).fails().await;
        let expected = match text {
            "" => "the token contains white space or control characters; check how it was copied"
                .to_owned(),
            _ => format!("IAM at {} {text}", iam.url),
        };
        assert_eq!(told(&error), expected);
        assert_eq!(error.is_retryable(), passing, "{error}");
        assert_eq!(
            error.is_auth(),
            !passing && !text.is_empty(),
            "{error} {:?}",
            error.kind()
        );
    }
}

#[tokio::test]
async fn iam_that_is_not_there_is_told() {
    let address = nowhere();
    let error = Bench::new(password(&address).renewing()).fails().await;
    let text = told(&error);
    let expected = format!("cannot connect to IAM at {address}: ");
    assert!(text.starts_with(&expected), "{text}");
    assert!(text.contains("Connection refused"), "{text}");
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.is_retryable());

    let iam = Fake::closed(|_| token("TK-s3cr3t", start())).await;
    let bench = Bench::new(password(&iam.url).renewing());
    let (error, ()) = join(bench.fails(), async {
        iam.arrived(1).await;
        bench.clock.advance(Duration::from_secs(60));
    })
    .await;
    assert_eq!(
        told(&error),
        format!("IAM at {} did not answer within 60s", iam.url)
    );
    assert!(error.is_timeout() && error.is_retryable());
}

#[test]
fn a_login_must_be_whole() {
    let problem = |login: Password| told(&login.renewing().check().unwrap_err());
    let iam = "https://iam.test";
    assert_eq!(
        problem(Password::new(iam, "alice", "PW-s3cr3t").project("eu-de")),
        "the domain of the user \"alice\" is missing; it is the name of the account, such as \
         OTC00000000001000000001"
    );
    assert_eq!(
        problem(Password::new(iam, "alice", "PW-s3cr3t").domain("OTC01")),
        "a token must be for a project, as ModelArts takes no other; set the project or the region"
    );
    assert_eq!(
        problem(Password::new(iam, "alice", "")),
        "the password is empty"
    );
    assert_eq!(
        problem(Password::new(iam, " ", "PW-s3cr3t")),
        "the user of IAM is empty"
    );
    assert_eq!(
        problem(password("http://iam.test")),
        "the endpoint http://iam.test/ of IAM is not https; over http every secret of a request can \
         be read on the way, so that is only for this machine"
    );
    for address in [
        "https://u:PW-s3cr3t@iam.test",
        "ftp://iam.test",
        "https://",
        "a b",
    ] {
        assert_eq!(
            problem(password(address)),
            "the endpoint of IAM must be an address such as https://iam.example.com",
            "{address}"
        );
    }
}

// OIDC.

#[tokio::test]
async fn an_identity_token_becomes_keys_and_its_file_is_read_each_time() {
    let place = Place::new().file("token", "ID-s3cr3t-1\n");
    let count = AtomicUsize::new(0);
    let sts = Fake::start(move |_| {
        let now = count.fetch_add(1, Ordering::SeqCst) as u32 + 1;
        let keys = temporary(&now.to_string(), start() + hours(1) * now);
        said(201, json!({"credentials": keys}))
    })
    .await;
    let login = oidc(&sts.url, &place.path("token"))
        .session_name("night")
        .duration(hours(1))
        .policy("{}")
        .policy_ids(["a", "b"]);
    let bench = Bench::new(login.renewing());
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    let asked = sent(bench.get().await.unwrap()).await;
    let authorization = asked.header("authorization").unwrap();
    assert!(
        authorization.starts_with("SDK-HMAC-SHA256 Access=AK-1, "),
        "{authorization}"
    );

    let place = place.file("token", "ID-s3cr3t-2");
    bench.clock.advance(minutes(54));
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    bench.clock.advance(minutes(1) + Duration::from_secs(1));
    assert_eq!(got(&bench).await, "ST-s3cr3t-2");
    drop(place);
    let asked = sts.asked();
    assert_eq!(sts.lines(), ["POST /v5/agencies/assume-with-oidc"; 2]);
    assert_eq!(
        asked[0].json(),
        json!({
            "provider_urn": "urn:provider",
            "agency_urn": "urn:agency",
            "agency_session_name": "night",
            "id_token": "ID-s3cr3t-1",
            "duration_seconds": 3600,
            "policy": "{}",
            "policy_ids": ["a", "b"],
        })
    );
    assert_eq!(asked[1].json()["id_token"], "ID-s3cr3t-2");
}

#[tokio::test]
async fn what_sts_says_is_told() {
    let place = Place::new().file("token", "ID-s3cr3t").file("empty", " \n");
    let file = place.path("token");
    let error_of = async |status, body: Value| {
        let sts = Fake::start(move |_| said(status, &body)).await;
        let error = Bench::new(oidc(&sts.url, &file).renewing()).fails().await;
        told(&error).replace(&sts.url, "URL")
    };
    assert_eq!(
        error_of(
            403,
            json!({"error_code": "STS.0001", "error_msg": "no ID-s3cr3t", "request_id": "r"})
        )
        .await,
        "STS at URL gives no keys for the agency urn:agency: no *** (STS.0001, HTTP 403)"
    );
    assert_eq!(
        error_of(201, json!({"credentials": {"access_key_id": "AK"}})).await,
        "STS at URL gave an answer without usable temporary keys"
    );
    let mut keys = temporary("1", start());
    keys["expiration"] = "soon".into();
    assert_eq!(
        error_of(201, json!({"credentials": keys})).await,
        "STS at URL gave an answer in which temporary keys end at \"soon\", which is no time"
    );
    let keys = temporary("1", start() - hours(1));
    assert_eq!(
        error_of(201, json!({"credentials": keys})).await,
        "new credentials end at 2026-01-15T07:30:45Z, and it is 2026-01-15T08:30:45Z here; check \
         the clock of this machine"
    );
    for (file, text) in [
        ("none", "the OIDC identity token file none does not exist"),
        ("empty", "the OIDC identity token file empty is empty"),
    ] {
        let sts = nowhere();
        let bench = Bench::new(oidc(&sts, &place.path(file)).renewing());
        let error = bench.fails().await;
        assert_eq!(place.short(told(&error)), text);
        assert_eq!(error.kind(), ErrorKind::Credentials);
    }
}

// The metadata service.

#[tokio::test]
async fn metadata_are_asked_in_a_session() {
    let service = Fake::start(|asked| match asked.line().as_str() {
        "PUT /meta-data/latest/api/token" => said(200, "SE-s3cr3t\n"),
        _ => said(
            200,
            json!({"credential": {
                "access": "AK-1",
                "secret": "SK-s3cr3t-1",
                "securitytoken": "ST-s3cr3t-1",
                "expires_at": written(start() + hours(2)),
            }}),
        ),
    })
    .await;
    let bench = Bench::new(Metadata::new().address(&service.url).renewing());
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    let asked = service.asked();
    assert_eq!(
        service.lines(),
        [
            "PUT /meta-data/latest/api/token",
            "GET /openstack/latest/securitykey"
        ]
    );
    let ttl = asked[0].header("x-metadata-token-ttl-seconds");
    assert_eq!(ttl, Some("21600"));
    assert_eq!(asked[1].header("x-metadata-token"), Some("SE-s3cr3t"));
}

#[tokio::test]
async fn metadata_without_sessions_and_with_ended_ones_are_read() {
    for status in [404, 405, 503] {
        let service = Fake::start(move |asked| match asked.method.as_str() {
            "PUT" => said(status, "no"),
            _ => said(200, temporary("1", start() + hours(1))),
        })
        .await;
        let bench = Bench::new(Metadata::new().address(&service.url).renewing());
        assert_eq!(got(&bench).await, "ST-s3cr3t-1");
        assert_eq!(service.asked()[1].header("x-metadata-token"), None);
    }
    let count = AtomicUsize::new(0);
    let service =
        Fake::start(
            move |asked| match (asked.method.as_str(), asked.header("x-metadata-token")) {
                ("PUT", _) => said(200, format!("S{}", count.fetch_add(1, Ordering::SeqCst))),
                (_, Some("S1")) => said(200, temporary("1", start() + hours(1))),
                _ => said(401, "expired"),
            },
        )
        .await;
    let bench = Bench::new(Metadata::new().address(&service.url).renewing());
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    assert_eq!(service.asked().len(), 4);
}

#[tokio::test]
async fn metadata_that_are_not_given_are_told() {
    let fails = async |session, status, text: &'static str| {
        let service = Fake::start(move |asked| match asked.method.as_str() {
            "PUT" => said(session, "S"),
            _ => said(status, text),
        })
        .await;
        let error = Bench::new(Metadata::new().address(&service.url).renewing())
            .fails()
            .await;
        let text = told(&error).replace(&service.url, "URL");
        (text, service.asked().len())
    };
    assert_eq!(
        fails(200, 401, "Please configure Cloud Service Agency first").await,
        (
            "the metadata service at URL gives no keys: Please configure Cloud Service Agency first \
             (HTTP 401); attach an agency to this server"
                .to_owned(),
            2
        )
    );
    assert_eq!(
        fails(200, 404, "").await,
        (
            "the metadata service at URL gives no keys: it gave no reason (HTTP 404)".to_owned(),
            2
        )
    );
    assert_eq!(
        fails(400, 200, "").await,
        (
            "the metadata service at URL begins no session: S (HTTP 400)".to_owned(),
            1
        )
    );
    let service = Fake::closed(|_| said(200, "")).await;
    let bench = Bench::new(Metadata::new().address(&service.url).renewing());
    let (error, ()) = join(bench.fails(), async {
        service.arrived(1).await;
        bench.clock.advance(Duration::from_secs(3));
    })
    .await;
    assert_eq!(
        told(&error),
        format!(
            "the metadata service at {} did not answer within 3s",
            service.url
        )
    );
    let far = Metadata::new().address("http://metadata.test").renewing();
    assert_eq!(
        told(&far.check().unwrap_err()),
        "the metadata service http://metadata.test is neither on this machine nor link-local nor \
         https"
    );
    Metadata::new().renewing().check().unwrap();
}

// Renewal.

/// IAM that gives `TK-s3cr3t-1`, then `TK-s3cr3t-2`, and so on, unless it is down.
async fn counting(clock: &Hands, down: &Arc<Mutex<Option<u16>>>) -> Fake {
    let (clock, down, count) = (clock.clone(), Arc::clone(down), AtomicUsize::new(0));
    Fake::start(move |_| match *down.lock().unwrap() {
        Some(401) => wrong_password(),
        Some(status) => said(status, "down"),
        None => {
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            token(&format!("TK-s3cr3t-{number}"), clock.now())
        }
    })
    .await
}

struct Day {
    iam: Fake,
    down: Arc<Mutex<Option<u16>>>,
    bench: Bench<Renewing>,
}

impl Day {
    async fn new() -> Self {
        let down = Arc::default();
        // The login needs the address, and IAM the clock of the login.
        let clock = Hands::still();
        let iam = counting(&clock, &down).await;
        let mut bench = Bench::new(password(&iam.url).renewing());
        bench.tools = modelarts_ext::Tools::new(clock.clone()).unwrap();
        bench.clock = clock;
        Self { iam, down, bench }
    }

    fn set_down(&self, status: impl Into<Option<u16>>) {
        *self.down.lock().unwrap() = status.into();
    }

    fn asked(&self) -> usize {
        self.iam.asked().len()
    }

    async fn token(&self) -> String {
        got(&self.bench).await
    }
}

#[tokio::test]
async fn a_token_is_renewed_in_its_last_half_hour() {
    let day = Day::new().await;
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    day.bench.clock.advance(hours(23) + minutes(29));
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    assert_eq!(day.asked(), 1);
    day.bench.clock.advance(minutes(1));
    assert_eq!(day.token().await, "TK-s3cr3t-2");
    assert_eq!(day.token().await, "TK-s3cr3t-2");
    assert_eq!(day.asked(), 2);
}

#[tokio::test]
async fn the_old_token_is_used_while_iam_fails() {
    let day = Day::new().await;
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    day.bench.clock.advance(hours(23) + minutes(40));
    day.set_down(503);
    for _ in 0..10 {
        assert_eq!(day.token().await, "TK-s3cr3t-1");
    }
    // One try, and the next a minute later.
    assert_eq!(day.asked(), 2);
    day.bench.clock.advance(minutes(1));
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    assert_eq!(day.asked(), 3);
    // Until it ends.
    day.bench.clock.advance(minutes(19));
    let error = day.bench.fails().await;
    assert_eq!(
        told(&error),
        format!(
            "IAM at {} gives the user \"alice\" no token: down (HTTP 503)",
            day.iam.url
        )
    );
    assert!(error.is_retryable());
    day.set_down(None);
    assert_eq!(day.token().await, "TK-s3cr3t-2");
}

#[tokio::test]
async fn a_hundred_tasks_ask_once() {
    let iam = Fake::closed(|_| token("TK-s3cr3t-1", start())).await;
    let bench = Bench::new(password(&iam.url).renewing());
    let tasks = join_all((0..100).map(|_| bench.get()));
    let (results, ()) = join(tasks, async {
        iam.arrived(1).await;
        iam.open();
    })
    .await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 100);
    assert_eq!(iam.asked().len(), 1);

    // So they do when it fails, and each is told.
    let iam = Fake::closed(|_| said(503, "down")).await;
    let bench = Bench::new(password(&iam.url).renewing());
    let tasks = join_all((0..100).map(|_| bench.fails()));
    let (errors, ()) = join(tasks, async {
        iam.arrived(1).await;
        iam.open();
    })
    .await;
    assert!(errors.iter().all(|error| error.status() == Some(503)));
    assert_eq!(iam.asked().len(), 1);
}

#[tokio::test]
async fn a_hundred_threads_ask_once() {
    let iam = Fake::closed(|_| token("TK-s3cr3t-1", start())).await;
    let bench = Arc::new(Bench::new(password(&iam.url).renewing()));
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let bench = Arc::clone(&bench);
            tokio::spawn(async move { bench.get().await.is_ok() })
        })
        .collect();
    iam.arrived(1).await;
    iam.open();
    assert!(join_all(tasks).await.into_iter().all(Result::unwrap));
    assert_eq!(iam.asked().len(), 1);
}

#[tokio::test]
async fn whoever_asks_first_may_be_dropped() {
    let iam = Fake::closed(|_| token("TK-s3cr3t-1", start())).await;
    let bench = Arc::new(Bench::new(password(&iam.url).renewing()));
    let spawn = || {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move { bench.get().await.is_ok() })
    };
    let first = spawn();
    iam.arrived(1).await;
    let second = spawn();
    tokio::task::yield_now().await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    iam.open();
    assert!(second.await.unwrap());
    assert_eq!(iam.asked().len(), 1);

    // When nobody is left, the next asks anew.
    let iam = Fake::closed(|_| token("TK-s3cr3t-1", start())).await;
    let bench = Arc::new(Bench::new(password(&iam.url).renewing()));
    let only = {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move { bench.get().await.is_ok() })
    };
    iam.arrived(1).await;
    only.abort();
    assert!(only.await.unwrap_err().is_cancelled());
    iam.open();
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    assert_eq!(iam.asked().len(), 2);
}

#[tokio::test]
async fn while_one_renews_the_others_go_on() {
    let clock = Hands::still();
    let count = AtomicUsize::new(0);
    let time = clock.clone();
    let iam = Fake::closed(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        token(&format!("TK-s3cr3t-{number}"), time.now())
    })
    .await;
    let mut bench = Bench::new(password(&iam.url).renewing());
    bench.tools = modelarts_ext::Tools::new(clock.clone()).unwrap();
    let (first, ()) = join(bench.get(), async {
        iam.arrived(1).await;
        iam.pass(1);
    })
    .await;
    first.unwrap();
    clock.advance(hours(23) + minutes(58));
    let bench = Arc::new(bench);
    let renewing = {
        let bench = Arc::clone(&bench);
        tokio::spawn(async move { got(&bench).await })
    };
    iam.arrived(2).await;
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    // Also when it would be time for the next try.
    clock.advance(Duration::from_secs(40));
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    iam.pass(1);
    assert_eq!(renewing.await.unwrap(), "TK-s3cr3t-2");
    assert_eq!(got(&bench).await, "TK-s3cr3t-2");
    assert_eq!(iam.asked().len(), 2);
}

#[tokio::test]
async fn a_refused_token_is_given_no_more() {
    let day = Day::new().await;
    let first = day.bench.get().await.unwrap();
    assert!(day.bench.provider.renew(&first));
    assert_eq!(day.token().await, "TK-s3cr3t-2");
    // Somebody else was refused with the first one too, and is late.
    assert!(day.bench.provider.renew(&first));
    assert_eq!(day.token().await, "TK-s3cr3t-2");
    assert_eq!(day.asked(), 2);
    // It is not used again either when IAM fails.
    let second = day.bench.get().await.unwrap();
    day.set_down(503);
    assert!(day.bench.provider.renew(&second));
    assert_eq!(day.bench.fails().await.status(), Some(503));
}

#[tokio::test]
async fn a_wrong_password_is_not_tried_again_and_again() {
    let day = Day::new().await;
    day.set_down(401);
    let mut texts = Vec::new();
    for _ in 0..10 {
        let error = day.bench.fails().await;
        assert!(error.is_auth() && !error.is_retryable());
        texts.push(told(&error));
    }
    texts.dedup();
    assert_eq!(texts.len(), 1);
    assert_eq!(day.asked(), 1);
    day.bench.clock.advance(minutes(5));
    day.set_down(None);
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    // A password that was changed does not end the token that is still valid.
    day.bench.clock.advance(hours(23) + minutes(40));
    day.set_down(401);
    assert_eq!(day.token().await, "TK-s3cr3t-1");
}

#[tokio::test]
async fn short_lives_are_renewed_in_their_last_quarter() {
    let count = AtomicUsize::new(0);
    let place = Place::new().file("token", "ID-s3cr3t");
    let sts = Fake::start(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        let keys = temporary(&number.to_string(), start() + minutes(8 * number as u64));
        said(201, json!({"credentials": keys}))
    })
    .await;
    let bench = Bench::new(oidc(&sts.url, &place.path("token")).renewing());
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    bench.clock.advance(Duration::from_secs(359));
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    bench.clock.advance(Duration::from_secs(2));
    assert_eq!(got(&bench).await, "ST-s3cr3t-2");
}

#[tokio::test]
async fn a_clock_that_is_off_does_not_shorten_a_token() {
    // IAM is six hours behind; the token lives for a day all the same.
    let iam = Fake::start(|_| token("TK-s3cr3t-1", start() - hours(6))).await;
    let bench = Bench::new(password(&iam.url).renewing());
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    bench.clock.advance(hours(23));
    assert_eq!(got(&bench).await, "TK-s3cr3t-1");
    assert_eq!(iam.asked().len(), 1);
}

/// A service and an IAM in one, by the clock: who comes when gets what.
struct Weekend {
    clock: Hands,
    /// Tokens that were given, with their ends.
    tokens: Mutex<Vec<(String, SystemTime)>>,
}

impl Weekend {
    fn hour(&self) -> f64 {
        let elapsed = self.clock.now().duration_since(start()).unwrap();
        elapsed.as_secs_f64() / 3600.0
    }

    fn iam(&self) -> Said {
        let hour = self.hour();
        // Through the last half hour of the first token; after the second is withdrawn;
        // through the end of the third, and on.
        if (23.4..23.8).contains(&hour) {
            return said(503, "<html>maintenance</html>");
        }
        if (40.0..40.2).contains(&hour) {
            return said(500, json!({"error": {"code": 500, "message": "sorry"}}));
        }
        if (63.0..64.4).contains(&hour) {
            return said(
                429,
                json!({"error_code": "APIGW.0308", "error_msg": "slow down"}),
            );
        }
        let mut tokens = self.tokens.lock().unwrap();
        let text = format!("TK-s3cr3t-{}", tokens.len() + 1);
        let now = self.clock.now();
        tokens.push((text.clone(), now + hours(24)));
        token(&text, now)
    }

    fn service(&self, asked: &Asked) -> Said {
        let hour = self.hour();
        if (10.0..10.2).contains(&hour) {
            return said(503, r#"{"error_code":"ModelArts.0001","error_msg":"busy"}"#);
        }
        if (30.0..30.2).contains(&hour) {
            return said(502, "<html>bad gateway</html>");
        }
        let sent = asked.header("x-auth-token").unwrap();
        let tokens = self.tokens.lock().unwrap();
        let at = tokens.iter().position(|(text, _)| text == sent).unwrap();
        let withdrawn = hour >= 40.0 && at == 1;
        if withdrawn || self.clock.now() >= tokens[at].1 {
            let text = "The token must be updated";
            return said(401, json!({"error_code": "APIGW.0307", "error_msg": text}));
        }
        let phase = if hour < 72.0 { "Running" } else { "Completed" };
        said(
            200,
            json!({
                "kind": "job",
                "metadata": {"id": "cf63aba9-63b1-4219-b717-708a2665100b", "name": "long"},
                "status": {"phase": phase},
            }),
        )
    }
}

#[tokio::test]
async fn a_wait_of_72_hours_ends_right() {
    // The limits of IAM and of a call are longer than the pauses of the wait.
    let clock = Hands::new(|time| time != minutes(1) && time < minutes(20));
    let weekend = Arc::new(Weekend {
        clock: clock.clone(),
        tokens: Mutex::default(),
    });
    let shared = Arc::clone(&weekend);
    let cloud = Fake::start(move |asked| {
        if asked.target.starts_with("/v3/auth/tokens") {
            shared.iam()
        } else {
            shared.service(asked)
        }
    })
    .await;
    let client = Client::builder()
        .endpoint(&cloud.url)
        .credentials(password(&cloud.url).renewing())
        .clock(clock.clone())
        .timeout(hours(1))
        .connect()
        .await
        .unwrap();
    assert_eq!(client.project_id(), PROJECT);
    let job = client
        .training_jobs()
        .get("cf63aba9-63b1-4219-b717-708a2665100b")
        .await
        .unwrap();
    let waited = job.wait().interval(minutes(2), minutes(4)).await.unwrap();
    assert_eq!(waited.outcome(), &Outcome::Completed);
    let hour = weekend.hour();
    assert!((72.0..72.1).contains(&hour), "{hour}");
    // Two outages of the service and two in which no token was left were passed over;
    // the one of IAM with a good token was not even noticed.
    assert!(waited.errors() >= 4, "{}", waited.errors());
    let begun: Vec<f64> = weekend
        .tokens
        .lock()
        .unwrap()
        .iter()
        .map(|(_, end)| {
            let begin = *end - hours(24);
            begin.duration_since(start()).unwrap().as_secs_f64() / 3600.0
        })
        .collect();
    assert_eq!(begun.len(), 4, "{begun:?}");
    for (begin, expected) in begun.iter().zip([0.0, 23.8, 40.2, 64.4]) {
        assert!((expected..expected + 0.1).contains(begin), "{begun:?}");
    }
    // IAM was not stormed: at most one try a minute, or one with each attempt.
    let logins = cloud
        .lines()
        .iter()
        .filter(|line| line.starts_with("POST /v3"))
        .count();
    assert!(logins < 60, "{logins}");
}

// The project.

/// IAM with projects, which it filters by their names.
async fn projects(list: &'static [(&'static str, &'static str)]) -> Fake {
    Fake::start(move |asked| {
        let name = asked.target.strip_prefix("/v3/projects?name=");
        let found: Vec<_> = list
            .iter()
            .filter(|(known, _)| name.is_none_or(|name| name == *known))
            .map(|(name, id)| json!({"id": id, "name": name, "enabled": true}))
            .collect();
        said(200, json!({"links": {}, "projects": found}))
    })
    .await
}

fn keys() -> Credentials {
    Credentials::temporary_keys("AK", "SK-s3cr3t", "ST-s3cr3t")
}

fn in_region(iam: &Fake) -> ClientBuilder {
    Client::builder()
        .region("eu-de")
        .iam_endpoint(&iam.url)
        .credentials(keys())
        .clock(Hands::still())
}

const TWO: &[(&str, &str)] = &[("eu-de", "p1"), ("eu-de_team", "p2")];

#[tokio::test]
async fn the_project_of_the_region_is_looked_up() {
    let iam = projects(TWO).await;
    let client = in_region(&iam).connect().await.unwrap();
    assert_eq!(client.project_id(), "p1");
    assert_eq!(
        client.endpoint(),
        "https://modelarts.eu-de.otc.t-systems.com/"
    );
    let asked = iam.asked().remove(0);
    assert_eq!(asked.line(), "GET /v3/projects?name=eu-de");
    assert_eq!(asked.header("x-sdk-date"), Some("20260115T083045Z"));
    assert_eq!(asked.header("x-security-token"), Some("ST-s3cr3t"));
    let authorization = asked.header("authorization").unwrap();
    assert!(
        authorization.starts_with(
            "SDK-HMAC-SHA256 Access=AK, SignedHeaders=host;x-sdk-date;x-security-token, Signature="
        ),
        "{authorization}"
    );

    let client = in_region(&iam).project_name("eu-de_team").connect().await;
    assert_eq!(client.unwrap().project_id(), "p2");
    // A token is sent as it is.
    let token = in_region(&iam).credentials(Credentials::token("TK-s3cr3t"));
    assert_eq!(token.connect().await.unwrap().project_id(), "p1");
    let asked = iam.asked().remove(2);
    assert_eq!(asked.header("x-auth-token"), Some("TK-s3cr3t"));
    assert_eq!(asked.header("authorization"), None);
    // What is known is not asked for.
    let client = in_region(&iam).project_id("p3").connect().await.unwrap();
    assert_eq!(client.project_id(), "p3");
    assert_eq!(iam.asked().len(), 3);
    // Without a region the only project is taken.
    let one = projects(&[("cn-north-4", "p4")]).await;
    let client = Client::builder()
        .endpoint(&one.url)
        .iam_endpoint(&one.url)
        .credentials(keys())
        .connect();
    assert_eq!(client.await.unwrap().project_id(), "p4");
}

#[tokio::test]
async fn a_project_that_cannot_be_told_is_an_error() {
    let fails = async |iam: &Fake, builder: ClientBuilder| {
        told(&builder.connect().await.unwrap_err()).replace(&iam.url, "URL")
    };
    let iam = projects(TWO).await;
    assert_eq!(
        fails(&iam, in_region(&iam).project_name("mars")).await,
        "IAM at URL knows no project named \"mars\" that these credentials may use, only eu-de \
         (p1), eu-de_team (p2); set the project id or another project name"
    );
    assert_eq!(
        fails(
            &iam,
            Client::builder()
                .endpoint(&iam.url)
                .iam_endpoint(&iam.url)
                .credentials(keys())
        )
        .await,
        "IAM at URL says that there are several projects: eu-de (p1), eu-de_team (p2); set the \
         project id"
    );
    let twins = projects(&[("eu-de", "p1"), ("eu-de", "p2")]).await;
    assert_eq!(
        fails(&twins, in_region(&twins)).await,
        "IAM at URL says that there are several projects named \"eu-de\": eu-de (p1), eu-de (p2); \
         set the project id"
    );
    let none = projects(&[]).await;
    assert_eq!(
        fails(&none, in_region(&none)).await,
        "IAM at URL knows no project that these credentials may use, \"eu-de\" neither"
    );
    let odd = Fake::start(|_| said(200, "[]")).await;
    assert_eq!(
        fails(&odd, in_region(&odd)).await,
        "IAM at URL gave an answer that is no list of projects"
    );
    let closed = Fake::start(|_| said(403, r#"{"error_msg":"SK-s3cr3t ST-s3cr3t"}"#)).await;
    assert_eq!(
        fails(&closed, in_region(&closed)).await,
        "IAM at URL does not list the projects: *** *** (HTTP 403)"
    );
    let nobody = Client::builder().endpoint(&iam.url).credentials(keys());
    let text = told(&nobody.connect().await.unwrap_err());
    assert!(
        text.starts_with(
            "no project id, and where IAM is to look it up is not known; call project_id(), or \
             region() with one of eu-de, af-north-1, "
        ) && text.ends_with(", tr-west-1, or iam_endpoint()"),
        "{text}"
    );
    assert_eq!(
        told(&in_region(&iam).build().unwrap_err()),
        "no project id; call project_id(), or set HUAWEICLOUD_SDK_PROJECT_ID or OS_PROJECT_ID, or \
         call connect() instead of build(), which looks it up"
    );
}

#[tokio::test]
async fn a_look_up_is_tried_again_when_that_may_help() {
    let count = AtomicUsize::new(0);
    let iam = Fake::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => said(503, "down"),
        _ => said(200, json!({"projects": [{"id": "p1", "name": "eu-de"}]})),
    })
    .await;
    let patient = Hands::new(|time| time < minutes(1));
    let client = in_region(&iam).clock(patient.clone()).connect().await;
    assert_eq!(client.unwrap().project_id(), "p1");
    assert_eq!(iam.asked().len(), 3);
    let iam = Fake::start(|_| said(503, "down")).await;
    let once = in_region(&iam).clock(patient).retry(RetryPolicy::none());
    assert_eq!(once.connect().await.unwrap_err().status(), Some(503));
    assert_eq!(iam.asked().len(), 1);
}

#[tokio::test]
async fn the_scoped_dialect_is_spoken_everywhere() {
    let cloud = Fake::start(|asked| match asked.method.as_str() {
        "GET" => said(200, json!({"projects": [{"id": "p1", "name": "eu-de"}]})),
        _ => said(200, r#"{"items":[]}"#),
    })
    .await;
    let client = Client::builder()
        .endpoint(&cloud.url)
        .iam_endpoint(&cloud.url)
        .credentials(Credentials::keys("AK", "SK-s3cr3t"))
        .signing(Signing::Scoped {
            region: String::new(),
            service: "modelarts".to_owned(),
        })
        .clock(Hands::still())
        .connect()
        .await
        .unwrap();
    client.training_jobs().list().collect(1).await.unwrap();
    for asked in cloud.asked() {
        let authorization = asked.header("authorization").unwrap();
        assert!(
            authorization
                .starts_with("SDK-HMAC-SHA256 Credential=AK/20260115//modelarts/sdk_request, "),
            "{authorization}"
        );
    }
    assert_eq!(cloud.asked().len(), 2);
}

// The chain.

fn from(place: &Place) -> ClientBuilder {
    Client::builder()
        .environment(place.environment())
        .endpoint("https://modelarts.test")
        .clock(Hands::still())
}

/// What is found in a place, as it would be shown.
fn found(place: &Place) -> String {
    let builder = from(place).project_id(PROJECT);
    match builder.build() {
        Ok(_) => "found".to_owned(),
        Err(error) => place.short(told(&error)),
    }
}

/// The access key, or token, that requests carry.
async fn identity(place: &Place) -> String {
    let service = Fake::start(|asked| match asked.target.as_str() {
        "/v5/agencies/assume-with-oidc" => said(
            201,
            json!({"credentials": temporary("oidc", start() + hours(1))}),
        ),
        "/v3/auth/tokens?nocatalog=true" => token("TK-s3cr3t-1", start()),
        "/meta-data/latest/api/token" => said(404, ""),
        "/openstack/latest/securitykey" => said(200, temporary("metadata", start() + hours(1))),
        _ => said(200, r#"{"items":[]}"#),
    })
    .await;
    let files = ["here/clouds.yaml", "home/.huaweicloud/credentials"];
    for path in files.map(|path| place.path(path)) {
        if let Ok(text) = std::fs::read_to_string(&path) {
            std::fs::write(&path, text.replace("URL", &service.url)).unwrap();
        }
    }
    let variables = place.environment();
    let url = service.url.clone();
    let environment = modelarts_ext::Environment::new(move |name| {
        Some(variables.variable(name)?.replace("URL", &url))
    })
    .home(place.path("home"))
    .directory(place.path("here"));
    let client = Client::builder()
        .environment(environment)
        .endpoint(&service.url)
        .project_id(PROJECT)
        .metadata(Metadata::new().address(&service.url))
        .clock(Hands::still())
        .build()
        .unwrap();
    client.training_jobs().list().collect(1).await.unwrap();
    let asked = service.asked().pop().unwrap();
    match asked.header("authorization") {
        Some(text) => {
            let (_, rest) = text.split_once("Access=").unwrap();
            rest.split_once(',').unwrap().0.to_owned()
        }
        None => asked.header("x-auth-token").unwrap().to_owned(),
    }
}

#[tokio::test]
async fn the_chain_is_looked_through_in_order() {
    const CLOUDS: &str = "clouds:\n  one:\n    auth: {ak: AK-cloud, sk: SK-s3cr3t}\n";
    let mut place = Place::new();
    assert_eq!(identity(&place).await, "AK-metadata");
    place = place.file("here/clouds.yaml", CLOUDS);
    assert_eq!(identity(&place).await, "AK-cloud");
    let profile = "[basic]\nak = AK-profile\nsk = SK-s3cr3t\n";
    place = place.file("home/.huaweicloud/credentials", profile);
    assert_eq!(identity(&place).await, "AK-profile");
    place = place.variable("OS_CLOUD", "one");
    assert_eq!(identity(&place).await, "AK-cloud");
    place = place
        .variable("OS_USERNAME", "alice")
        .variable("OS_PASSWORD", "PW-s3cr3t")
        .variable("OS_USER_DOMAIN_NAME", "OTC01")
        .variable("OS_AUTH_URL", "URL/v3");
    assert_eq!(identity(&place).await, "TK-s3cr3t-1");
    place = place.variable("OS_TOKEN", "TK-s3cr3t-2");
    assert_eq!(identity(&place).await, "TK-s3cr3t-2");
    for (ak, sk) in [
        ("OS_ACCESS_KEY_ID", "OS_ACCESS_KEY_SECRET"),
        ("OS_AK", "OS_SK"),
        ("OS_ACCESS_KEY", "OS_SECRET_KEY"),
        ("HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK"),
    ] {
        place = place.variable(ak, ak).variable(sk, "SK-s3cr3t");
        assert_eq!(identity(&place).await, ak);
    }
    place = place
        .variable("HUAWEICLOUD_OIDC_PROVIDER_URN", "urn:provider")
        .variable("HUAWEICLOUD_OIDC_AGENCY_URN", "urn:agency")
        .variable("HUAWEICLOUD_OIDC_ID_TOKEN", "ID-s3cr3t")
        .variable("HUAWEICLOUD_SDK_STS_ENDPOINT", "URL");
    assert_eq!(identity(&place).await, "AK-oidc");
}

#[test]
fn nothing_found_lists_every_place() {
    let place = Place::new().file("home/.huaweicloud/credentials", "[global]\nak = a\n");
    assert_eq!(
        found(&place),
        "no credentials; call credentials(), or set HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK. \
         Looked at:\n\
         - the variables HUAWEICLOUD_OIDC_*: not set\n\
         - HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK: not set\n\
         - OS_ACCESS_KEY and OS_SECRET_KEY, OS_AUTH_TOKEN, OS_USERNAME and OS_PASSWORD: not set\n\
         - OS_CLOUD: not set\n\
         - home/.huaweicloud/credentials: there is no section [basic]\n\
         - clouds.yaml: none of here/clouds.yaml, here/clouds.yml, \
         home/.config/openstack/clouds.yaml, home/.config/openstack/clouds.yml, \
         etc/openstack/clouds.yaml, etc/openstack/clouds.yml exists\n\
         - the metadata service of a cloud server: not asked unless metadata() is called"
    );
    let several = "clouds:\n  a: {auth: {ak: x, sk: y}}\n  b: {auth: {ak: x, sk: y}}\n";
    let place = Place::new().file("etc/openstack/clouds.yaml", several);
    let text = found(&place);
    for line in [
        "- home/.huaweicloud/credentials: there is no such file",
        "- etc/openstack/clouds.yaml: there are several clouds in it (a, b); set OS_CLOUD",
    ] {
        assert!(text.lines().any(|known| known == line), "{text}");
    }
}

#[test]
fn variables_that_are_not_good_are_told() {
    let with = |variables: &[(&str, &str)]| {
        let place = Place::new().file(
            "home/.huaweicloud/credentials",
            "[basic]\nak = AK\nsk = SK-s3cr3t\n",
        );
        let place = variables
            .iter()
            .fold(place, |place, (name, value)| place.variable(name, *value));
        found(&place)
    };
    assert_eq!(with(&[]), "found");
    let provider = ("HUAWEICLOUD_OIDC_PROVIDER_URN", "urn:provider");
    let agency = ("HUAWEICLOUD_OIDC_AGENCY_URN", "urn:agency");
    let sts = ("HUAWEICLOUD_SDK_STS_ENDPOINT", "https://sts.test");
    let id = ("HUAWEICLOUD_OIDC_ID_TOKEN", "ID-s3cr3t");
    let alice = ("OS_USERNAME", "alice");
    let word = ("OS_PASSWORD", "PW-s3cr3t");
    let domain = ("OS_DOMAIN_NAME", "OTC01");
    let iam = ("OS_AUTH_URL", "https://iam.test");
    let cases: [(&[(&str, &str)], &str); 16] = [
        (
            &[provider],
            "HUAWEICLOUD_OIDC_PROVIDER_URN is set but HUAWEICLOUD_OIDC_AGENCY_URN is not",
        ),
        (
            &[id],
            "HUAWEICLOUD_OIDC_ID_TOKEN is set but HUAWEICLOUD_OIDC_PROVIDER_URN is not",
        ),
        (
            &[provider, agency, sts],
            "HUAWEICLOUD_OIDC_PROVIDER_URN is set but HUAWEICLOUD_OIDC_ID_TOKEN or \
             HUAWEICLOUD_OIDC_TOKEN_FILE is not",
        ),
        (
            &[provider, agency, id],
            "HUAWEICLOUD_OIDC_PROVIDER_URN is set, but where STS is cannot be told from the \
             region; set HUAWEICLOUD_SDK_STS_ENDPOINT",
        ),
        (
            &[
                provider,
                agency,
                id,
                sts,
                ("HUAWEICLOUD_OIDC_DURATION_SECONDS", "1h"),
            ],
            "HUAWEICLOUD_OIDC_DURATION_SECONDS is \"1h\", which is no number of seconds",
        ),
        (
            &[
                provider,
                agency,
                id,
                ("HUAWEICLOUD_SDK_STS_ENDPOINT", "http://sts.test"),
            ],
            "the variables HUAWEICLOUD_OIDC_*: the endpoint http://sts.test/ of STS is not https; \
             over http every secret of a request can be read on the way, so that is only for this \
             machine",
        ),
        (
            &[("HUAWEICLOUD_SDK_SK", "SK-s3cr3t")],
            "HUAWEICLOUD_SDK_SK is set but HUAWEICLOUD_SDK_AK is not",
        ),
        (
            &[("HUAWEICLOUD_SDK_IDP_ID", "idp")],
            "HUAWEICLOUD_SDK_IDP_ID is set, and federation is not supported; use the variables \
             HUAWEICLOUD_OIDC_*",
        ),
        (
            &[
                ("OS_AK", "AK"),
                ("OS_SK", "SK-s3cr3t"),
                ("OS_SECURITY_TOKEN", "ST s3cr3t"),
            ],
            "OS_AK, OS_SK, OS_SECURITY_TOKEN: the security token contains white space or control \
             characters; check how it was copied",
        ),
        (&[alice], "OS_USERNAME is set but OS_PASSWORD is not"),
        (&[word], "OS_PASSWORD is set but OS_USERNAME is not"),
        (&[alice, word], "OS_USERNAME is set but OS_AUTH_URL is not"),
        (
            &[alice, word, iam],
            "OS_USERNAME is set but OS_USER_DOMAIN_NAME or OS_DOMAIN_NAME is not",
        ),
        (
            &[alice, word, domain, ("OS_AUTH_URL", "http://iam.test/v3")],
            "OS_USERNAME and OS_PASSWORD: the endpoint http://iam.test/ of IAM is not https; over \
             http every secret of a request can be read on the way, so that is only for this \
             machine",
        ),
        (
            &[("OS_CLOUD", "otc")],
            "OS_CLOUD is \"otc\", but clouds.yaml: none of here/clouds.yaml, here/clouds.yml, \
             home/.config/openstack/clouds.yaml, home/.config/openstack/clouds.yml, \
             etc/openstack/clouds.yaml, etc/openstack/clouds.yml exists",
        ),
        (
            &[("HUAWEICLOUD_SDK_CREDENTIALS_FILE", "/nowhere/credentials")],
            "HUAWEICLOUD_SDK_CREDENTIALS_FILE names /nowhere/credentials, which does not exist",
        ),
    ];
    for (variables, text) in cases {
        assert_eq!(with(variables), text);
    }
    assert_eq!(with(&[alice, word, domain, iam]), "found");
    // A token needs a project, whose name may be that of the region.
    let place = [alice, word, domain, iam]
        .iter()
        .fold(Place::new(), |place, (name, value)| {
            place.variable(name, *value)
        });
    assert_eq!(
        told(&from(&place).build().unwrap_err()),
        "OS_USERNAME is set but OS_PROJECT_NAME or OS_PROJECT_ID is not"
    );
    assert!(
        from(&place)
            .region("eu-de")
            .build()
            .unwrap_err()
            .to_string()
            .starts_with("no project id")
    );
}

#[tokio::test]
async fn the_profile_is_read_as_it_is_written() {
    // Nothing is put in for `%`, and neither `#` nor `;` nor quotes mean anything.
    let text = "\u{feff}# mine\n[global]\nak = other\n\n[basic]\n; keys\nAK : AK%%#1\n\
                sk = \"SK-s3cr3t%(x)s;#\"\nsecurity_token=ST-s3cr3t=\n\
                project_id = 0123456789abcdef\niam_endpoint = URL\n";
    let place = Place::new().file("home/.huaweicloud/credentials", text);
    let asked = identity(&place).await;
    assert_eq!(asked, "AK%%#1");
    let client = from(&place).build().unwrap();
    assert_eq!(client.project_id(), "0123456789abcdef");
    // Another file, and its IAM.
    let iam = projects(&[("eu-de", "p9")]).await;
    let text = format!("[basic]\nak=AK\nsk=SK-s3cr3t\niam_endpoint={}\n", iam.url);
    let place = Place::new().file("mine", text);
    let path = place.path("mine").display().to_string();
    let place = place.variable("HUAWEICLOUD_SDK_CREDENTIALS_FILE", path);
    let client = from(&place).region("eu-de").connect().await.unwrap();
    assert_eq!(client.project_id(), "p9");
}

#[test]
fn a_profile_that_is_not_good_is_told() {
    let with = |text: &str| found(&Place::new().file("home/.huaweicloud/credentials", text));
    let section = "home/.huaweicloud/credentials: the section [basic], line 2, ";
    let file = "home/.huaweicloud/credentials: ";
    let cases = [
        ("\n[basic]\nak = AK\n", section, "has ak but no sk"),
        (
            "\n[basic]\nsk = SK-s3cr3t\nak =\n",
            section,
            "has sk but no ak",
        ),
        ("\n[basic]\n", section, "has neither ak nor sk"),
        (
            "\n[basic]\nidp_id = a\nid_token_file = b\n",
            section,
            "asks for federation (idp_id), which is not supported; use ak and sk, or the \
             variables HUAWEICLOUD_OIDC_*",
        ),
        (
            "[basic]\nak AK-s3cr3t\n",
            file,
            "line 2 is not of the form key = value",
        ),
        (
            "[global]\n[basic\n",
            file,
            "line 2 is not of the form [section]",
        ),
        (
            "[basic]\nak = A K\nsk = SK-s3cr3t\n",
            file,
            "the access key contains white space or control characters; check how it was copied",
        ),
    ];
    for (text, begin, end) in cases {
        assert_eq!(with(text), format!("{begin}{end}"));
    }
    let place = Place::new().file("home/.huaweicloud/credentials", "");
    std::fs::write(place.path("home/.huaweicloud/credentials"), b"\xff\xfe").unwrap();
    assert_eq!(found(&place), "home/.huaweicloud/credentials: not UTF-8");
    let place = Place::new().file("home/.huaweicloud/credentials/x", "");
    let text = found(&place);
    assert!(text.starts_with(file), "{text}");
}

#[tokio::test]
async fn clouds_are_read_from_all_their_places() {
    let cloud =
        |name: &str| format!("clouds:\n  {name}: {{auth: {{ak: AK-{name}, sk: SK-s3cr3t}}}}\n");
    let mut place = Place::new();
    // The identity is asked for without /etc, so that is looked at apart.
    place = place.file("etc/openstack/clouds.yaml", cloud("system"));
    assert_eq!(found(&place), "found");
    place = place.file("home/.config/openstack/clouds.yml", cloud("user"));
    assert_eq!(identity(&place).await, "AK-user");
    place = place.file("home/.config/openstack/clouds.yaml", cloud("better"));
    assert_eq!(identity(&place).await, "AK-better");
    place = place.file("here/clouds.yaml", cloud("here"));
    assert_eq!(identity(&place).await, "AK-here");
    place = place.file("xdg/openstack/clouds.yaml", cloud("xdg"));
    let named = place
        .path("xdg/openstack/clouds.yaml")
        .display()
        .to_string();
    place = place.variable("OS_CLIENT_CONFIG_FILE", named);
    assert_eq!(identity(&place).await, "AK-xdg");
}

#[tokio::test]
async fn a_cloud_has_a_password_or_a_token_and_a_secure_part() {
    let clouds = "clouds:\n  otc:\n    profile: otc\n    region_name: eu-de\n    auth:\n      \
                  auth_url: URL/v3\n      username: alice\n      user_domain_name: OTC01\n      \
                  project_name: eu-de_team\n  other: {auth: {token: TK-s3cr3t-9}}\n";
    // Digits are a password too.
    let secure = "clouds:\n  otc: {auth: {password: 0123}}\n";
    let place = Place::new()
        .file("here/clouds.yaml", clouds)
        .file("here/secure.yaml", secure)
        .variable("OS_CLOUD", "other");
    assert_eq!(identity(&place).await, "TK-s3cr3t-9");
    let iam = Fake::start(|_| token("TK-s3cr3t-1", start())).await;
    let place = place
        .file("here/clouds.yaml", clouds.replace("URL", &iam.url))
        .variable("OS_CLOUD", "otc");
    let client = Client::builder()
        .environment(place.environment())
        .clock(Hands::still())
        .connect()
        .await
        .unwrap();
    assert_eq!(client.project_id(), PROJECT);
    assert_eq!(
        client.endpoint(),
        "https://modelarts.eu-de.otc.t-systems.com/"
    );
    let auth = iam.asked().remove(0).json()["auth"].clone();
    assert_eq!(
        auth["identity"]["password"]["user"],
        json!({"name": "alice", "password": "0123", "domain": {"name": "OTC01"}})
    );
    assert_eq!(auth["scope"], json!({"project": {"name": "eu-de_team"}}));
}

#[test]
fn a_cloud_that_is_not_good_is_told() {
    let with = |text: &str| {
        let place = Place::new().file("here/clouds.yaml", text);
        found(&place.variable("OS_CLOUD", "a"))
    };
    let auth = |auth: &str| with(&format!("clouds:\n  a:\n    auth: {auth}\n"));
    let begin = "here/clouds.yaml: the cloud \"a\", line 3, ";
    for (text, end) in [
        ("{ak: AK}", "has ak but no sk"),
        ("{sk: SK-s3cr3t}", "has sk but no ak"),
        ("{username: alice}", "has a user but no password"),
        ("{password: PW-s3cr3t}", "has a password but no user"),
        (
            "{}",
            "has none of ak and sk, username and password, and token",
        ),
        (
            "{username: alice, password: PW-s3cr3t}",
            "has no auth_url, and its region is not known",
        ),
        (
            "{username: alice, password: PW-s3cr3t, auth_url: 'https://iam.test'}",
            "the domain of the user \"alice\" is missing; it is the name of the account, such as \
             OTC00000000001000000001",
        ),
        (
            "{token: TK s3cr3t}",
            "the token contains white space or control characters; check how it was copied",
        ),
    ] {
        assert_eq!(auth(text), format!("{begin}{end}"));
    }
    for (text, told) in [
        (
            "clouds:\n  b: {}\n",
            "OS_CLOUD is \"a\", but here/clouds.yaml has only: b",
        ),
        (
            "clouds:\n\t- s3cr3t\n",
            "here/clouds.yaml, line 2, column 2: tabs disallowed within this context (block \
             indentation)",
        ),
        (
            "clouds:\n  a: {auth: {password: [s3cr3t]}}\n",
            "here/clouds.yaml, line 2, column 24: expected string scalar",
        ),
        (
            "clouds:\n  a:\n    auth: {sk: s3cr3t, sk: s3cr3t}\n",
            "here/clouds.yaml, line 3, column 24: duplicate mapping key: sk",
        ),
    ] {
        assert_eq!(with(text), told);
    }
    let place = Place::new()
        .file("here/clouds.yaml", "clouds: {a: {auth: {ak: AK}}}")
        .file("here/secure.yaml", "clouds: {a: {auth: {sk: 'SK-s3cr3t}}}");
    let text = found(&place);
    assert!(
        text.starts_with("here/secure.yaml, line 1, column "),
        "{text}"
    );
    let place = Place::new().variable("OS_CLIENT_CONFIG_FILE", "/nowhere/clouds.yaml");
    assert_eq!(
        found(&place),
        "OS_CLIENT_CONFIG_FILE names /nowhere/clouds.yaml, which does not exist"
    );
}

#[test]
fn what_is_set_in_code_wins() {
    let broken = Place::new()
        .variable("HUAWEICLOUD_SDK_AK", "half")
        .variable("MODELARTS_REGION", "eu-de")
        .variable("HUAWEICLOUD_SDK_PROJECT_ID", "p1")
        .variable("HUAWEICLOUD_SDK_REGION_MODELARTS_MOON_1", "moon.test");
    let builder = || Client::builder().environment(broken.environment());
    let client = builder().credentials(keys()).build().unwrap();
    assert_eq!(
        (client.endpoint(), client.project_id()),
        ("https://modelarts.eu-de.otc.t-systems.com/", "p1")
    );
    let client = builder()
        .credentials(keys())
        .region("moon-1")
        .project_id("p2")
        .build()
        .unwrap();
    assert_eq!(
        (client.endpoint(), client.project_id()),
        ("https://moon.test/", "p2")
    );
}

// Secrets.

#[test]
#[cfg(unix)]
fn files_that_others_can_read_are_warned_of() {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_max_level(tracing::Level::TRACE)
        .without_time()
        .with_ansi(false)
        .finish();
    let warnings = |place: &Place, path: &str, mode| {
        set_mode(&place.path(path), mode);
        lines.0.lock().unwrap().clear();
        assert_eq!(found(place), "found");
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(!text.contains(MARK), "{text}");
        let warnings = text.lines().filter(|line| line.contains("WARN"));
        warnings
            .map(|line| place.short(line.split_once(": ").unwrap().1))
            .collect::<Vec<_>>()
    };
    tracing::subscriber::with_default(subscriber, || {
        let path = "home/.huaweicloud/credentials";
        let place = Place::new().file(path, "[basic]\nak = AK\nsk = SK-s3cr3t\n");
        assert_eq!(warnings(&place, path, 0o600), [""; 0]);
        assert_eq!(
            warnings(&place, path, 0o644),
            [format!(
                "{path} holds secrets and others can use it (mode 644); run: chmod 600 {path}"
            )]
        );
        let path = "here/secure.yaml";
        let place = Place::new()
            .file("here/clouds.yaml", "clouds: {a: {auth: {ak: AK}}}")
            .file(path, "clouds: {a: {auth: {sk: SK-s3cr3t}}}");
        // The open one has no secret in it.
        set_mode(&place.path("here/clouds.yaml"), 0o644);
        assert_eq!(warnings(&place, path, 0o400), [""; 0]);
        assert_eq!(
            warnings(&place, path, 0o640),
            [format!(
                "{path} holds secrets and others can use it (mode 640); run: chmod 600 {path}"
            )]
        );
    });
}

#[tokio::test]
async fn nothing_shows_a_secret() {
    let place = Place::new().file("token", "ID-s3cr3t");
    let cloud = Fake::start(|asked| match asked.target.as_str() {
        "/v3/auth/tokens?nocatalog=true" => token("TK-s3cr3t", start()),
        _ => said(200, temporary("1", start() + hours(1))),
    })
    .await;
    let providers = [
        password(&cloud.url).renewing(),
        oidc(&cloud.url, &place.path("token")).renewing(),
        Oidc::from_token(&cloud.url, "p", "a", "ID-s3cr3t").renewing(),
        Metadata::new().address(&cloud.url).renewing(),
    ];
    for provider in providers {
        let bench = Bench::new(provider);
        let credentials = bench.get().await.unwrap();
        let builder = Client::builder()
            .environment(Place::new().variable("OS_TOKEN", "TK-s3cr3t").environment())
            .credentials(bench.provider.clone());
        let all = format!(
            "{:?} {:#?} {credentials:?} {credentials:#?} {builder:?} {builder:#?} {:?}",
            bench.provider, bench.provider, bench.tools
        );
        assert!(!all.contains(MARK), "{all}");
    }
    let fetchers = format!(
        "{:?} {:?} {:?}",
        password(&cloud.url),
        oidc(&cloud.url, &place.path("token")),
        Oidc::from_token(&cloud.url, "p", "a", "ID-s3cr3t"),
    );
    let url = "https://user:PW-s3cr3t@iam.test";
    let fetchers = format!(
        "{fetchers} {:?} {:?} {:?}",
        password(url),
        oidc(url, &place.path("token")),
        Metadata::new().address(url),
    );
    assert!(!fetchers.contains(MARK), "{fetchers}");
}

/// A provider may wrap another.
#[tokio::test]
async fn providers_can_be_wrapped() {
    let day = Day::new().await;
    let shared: Arc<dyn ProvideCredentials> = Arc::new(day.bench.provider.clone());
    assert_eq!(
        sent(Arc::clone(&shared)).await.header("x-auth-token"),
        Some("TK-s3cr3t-1")
    );
    assert_eq!(shared.project_id().as_deref(), Some(PROJECT));
    shared.check().unwrap();
    // They share what they have.
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    assert!(shared.renew(&Credentials::token("other")));
    assert_eq!(day.asked(), 1);
}
