//! Tests of tokens that are obtained with a user name and a password.

use std::time::Duration;

use futures::future::join;
use modelarts_ext::{
    ErrorKind,
    credentials::{FetchCredentials, Password, ProvideCredentials},
};
use serde_json::json;

use super::{
    fixtures::{ProviderBench, got, password, safe_message, token, wrong_password},
    manual_clock::start,
};
use crate::support::{
    fake_server::{FakeReply, FakeServer, closed_address, reply},
    server::PROJECT,
};

#[tokio::test]
async fn a_password_becomes_a_token_for_a_project() {
    let iam = FakeServer::start(|_| token("TK-s3cr3t-1", start())).await;
    let bench = ProviderBench::new(password(&format!("{}/v3", iam.url)).into_provider());
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
    // Ids replace the names in a login.
    let login = Password::new(&iam.url, "", "PW-s3cr3t").user_id("u1").project_id("p1");
    ProviderBench::new(login.into_provider()).get().await.unwrap();
    let auth = iam.asked().remove(1).json()["auth"].clone();
    assert_eq!(auth["identity"]["password"]["user"], json!({"id": "u1", "password": "PW-s3cr3t"}));
    assert_eq!(auth["scope"], json!({"project": {"id": "p1"}}));
}

#[tokio::test]
async fn messages_of_iam_are_reported() {
    type Case = (fn() -> FakeReply, &'static str, bool);
    let cases: [Case; 12] = [
        (
            wrong_password,
            "gives the user \"alice\" no token: The username or password is wrong (HTTP 401, \
             request id token_eu-de_null_1); \
             check user, password, domain (the name of the account) and project; a user with \
             multi-factor authentication cannot log in with a password alone and needs keys",
            false,
        ),
        (
            || reply(400, r#"{"error_code":"IAM.0011","error_msg":"PW-s3cr3t is short"}"#),
            "gives the user \"alice\" no token: *** is short (IAM.0011, HTTP 400); \
             check user, password, domain (the name of the account) and project; a user with \
             multi-factor authentication cannot log in with a password alone and needs keys",
            false,
        ),
        (
            || reply(403, ""),
            "gives the user \"alice\" no token: it gave no reason (HTTP 403); \
             check user, password, domain (the name of the account) and project; a user with \
             multi-factor authentication cannot log in with a password alone and needs keys",
            false,
        ),
        (
            || reply(503, "<html>busy</html>"),
            "gives the user \"alice\" no token: an HTML page, \"busy\" (HTTP 503)",
            true,
        ),
        (
            || reply(429, json!({"error": {"code": 429, "message": "slow down"}})),
            "gives the user \"alice\" no token: slow down (HTTP 429)",
            true,
        ),
        (
            || reply(500, json!({"error": {"code": 500, "title": "Internal"}})),
            "gives the user \"alice\" no token: Internal (HTTP 500)",
            true,
        ),
        (
            || reply(302, "").with("Location", "https://elsewhere.test/"),
            "gives the user \"alice\" no token: it redirects, which is not followed; check its \
             address (HTTP 302)",
            false,
        ),
        (|| reply(201, "{}"), "gave an answer without a token in X-Subject-Token", false),
        (
            || reply(201, "[").with("X-Subject-Token", "TK-s3cr3t"),
            "gave an answer that does not describe the token",
            false,
        ),
        (
            || {
                reply(201, r#"{"token":{"expires_at":1768465845}}"#)
                    .with("X-Subject-Token", "TK-s3cr3t")
            },
            "gave an answer that does not describe the token",
            false,
        ),
        (
            || reply(401, json!({"title": "Unauthorized"})),
            "gives the user \"alice\" no token: Unauthorized (HTTP 401); \
             check user, password, domain (the name of the account) and project; a user with \
             multi-factor authentication cannot log in with a password alone and needs keys",
            false,
        ),
        (|| reply(201, r#"{"token":{}}"#).with("X-Subject-Token", "TK s3cr3t"), "", false),
    ];
    for (answer, text, passing) in cases {
        let iam = FakeServer::start(move |_| answer()).await;
        let error = ProviderBench::new(password(&iam.url).into_provider()).fails().await;
        let expected = match text {
            "" => "the token contains white space or control characters; check how it was copied"
                .to_owned(),
            _ => format!("IAM at {} {text}", iam.url),
        };
        assert_eq!(safe_message(&error), expected);
        assert_eq!(error.is_retryable(), passing, "{error}");
        assert_eq!(error.is_auth(), !passing && !text.is_empty(), "{error} {:?}", error.kind());
    }
}

#[tokio::test]
async fn an_unreachable_iam_is_reported() {
    let address = closed_address();
    let error = ProviderBench::new(password(&address).into_provider()).fails().await;
    let text = safe_message(&error);
    let expected = format!("cannot connect to IAM at {address}: ");
    assert!(text.starts_with(&expected), "{text}");
    assert!(text.contains("Connection refused"), "{text}");
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.is_retryable());

    let iam = FakeServer::closed(|_| token("TK-s3cr3t", start())).await;
    let bench = ProviderBench::new(password(&iam.url).into_provider());
    let (error, ()) = join(bench.fails(), async {
        iam.arrived(1).await;
        bench.clock.advance(Duration::from_secs(60));
    })
    .await;
    assert_eq!(safe_message(&error), format!("IAM at {} did not answer within 60s", iam.url));
    assert!(error.is_timeout() && error.is_retryable());
}

#[test]
fn a_login_must_be_complete() {
    let problem = |login: Password| safe_message(&login.into_provider().check().unwrap_err());
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
    assert_eq!(problem(Password::new(iam, "alice", "")), "the password is empty");
    assert_eq!(problem(Password::new(iam, " ", "PW-s3cr3t")), "the user of IAM is empty");
    assert_eq!(
        problem(password("http://iam.test")),
        "the endpoint http://iam.test/ of IAM is not https; over http every secret of a request \
         can be read on the way, so that is only for this machine"
    );
    for address in ["https://u:PW-s3cr3t@iam.test", "ftp://iam.test", "https://", "a b"] {
        assert_eq!(
            problem(password(address)),
            "the endpoint of IAM must be an address such as https://iam.example.com",
            "{address}"
        );
    }
}
