//! Tests of the address of OBS: settings, variables, files, and invalid addresses; and of the HTTP
//! client.

use std::sync::{Arc, Mutex};

use modelarts_ext::{Client, Credentials, ErrorKind, config::Environment};
use modelarts_obs::Obs;
use tokio_rustls::rustls::crypto::ring;

use crate::{
    fake_server::{FakeServer, reply},
    support::{bucket_with, builder, object, safe_message},
};

/// Returns the address for these variables, with `home` as the home directory.
fn address(home: &std::path::Path, variables: &[(&'static str, &str)]) -> Result<String, String> {
    let variables: Vec<_> =
        variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let find = move |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone())
    };
    let client = Client::builder()
        .environment(Environment::new(find).home(home))
        .project_id("p")
        .credentials(Credentials::keys("AK", "SK-s3cr3t"))
        .build()
        .unwrap();
    match Obs::new(&client) {
        Ok(obs) => Ok(obs.address()),
        Err(error) => Err(safe_message(&error)),
    }
}

#[test]
fn the_address_is_that_of_the_variables_or_of_the_region() {
    let home = tempfile::tempdir().unwrap();
    let of = |variables: &[(&'static str, &str)]| address(home.path(), variables).unwrap();
    let otc = "https://obs.eu-de.otc.t-systems.com";
    assert_eq!(of(&[("MODELARTS_REGION", "eu-de")]), otc);
    assert_eq!(
        of(&[("HUAWEICLOUD_SDK_REGION", "cn-north-4")]),
        "https://obs.cn-north-4.myhuaweicloud.com"
    );
    // An address of ModelArts in one of the clouds contains the region.
    let endpoint = ("MODELARTS_ENDPOINT", "https://modelarts.eu-nl.otc.t-systems.com");
    assert_eq!(of(&[endpoint]), "https://obs.eu-nl.otc.t-systems.com");

    let region = ("MODELARTS_REGION", "eu-de");
    let of_region = ("HUAWEICLOUD_SDK_REGION_OBS_EU_DE", "https://obs-private.example.com");
    let file = home.path().join(".huaweicloud/regions.yaml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "obs:\n- id: eu-de\n  endpoint: https://obs-file.example.com\n").unwrap();
    assert_eq!(of(&[region]), "https://obs-file.example.com");
    assert_eq!(of(&[region, of_region]), "https://obs-private.example.com");
    for (given, expected) in [
        ("https://obs.example.com:8443", "https://obs.example.com:8443"),
        ("obs.example.com/", "https://obs.example.com"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("http://[::1]:9000/", "http://[::1]:9000"),
        ("file:///data/obs", "file:///data/obs"),
    ] {
        let variable = ("MODELARTS_OBS_ENDPOINT", given);
        assert_eq!(of(&[region, of_region, variable]), expected);
    }
    std::fs::write(&file, "obs: [").unwrap();
    let error = address(home.path(), &[endpoint, region]).unwrap_err();
    assert!(error.starts_with(&file.display().to_string()), "{error}");
}

#[test]
fn an_unknown_address_names_the_variables() {
    let home = tempfile::tempdir().unwrap();
    for endpoint in ["http://127.0.0.1:1", "https://modelarts.example.com"] {
        assert_eq!(
            address(home.path(), &[("MODELARTS_ENDPOINT", endpoint)]).unwrap_err(),
            "no address of OBS; set MODELARTS_OBS_ENDPOINT, or MODELARTS_REGION to the region of \
             the bucket"
        );
    }
}

#[test]
fn invalid_addresses_name_their_rule() {
    let client = builder().build().unwrap();
    for (address, message) in [
        (
            "http://obs.example.com",
            "the address of OBS \"http://obs.example.com\" must begin with https://, because it \
             is not on this machine",
        ),
        (
            "ftp://obs.example.com",
            "the address of OBS \"ftp://obs.example.com\" must begin with https://, http:// or \
             file://",
        ),
        (
            "https://obs.example.com/my-bucket",
            "the address of OBS \"https://obs.example.com/my-bucket\" must be only a scheme and a \
             host, such as https://obs.eu-de.otc.t-systems.com",
        ),
        (
            "https://user:s3cr3t@obs.example.com",
            "the address of OBS \"obs.example.com\" must be only a scheme and a host, such as \
             https://obs.eu-de.otc.t-systems.com",
        ),
        (
            "https://obs.example.com?key=s3cr3t",
            "the address of OBS \"https://obs.example.com\" must be only a scheme and a host, such \
             as https://obs.eu-de.otc.t-systems.com",
        ),
        ("https://user:s3cr3t@:1", "the address of OBS \":1\" is no URL: empty host"),
        ("", "the address of OBS \"\" is no URL: empty host"),
        (
            "file://data/obs",
            "the address of OBS \"file://data/obs\" must name an absolute path, such as \
             file:///data/obs",
        ),
    ] {
        let error = Obs::with_address(&client, address).unwrap_err();
        assert_eq!(safe_message(&error), message, "{address}");
        assert_eq!(error.kind(), ErrorKind::Config);
    }
}

#[test]
fn names_of_buckets_are_checked() {
    let client = builder().build().unwrap();
    let obs = Obs::with_address(&client, "https://obs.example.com").unwrap();
    assert_eq!(
        obs.bucket("My_Bucket").err().unwrap().to_string(),
        "the bucket \"My_Bucket\" must have 3 to 63 lower-case letters, digits, hyphens and dots, \
         and begin and end with a letter or a digit"
    );
    assert_eq!(
        obs.bucket("my.bucket").err().unwrap().to_string(),
        "the bucket \"my.bucket\" must not contain dots, because the certificate of OBS does not \
         cover its address"
    );
    // A bucket whose name is in the path, and not in the host name, may have dots.
    let local = Obs::with_address(&client, "http://127.0.0.1:9000").unwrap();
    assert_eq!(local.bucket("my.bucket").unwrap().name(), "my.bucket");
    let bucket = obs.bucket("my-bucket").unwrap();
    assert_eq!(bucket.path("a/b").unwrap().to_string(), "obs://my-bucket/a/b");
    assert_eq!(format!("{obs:?}"), "Obs { address: \"https://obs.example.com\", .. }");
}

/// The address has no port, so only the HTTP client of the test can reach it.
#[tokio::test]
async fn the_http_client_and_the_observer_of_the_client_are_used() {
    let _ = ring::default_provider().install_default();
    let server = FakeServer::start(|request| match request.line().starts_with("HEAD") {
        true => reply(503, ""),
        false => object("contents"),
    });
    let server = server.await;
    let address = server.url["http://".len()..].parse().unwrap();
    let http = reqwest::Client::builder().no_proxy().resolve("my-bucket.obs.localhost", address);
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    let client = builder().http_client(http.build().unwrap()).on_attempt(move |attempt| {
        seen.lock().unwrap().push(format!("{}: {:?}", attempt.operation, attempt.result));
    });
    let bucket = bucket_with(client, "http://obs.localhost");
    assert_eq!(bucket.get("key").await.unwrap(), "contents");
    bucket.head("key").await.unwrap_err();
    assert_eq!(*lines.lock().unwrap(), ["OBS GET: Ok(200)", "OBS HEAD: Ok(503)"]);
}
