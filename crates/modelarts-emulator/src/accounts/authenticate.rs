//! Authentication of requests, by token or signature. All that the head of a request decides is
//! decided before its body is read, so that a request for an operation is not buffered without
//! credentials.

use std::time::SystemTime;

use axum::http::request::Parts;

use crate::{
    accounts::{
        Accounts, KnownKey,
        signature::{self, RequestHead, SignatureError, SignedRequest},
    },
    api::error::ApiError,
    clock::timestamp::Timestamp,
};

/// A request whose head passes authentication.
pub(crate) enum CheckedHead<'a> {
    /// By a token: the number of its user.
    User(usize),
    /// By a signature, which is still to be compared with the body.
    Signed(Box<SignedRequest<'a>>, KnownKey),
}

/// Judges the token, or all of the signature that the body has no part in: the key, its lock, the
/// date, the headers.
pub(crate) fn check_head<'a>(
    accounts: &Accounts,
    now: SystemTime,
    parts: &'a Parts,
) -> Result<CheckedHead<'a>, ApiError> {
    let clock_now = now;
    let now = Timestamp::from(now);
    if let Some(token) = parts.headers.get("x-auth-token") {
        return accounts
            .user_by_token(token.as_bytes(), now)
            .map(CheckedHead::User);
    }
    let head = RequestHead {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
    };
    let mut key = None;
    if let Some(claimed) = signature::access_key(&parts.headers) {
        key = accounts.key(claimed)?;
        if key.is_some() {
            accounts.check_not_locked(claimed, now)?;
        }
    }
    let secret_of = |_: &str| key.as_ref().map(|key| key.secret.clone());
    let claim = SignedRequest::of(head, clock_now, secret_of);
    let claim = claim.map_err(ApiError::not_authenticated)?;
    match key {
        Some(key) => Ok(CheckedHead::Signed(Box::new(claim), key)),
        None => Err(ApiError::not_authenticated(SignatureError::NoCredentials)),
    }
}

impl CheckedHead<'_> {
    /// The number of the user whose request it is, once its body is there.
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
        // Others may have tried the key while the body came.
        accounts.check_not_locked(claim.access_key(), now)?;
        let verified = claim.check(body);
        // Only wrong signatures count: a clock that is off does not lock a key.
        match &verified {
            Ok(()) => accounts.record_attempt(claim.access_key(), true, now),
            Err(SignatureError::Mismatch { .. }) => {
                accounts.record_attempt(claim.access_key(), false, now)
            }
            Err(_) => {}
        }
        verified.map_err(ApiError::not_authenticated)?;
        if let Some(wanted) = &key.security_token {
            let given = parts.headers.get("x-security-token");
            if given.is_none_or(|given| given.as_bytes() != wanted.as_bytes()) {
                return Err(ApiError::not_authenticated("securityToken is invalid"));
            }
        }
        match key.expires {
            Some(expires) if expires <= now => Err(ApiError::not_authenticated(format!(
                "token expires, expires_at:{}",
                expires.utc_micros()
            ))),
            _ => Ok(key.user),
        }
    }
}
