//! Keys, tokens and hosts.

use std::time::Duration;

use futures::TryStreamExt;
use modelarts_emulator::{Emulator, StartError, User};
use object_store::{ObjectStore, ObjectStoreExt, aws::AmazonS3Builder, path::Path, signer::Signer};
use reqwest::Method;
use serde_json::{Value, json};

use crate::obs::{Connector, ObsClient, ObsReply, ObsSite, manual_clock};

#[tokio::test]
async fn only_the_keys_of_the_users_are_accepted() {
    let user = |name: &str, key: &str| {
        let mut user = User::new(name);
        user.access_key = key.to_owned();
        user.secret_key = format!("secret of {name}");
        user
    };
    let site = ObsSite::with(|builder| builder.user(user("ann", "A")).user(user("bob", "B"))).await;
    let bob = ObsClient {
        access_key: "B".to_owned(),
        secret_key: "secret of bob".to_owned(),
        ..site.client.clone()
    };
    let list = bob.get("/").await;
    assert_eq!((list.status.as_u16(), list.one("DisplayName").as_str()), (200, "bob"));
    let wrong = ObsClient { secret_key: "other".to_owned(), ..site.client.clone() };
    wrong.get("/").await.refused(403, "SignatureDoesNotMatch");
    let unknown = ObsClient { access_key: "C".to_owned(), ..site.client.clone() };
    unknown.get("/").await.refused(403, "InvalidAccessKeyId");
    let unsigned = site.client.http.get(format!("{}/bucket", site.client.url)).send().await;
    let unsigned = ObsReply::of(unsigned.unwrap()).await;
    unsigned.refused(403, "AccessDenied");
    // Refused requests are not counted.
    assert_eq!(site.emulator.requests()["obs.ListBuckets"].received, 1);
}

/// Returns keys for 15 minutes, issued for the token `t`.
async fn temporary_keys(site: &ObsSite) -> Value {
    let body =
        json!({"auth": {"identity": {"methods": ["token"], "token": {"duration_seconds": 900}}}});
    let url = format!("{}/v3.0/OS-CREDENTIAL/securitytokens", site.emulator.url());
    let issued = site.client.http.post(url).header("x-auth-token", "t").body(body.to_string());
    let issued = ObsReply::of(issued.send().await.unwrap()).await.body;
    serde_json::from_slice(&issued).unwrap()
}

#[tokio::test]
async fn temporary_keys_go_with_their_token_and_end() {
    let clock = manual_clock();
    let site = ObsSite::with(|builder| builder.clock(clock.clone()).token("t")).await;
    let issued = temporary_keys(&site).await;
    let text = |name: &str| issued["credential"][name].as_str().unwrap().to_owned();
    let with = |token: Option<&str>| ObsClient {
        access_key: text("access"),
        secret_key: text("secret"),
        token: token.map(str::to_owned),
        ..site.client.clone()
    };
    let token = text("securitytoken");
    assert_eq!(with(Some(&token)).get("/bucket").await.status, 200);
    with(None).get("/bucket").await.refused(403, "InvalidAccessKeyId");
    with(Some("x")).get("/bucket").await.refused(400, "InvalidToken");
    clock.advance(Duration::from_secs(900));
    let expired = with(Some(&token)).get("/bucket").await;
    expired.refused(400, "ExpiredToken");
}

#[tokio::test]
async fn presigned_requests_need_no_headers() {
    let site = ObsSite::start().await;
    let path = Path::from("a b+c/ü");
    let store = site.store();
    store.put(&path, "hello".into()).await.unwrap();
    let life = Duration::from_secs(60);
    let url = store.signed_url(Method::GET, &path, life).await.unwrap();
    let read = site.client.http.get(url.clone()).send().await.unwrap();
    assert_eq!(read.text().await.unwrap(), "hello");
    let written = store.signed_url(Method::PUT, &path, life).await.unwrap();
    let written = site.client.http.put(written).body("new").send().await.unwrap();
    assert_eq!(written.status(), 200);
    assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), "new");
    let other = url.as_str().replace("X-Amz-Expires=60", "X-Amz-Expires=61");
    let refused = ObsReply::of(site.client.http.get(other).send().await.unwrap()).await;
    refused.refused(403, "SignatureDoesNotMatch");
}

