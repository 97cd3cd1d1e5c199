//! HTTP clients and their TLS configuration.

use std::time::Duration;

use crate::error::Error;

/// Default time limit for opening a connection.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// `User-Agent` header of this crate.
pub(crate) const AGENT: &str = concat!("modelarts-rs/", env!("CARGO_PKG_VERSION"));

/// Returns the settings of an HTTP client. A `secure` client requires the certificates of the
/// platform, and also trusts `roots` (PEM). A `direct` client uses no proxy.
pub(crate) fn builder(
    secure: bool,
    direct: bool,
    connect_timeout: Duration,
    roots: &[Vec<u8>],
    agent: &str,
) -> Result<reqwest::ClientBuilder, Error> {
    let mut http = reqwest::Client::builder()
        // Following a redirect would forward the credentials to another host.
        .redirect(reqwest::redirect::Policy::none())
        // This crate implements retries itself, because it counts them and charges the budget.
        // Disabling the retries of reqwest also avoids copies of each request.
        .retry(reqwest::retry::never().max_retries_per_request(0))
        .connect_timeout(connect_timeout)
        .user_agent(agent);
    if direct {
        http = http.no_proxy();
    }
    configure_tls(http, secure, roots)
}

/// Returns the settings of an HTTP client that does not decode bodies, whichever features of reqwest
/// the program enables.
pub(crate) fn without_decoding(http: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
    http.no_gzip().no_brotli().no_zstd().no_deflate()
}

/// Creates an HTTP client.
pub(crate) fn build(http: reqwest::ClientBuilder) -> Result<reqwest::Client, Error> {
    http.build()
        .map_err(|error| Error::config(format!("HTTP client: {error}")).with_source(error))
}

/// Configures TLS with rustls, without installing a process-wide default provider.
#[cfg(feature = "rustls")]
fn configure_tls(
    http: reqwest::ClientBuilder,
    secure: bool,
    roots: &[Vec<u8>],
) -> Result<reqwest::ClientBuilder, Error> {
    use std::sync::Arc;

    use rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, pem::PemObject},
    };
    use rustls_platform_verifier::Verifier;

    let provider = Arc::new(ring::default_provider());
    let failed = |error: rustls::Error| Error::config(format!("TLS: {error}")).with_source(error);
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let config = if secure {
        let mut extra = Vec::new();
        for pem in roots {
            let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
            // The error of the parser shows only bytes, so it is replaced by a readable message.
            let certificates = certificates.map_err(|error| {
                Error::config("the root certificate is cut off or is no valid PEM")
                    .with_source(error)
            })?;
            if certificates.is_empty() {
                return Err(Error::config(
                    "the root certificate holds no certificate in PEM form",
                ));
            }
            extra.extend(certificates);
        }
        let verifier = Verifier::new_with_extra_roots(extra, provider).map_err(failed)?;
        config
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
    } else {
        // Unencrypted HTTP on loopback addresses must work on machines without certificates.
        config.with_root_certificates(RootCertStore::empty())
    };
    Ok(http.tls_backend_preconfigured(config.with_no_client_auth()))
}

/// Configures TLS with the library of the platform.
#[cfg(all(feature = "native-tls", not(feature = "rustls")))]
fn configure_tls(
    mut http: reqwest::ClientBuilder,
    _secure: bool,
    roots: &[Vec<u8>],
) -> Result<reqwest::ClientBuilder, Error> {
    for pem in roots {
        let certificates = reqwest::Certificate::from_pem_bundle(pem).map_err(|error| {
            Error::config("the root certificate is cut off or is no valid PEM").with_source(error)
        })?;
        if certificates.is_empty() {
            return Err(Error::config(
                "the root certificate holds no certificate in PEM form",
            ));
        }
        http = http.tls_certs_merge(certificates);
    }
    Ok(http)
}

/// Configures no TLS. The client can then only reach loopback addresses, over HTTP.
#[cfg(not(any(feature = "rustls", feature = "native-tls")))]
fn configure_tls(
    http: reqwest::ClientBuilder,
    secure: bool,
    _roots: &[Vec<u8>],
) -> Result<reqwest::ClientBuilder, Error> {
    if secure {
        return Err(Error::config(
            "an https endpoint needs one of the features rustls and native-tls",
        ));
    }
    Ok(http)
}
