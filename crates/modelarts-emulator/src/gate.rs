//! Lets a request in by its signature or its token, and says whose it is.

use axum::http::request::Parts;

use crate::clock::Moment;
use crate::core::Core;
use crate::error::ApiError;
use crate::verify::{self, Received, Refusal};

/// The number of the user whose request it is.
pub(crate) fn enter(core: &Core, parts: &Parts, body: &[u8]) -> Result<usize, ApiError> {
    let now = Moment::now(core.clock.as_ref());
    let accounts = &core.accounts;
    if let Some(token) = parts.headers.get("x-auth-token") {
        return accounts.by_token(token.as_bytes(), now);
    }
    let received = Received {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
        body,
    };
    let claimed = verify::access_key(&parts.headers);
    let known = match claimed {
        Some(claimed) => accounts.key(claimed)?.map(|key| (claimed, key)),
        None => None,
    };
    if let Some((claimed, _)) = &known {
        accounts.not_locked(claimed, now)?;
    }
    let secret_of = |_: &str| known.as_ref().map(|(_, key)| key.secret.clone());
    let verified = verify::verify(received, core.clock.now(), secret_of);
    if let Some((claimed, _)) = &known {
        // Only wrong signatures count: a clock that is off does not lock a key.
        match &verified {
            Ok(_) => accounts.note(claimed, true, now),
            Err(Refusal::Mismatch { .. }) => accounts.note(claimed, false, now),
            Err(_) => {}
        }
    }
    verified.map_err(ApiError::not_authenticated)?;
    let Some((_, key)) = known else {
        return Err(ApiError::not_authenticated(Refusal::NoCredentials));
    };
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
