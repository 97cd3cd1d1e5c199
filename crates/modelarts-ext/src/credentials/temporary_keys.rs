//! Temporary keys of IAM, issued for the token of another provider.

use std::{sync::Arc, time::Duration};

use modelarts_api::BoxFuture;
use serde_json::json;

use crate::{
    credentials::{
        Credentials, ProvideCredentials, ProviderContext,
        auth_server::{AuthServer, json_request},
        authenticate::authenticate,
        cache::{FetchCredentials, Fetched},
    },
    error::{Error, ErrorKind},
    http::signing::SigningScheme,
};

/// Keys are renewed before they expire, so the lifetime does not limit an upload.
const DURATION: Duration = Duration::from_secs(60 * 60);
const DURATION_RANGE: std::ops::RangeInclusive<u64> = 15 * 60..=24 * 60 * 60;

const TOKEN_ADVICE: &str = "check that the token has not expired, and that it was issued by this \
                            IAM for a user who may have access keys";

/// Temporary keys of IAM for the token of another provider, such as [`Password`](super::Password).
///
/// Services that require signatures, such as OBS, accept no tokens. The keys have the permissions
/// of the token, and are renewed five minutes before they expire, or after three quarters of a
/// short lifetime.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
/// # #[tokio::main]
/// # async fn main() -> Result {
/// # let emulator = Emulator::builder().token("my-token").start().await?;
/// # let iam = emulator.url();
/// use modelarts_ext::{
///     Credentials,
///     clock::SystemClock,
///     credentials::{FetchCredentials, ProvideCredentials, ProviderContext, TemporaryKeys},
/// };
///
/// let provider = TemporaryKeys::new(iam, Credentials::token("my-token")).into_provider();
/// let context = ProviderContext::new(SystemClock)?;
/// let credentials = provider.credentials(&context).await?;
/// assert!(credentials.access_keys().is_some_and(|keys| keys.security_token.is_some()));
/// # emulator.shutdown().await;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct TemporaryKeys {
    iam: AuthServer,
    token: Arc<dyn ProvideCredentials>,
    duration: Duration,
}

impl TemporaryKeys {
    /// Creates a source of keys for the token of a provider. `iam` is the address of IAM, such as
    /// `https://iam.eu-de.otc.t-systems.com`. `http` is accepted only for this machine.
    pub fn new(iam: impl Into<String>, token: impl ProvideCredentials) -> Self {
        Self { iam: AuthServer::new("IAM", iam), token: Arc::new(token), duration: DURATION }
    }

    /// Sets the lifetime of the keys, in whole seconds: 15 minutes to 24 hours. Default one hour.
    pub fn duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    async fn exchange(
        &self,
        context: &ProviderContext,
        token: &Credentials,
    ) -> Result<Fetched, Error> {
        if token.access_keys().is_some() {
            return Err(Error::new(
                ErrorKind::Credentials,
                "temporary keys are issued for a token, and the provider returned keys",
            )
            .with_advice("use the keys of the provider directly".to_owned()));
        }
        let url = self.iam.url("/v3.0/OS-CREDENTIAL/securitytokens")?;
        let body = json!({"auth": {"identity": {
            "methods": ["token"],
            "token": {"duration_seconds": self.duration.as_secs()},
        }}});
        let mut request = json_request(url, &body);
        let scheme = SigningScheme::default();
        authenticate(&mut request, token, &scheme, None, context.clock.now())?;
        let failure = "gives no temporary keys for the token";
        let reply = self.iam.post(context, request, None, failure).await;
        let reply = reply.map_err(|error| error.with_login_advice(TOKEN_ADVICE))?;
        self.iam.keys(&reply)
    }
}

impl FetchCredentials for TemporaryKeys {
    fn fetch<'a>(&'a self, context: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>> {
        Box::pin(async move {
            self.check()?;
            let token = self.token.credentials(context).await?;
            match self.exchange(context, &token).await {
                // The token may have been revoked, or the clock of this machine may be wrong.
                Err(error) if error.status() == Some(401) && self.token.renew(&token) => {
                    let token = self.token.credentials(context).await?;
                    self.exchange(context, &token).await
                }
                result => result,
            }
        })
    }

    fn advice(&self) -> Option<String> {
        Some(format!(
            "the temporary keys were issued by {} for a token; check that the endpoint belongs to \
             the same cloud, and the clock",
            self.iam
        ))
    }

    fn check(&self) -> Result<(), Error> {
        self.iam.check()?;
        self.token.check()?;
        if !DURATION_RANGE.contains(&self.duration.as_secs()) {
            return Err(Error::config(format!(
                "the duration of temporary keys is {:?}; it must be 15 minutes to 24 hours",
                self.duration
            )));
        }
        Ok(())
    }
}
