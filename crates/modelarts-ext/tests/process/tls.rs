//! Tests of TLS handshakes with a server whose certificate is signed by a private authority.

use modelarts_ext::{Client, Credentials, ErrorKind};
use rcgen::KeyPair;
use serde_json::json;
use tokio_rustls::rustls::crypto::CryptoProvider;

use crate::{
    child::{child, is_child},
    support::{
        clock::TestClock,
        errors::{message, refused},
        server::{Server, json_answer},
        site::Site,
    },
    tls_server::Authority,
};

/// Advice for a certificate of an authority that is not trusted.
const UNKNOWN_ISSUER: &str = "the authority that signed the certificate is not trusted: add its \
    certificate to those of the system, or name a file with all trusted certificates in the \
    variable SSL_CERT_FILE; a program may also call `ClientBuilder::root_certificate`";

/// Panics if this process has a default provider: the SDK must leave its choice to the program.
fn no_default_provider() {
    assert!(CryptoProvider::get_default().is_none());
}

#[tokio::test]
async fn an_added_root_is_trusted() {
    no_default_provider();
    let authority = Authority::new("ours");
    let server = authority.server(&["localhost", "127.0.0.1"]).await;
    for (host, done) in [("localhost", 1), ("127.0.0.1", 2)] {
        let client = server.client(host).root_certificate(authority.pem.clone());
        let client = client.build().unwrap();
        let jobs = client.training_jobs().list().collect(10).await.unwrap();
        assert_eq!(jobs.len(), 0);
        assert_eq!(server.counts(), (done, done));
    }
    // The file contains several certificates, and a further certificate is added separately.
    let bundle = format!("{}{}", Authority::new("another").pem, authority.pem);
    let client = server
        .client("localhost")
        .root_certificate(Authority::new("another").pem)
        .root_certificate(bundle);
    let client = client.build().unwrap();
    client.training_jobs().list().collect(10).await.unwrap();
    assert_eq!(server.counts(), (3, 3));
    no_default_provider();
}

#[tokio::test]
async fn another_authority_is_refused_and_not_tried_again() {
    no_default_provider();
    let authority = Authority::new("ours");
    let server = authority.server(&["localhost"]).await;
    let place = format!("https://localhost:{}", server.port);
    let clients = [
        server.client("localhost"),
        server.client("localhost").root_certificate(Authority::new("another").pem),
    ];
    for (client, connections) in clients.into_iter().zip(1..) {
        let client = client.build().unwrap();
        let error = refused(client.training_jobs().list().collect(10).await);
        assert_eq!(
            message(&error),
            format!(
                "ListTrainingJobs: cannot connect to {place}: invalid peer \
                 certificate: UnknownIssuer; {UNKNOWN_ISSUER}"
            )
        );
        assert_eq!(error.kind(), ErrorKind::Connection);
        assert_eq!(error.attempts(), 1);
        assert_eq!(server.counts(), (connections, 0));
        assert!(!error.is_retryable());
    }
    no_default_provider();
}

/// Tests the advice for a certificate of an authority that is not trusted.
#[tokio::test]
async fn a_file_with_certificates_is_named_by_a_variable() {
    const ADDRESS: &str = "MODELARTS_TEST_TLS_ADDRESS";
    if is_child() {
        let client = Client::builder()
            .endpoint(std::env::var(ADDRESS).unwrap())
            .project_id("p")
            .credentials(Credentials::keys("AK", "SK"))
            .build()
            .unwrap();
        client.training_jobs().list().collect(10).await.unwrap();
        return;
    }
    let authority = Authority::new("ours");
    let server = authority.server(&["localhost"]).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &authority.pem).unwrap();
    let address = format!("https://localhost:{}", server.port);
    let path = file.path().to_str().unwrap().to_owned();
    let ran = tokio::task::spawn_blocking(move || {
        child(
            "tls::a_file_with_certificates_is_named_by_a_variable",
            &[("SSL_CERT_FILE", path.as_str()), (ADDRESS, &address)],
        );
    });
    ran.await.unwrap();
    assert_eq!(server.counts(), (1, 1));
}

#[tokio::test]
async fn a_server_without_tls_on_this_machine_is_explained() {
    let site = Site::start().await;
    let http = site.emulator.url();
    let https = http.replacen("http", "https", 1);
    let client = site.client().endpoint(&https).build().unwrap();
    let error = refused(client.training_jobs().list().collect(10).await);
    assert_eq!(
        message(&error),
        format!(
            "ListTrainingJobs: cannot connect to {https}: received corrupt message of type \
             InvalidContentType; the server on this machine responds without TLS; set the endpoint \
             to {http}"
        )
    );
    assert_eq!(error.attempts(), 1);
}

