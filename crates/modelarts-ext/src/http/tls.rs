//! TLS of the HTTP clients.

use crate::error::Error;

/// Adds TLS to the HTTP client, with the certificates of the platform and `roots` (PEM). No
/// process-wide default is installed.
#[cfg(feature = "rustls")]
pub(crate) fn configure(
    http: reqwest::ClientBuilder,
    secure: bool,
    roots: &[Vec<u8>],
) -> Result<reqwest::ClientBuilder, Error> {
    use std::sync::Arc;

    use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer};
    use rustls_platform_verifier::Verifier;

    let provider = Arc::new(ring::default_provider());
    let failed = |error: rustls::Error| Error::config(format!("TLS: {error}")).with_source(error);
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let config = if secure {
        use rustls::pki_types::pem::PemObject;

        let mut extra = Vec::new();
        for pem in roots {
            let before = extra.len();
            for certificate in CertificateDer::pem_slice_iter(pem) {
                extra.push(certificate.map_err(|error| {
                    // The error shows only bytes, so it is replaced by its meaning.
                    Error::config("the root certificate is cut off or is no valid PEM")
                        .with_source(error)
                })?);
            }
            if extra.len() == before {
                return Err(Error::config(
                    "the root certificate holds no certificate in PEM form",
                ));
            }
        }
        let verifier = Verifier::new_with_extra_roots(extra, provider).map_err(failed)?;
        config
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
    } else {
        // Plain http on loopback must work on machines without certificates.
        config.with_root_certificates(RootCertStore::empty())
    };
    Ok(http.tls_backend_preconfigured(config.with_no_client_auth()))
}

/// Adds TLS of the platform's library to the HTTP client.
#[cfg(all(feature = "native-tls", not(feature = "rustls")))]
pub(crate) fn configure(
    mut http: reqwest::ClientBuilder,
    _secure: bool,
    roots: &[Vec<u8>],
) -> Result<reqwest::ClientBuilder, Error> {
    for pem in roots {
        let certificate = reqwest::Certificate::from_pem(pem).map_err(|error| {
            Error::config("the root certificate is not valid PEM").with_source(error)
        })?;
        http = http.add_root_certificate(certificate);
    }
    Ok(http)
}

/// Without TLS, only http on loopback can be reached.
#[cfg(not(any(feature = "rustls", feature = "native-tls")))]
pub(crate) fn configure(
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
