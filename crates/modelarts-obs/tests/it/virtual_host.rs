//! Tests of requests to OBS with the bucket in the host name, over an encrypted connection. A child
//! process sends the requests. Its variables contain the address of a proxy, which also acts as
//! OBS.

use std::{
    process::Command,
    sync::{Arc, Mutex},
};

use modelarts_ext::{Client, Credentials, RetryPolicy};
use modelarts_obs::Obs;
use rcgen::{CertificateParams, KeyPair};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, pem::PemObject},
    },
};

const CERTIFICATE: &str = "MODELARTS_OBS_TEST_CERTIFICATE";
/// Environment variable that is set if the endpoint of ModelArts is on this machine.
const LOCAL: &str = "MODELARTS_OBS_TEST_LOCAL";
const HOST: &str = "my-bucket.obs.eu-de.otc.t-systems.com";

/// Reads a request without a body.
async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Starts a proxy for one connection, which also acts as the server behind it. Returns its address,
/// its certificate, and the requests that it received.
async fn proxy() -> (String, String, Arc<Mutex<Vec<String>>>) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([HOST.to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let private = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&requests);
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let connect = read_head(&mut stream).await;
        received.lock().unwrap().push(connect);
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let mut stream = acceptor.accept(stream).await.unwrap();
        let get = read_head(&mut stream).await;
        received.lock().unwrap().push(get);
        let response = "HTTP/1.1 200 OK\r\ncontent-length: 8\r\netag: \"1\"\r\nlast-modified: Thu, \
                        15 Jan 2026 08:30:45 GMT\r\n\r\ncontents";
        stream.write_all(response.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        let _ = stream.read_u8().await;
    });
    (address, certificate.pem(), requests)
}

#[tokio::test]
async fn the_bucket_is_part_of_the_host() {
    request_in_a_child("virtual_host::the_bucket_is_part_of_the_host", false).await;
}

#[tokio::test]
async fn obs_in_the_network_is_reached_beside_a_service_on_this_machine() {
    let name = "virtual_host::obs_in_the_network_is_reached_beside_a_service_on_this_machine";
    request_in_a_child(name, true).await;
}

/// Runs a test again in a child process, which sends a request, and checks the request. With
/// `local`, the endpoint of ModelArts is on this machine.
async fn request_in_a_child(name: &'static str, local: bool) {
    if let Ok(certificate) = std::env::var(CERTIFICATE) {
        let mut client = Client::builder().region("eu-de");
        if std::env::var_os(LOCAL).is_some() {
            client = client.endpoint("http://127.0.0.1:1");
        }
        let client = client
            .project_id("p")
            .credentials(Credentials::keys("AK", "SK"))
            .root_certificate(certificate)
            .retry(RetryPolicy::none())
            .build()
            .unwrap();
        let bucket = Obs::new(&client).unwrap().bucket("my-bucket").unwrap();
        assert_eq!(bucket.get("data/a b").await.unwrap(), "contents");
        return;
    }
    let (address, certificate, requests) = proxy().await;
    let output = tokio::task::spawn_blocking(move || {
        Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact"])
            .envs(local.then_some((LOCAL, "1")))
            .env(CERTIFICATE, certificate)
            .envs(["HTTPS_PROXY", "https_proxy"].map(|name| (name, &address)))
            .envs(["NO_PROXY", "no_proxy"].map(|name| (name, "")))
            .output()
            .unwrap()
    })
    .await
    .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let requests = requests.lock().unwrap();
    let lines = |index: usize| requests[index].lines();
    assert_eq!(lines(0).next(), Some(format!("CONNECT {HOST}:443 HTTP/1.1").as_str()));
    assert_eq!(lines(1).next(), Some("GET /data/a%20b HTTP/1.1"));
    assert!(lines(1).any(|line| line == format!("host: {HOST}")));
    let signed = |line: &str| line.contains("/eu-de/s3/aws4_request") && line.contains("host;");
    assert!(lines(1).any(signed), "{}", requests[1]);
}