/// The service is reached over http on this machine, as through a proxy of the user, and returns a
/// link to another machine.
#[tokio::test]
async fn a_log_behind_https_is_read_although_the_endpoint_is_http() {
    no_default_provider();
    let authority = Authority::new("ours");
    let obs = authority.server(&["localhost"]).await;
    let link = json!({"obs_url": format!("https://localhost:{}/log?Signature=s", obs.port)});
    let link = json_answer("200 OK", "", &link.to_string());
    let details = json!({"metadata": {"id": "j", "name": "n"}, "status": {"phase": "Running"}});
    let details = json_answer("200 OK", "", &details.to_string());
    let service = Server::start([details, link]).await;
    let client = service.client(&TestClock::new());
    let client = client.root_certificate(authority.pem.clone()).build().unwrap();
    let job = client.training_jobs().get("j").await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = job.logs("worker-0").download(&path).await.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\"total\":0"), "{text}");
    assert_eq!((log.bytes, log.lines), (text.len() as u64, 1));
    assert_eq!(obs.counts(), (1, 1));
    no_default_provider();
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let authority = Authority::new("ours");
    let server = authority.server(&["elsewhere.test"]).await;
    let place = format!("https://localhost:{}", server.port);
    let client = server.client("localhost").root_certificate(authority.pem);
    let error = refused(client.build().unwrap().training_jobs().list().collect(10).await);
    assert_eq!(
        message(&error),
        format!(
            "ListTrainingJobs: cannot connect to {place}: invalid peer \
             certificate: certificate not valid for name \"localhost\"; certificate is only valid \
             for DnsName(\"elsewhere.test\")"
        )
    );
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert_eq!(error.attempts(), 1);
    assert_eq!(server.counts(), (1, 0));
}

#[test]
fn an_invalid_root_certificate_is_reported() {
    let client = || {
        Client::builder()
            .endpoint("https://localhost")
            .project_id("p")
            .credentials(Credentials::keys("AK", "SK"))
    };
    let good = Authority::new("another").pem;
    let cut = &good[..good.len() / 2];
    let broken = good.replacen("MII", "M*I", 1);
    for (pem, text) in [
        ("", "the root certificate holds no certificate in PEM form"),
        ("hello", "the root certificate holds no certificate in PEM form"),
        (cut, "the root certificate is cut off or is no valid PEM"),
        (&broken, "the root certificate is cut off or is no valid PEM"),
        (
            &KeyPair::generate().unwrap().serialize_pem(),
            "the root certificate holds no certificate in PEM form",
        ),
    ] {
        let error = refused(client().root_certificate(pem).build());
        assert_eq!(message(&error), text);
        assert_eq!(error.kind(), ErrorKind::Config);
    }
    // A valid certificate does not compensate for an invalid one.
    let both = client().root_certificate(good).root_certificate("hello");
    assert_eq!(refused(both.build()).kind(), ErrorKind::Config);
    no_default_provider();
}

/// HTTP on loopback addresses does not require the certificates of the platform.
#[tokio::test]
async fn http_on_loopback_needs_no_certificates() {
    if is_child() {
        let site = Site::start().await;
        site.client.training_jobs().list().collect(1).await.unwrap();
        no_default_provider();
        return;
    }
    child(
        "tls::http_on_loopback_needs_no_certificates",
        &[("SSL_CERT_FILE", "/nonexistent"), ("SSL_CERT_DIR", "/nonexistent")],
    );
}

/// On a machine without platform certificates, an added root certificate is sufficient for HTTPS.
#[tokio::test]
async fn an_added_root_is_enough() {
    if is_child() {
        let authority = Authority::new("ours");
        let server = authority.server(&["localhost"]).await;
        let client = server.client("localhost").root_certificate(authority.pem);
        let client = client.build().unwrap();
        client.training_jobs().list().collect(10).await.unwrap();
        assert_eq!(server.counts(), (1, 1));
        return;
    }
    child(
        "tls::an_added_root_is_enough",
        &[("SSL_CERT_FILE", "/nonexistent"), ("SSL_CERT_DIR", "/nonexistent")],
    );
}
