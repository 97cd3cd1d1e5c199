//! Credentials, and providers of credentials.
//!
//! The service accepts requests that are signed with keys, or that contain a token of IAM. A client
//! requests credentials from a [`ProvideCredentials`] before every attempt, because credentials may
//! expire. The crate does not print or log credentials, and does not follow redirects.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let emulator = Emulator::builder().password("open sesame").start().await?;
//! # let iam = emulator.url();
//! use modelarts_ext::credentials::{FetchCredentials, Password};
//!
//! // The token is valid for a day and renewed before it expires. The token determines the project.
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
//! | existing keys (AK/SK), or an existing token | [`Credentials`] |
//! | variables and files of other tools | [`Client::from_env`](crate::Client::from_env) |
//! | user and password | [`Password`] |
//! | identity token of a pod or a CI job (`OpenID Connect`) | [`Oidc`] |
//! | agency of the cloud server that the program runs on | [`Metadata`] |
//! | token, for a service that requires signatures, such as OBS | [`TemporaryKeys`] |
//! | another source of credentials that expire, cached by the crate | [`FetchCredentials`] |
//! | any other source | [`ProvideCredentials`] |
//!
//! [`ClientBuilder::from_env`](crate::client::ClientBuilder::from_env) lists the environment
//! variables and files. The identity of a pod of CCE (`HC_CONTAINER_CREDENTIALS_FULL_URI`) is not
//! supported. In a pod, pass a custom [`CachedProvider`] to
//! [`ClientBuilder::credentials`](crate::client::ClientBuilder::credentials).

// `cache` caches the credentials that `password`, `metadata` and `temporary_keys` request with
// `auth_server`. `chain` searches the environment and `config_files` for credentials.
// `authenticate` adds credentials to a request, `rejection` decides if new credentials can help,
// and `identity` looks up the project and the user.

mod auth_server;
pub(crate) mod authenticate;
mod cache;
pub(crate) mod chain;
mod config_files;
mod context;
pub(crate) mod identity;
pub(crate) mod metadata;
mod password;
pub(crate) mod rejection;
pub(crate) mod source;
mod temporary_keys;

pub use cache::{CachedProvider, FetchCredentials, Fetched};
pub use chain::files;
pub(crate) use context::HttpClients;
pub use context::ProviderContext;
pub use metadata::Metadata;
pub use password::Password;
pub use temporary_keys::Oidc;
pub use temporary_keys::TemporaryKeys;

use std::{fmt, sync::Arc};

use modelarts_api::{BoxFuture, Secret};

use crate::error::Error;

/// Credentials of a request: keys or a token, which clones share. `Debug` does not print secrets.
#[derive(Clone, Debug)]
pub struct Credentials(Arc<CredentialKind>);

#[derive(Debug, PartialEq, Eq)]
enum CredentialKind {
    Keys(Keys),
    Token(Secret),
}

#[derive(Debug, PartialEq, Eq)]
struct Keys {
    access_key: Secret,
    secret_key: Secret,
    security_token: Option<Secret>,
}

impl Credentials {
    /// Creates credentials from an access key and a secret key (AK/SK), which sign requests.
    #[must_use]
    pub fn keys(access_key: impl Into<String>, secret_key: impl Into<String>) -> Self {
        Self::with_security_token(access_key, secret_key, None)
    }

    /// Creates credentials from a temporary access key with a secret key and a security token.
    #[must_use]
    pub fn temporary_keys(
        access_key: impl Into<String>,
        secret_key: impl Into<String>,
        security_token: impl Into<String>,
    ) -> Self {
        Self::with_security_token(access_key, secret_key, Some(security_token.into()))
    }

    fn with_security_token(
        access_key: impl Into<String>,
        secret_key: impl Into<String>,
        security_token: Option<String>,
    ) -> Self {
        Self(Arc::new(CredentialKind::Keys(Keys {
            access_key: Secret::new(access_key),
            secret_key: Secret::new(secret_key),
            security_token: security_token.map(Secret::new),
        })))
    }

