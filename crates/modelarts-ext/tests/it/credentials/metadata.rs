//! Tests of keys from the metadata service.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures::future::join;
use modelarts_ext::credentials::{FetchCredentials, Metadata, ProvideCredentials};
use serde_json::json;

use super::{
    fixtures::{ProviderBench, got, safe_message, temporary},
    manual_clock::{hours, start, timestamp},
};
use crate::support::fake_server::{FakeServer, reply};

#[tokio::test]
async fn metadata_are_requested_in_a_session() {
    let service = FakeServer::start(|asked| match asked.line().as_str() {
        "PUT /meta-data/latest/api/token" => reply(200, "SE-s3cr3t\n"),
        _ => reply(
            200,
            json!({"credential": {
                "access": "AK-1",
                "secret": "SK-s3cr3t-1",
                "securitytoken": "ST-s3cr3t-1",
                "expires_at": timestamp(start() + hours(2)),
            }}),
        ),
    })
    .await;
    let bench = ProviderBench::new(Metadata::new().address(&service.url).into_provider());
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    let asked = service.asked();
    assert_eq!(
        service.lines(),
        ["PUT /meta-data/latest/api/token", "GET /openstack/latest/securitykey"]
    );
    let ttl = asked[0].header("x-metadata-token-ttl-seconds");
    assert_eq!(ttl, Some("21600"));
    assert_eq!(asked[1].header("x-metadata-token"), Some("SE-s3cr3t"));
}

#[tokio::test]
async fn metadata_without_sessions_and_with_ended_ones_are_read() {
    for status in [404, 405, 503] {
        let service = FakeServer::start(move |asked| match asked.method.as_str() {
            "PUT" => reply(status, "no"),
            _ => reply(200, temporary("1", start() + hours(1))),
        })
        .await;
        let bench = ProviderBench::new(Metadata::new().address(&service.url).into_provider());
        assert_eq!(got(&bench).await, "ST-s3cr3t-1");
        assert_eq!(service.asked()[1].header("x-metadata-token"), None);
    }
    let count = AtomicUsize::new(0);
    let service = FakeServer::start(move |asked| {
        match (asked.method.as_str(), asked.header("x-metadata-token")) {
            ("PUT", _) => reply(200, format!("S{}", count.fetch_add(1, Ordering::SeqCst))),
            (_, Some("S1")) => reply(200, temporary("1", start() + hours(1))),
            _ => reply(401, "expired"),
        }
    })
    .await;
    let bench = ProviderBench::new(Metadata::new().address(&service.url).into_provider());
    assert_eq!(got(&bench).await, "ST-s3cr3t-1");
    assert_eq!(service.asked().len(), 4);
}

#[tokio::test]
async fn missing_metadata_are_reported() {
    let fails = async |session, status, text: &'static str| {
        let service = FakeServer::start(move |asked| match asked.method.as_str() {
            "PUT" => reply(session, "S"),
            _ => reply(status, text),
        })
        .await;
        let error =
            ProviderBench::new(Metadata::new().address(&service.url).into_provider()).fails().await;
        let text = safe_message(&error).replace(&service.url, "URL");
        (text, service.asked().len())
    };
    assert_eq!(
        fails(200, 401, "Please configure Cloud Service Agency first").await,
        (
            "the metadata service at URL gives no keys: Please configure Cloud Service Agency \
             first (HTTP 401); attach an agency to this server"
                .to_owned(),
            2
        )
    );
    assert_eq!(
        fails(200, 404, "").await,
        ("the metadata service at URL gives no keys: it gave no reason (HTTP 404)".to_owned(), 2)
    );
    assert_eq!(
        fails(400, 200, "").await,
        ("the metadata service at URL begins no session: S (HTTP 400)".to_owned(), 1)
    );
    let service = FakeServer::closed(|_| reply(200, "")).await;
    let bench = ProviderBench::new(Metadata::new().address(&service.url).into_provider());
    let (error, ()) = join(bench.fails(), async {
        service.arrived(1).await;
        bench.clock.advance(Duration::from_secs(3));
    })
    .await;
    assert_eq!(
        safe_message(&error),
        format!("the metadata service at {} did not answer within 3s", service.url)
    );
    let far = Metadata::new().address("http://metadata.test").into_provider();
    assert_eq!(
        safe_message(&far.check().unwrap_err()),
        "the metadata service http://metadata.test is neither on this machine nor link-local nor \
         https"
    );
    Metadata::new().into_provider().check().unwrap();
}
