//! TLS server with a certificate of a private authority.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use modelarts_ext::{Client, ClientBuilder, Credentials};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tokio::{io::AsyncWriteExt, net::TcpListener};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, pem::PemObject},
    },
};

use crate::support::{clock::TestClock, server::read_request};

/// A certificate authority that no platform trusts.
pub(crate) struct Authority {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self { pem: certificate.pem(), issuer: Issuer::new(params, key) }
    }

    /// Starts a server with a certificate for these names, which returns an empty list for every
    /// request.
    pub(crate) async fn server(&self, names: &[&str]) -> TlsServer {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let params = CertificateParams::new(names).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let private = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let handshakes = Arc::new(AtomicUsize::new(0));
        let connections = Arc::new(AtomicUsize::new(0));
        let (done, seen) = (Arc::clone(&handshakes), Arc::clone(&connections));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                seen.fetch_add(1, Ordering::SeqCst);
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    continue;
                };
                done.fetch_add(1, Ordering::SeqCst);
                read_request(&mut stream).await.unwrap();
                let body = r#"{"total":0,"count":0,"limit":50,"offset":0,"items":[]}"#;
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                     connection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        });
        TlsServer { port, handshakes, connections }
    }
}

/// A server that returns an empty list for every request.
pub(crate) struct TlsServer {
    pub(crate) port: u16,
    handshakes: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

impl TlsServer {
    pub(crate) fn client(&self, host: &str) -> ClientBuilder {
        Client::builder()
            .endpoint(format!("https://{host}:{}", self.port))
            .project_id("p")
            .credentials(Credentials::keys("AK", "SK"))
            .clock(TestClock::new())
            .timeout(Duration::from_secs(3600))
    }

    /// Returns the number of connections, and of complete handshakes.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.connections.load(Ordering::SeqCst), self.handshakes.load(Ordering::SeqCst))
    }
}
