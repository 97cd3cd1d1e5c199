//! Tests of keys that IAM issues for a token.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, SystemTime},
};

use modelarts_emulator::Emulator;
use modelarts_ext::{
    Client, Credentials, ErrorKind,
    clock::SystemClock,
    credentials::{FetchCredentials, Password, ProvideCredentials, ProviderContext, TemporaryKeys},
};
use serde_json::{Value, json};

use super::{
    fixtures::{ProviderBench, got, password, safe_message, sent, token, wrong_password},
    manual_clock::{hours, minutes, start, timestamp},
};
use crate::support::{
    environment::TestEnvironment,
    fake_server::{FakeReply, FakeServer, closed_address, reply},
    server::PROJECT,
};

/// Returns the response of IAM to a request for keys.
fn keys(name: &str, end: SystemTime) -> FakeReply {
    reply(
        201,
        json!({"credential": {
            "access": format!("AK-{name}"),
            "secret": format!("SK-s3cr3t-{name}"),
            "securitytoken": format!("ST-s3cr3t-{name}"),
            "expires_at": timestamp(end),
        }}),
    )
}

/// Credentials of a secret store can be valid for only a few seconds.
#[tokio::test]
async fn keys_of_three_seconds_are_used_and_renewed() {
    let count = AtomicUsize::new(0);
    let seconds = Duration::from_secs;
    let iam = FakeServer::start(move |_| {
        let now = count.fetch_add(1, Ordering::SeqCst) as u32 + 1;
        keys(&now.to_string(), start() + seconds(3) * now)
    })
    .await;
    let source = TemporaryKeys::new(&iam.url, Credentials::token("TK-s3cr3t"));
    let bench = ProviderBench::new(source.into_provider());
    for expected in ["ST-s3cr3t-1", "ST-s3cr3t-1", "ST-s3cr3t-2"] {
        assert_eq!(got(&bench).await, expected);
        bench.clock.advance(seconds(2));
    }
}

#[tokio::test]
async fn a_token_becomes_keys_that_are_renewed_before_they_expire() {
    let count = AtomicUsize::new(0);
    let iam = FakeServer::start(move |_| {
        let now = count.fetch_add(1, Ordering::SeqCst) as u32 + 1;
        keys(&now.to_string(), start() + hours(2) * now)
    })
    .await;
    let source = TemporaryKeys::new(&iam.url, Credentials::token("TK-s3cr3t")).duration(hours(2));
    let bench = ProviderBench::new(source.into_provider());
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    let signed = sent(bench.get().await.unwrap()).await;
    let authorization = signed.header("authorization").unwrap();
    assert!(authorization.starts_with("SDK-HMAC-SHA256 Access=AK-1, "), "{authorization}");
    bench.clock.advance(hours(2) - minutes(6));
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    bench.clock.advance(minutes(1) + Duration::from_secs(1));
    assert_eq!(got(&bench).await, "ST-s3cr3t-2");

    let line = "POST /v3.0/OS-CREDENTIAL/securitytokens";
    assert_eq!(iam.lines(), [line; 2]);
    let asked = iam.asked().remove(0);
    assert_eq!(asked.header("x-auth-token"), Some("TK-s3cr3t"));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(
        asked.json(),
        json!({"auth": {"identity": {
            "methods": ["token"],
            "token": {"duration_seconds": 7200},
        }}})
    );
    let shown = format!("{bench:?}", bench = bench.provider);
    assert!(!shown.contains("s3cr3t"), "{shown}");
}

#[tokio::test]
async fn a_rejected_token_is_renewed_once() {
    let logins = AtomicUsize::new(0);
    let iam = FakeServer::start(move |asked| match asked.header("x-auth-token") {
        None => {
            let login = logins.fetch_add(1, Ordering::SeqCst) + 1;
            token(&format!("TK-s3cr3t-{login}"), start())
        }
        Some("TK-s3cr3t-2") => keys("1", start() + hours(1)),
        Some(_) => wrong_password(),
    })
    .await;
    let login = password(&iam.url).into_provider();
    let bench = ProviderBench::new(TemporaryKeys::new(&iam.url, login).into_provider());
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    let (login, exchange) =
        ("POST /v3/auth/tokens?nocatalog=true", "POST /v3.0/OS-CREDENTIAL/securitytokens");
    assert_eq!(iam.lines(), [login, exchange, login, exchange]);
}

