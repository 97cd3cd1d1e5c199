//! Conversion of the credentials of a client to access keys for AWS signatures.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use modelarts_ext::{
    Client, Credentials, Error, ErrorKind, RetryPolicy,
    credentials::{FetchCredentials, ProvideCredentials, ProviderContext, TemporaryKeys},
};
use object_store::{CredentialProvider, aws::AwsCredential};
use parking_lot::Mutex;

/// Provider of access keys for the crate `object_store`. Before every request, the keys are read
/// from the credentials provider of the client, so that they are renewed during a long upload. An
/// IAM token is exchanged for temporary keys.
pub(super) struct KeyProvider {
    credentials: Arc<dyn ProvideCredentials>,
    /// Provider of temporary keys for the token of the client; `None` if the endpoint of IAM is not
    /// known.
    temporary: Option<Arc<dyn ProvideCredentials>>,
    context: ProviderContext,
    retry: RetryPolicy,
    /// Last credentials, and the provider that returned them.
    last: Mutex<Option<(Arc<dyn ProvideCredentials>, Credentials)>>,
}

impl KeyProvider {
    pub(super) fn new(client: &Client) -> Result<Self, Error> {
        let credentials = Arc::clone(client.credentials());
        let exchange = |iam| TemporaryKeys::new(iam, Arc::clone(&credentials)).into_provider();
        let temporary = client.iam_endpoint()?.map(exchange);
        Ok(Self {
            temporary: temporary.map(|provider| Arc::new(provider) as _),
            credentials,
            context: client.provider_context().clone(),
            retry: client.retry_policy().clone(),
            last: Mutex::new(None),
        })
    }

    /// Returns valid access keys, and stores their credentials for [`renew`](Self::renew).
    pub(super) async fn keys(&self) -> Result<AwsCredential, Error> {
        let mut provider = &self.credentials;
        let mut credentials = self.request(provider).await?;
        if credentials.access_keys().is_none() {
            provider = self.temporary.as_ref().ok_or_else(no_keys)?;
            credentials = self.request(provider).await?;
        }
        let keys = credentials.access_keys().ok_or_else(no_keys)?;
        let keys = AwsCredential {
            key_id: keys.access_key.to_owned(),
            secret_key: keys.secret_key.to_owned(),
            token: keys.security_token.map(str::to_owned),
        };
        *self.last.lock() = Some((Arc::clone(provider), credentials));
        Ok(keys)
    }

    /// Returns the cached credentials of a provider, or requests new credentials with the retry
    /// policy of the client.
    async fn request(&self, provider: &Arc<dyn ProvideCredentials>) -> Result<Credentials, Error> {
        if let Some(credentials) = provider.cached() {
            return Ok(credentials);
        }
        let clock = &self.context.clock;
        let started = clock.now();
        let mut retries = 0;
        loop {
            let error = match provider.credentials(&self.context).await {
                Ok(credentials) => return Ok(credentials),
                Err(error) => error,
            };
            let elapsed = clock.now().duration_since(started).unwrap_or_default();
            let wait = self.retry.delay(retries, error.retry_after(), elapsed);
            let Some(wait) = wait.filter(|_| error.is_retryable()) else {
                return Err(error);
            };
            tracing::debug!(%error, ?wait, "requesting credentials again");
            clock.sleep(wait.min(clock.max_pause())).await;
            retries += 1;
        }
    }

    /// Discards the credentials with this access key, which OBS rejected. Returns `true` if the
    /// provider may have newer credentials.
    pub(super) fn renew(&self, access_key: &str) -> bool {
        let last = self.last.lock().clone();
        last.is_some_and(|(provider, last)| match last.access_keys() {
            Some(keys) if keys.access_key == access_key => provider.renew(&last),
            // Another call has already replaced the rejected keys.
            _ => true,
        })
    }
}

/// Returns the error for a token that cannot be exchanged for keys.
fn no_keys() -> Error {
    Error::new(
        ErrorKind::Credentials,
        "OBS requires an access key, and the credentials are a token of IAM",
    )
    .with_advice(
        "set an access key and its secret key (AK/SK), or the address of IAM \
         (HUAWEICLOUD_SDK_IAM_ENDPOINT), which issues temporary keys for the token"
            .to_owned(),
    )
}

impl fmt::Debug for KeyProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyProvider").finish_non_exhaustive()
    }
}

#[async_trait]
impl CredentialProvider for KeyProvider {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let keys = self.keys().await;
        keys.map(Arc::new)
            .map_err(|error| object_store::Error::Generic { store: "OBS", source: Box::new(error) })
    }
}
