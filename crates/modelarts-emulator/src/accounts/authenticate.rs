//! Authentication of requests by token or by signature. Signatures are checked against the body.

use std::time::SystemTime;

use axum::http::request::Parts;

use crate::{
    accounts::{
        Accounts, KnownKey, expired,
        signature::{self, ReceivedRequest, SignatureError, SignedRequest},
    },
    api::error::ApiError,
    clock::timestamp::Timestamp,
};

pub(crate) enum CheckedHead<'a> {
    /// Request authenticated by a token. Contains the index of the user.
    User(usize),
    /// Signed request, whose signature must still be checked against the body.
    Signed(Box<SignedRequest<'a>>, KnownKey),
}

/// Checks the credentials of a request as far as they do not depend on the body.
pub(crate) fn check_head<'a>(
    accounts: &Accounts,
    now: SystemTime,
    parts: &'a Parts,
) -> Result<CheckedHead<'a>, ApiError> {
    let moment = Timestamp::from(now);
    if let Some(token) = parts.headers.get("x-auth-token") {
        return accounts.user_by_token(token.as_bytes(), moment).map(CheckedHead::User);
    }
    let request = ReceivedRequest {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
        body: &[],
    };
    let mut key = None;
    if let Some(claimed) = signature::access_key(&parts.headers) {
        key = accounts.key(claimed)?;
        if key.is_some() {
            accounts.check_not_locked(claimed, moment)?;
        }
    }
    let secret_of = |_: &str| key.as_ref().map(|key| key.secret.clone());
    let claim = SignedRequest::of(request, now, secret_of);
    let claim = claim.map_err(ApiError::not_authenticated)?;
    match key {
        Some(key) => Ok(CheckedHead::Signed(Box::new(claim), key)),
        None => Err(ApiError::not_authenticated(SignatureError::NoCredentials)),
    }
}

impl CheckedHead<'_> {
    /// Checks the signature, the security token and the expiration. Returns the index of the user.
    pub(crate) fn check_body(
        self,
        accounts: &Accounts,
        now: SystemTime,
        parts: &Parts,
        body: &[u8],
    ) -> Result<usize, ApiError> {
        let (claim, key) = match self {
            Self::User(user) => return Ok(user),
            Self::Signed(claim, key) => (claim, key),
        };
        let now = Timestamp::from(now);
        // Other requests may have locked the key while the body was read.
        accounts.check_not_locked(claim.access_key(), now)?;
        let verified = claim.check(body);
        // A wrong `x-sdk-content-sha256` is an error, but does not count as a wrong signature.
        if matches!(verified, Ok(()) | Err(SignatureError::Mismatch { .. })) {
            accounts.record_attempt(claim.access_key(), verified.is_ok(), now);
        }
        verified.map_err(ApiError::not_authenticated)?;
        if let Some(wanted) = &key.security_token {
            let given = parts.headers.get("x-security-token");
            if given.is_none_or(|given| given.as_bytes() != wanted.as_bytes()) {
                return Err(ApiError::not_authenticated("securityToken is invalid"));
            }
        }
        match key.expires {
            Some(expires) if expires <= now => Err(expired(expires)),
            _ => Ok(key.user),
        }
    }
}
