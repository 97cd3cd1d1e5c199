//! Credentials, and the providers that supply them.
//!
//! The service takes signatures with keys, or tokens of IAM. Tokens and temporary keys expire, and
//! a user whose password is tried too often is locked, so a client asks a [`ProvideCredentials`]
//! before every attempt of a call, and [`CachedProvider`] keeps what it gives and renews it in
//! time, once for all calls. Credentials are never shown, logged, or sent after a redirect.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let emulator = Emulator::builder().password("open sesame").start().await?;
//! # let iam = emulator.url();
//! use modelarts_ext::credentials::{FetchCredentials, Password};
//!
//! // A token that lives for a day and is renewed in time. It says which project it is for.
//! let login = Password::new(iam, "emulator", "open sesame")
//!     .domain("emulator")
//!     .project_id(emulator.project_id());
//! let client = Client::builder()
//!     .endpoint(emulator.url())
//!     .credentials(login.into_provider())
//!     .connect()
//!     .await?;
//! client.training_jobs().list().collect(10).await?;
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! | source | provider |
//! |---|---|
//! | keys (AK/SK), or a token that you have | [`Credentials`] |
//! | variables and files, as other tools of the clouds have them | [`Client::from_env`](crate::Client::from_env) |
//! | user and password | [`Password`] |
//! | identity token of a pod or a CI job (`OpenID Connect`) | [`Oidc`] |
//! | agency of the cloud server that the program runs on | [`Metadata`] |
//! | anything else with an expiry | [`FetchCredentials`], which is cached for you |
//! | anything else | [`ProvideCredentials`] |

// `cache` makes a provider of a source that has to be asked: `password` (IAM), `oidc` (STS) and
// `metadata`, which send their requests with `auth_server`. `chain` looks for credentials in the
// environment and in files (`profile_file`, `clouds_yaml`); `source` has its types. `authenticate`
// puts credentials into a request, `rejection` reads from a response whether it is worth another
// attempt, and `secrets` knows which texts must be masked.

mod auth_server;
pub(crate) mod authenticate;
mod cache;
pub(crate) mod chain;
mod clouds_yaml;
pub(crate) mod metadata;
mod oidc;
mod password;
mod profile_file;
pub(crate) mod projects;
pub(crate) mod rejection;
pub(crate) mod secrets;
pub(crate) mod source;

pub use cache::{CachedProvider, FetchCredentials, Fetched};
pub use metadata::Metadata;
pub use oidc::Oidc;
pub use password::Password;

use std::{fmt, sync::Arc};

use modelarts_api::BoxFuture;

use crate::{clock::Clock, error::Error, http::tls};

/// Credentials of a request: keys or a token. `Debug` does not show them. Clones share them.
#[derive(Clone)]
pub struct Credentials(Arc<CredentialKind>);

#[derive(PartialEq, Eq)]
enum CredentialKind {
    Keys {
        access_key: String,
        secret_key: String,
        security_token: Option<String>,
    },
    Token(String),
}

impl Credentials {
    /// An access key and its secret key (AK/SK). Requests are signed.
    #[must_use]
    pub fn keys(access_key: impl Into<String>, secret_key: impl Into<String>) -> Self {
        Self(Arc::new(CredentialKind::Keys {
            access_key: access_key.into(),
            secret_key: secret_key.into(),
            security_token: None,
        }))
    }

    /// A temporary access key, which goes with a security token.
    #[must_use]
    pub fn temporary_keys(
        access_key: impl Into<String>,
        secret_key: impl Into<String>,
        security_token: impl Into<String>,
    ) -> Self {
        Self(Arc::new(CredentialKind::Keys {
            access_key: access_key.into(),
            secret_key: secret_key.into(),
            security_token: Some(security_token.into()),
        }))
    }

    /// A token from IAM, which is sent as `X-Auth-Token`.
    #[must_use]
    pub fn token(token: impl Into<String>) -> Self {
        Self(Arc::new(CredentialKind::Token(token.into())))
    }

    /// Checks that they can be sent.
    fn check(&self) -> Result<(), Error> {
        let parts: &[(&str, &str)] = match &*self.0 {
            CredentialKind::Keys {
                access_key,
                secret_key,
                security_token,
            } => &[
                ("access key", access_key),
                ("secret key", secret_key),
                (
                    "security token",
                    security_token.as_deref().unwrap_or("unused"),
                ),
            ],
            CredentialKind::Token(token) => &[("token", token)],
        };
        for (name, value) in parts {
            if value.trim().is_empty() {
                return Err(Error::config(format!("the {name} is empty")));
            }
            // A variable that is no text has U+FFFD here.
            if !value.is_ascii() {
                return Err(Error::config(format!(
                    "the {name} contains characters that are not ASCII; check how it was copied"
                )));
            }
            // A stray newline from a file would end as an obscure header error.
            if value.chars().any(|c| c.is_whitespace() || c.is_control()) {
                return Err(Error::config(format!(
                    "the {name} contains white space or control characters; check how it was copied"
                )));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            CredentialKind::Keys { security_token, .. } => f
                .debug_struct("Keys")
                .field("access_key", &"***")
                .field("secret_key", &"***")
                .field("security_token", &security_token.as_ref().map(|_| "***"))
                .finish(),
            CredentialKind::Token(_) => f.write_str("Token(***)"),
        }
    }
}

/// The HTTP client and the clock that a provider works with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderContext {
    /// The HTTP client of the [`Client`](crate::client::Client): with its certificates and
    /// connection timeout, and without redirects.
    pub http: reqwest::Client,
    /// The clock of the client.
    pub clock: Arc<dyn Clock>,
}

