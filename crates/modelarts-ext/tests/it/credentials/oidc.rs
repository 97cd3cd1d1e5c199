//! Tests of keys that are obtained with an identity token.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use modelarts_ext::{ErrorKind, credentials::FetchCredentials};
use serde_json::{Value, json};

use super::{
    fixtures::{ProviderBench, got, oidc, safe_message, sent, temporary},
    manual_clock::{hours, minutes, start},
};
use crate::support::{
    environment::TestEnvironment,
    fake_server::{FakeServer, closed_address, reply},
};

#[tokio::test]
async fn an_identity_token_becomes_keys_and_its_file_is_read_each_time() {
    let place = TestEnvironment::new().file("token", "ID-s3cr3t-1\n");
    let count = AtomicUsize::new(0);
    let sts = FakeServer::start(move |_| {
        let now = count.fetch_add(1, Ordering::SeqCst) as u32 + 1;
        let keys = temporary(&now.to_string(), start() + hours(1) * now);
        reply(201, json!({"credentials": keys}))
    })
    .await;
    let login = oidc(&sts.url, &place.path("token"))
        .session_name("night")
        .duration(hours(1))
        .policy("{}")
        .policy_ids(["a", "b"]);
    let bench = ProviderBench::new(login.into_provider());
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    let asked = sent(bench.get().await.unwrap()).await;
    let authorization = asked.header("authorization").unwrap();
    assert!(authorization.starts_with("SDK-HMAC-SHA256 Access=AK-1, "), "{authorization}");

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
async fn messages_of_sts_are_reported() {
    let place = TestEnvironment::new().file("token", "ID-s3cr3t").file("empty", " \n");
    let file = place.path("token");
    let error_of = async |status, body: Value| {
        let sts = FakeServer::start(move |_| reply(status, &body)).await;
        let error = ProviderBench::new(oidc(&sts.url, &file).into_provider()).fails().await;
        safe_message(&error).replace(&sts.url, "URL")
    };
    assert_eq!(
        error_of(
            403,
            json!({"error_code": "STS.0001", "error_msg": "no ID-s3cr3t", "request_id": "r"})
        )
        .await,
        "STS at URL gives no keys for the agency urn:agency: no *** (STS.0001, HTTP 403); check \
         the URNs of provider and agency, that the trust policy of the agency admits the identity \
         token, and that the token has not expired"
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
        let sts = closed_address();
        let bench = ProviderBench::new(oidc(&sts, &place.path(file)).into_provider());
        let error = bench.fails().await;
        assert_eq!(place.short(safe_message(&error)), text);
        assert_eq!(error.kind(), ErrorKind::Credentials);
    }
}