    /// Creates credentials from a token of IAM, which is sent in the header `X-Auth-Token`.
    #[must_use]
    pub fn token(token: impl Into<String>) -> Self {
        Self(Arc::new(CredentialKind::Token(Secret::new(token))))
    }

    /// Returns the keys, for signing requests to other services. Returns `None` for a token.
    #[must_use]
    pub fn access_keys(&self) -> Option<AccessKeys<'_>> {
        match &*self.0 {
            CredentialKind::Keys(keys) => Some(AccessKeys {
                access_key: keys.access_key.expose(),
                secret_key: keys.secret_key.expose(),
                security_token: keys.security_token.as_ref().map(Secret::expose),
            }),
            CredentialKind::Token(_) => None,
        }
    }

    fn check(&self) -> Result<(), Error> {
        let parts = match &*self.0 {
            CredentialKind::Keys(keys) => [
                ("access key", Some(&keys.access_key)),
                ("secret key", Some(&keys.secret_key)),
                ("security token", keys.security_token.as_ref()),
            ],
            CredentialKind::Token(token) => [("token", Some(token)), ("", None), ("", None)],
        };
        for (name, value) in parts {
            let Some(value) = value.map(Secret::expose) else {
                continue;
            };
            let problem = if value.trim().is_empty() {
                "is empty"
            } else if !value.is_ascii() {
                // Bytes of a variable that are not valid Unicode are replaced by U+FFFD.
                "contains characters that are not ASCII; check how it was copied"
            } else if value.contains(|c: char| c.is_whitespace() || c.is_control()) {
                // The line break at the end of a file would cause an unclear header error.
                "contains white space or control characters; check how it was copied"
            } else {
                continue;
            };
            return Err(Error::config(format!("the {name} {problem}")));
        }
        Ok(())
    }

    fn secrets(&self) -> [Option<&str>; 2] {
        let (secret, token) = match &*self.0 {
            CredentialKind::Keys(keys) => (&keys.secret_key, keys.security_token.as_ref()),
            CredentialKind::Token(token) => (token, None),
        };
        [Some(secret.expose()), token.map(Secret::expose)]
    }
}

/// Access key and secrets for signing. Does not implement `Debug`, which would print the secrets.
#[non_exhaustive]
pub struct AccessKeys<'a> {
    /// Access key (AK).
    pub access_key: &'a str,
    /// Secret key (SK).
    pub secret_key: &'a str,
    /// Security token of a temporary access key. `None` for a permanent access key.
    pub security_token: Option<&'a str>,
}

/// Provider of credentials. It should cache them, because every attempt requests credentials.
pub trait ProvideCredentials: fmt::Debug + Send + Sync + 'static {
    /// Returns credentials that are currently valid.
    ///
    /// # Errors
    /// Returns an error if there are no credentials. [`Error::is_retryable`] must be `true` for a
    /// transient error, such as an unreachable IAM.
    fn credentials<'a>(
        &'a self,
        context: &'a ProviderContext,
    ) -> BoxFuture<'a, Result<Credentials, Error>>;

    /// Returns the cached credentials if they are still valid. Called before every attempt. Must
    /// neither block, nor return credentials that were passed to [`renew`](Self::renew).
    fn cached(&self) -> Option<Credentials> {
        None
    }

    /// Removes credentials that the service rejected as expired from the cache, unless they were
    /// replaced. Returns `true` if the provider may have newer credentials. Default: `false`.
    fn renew(&self, rejected: &Credentials) -> bool {
        let _ = rejected;
        false
    }

    /// Returns the id of the project of the credentials, if known. The client calls this method
    /// after [`credentials`](Self::credentials) has succeeded.
    fn project_id(&self) -> Option<String> {
        None
    }

    /// Returns advice for rejected credentials, as a clause without secrets and without a full
    /// stop, such as `renew the lease of the vault`. Default: advice for the kind of credentials.
    fn advice(&self) -> Option<String> {
        None
    }

    /// Checks the settings of the provider, as far as possible without sending a request.
    ///
    /// # Errors
    /// Returns an error with the first setting that is invalid.
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

    fn advice(&self) -> Option<String> {
        (**self).advice()
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
                assert!(!text.contains("SECRET") && !text.contains("ACCESS"), "{text}");
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