impl ProviderContext {
    /// A context outside of a client, for the tests of a provider, or to use a provider
    /// for something else.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(clock: impl Clock) -> Result<Self, Error> {
        let make_http = |secure| {
            let http = reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(std::time::Duration::from_secs(10));
            tls::configure(http, secure, &[])?
                .build()
                .map_err(|error| Error::config(format!("HTTP client: {error}")).with_source(error))
        };
        Ok(Self {
            // As in a client, a machine without certificates reaches itself.
            http: make_http(true).or_else(|_| make_http(false))?,
            clock: Arc::new(clock),
        })
    }

    /// The HTTP client for an address. What is not encrypted, which is only admitted
    /// on this machine, is never sent to a proxy.
    fn client_for(&self, url: &reqwest::Url) -> Result<reqwest::Client, Error> {
        if url.scheme() == "https" {
            return Ok(self.http.clone());
        }
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        tls::configure(http, false, &[])?
            .build()
            .map_err(|error| Error::config(format!("HTTP client: {error}")).with_source(error))
    }
}

/// A provider of credentials. It is asked before every attempt, so it caches credentials until
/// they expire.
pub trait ProvideCredentials: fmt::Debug + Send + Sync + 'static {
    /// Credentials that are valid now.
    ///
    /// # Errors
    /// Why there are none. What may pass by itself, such as an IAM that cannot be
    /// reached, is an error that [`Error::is_retryable`] is true for.
    fn credentials<'a>(
        &'a self,
        context: &'a ProviderContext,
    ) -> BoxFuture<'a, Result<Credentials, Error>>;

    /// The cached credentials, if they are still valid. Called before
    /// [`credentials`](Self::credentials), on every attempt. Must not block, and must not return
    /// credentials that were passed to [`renew`](Self::renew).
    fn cached(&self) -> Option<Credentials> {
        None
    }

    /// Drops credentials that the service rejected as expired, if they are still the current
    /// ones. Returns true if there can be newer ones.
    fn renew(&self, rejected: &Credentials) -> bool {
        let _ = rejected;
        false
    }

    /// The project that the credentials are for, as far as that is known; asked for
    /// after [`credentials`](Self::credentials) gave some.
    fn project_id(&self) -> Option<String> {
        None
    }

    /// Checks the settings, as far as that is possible before anything is sent.
    ///
    /// # Errors
    /// The first setting that is wrong.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl<P: ProvideCredentials + ?Sized> ProvideCredentials for Arc<P> {
    fn credentials<'a>(
        &'a self,
        context: &'a ProviderContext,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        (**self).credentials(context)
    }

    fn cached(&self) -> Option<Credentials> {
        (**self).cached()
    }

    fn renew(&self, rejected: &Credentials) -> bool {
        (**self).renew(rejected)
    }

    fn project_id(&self) -> Option<String> {
        (**self).project_id()
    }

    fn check(&self) -> Result<(), Error> {
        (**self).check()
    }
}

impl ProvideCredentials for Credentials {
    fn credentials<'a>(
        &'a self,
        _: &'a ProviderContext,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(std::future::ready(Ok(self.clone())))
    }

    fn cached(&self) -> Option<Credentials> {
        Some(self.clone())
    }

    fn check(&self) -> Result<(), Error> {
        Credentials::check(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        for credentials in [
            Credentials::keys("AKACCESS", "SKSECRET"),
            Credentials::temporary_keys("AKACCESS", "SKSECRET", "STSECRET"),
            Credentials::token("TKSECRET"),
        ] {
            for text in [format!("{credentials:?}"), format!("{credentials:#?}")] {
                assert!(
                    !text.contains("SECRET") && !text.contains("ACCESS"),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn blank_and_broken_secrets_are_refused_without_being_shown() {
        let error = Credentials::keys("AK", "SECRET\n").check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the secret key contains white space or control characters; check how it was copied"
        );
        let error = Credentials::token(" ").check().unwrap_err();
        assert_eq!(error.to_string(), "the token is empty");
    }
}
