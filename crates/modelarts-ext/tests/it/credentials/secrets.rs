//! Tests that neither `Debug` nor errors show the secrets of providers.

use std::sync::Arc;

use modelarts_ext::{
    Client, Credentials, RetryPolicy,
    credentials::{FetchCredentials, Metadata, Oidc, ProvideCredentials},
};
use serde_json::json;

use super::{
    fixtures::{
        Day, ProviderBench, SECRET_MARK, oidc, password, safe_message, sent, temporary, token,
    },
    manual_clock::{ManualClock, hours, start},
};
use crate::support::{
    environment::TestEnvironment,
    fake_server::{FakeReply, FakeServer, reply},
    server::PROJECT,
};

#[tokio::test]
async fn nothing_shows_a_secret() {
    let place = TestEnvironment::new().file("token", "ID-s3cr3t");
    let cloud = FakeServer::start(|asked| match asked.target.as_str() {
        "/v3/auth/tokens?nocatalog=true" => token("TK-s3cr3t", start()),
        _ => reply(200, temporary("1", start() + hours(1))),
    })
    .await;
    let providers = [
        password(&cloud.url).into_provider(),
        oidc(&cloud.url, &place.path("token")).into_provider(),
        Oidc::from_token(&cloud.url, "p", "a", "ID-s3cr3t").into_provider(),
        Metadata::new().address(&cloud.url).into_provider(),
    ];
    for provider in providers {
        let bench = ProviderBench::new(provider);
        let credentials = bench.get().await.unwrap();
        let builder = Client::builder()
            .environment(TestEnvironment::new().variable("OS_TOKEN", "TK-s3cr3t").environment())
            .credentials(bench.provider.clone());
        let all = format!(
            "{:?} {:#?} {credentials:?} {credentials:#?} {builder:?} {builder:#?} {:?}",
            bench.provider, bench.provider, bench.tools
        );
        assert!(!all.contains(SECRET_MARK), "{all}");
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
    assert!(!fetchers.contains(SECRET_MARK), "{fetchers}");
}

#[tokio::test]
async fn providers_can_be_wrapped() {
    let day = Day::new().await;
    let shared: Arc<dyn ProvideCredentials> = Arc::new(day.bench.provider.clone());
    assert_eq!(sent(Arc::clone(&shared)).await.header("x-auth-token"), Some("TK-s3cr3t-1"));
    assert_eq!(shared.project_id().as_deref(), Some(PROJECT));
    shared.check().unwrap();
    // Clones share the token.
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    assert!(shared.renew(&Credentials::token("other")));
    assert_eq!(day.asked(), 1);
}

/// Secrets that IAM, STS and the metadata service echo are masked.
#[tokio::test]
async fn secrets_that_a_service_echoes_are_masked() {
    type Echo = fn(&str) -> FakeReply;
    let echoes: [Echo; 8] = [
        |text| reply(401, json!({"error": {"code": text, "message": text}})),
        |text| reply(400, text),
        |text| reply(202, json!({"error": {"code": text, "message": text}})),
        |text| reply(203, json!({"error_msg": "m"})).with("x-request-id", text),
        |text| reply(503, format!("{}{text}", "x".repeat(293))),
        |text| reply(403, json!({"error_msg": "m"})).with("x-request-id", text),
        |text| {
            reply(
                200,
                json!({"expiration": text, "access": "a", "secret": "b", "securitytoken": "c"}),
            )
        },
        |text| {
            reply(200, json!({"projects": [{"id": text, "name": text}, {"id": "2", "name": "p"}]}))
        },
    ];
    for echo in echoes {
        // The secrets are a password, an identity token, a token, and a key pair.
        let cloud = FakeServer::start(move |asked| {
            let header = |name: &str| asked.header(name).map(str::to_owned);
            let signature = header("authorization")
                .and_then(|value| Some(value.split_once("Signature=")?.1.to_owned()));
            let texts = [header("x-auth-token"), header("x-security-token"), signature];
            let texts = texts.into_iter().flatten().collect::<Vec<_>>().join(" ");
            let body = match asked.body.is_empty() {
                true => String::new(),
                false => {
                    let body = asked.json();
                    let password = body.pointer("/auth/identity/password/user/password");
                    password.or(body.get("id_token")).unwrap().as_str().unwrap().to_owned()
                }
            };
            echo(format!("{texts}{body}").trim())
        })
        .await;
        let mut errors = vec![
            ProviderBench::new(password(&cloud.url).into_provider()).fails().await,
            ProviderBench::new(
                Oidc::from_token(&cloud.url, "p", "a", "ID-s3cr3t/1").into_provider(),
            )
            .fails()
            .await,
        ];
        for credentials in [
            Credentials::token("TK-s3cr3t+1"),
            Credentials::temporary_keys("AK", "SK-s3cr3t", "ST-s3cr3t"),
        ] {
            let found = Client::builder()
                .endpoint("https://modelarts.test")
                .iam_endpoint(&cloud.url)
                .credentials(credentials)
                .clock(ManualClock::still())
                .retry(RetryPolicy::none())
                .connect()
                .await;
            errors.extend(found.err());
        }
        for error in &errors {
            let all =
                format!("{} {:?} {:?}", safe_message(error), error.code(), error.request_id());
            assert!(!all.contains(SECRET_MARK), "{all}");
            for asked in cloud.asked() {
                let signature = asked.header("authorization");
                let signature = signature.and_then(|value| value.split_once("Signature="));
                assert!(signature.is_none_or(|(_, one)| !all.contains(one)), "{all}");
            }
        }
        assert!(errors.iter().any(|error| safe_message(error).contains("***")
            || error.request_id().is_some_and(|id| id.contains("***"))));
    }
}
