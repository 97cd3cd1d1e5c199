//! Tests of the look-up of the user whom the credentials belong to.

use std::sync::atomic::{AtomicUsize, Ordering};

use modelarts_emulator::{Emulator, User};
use modelarts_ext::{
    Client, ClientBuilder, Credentials, ErrorKind,
    credentials::{FetchCredentials, Password},
};
use serde_json::json;

use super::{
    fixtures::{keys, safe_message},
    manual_clock::{ManualClock, minutes},
};
use crate::support::{
    fake_server::{FakeServer, reply},
    server::PROJECT,
};

fn client(iam: &FakeServer, credentials: Credentials) -> Client {
    Client::builder()
        .endpoint("https://modelarts.test")
        .iam_endpoint(&iam.url)
        .project_id(PROJECT)
        .credentials(credentials)
        .clock(ManualClock::still())
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_permanent_key_has_a_user_with_an_id() {
    let credential = json!({"credential": {"access": "AK/1", "user_id": "u1", "status": "active"}});
    let iam = FakeServer::start(move |_| reply(200, credential.clone())).await;
    let user = client(&iam, Credentials::keys("AK/1", "SK-s3cr3t")).current_user().await.unwrap();
    assert_eq!((user.id.as_str(), user.name), ("u1", None));
    let asked = iam.asked().remove(0);
    assert_eq!(asked.line(), "GET /v3.0/OS-CREDENTIAL/credentials/AK%2F1");
    let authorization = asked.header("authorization").unwrap();
    assert!(authorization.starts_with("SDK-HMAC-SHA256 Access=AK/1,"), "{authorization}");
}

#[tokio::test]
async fn a_token_has_a_user_with_id_and_name() {
    let token = json!({"token": {"user": {"id": "u2", "name": "alice"}}});
    let iam = FakeServer::start(move |_| reply(200, token.clone())).await;
    let user = client(&iam, Credentials::token("TK-s3cr3t")).current_user().await.unwrap();
    assert_eq!((user.id.as_str(), user.name.as_deref()), ("u2", Some("alice")));
    let asked = iam.asked().remove(0);
    assert_eq!(asked.line(), "GET /v3/auth/tokens?nocatalog=1");
    assert_eq!(asked.header("x-auth-token"), Some("TK-s3cr3t"));
    assert_eq!(asked.header("x-subject-token"), Some("TK-s3cr3t"));
}

#[tokio::test]
async fn the_user_of_temporary_keys_is_not_requested() {
    let iam = FakeServer::start(|_| reply(500, json!({}))).await;
    let error = client(&iam, keys()).current_user().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credentials);
    assert_eq!(
        safe_message(&error),
        "the credentials are temporary keys, whose user IAM does not return; it must be given by \
         name or id"
    );
    assert!(iam.asked().is_empty());
}

#[tokio::test]
async fn a_refusal_is_an_error_without_secrets() {
    let refusal = json!({"error": {"code": 403, "title": "Forbidden",
                                   "message": "no access for SK-s3cr3t"}});
    let iam = FakeServer::start(move |_| reply(403, refusal.clone())).await;
    let keys = Credentials::keys("AK", "SK-s3cr3t");
    let error = client(&iam, keys).current_user().await.unwrap_err();
    assert_eq!(error.status(), Some(403));
    let message = safe_message(&error);
    assert!(message.contains("does not state the user: no access for ***"), "{message}");
    assert_eq!(iam.asked().len(), 1);
    let iam = FakeServer::start(|_| reply(200, json!({"credential": {"user_id": ""}}))).await;
    let keys = Credentials::keys("AK", "SK-s3cr3t");
    let error = client(&iam, keys).current_user().await.unwrap_err();
    assert!(safe_message(&error).contains("without the id of the user"));
}

#[tokio::test]
async fn a_transient_error_is_repeated() {
    let requests = AtomicUsize::new(0);
    let iam = FakeServer::start(move |_| match requests.fetch_add(1, Ordering::SeqCst) {
        0 => reply(503, json!({})),
        _ => reply(200, json!({"credential": {"user_id": "u1"}})),
    })
    .await;
    let client = Client::builder()
        .endpoint("https://modelarts.test")
        .iam_endpoint(&iam.url)
        .project_id(PROJECT)
        .credentials(Credentials::keys("AK", "SK-s3cr3t"))
        .clock(ManualClock::new(|time| time < minutes(1)))
        .build()
        .unwrap();
    assert_eq!(client.current_user().await.unwrap().id, "u1");
    assert_eq!(iam.asked().len(), 2);
}

#[tokio::test]
async fn the_emulator_states_the_user_of_keys_and_tokens() {
    let mut user = User::new("ann");
    user.id = "0123".to_owned();
    let emulator = Emulator::builder().user(user).password("open sesame").start().await.unwrap();
    let client = ClientBuilder::from_vars(emulator.vars()).build().unwrap();
    let user = client.current_user().await.unwrap();
    assert_eq!((user.id.as_str(), user.name), ("0123", None));
    let login = Password::new(emulator.url(), "ann", "open sesame")
        .domain("emulator")
        .project_id(emulator.project_id());
    let client = Client::builder()
        .endpoint(emulator.url())
        .iam_endpoint(emulator.url())
        .credentials(login.into_provider())
        .connect()
        .await
        .unwrap();
    let user = client.current_user().await.unwrap();
    assert_eq!((user.id.as_str(), user.name.as_deref()), ("0123", Some("ann")));
    emulator.shutdown().await;
}