#[tokio::test]
async fn the_log_masks_signatures_and_tokens_in_queries() {
    for shows in [false, true] {
        let site = ObsSite::with(|builder| builder.token("t").show_secrets(shows)).await;
        let issued = temporary_keys(&site).await;
        let text = |name: &str| issued["credential"][name].as_str().unwrap();
        let store = AmazonS3Builder::new()
            .with_http_connector(Connector)
            .with_endpoint(site.emulator.obs_url())
            .with_allow_http(true)
            .with_bucket_name("bucket")
            .with_region("cn-north-4")
            .with_access_key_id(text("access"))
            .with_secret_access_key(text("secret"))
            .with_token(text("securitytoken"))
            .build()
            .unwrap();
        let (path, life) = (Path::from("k"), Duration::from_secs(60));
        let url = store.signed_url(Method::PUT, &path, life).await.unwrap();
        let written = site.client.http.put(url.clone()).send().await.unwrap();
        assert_eq!(written.status(), 200);
        let sent = url.query().unwrap().to_owned();
        let secrets = ["X-Amz-Signature=", "X-Amz-Security-Token="];
        let masked = sent.split('&').map(|pair| {
            let secret = secrets.iter().find(|it| pair.starts_with(**it));
            secret.map_or(pair.to_owned(), |name| format!("{name}***"))
        });
        let masked = masked.collect::<Vec<_>>().join("&");
        assert_eq!(masked.matches("***").count(), 2, "{masked}");
        let log = site.emulator.last_requests();
        let logged = log.iter().find(|it| it.operation == "obs.PutObject");
        let expected = if shows { sent } else { masked };
        assert_eq!(logged.unwrap().query, expected);
    }
}