#[tokio::test]
async fn failures_name_the_reason() {
    let error_of = async |status, body: Value| {
        let iam = FakeServer::start(move |_| reply(status, &body)).await;
        let source = TemporaryKeys::new(&iam.url, Credentials::token("TK-s3cr3t"));
        let error = ProviderBench::new(source.into_provider()).fails().await;
        (safe_message(&error).replace(&iam.url, "URL"), iam.asked().len())
    };
    assert_eq!(
        error_of(
            401,
            json!({"error": {"code": 401, "message": "The token TK-s3cr3t must be updated."}})
        )
        .await,
        (
            "IAM at URL gives no temporary keys for the token: The token *** must be updated (HTTP \
             401); check that the token has not expired, and that it was issued by this IAM for a \
             user who may have access keys"
                .to_owned(),
            // A token as text cannot be renewed.
            1
        )
    );
    assert_eq!(
        error_of(201, json!({"credential": {}})).await,
        ("IAM at URL gave an answer without usable temporary keys".to_owned(), 1)
    );
    let unreachable = closed_address();
    let source = |token| TemporaryKeys::new(&unreachable, token);
    let keys = source(Credentials::keys("AK", "SK-s3cr3t"));
    let error = ProviderBench::new(keys.into_provider()).fails().await;
    assert_eq!(
        safe_message(&error),
        "temporary keys are issued for a token, and the provider returned keys; use the keys of \
         the provider directly"
    );
    assert_eq!(error.kind(), ErrorKind::Credentials);
    for (seconds, shown) in [(899, "899s"), (86_401, "86401s")] {
        let short = source(Credentials::token("t")).duration(Duration::from_secs(seconds));
        assert_eq!(
            FetchCredentials::check(&short).unwrap_err().to_string(),
            format!("the duration of temporary keys is {shown}; it must be 15 minutes to 24 hours")
        );
    }
    let plain = TemporaryKeys::new("http://iam.test", Credentials::token("t"));
    assert!(FetchCredentials::check(&plain).is_err());
}

#[tokio::test]
async fn the_emulator_accepts_keys_for_the_token_of_a_login() {
    let emulator = Emulator::builder().password("open sesame").start().await.unwrap();
    let login = Password::new(emulator.url(), "emulator", "open sesame")
        .domain("emulator")
        .project_id(emulator.project_id());
    let provider = TemporaryKeys::new(emulator.url(), login.into_provider())
        .duration(minutes(15))
        .into_provider();
    let context = ProviderContext::new(SystemClock).unwrap();
    let issued = provider.credentials(&context).await.unwrap();
    let issued = issued.access_keys().unwrap();
    assert!(issued.security_token.is_some());
    let client = Client::builder()
        .endpoint(emulator.url())
        .project_id(emulator.project_id())
        .credentials(provider)
        .build()
        .unwrap();
    client.training_jobs().list().collect(1).await.unwrap();
    emulator.shutdown().await;
}

#[test]
fn the_client_returns_the_address_of_iam() {
    let builder = || Client::builder().project_id(PROJECT).credentials(Credentials::token("t"));
    let address = |builder: modelarts_ext::ClientBuilder| builder.build().unwrap().iam_endpoint();
    let of_region = builder().region("eu-de");
    assert_eq!(address(of_region.clone()).unwrap().unwrap(), "https://iam.eu-de.otc.t-systems.com");
    let set = of_region.clone().iam_endpoint("https://iam.test");
    assert_eq!(address(set).unwrap().unwrap(), "https://iam.test");
    // An endpoint of one of the clouds contains the region.
    let of_endpoint = builder().endpoint("https://modelarts.eu-nl.otc.t-systems.com");
    assert_eq!(address(of_endpoint).unwrap().unwrap(), "https://iam.eu-nl.otc.t-systems.com");
    let outside = builder().endpoint("http://127.0.0.1:1");
    assert_eq!(address(outside.clone()).unwrap(), None);
    let place = TestEnvironment::new().variable("OS_AUTH_URL", "https://iam.example.com/v3");
    let of_environment = outside.environment(place.environment());
    assert_eq!(address(of_environment).unwrap().unwrap(), "https://iam.example.com/v3");
    let broken = TestEnvironment::new().file("home/.huaweicloud/regions.yaml", "- [");
    let in_region = of_region.endpoint("http://127.0.0.1:1");
    let error = address(in_region.environment(broken.environment())).unwrap_err();
    let message = broken.short(error);
    assert!(message.starts_with("home/.huaweicloud/regions.yaml"), "{message}");
}
