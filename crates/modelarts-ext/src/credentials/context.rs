//! `ProviderContext`: HTTP clients and clock for credential providers.

use std::sync::{Arc, OnceLock};

use crate::{
    clock::Clock,
    error::Error,
    http::{
        connection::{HttpSettings, ProxyUrl},
        observer::{Attempt, Observer},
        url::is_loopback,
    },
};

/// HTTP clients and clock that a credential provider uses.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderContext {
    /// HTTP client for the requests of the provider, which does not follow redirects.
    pub http: reqwest::Client,
    /// Clock of the client.
    pub clock: Arc<dyn Clock>,
    pub(crate) is_secure: bool,
    pub(crate) others: Arc<HttpClients>,
    pub(crate) observer: Observer,
}

impl ProviderContext {
    /// Creates a context for using a provider without a client, for example in tests.
    ///
    /// # Errors
    /// Returns an error if TLS cannot be set up.
    pub fn new(clock: impl Clock) -> Result<Self, Error> {
        let settings = HttpSettings::default();
        let http = |secure| settings.client(secure, false);
        Ok(Self {
            // As in a client, loopback addresses can be reached without certificates.
            http: http(true).or_else(|_| http(false))?,
            clock: Arc::new(clock),
            is_secure: true,
            others: Arc::new(HttpClients::new(settings)),
            observer: Observer::default(),
        })
    }

    pub(crate) fn proxy(&self) -> Option<&ProxyUrl> {
        self.others.settings.proxy.as_ref()
    }

    /// Passes an attempt to the [observer](crate::ClientBuilder::on_attempt) of the client, for
    /// clients of other services of the cloud.
    pub fn observe(&self, attempt: &Attempt<'_>) {
        self.observer.observe(attempt);
    }

    /// Returns the HTTP client for a URL. For https, it trusts the root certificates of the client.
    /// Requests with http, which are allowed only to loopback addresses, do not use a proxy.
    ///
    /// # Errors
    /// Returns an error if TLS cannot be set up.
    pub fn client_for(&self, url: &reqwest::Url) -> Result<reqwest::Client, Error> {
        let settings = &self.others.settings;
        match (url.scheme(), is_loopback(url)) {
            ("https", _) if self.is_secure => Ok(self.http.clone()),
            ("https", true) => settings.client(true, true),
            ("https", false) => get_or_make(&self.others.secure, || settings.client(true, false)),
            _ => settings.client(false, true),
        }
    }

    /// Returns an HTTP client as [`client_for`](Self::client_for) does, but without decompression,
    /// so that sizes and checksums of files with `Content-Encoding: gzip` are correct.
    ///
    /// # Errors
    /// Returns an error if TLS cannot be set up.
    pub fn raw_client_for(&self, url: &reqwest::Url) -> Result<reqwest::Client, Error> {
        let settings = &self.others.settings;
        match (url.scheme(), is_loopback(url)) {
            ("https", true) => settings.raw_client(true, true),
            ("https", false) => get_or_make(&self.others.raw, || settings.raw_client(true, false)),
            _ => settings.raw_client(false, true),
        }
    }
}

/// HTTP clients for other machines, which are created on first use.
#[derive(Debug)]
pub(crate) struct HttpClients {
    settings: HttpSettings,
    secure: OnceLock<reqwest::Client>,
    raw: OnceLock<reqwest::Client>,
}

impl HttpClients {
    pub(crate) fn new(settings: HttpSettings) -> Self {
        Self { settings, secure: OnceLock::new(), raw: OnceLock::new() }
    }
}

fn get_or_make(
    cell: &OnceLock<reqwest::Client>,
    make: impl FnOnce() -> Result<reqwest::Client, Error>,
) -> Result<reqwest::Client, Error> {
    match cell.get() {
        Some(made) => Ok(made.clone()),
        None => {
            let made = make()?;
            Ok(cell.get_or_init(|| made).clone())
        }
    }
}
