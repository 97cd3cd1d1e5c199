//! Creation of HTTP clients, TLS configuration, and explanation of connection errors.

use std::{fmt, time::Duration};

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{NoProxy, Url};

use crate::{
    error::Error,
    http::url::{is_loopback, without_secrets},
};

const UNKNOWN_ISSUER: &str = "the authority that signed the certificate is not trusted: add its \
    certificate to those of the system, or name a file with all trusted certificates in the \
    variable SSL_CERT_FILE; a program may also call `ClientBuilder::root_certificate`";
const AGENT: &str = concat!("modelarts-rs/", env!("CARGO_PKG_VERSION"));

#[derive(Clone, Debug)]
pub(crate) struct HttpSettings {
    pub(crate) connect_timeout: Duration,
    pub(crate) roots: Vec<Vec<u8>>,
    pub(crate) program: Option<String>,
    pub(crate) proxy: Option<ProxyUrl>,
    /// Client of the program, to which the other settings do not apply.
    pub(crate) given: Option<reqwest::Client>,
}

/// URL of a proxy, which may contain a password.
#[derive(Clone)]
pub(crate) struct ProxyUrl(pub(crate) String);

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A password can contain any character, so it is removed first.
        let address = self.0.rsplit_once('@').map_or(&*self.0, |(_, host)| host);
        f.write_str(without_secrets(address))
    }
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            roots: Vec::new(),
            program: None,
            proxy: None,
            given: None,
        }
    }
}

impl HttpSettings {
    /// Creates a client. `secure` loads the platform's certificates, `direct` disables proxies.
    pub(crate) fn client(&self, secure: bool, direct: bool) -> Result<reqwest::Client, Error> {
        match &self.given {
            Some(given) => Ok(given.clone()),
            None => build(self.builder(secure, direct)?),
        }
    }

    /// Creates a client that never decompresses bodies, regardless of the features of reqwest.
    pub(crate) fn raw_client(&self, secure: bool, direct: bool) -> Result<reqwest::Client, Error> {
        if let Some(given) = &self.given {
            return Ok(given.clone());
        }
        let http = self.builder(secure, direct)?;
        build(http.no_gzip().no_brotli().no_zstd().no_deflate())
    }

    fn builder(&self, secure: bool, direct: bool) -> Result<reqwest::ClientBuilder, Error> {
        let agent = match &self.program {
            Some(program) => format!("{program} {AGENT}"),
            None => AGENT.to_owned(),
        };
        let mut http = reqwest::Client::builder()
            // Following a redirect would forward the credentials to another host.
            .redirect(reqwest::redirect::Policy::none())
            // Retries by reqwest would bypass the retry budget, and copy each request.
            .retry(reqwest::retry::never().max_retries_per_request(0))
            .connect_timeout(self.connect_timeout)
            .user_agent(agent);
        if direct {
            http = http.no_proxy();
        } else if let Some(proxy) = &self.proxy {
            let url = Url::parse(&proxy.0).ok();
            let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            let given = url.and_then(|url| reqwest::Proxy::all(url).ok());
            let given = given.ok_or_else(|| {
                Error::config(format!(
                    "the proxy {proxy:?} must be a URL such as http://proxy.example.com:3128, with \
                     http or https"
                ))
            })?;
            http = http.proxy(given.no_proxy(NoProxy::from_env()));
        }
        configure_tls(http, secure, &self.roots)
    }
}

fn build(http: reqwest::ClientBuilder) -> Result<reqwest::Client, Error> {
    http.build().map_err(|error| Error::config(format!("HTTP client: {error}")).with_source(error))
}

/// Returns a description of the proxy, if one is used, and advice for a failed connection.
#[cold]
pub(crate) fn explain_failure(
    url: &Url,
    cause: &str,
    given: Option<&ProxyUrl>,
) -> (String, Option<String>) {
    let target = Some(url.as_str().parse::<http::Uri>());
    let target = target.filter(|_| url.scheme() == "https" && !is_loopback(url));
    let (matcher, setting) = match given {
        Some(ProxyUrl(proxy)) => {
            let variable = |name: &str| std::env::var(name).ok();
            let excluded = variable("NO_PROXY").or_else(|| variable("no_proxy"));
            let builder = Matcher::builder().all(proxy).no(excluded.unwrap_or_default());
            (builder.build(), "proxy()")
        }
        None => (Matcher::from_system(), "HTTPS_PROXY"),
    };
    let proxy = target.and_then(|target| matcher.intercept(&target.ok()?));
    let proxy = proxy.as_ref().map(|proxy| proxy.uri());
    let advice = match (proxy, url.host_str()) {
        _ if cause.contains("UnknownIssuer") => Some(UNKNOWN_ISSUER.to_owned()),
        (Some(_), Some(host)) => {
            Some(format!("check the proxy in {setting}, or add {host} to NO_PROXY"))
        }
        _ => None,
    };
    let through = proxy.and_then(|proxy| {
        let (scheme, host) = (proxy.scheme_str()?, proxy.host()?);
        let port = proxy.port().map(|port| format!(":{port}"));
        let port = port.unwrap_or_default();
        Some(format!(" through the proxy {scheme}://{host}{port}"))
    });
    (through.unwrap_or_default(), advice)
}

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
            // The error of the parser contains only bytes, so a readable message replaces it.
            let certificates = certificates.map_err(|error| {
                Error::config("the root certificate is cut off or is no valid PEM")
                    .with_source(error)
            })?;
            if certificates.is_empty() {
                return Err(Error::config("the root certificate holds no certificate in PEM form"));
            }
            extra.extend(certificates);
        }
        let verifier = Verifier::new_with_extra_roots(extra, provider).map_err(failed)?;
        config.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
    } else {
        // Clients for http on loopback addresses must work on machines without certificates.
        config.with_root_certificates(RootCertStore::empty())
    };
    Ok(http.tls_backend_preconfigured(config.with_no_client_auth()))
}

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
            return Err(Error::config("the root certificate holds no certificate in PEM form"));
        }
        http = http.tls_certs_merge(certificates);
    }
    Ok(http)
}

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