/// Sends `GET /bucket` with a signature of the canonical request at `now`. `date` is the name and
/// the value of the header with the date.
async fn signed_get(
    site: &ObsSite,
    now: jiff::Timestamp,
    date: (&str, &str),
    (names, canonical): (&str, &str),
) -> ObsReply {
    use sha2::{Digest, Sha256};
    let long = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let scope = format!("{}/cn-north-4/s3/aws4_request", &long[..8]);
    let canonical = modelarts_api::hex::encode(&Sha256::digest(canonical));
    let text = format!("AWS4-HMAC-SHA256\n{long}\n{scope}\n{canonical}");
    let signature = crate::obs::signature(&site.client.secret_key, &scope, &text);
    let key = &site.client.access_key;
    let request = site.client.http.get(format!("{}/bucket", site.client.url));
    let request =
        request.header(date.0, date.1).header("x-amz-content-sha256", "UNSIGNED-PAYLOAD").header(
            "authorization",
            format!(
                "AWS4-HMAC-SHA256 \
                 Credential={key}/{scope},SignedHeaders={names},Signature={signature}"
            ),
        );
    ObsReply::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn a_date_header_can_take_the_place_of_x_amz_date() {
    let site = ObsSite::start().await;
    let now = jiff::Timestamp::now();
    let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let host = site.client.url.strip_prefix("http://").unwrap();
    let names = "date;host;x-amz-content-sha256";
    let canonical = format!(
        "GET\n/bucket\n\ndate:{date}\nhost:{host}\nx-amz-content-sha256:UNSIGNED-PAYLOAD\n\n\
         {names}\nUNSIGNED-PAYLOAD"
    );
    let reply = signed_get(&site, now, ("date", &date), (names, &canonical)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}

/// The signature was made by Python's `hmac`.
#[tokio::test]
async fn a_signature_v2_is_valid_for_15_minutes() {
    let site = ObsSite::with(|builder| builder.access_key("A").secret_key("S")).await;
    let url = format!("{}/bucket", site.client.url);
    let request = site.client.http.get(url);
    let request = request
        .header("date", "Tue, 27 Mar 2007 19:36:42 +0000")
        .header("authorization", "AWS A:6U3VzeQP7v2dRebQsv/fVXQa3nU=");
    let reply = ObsReply::of(request.send().await.unwrap()).await;
    reply.refused(403, "RequestTimeTooSkewed");
}

#[tokio::test]
async fn the_host_and_all_amz_headers_are_signed() {
    let site = ObsSite::start().await;
    site.write("secret", "content");
    let put = site.request(Method::PUT, "/bucket/new", &[], b"");
    let put = put.header("x-amz-copy-source", "bucket/secret");
    let reply = ObsReply::of(put.send().await.unwrap()).await;
    reply.refused(403, "AccessDenied");
    assert!(reply.one("Message").contains("x-amz-copy-source"), "{}", reply.text());
    assert_eq!(site.get("/bucket/new").await.status, 404);

    let now = jiff::Timestamp::now();
    let names = "x-amz-content-sha256;x-amz-date";
    let date = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let canonical = format!(
        "GET\n/bucket\n\nx-amz-content-sha256:UNSIGNED-PAYLOAD\nx-amz-date:{date}\n\n\
         {names}\nUNSIGNED-PAYLOAD"
    );
    let reply = signed_get(&site, now, ("x-amz-date", &date), (names, &canonical)).await;
    reply.refused(403, "AccessDenied");
    assert!(reply.one("Message").contains("host"), "{}", reply.text());
}

#[tokio::test]
async fn a_presigned_request_is_valid_for_seven_days_at_most() {
    let site = ObsSite::start().await;
    let store = site.store();
    let path = Path::from("k");
    store.put(&path, "hello".into()).await.unwrap();
    for (seconds, status, code) in
        [(604_800, 200, ""), (604_801, 400, "AuthorizationQueryParametersError")]
    {
        let life = Duration::from_secs(seconds);
        let url = store.signed_url(Method::GET, &path, life).await.unwrap();
        let read = site.client.http.get(url).send().await;
        let read = ObsReply::of(read.unwrap()).await;
        assert_eq!(read.error(), (status, code.to_owned()));
    }
}

#[tokio::test]
async fn the_address_is_a_loopback_address() {
    let started = Emulator::builder().obs_listen(([0, 0, 0, 0], 0).into());
    let error = started.start().await.unwrap_err();
    assert!(matches!(error, StartError::NotLoopback(_)), "{error}");
    let site = ObsSite::with(|builder| builder.obs_listen(([127, 0, 0, 2], 0).into())).await;
    assert!(site.emulator.obs_url().starts_with("http://127.0.0.2:"));
    assert_eq!(site.get("/bucket").await.status, 200);
}

#[tokio::test]
async fn a_host_is_loopback_or_a_bucket_below_localhost() {
    let site = ObsSite::start().await;
    site.write("k", "hello");
    let port = site.client.url.rsplit_once(':').unwrap().1;
    let foreign = format!("bucket.example.com:{port}");
    let reply = site.send(Method::GET, "/bucket/k", &[("host", &foreign)], b"").await;
    reply.refused(403, "AccessDenied");
    let origin = [("origin", "http://example.com")];
    let reply = site.send(Method::GET, "/bucket/k", &origin, b"").await;
    reply.refused(403, "AccessDenied");
    let localhost = format!("localhost:{port}");
    let reply = site.send(Method::GET, "/bucket/k", &[("host", &localhost)], b"").await;
    assert_eq!(reply.text(), "hello");
    let virtual_hosted = format!("bucket.localhost:{port}");
    let reply = site.send(Method::GET, "/k", &[("host", &virtual_hosted)], b"").await;
    assert_eq!(reply.text(), "hello");
    // The store of another crate lists what it has put.
    let listed: Vec<_> = site.store().list(None).try_collect().await.unwrap();
    assert_eq!(listed.len(), 1);
}
