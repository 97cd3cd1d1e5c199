//! Credentials of a client as keys for signatures of AWS.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use modelarts_ext::{
    Credentials, Error, ErrorKind,
    credentials::{ProvideCredentials, ProviderContext},
};
use object_store::{CredentialProvider, aws::AwsCredential};
use parking_lot::Mutex;

/// Provider of the keys, which takes them from the provider of the client before every request, so
/// that they are renewed during a long upload.
pub(super) struct KeyProvider {
    credentials: Arc<dyn ProvideCredentials>,
    context: ProviderContext,
    last: Mutex<Option<Credentials>>,
}

impl KeyProvider {
    pub(super) fn new(credentials: Arc<dyn ProvideCredentials>, context: ProviderContext) -> Self {
        Self {
            credentials,
            context,
            last: Mutex::new(None),
        }
    }

    /// Returns the keys that are valid now.
    pub(super) async fn keys(&self) -> Result<AwsCredential, Error> {
        let credentials = match self.credentials.cached() {
            Some(credentials) => credentials,
            None => self.credentials.credentials(&self.context).await?,
        };
        let keys = credentials.access_keys().ok_or_else(|| {
            Error::new(
                ErrorKind::Credentials,
                "OBS needs an access key, and the credentials are a token of IAM",
            )
            .with_advice("set an access key and its secret key (AK/SK)".to_owned())
        })?;
        let keys = AwsCredential {
            key_id: keys.access_key.to_owned(),
            secret_key: keys.secret_key.to_owned(),
            token: keys.security_token.map(str::to_owned),
        };
        *self.last.lock() = Some(credentials);
        Ok(keys)
    }

    /// Drops the last keys, which OBS rejected. Returns `true` if there may be newer ones.
    pub(super) fn renew(&self) -> bool {
        let last = self.last.lock().clone();
        last.is_some_and(|last| self.credentials.renew(&last))
    }
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
            .map_err(|error| object_store::Error::Generic {
                store: "OBS",
                source: Box::new(error),
            })
    }
}
