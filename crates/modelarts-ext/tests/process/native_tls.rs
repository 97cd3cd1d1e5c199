//! TLS by the library of the platform, with a server whose certificate is signed by a private
//! authority.

use modelarts_ext::{Client, Credentials, ErrorKind};

use crate::{support::errors::refused, tls_server::Authority};

#[tokio::test]
async fn an_added_root_is_trusted() {
    let authority = Authority::new("ours");
    let server = authority.server(&["localhost", "127.0.0.1"]).await;
    // One file has several certificates, and the second one is needed.
    let bundle = format!("{}{}", Authority::new("another").pem, authority.pem);
    for (host, pem, done) in [
        ("localhost", &authority.pem, 1),
        ("127.0.0.1", &authority.pem, 2),
        ("localhost", &bundle, 3),
    ] {
        let client = server.client(host).root_certificate(pem.as_str());
        let client = client.build().unwrap();
        let jobs = client.training_jobs().list().collect(10).await.unwrap();
        assert_eq!(jobs.len(), 0);
        assert_eq!(server.counts(), (done, done));
    }
}

#[tokio::test]
async fn another_authority_is_refused_and_not_tried_again() {
    let server = Authority::new("ours").server(&["localhost"]).await;
    let client = server.client("localhost").build().unwrap();
    let error = refused(client.training_jobs().list().collect(10).await);
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert_eq!(error.attempts(), 1);
    assert!(!error.is_retryable());
    assert_eq!(server.counts(), (1, 0));
}

#[test]
fn an_invalid_root_certificate_is_reported() {
    let good = Authority::new("another").pem;
    for pem in ["", "hello", &good[..good.len() / 2]] {
        let client = Client::builder()
            .endpoint("https://localhost")
            .project_id("p")
            .credentials(Credentials::keys("AK", "SK"))
            .root_certificate(pem);
        assert_eq!(refused(client.build()).kind(), ErrorKind::Config, "{pem}");
    }
}
