//! Secrets that a request was sent with, for masking them in the response.

use reqwest::header::HeaderValue;

use crate::{credentials::Credentials, error::mask::Mask};

/// The secrets that a request was sent with.
#[derive(Clone)]
pub(crate) struct Secrets {
    pub(crate) credentials: Credentials,
    /// The header with the signature.
    pub(crate) authorization: Option<HeaderValue>,
}

impl Secrets {
    /// Returns the secrets as plain texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let [secret, token] = self.credentials.secrets();
        let signature = self.authorization.as_ref().and_then(signature);
        [secret, token, signature].into_iter().flatten()
    }

    pub(crate) fn mask(&self) -> Mask {
        Mask::new(self.texts())
    }

    /// Returns the masked request id.
    pub(crate) fn mask_id(&self, id: &str) -> String {
        // An id that is shorter than all secrets contains none, because no encoding shortens a
        // secret.
        let room = self.texts().any(|secret| secret.len() <= id.len());
        let masked = room.then(|| self.mask().text(id)).flatten();
        masked.unwrap_or_else(|| id.to_owned())
    }
}

/// Returns the signature in the header `Authorization`.
pub(super) fn signature(authorization: &HeaderValue) -> Option<&str> {
    let (_, signature) = authorization.to_str().ok()?.split_once("Signature=")?;
    Some(signature)
}
