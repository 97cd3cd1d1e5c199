//! Authentication of requests, by token or signature. All that the head of a request decides is
//! decided before its body is read, so that a request for an operation is not buffered without
//! credentials.

use axum::http::request::Parts;

use crate::{
    accounts::{
        Key,
        signature::{self, Claim, Head, Refusal},
    },
    api::error::ApiError,
    clock::timestamp::Timestamp,
    state::EmulatorState,
};

/// A request whose head passes authentication.
pub(crate) enum Admitted<'a> {
    /// By a token: the number of its user.
    User(usize),
    /// By a signature, which is still to be compared with the body.
    Signed(Box<Claim<'a>>, Key),
}

/// Judges the token, or all of the signature that the body has no part in: the key, its lock, the
/// date, the headers.
pub(crate) fn admit<'a>(core: &EmulatorState, parts: &'a Parts) -> Result<Admitted<'a>, ApiError> {
    let now = Timestamp::now(core.clock.as_ref());
    let accounts = &core.accounts;
    if let Some(token) = parts.headers.get("x-auth-token") {
        return accounts.by_token(token.as_bytes(), now).map(Admitted::User);
    }
    let head = Head {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
    };
    let mut key = None;
    if let Some(claimed) = signature::access_key(&parts.headers) {
        key = accounts.key(claimed)?;
        if key.is_some() {
            accounts.not_locked(claimed, now)?;
        }
    }
    let secret_of = |_: &str| key.as_ref().map(|key| key.secret.clone());
    let claim = Claim::of(head, core.clock.now(), secret_of);
    let claim = claim.map_err(ApiError::not_authenticated)?;
    match key {
        Some(key) => Ok(Admitted::Signed(Box::new(claim), key)),
        None => Err(ApiError::not_authenticated(Refusal::NoCredentials)),
    }
}

impl Admitted<'_> {
    /// The number of the user whose request it is, once its body is there.
    pub(crate) fn user(
        self,
        core: &EmulatorState,
        parts: &Parts,
        body: &[u8],
    ) -> Result<usize, ApiError> {
        let (claim, key) = match self {
            Self::User(user) => return Ok(user),
            Self::Signed(claim, key) => (claim, key),
        };
        let now = Timestamp::now(core.clock.as_ref());
        let accounts = &core.accounts;
        // Others may have tried the key while the body came.
        accounts.not_locked(claim.access_key(), now)?;
        let verified = claim.check(body);
        // Only wrong signatures count: a clock that is off does not lock a key.
        match &verified {
            Ok(()) => accounts.note(claim.access_key(), true, now),
            Err(Refusal::Mismatch { .. }) => accounts.note(claim.access_key(), false, now),
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
