//! Rejections of credentials: rejections that the client can fix, and advice for the others.

use std::time::SystemTime;

use modelarts_api::{Effect, ErrorCode, Retry, error_body};
use reqwest::StatusCode;

use crate::{
    credentials::{CredentialKind, Credentials, ProvideCredentials},
    error::{Error, ErrorKind},
};

/// Part of the error message for an access key that is locked after too many invalid signatures.
const LOCKED: &str = "failed to reach the limit";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    Expired,
    Clock { server: SystemTime },
}

/// Parses a rejection that the client can fix. Returns `None` for any other response.
pub(crate) fn parse(status: StatusCode, body: &[u8]) -> Option<Rejection> {
    if !matches!(status.as_u16(), 401 | 403) {
        return None;
    }
    let (code, message) = error_body::find(body)?;
    let message = message.unwrap_or_default();
    if let Some((_, server)) = message.split_once("server time:") {
        return Some(Rejection::Clock { server: parse_time(server)? });
    }
    let code = ErrorCode::find(&code.unwrap_or_default(), status.as_u16());
    let expired = code.is_some_and(|row| row.retry(Effect::Read) == Retry::Token)
        || message.contains("token expires");
    expired.then_some(Rejection::Expired)
}

/// Returns advice for a response that rejects the credentials or the signature, otherwise `None`.
#[cold]
pub(crate) fn advice(
    status: StatusCode,
    body: &[u8],
    signed: Option<&str>,
    credentials: &Credentials,
    provider: &dyn ProvideCredentials,
    origin: Option<&str>,
) -> Option<String> {
    let message = message(body);
    let mismatch = signed.and_then(|signed| explain(&message, signed));
    let is_rejection =
        status == StatusCode::UNAUTHORIZED || parse(status, body) == Some(Rejection::Expired);
    let advice = match mismatch {
        Some(Mismatch::Request(difference)) => return Some(difference),
        Some(Mismatch::SecretKey) => {
            "the gateway saw the request as it was signed; check the secret key; after five \
             refusals in a row the key is locked for five minutes"
                .to_owned()
        }
        None if is_rejection && !message.contains(LOCKED) => {
            let advice = provider.advice();
            advice.unwrap_or_else(|| kind_advice(credentials, &message))
        }
        None if is_rejection => kind_advice(credentials, &message),
        None => return None,
    };
    Some(match origin {
        Some(origin) => format!("{advice}; the credentials are from {origin}"),
        None => advice,
    })
}

pub(super) fn message(body: &[u8]) -> String {
    let found = error_body::find(body).and_then(|(_, message)| message);
    found.unwrap_or_default()
}

pub(super) fn kind_advice(credentials: &Credentials, message: &str) -> String {
    let advice = match &*credentials.0 {
        CredentialKind::Keys(_) if message.contains(LOCKED) => {
            "the key is locked for five minutes after five refusals in a row; wait five minutes; \
             the access key and the secret key may be right"
        }
        CredentialKind::Token(_) => {
            "a token expires after at most 24 hours, and is valid only for the project and the \
             region that it was issued for; get a new one from IAM (POST /v3/auth/tokens), or use \
             credentials::Password, which renews it"
        }
        CredentialKind::Keys(keys) if keys.security_token.is_some() => {
            "temporary keys expire after at most 24 hours; get new ones, and check that access \
             key, secret key and security token belong together, region and clock"
        }
        CredentialKind::Keys(_) => {
            "check access key, secret key, region and clock; after five refusals in a row the key \
             is locked for five minutes"
        }
    };
    advice.to_owned()
}

impl Error {
    pub(super) fn with_login_advice(self, advice: &str) -> Self {
        let is_rejection =
            self.kind() == ErrorKind::Credentials && matches!(self.status(), Some(400 | 401 | 403));
        match is_rejection {
            true => self.with_advice(Some(advice.to_owned())),
            false => self,
        }
    }
}

/// Parses the time at the start of a text, in RFC 3339 or the format of signatures.
fn parse_time(text: &str) -> Option<SystemTime> {
    let is_end = |c: char| c == ',' || c == '"' || c.is_whitespace();
    let text = text.trim_start().split(is_end).next()?;
    let time: jiff::Timestamp = text.trim_end_matches('.').parse().ok()?;
    time.try_into().ok()
}

#[derive(Debug, PartialEq, Eq)]
enum Mismatch {
    SecretKey,
    /// The request was changed in transit. The text describes the first difference.
    Request(String),
}

/// Compares the canonical request in the message, with `|` for line breaks, with the local one.
fn explain(message: &str, ours: &str) -> Option<Mismatch> {
    let (_, theirs) = message.split_once("canonicalRequest:")?;
    let theirs: Vec<&str> = theirs.trim().split('|').map(str::trim).collect();
    let ours: Vec<&str> = ours.split('\n').map(str::trim).collect();
    let at = (0..ours.len().max(theirs.len())).find(|at| ours.get(*at) != theirs.get(*at));
    let Some(at) = at else {
        return Some(Mismatch::SecretKey);
    };
    let part = match at {
        0 => "the method",
        1 => "the path",
        2 => "the query",
        at if at + 1 == ours.len() => "the hash of the body",
        at if at + 2 == ours.len() => "the list of signed headers",
        _ => "a header",
    };
    let show = |line: Option<&&str>| match line.copied() {
        None => "nothing".to_owned(),
        Some(line) if line.starts_with("x-security-token") => "x-security-token:***".to_owned(),
        Some(line) => format!("{line:?}"),
    };
    Some(Mismatch::Request(format!(
        "the gateway saw another request than was signed: {part} is {} there and was {} here",
        show(theirs.get(at)),
        show(ours.get(at)),
    )))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn rejection(status: u16, code: &str, message: &str) -> Option<Rejection> {
        let body = serde_json::json!({"error_code": code, "error_msg": message});
        parse(StatusCode::from_u16(status).unwrap(), body.to_string().as_bytes())
    }

    #[test]
    fn the_time_of_the_gateway_is_read() {
        let server = SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_465_845);
        for text in ["20260115T083045Z", "2026-01-15T08:30:45Z", "2026-01-15T16:30:45+08:00"] {
            let message = format!(
                "Incorrect IAM authentication information: calc aksk signature fail:signature \
                 expired, signature time:20260115T073045Z,server time:{text}"
            );
            assert_eq!(
                rejection(401, "APIGW.0301", &message),
                Some(Rejection::Clock { server }),
                "{text}"
            );
        }
        assert_eq!(rejection(401, "APIGW.0301", "server time:soon"), None);
    }

    #[test]
    fn only_expired_tokens_are_renewed() {
        let expired = Some(Rejection::Expired);
        assert_eq!(rejection(401, "APIGW.0307", "The token must be updated"), expired);
        assert_eq!(rejection(401, "APIG.0307", "The token must be updated"), expired);
        assert_eq!(rejection(403, "ModelArts.2784", "invalid token"), expired);
        assert_eq!(
            rejection(401, "APIGW.0301", "token expires, expires_at:2026-01-15T08:30:45Z"),
            expired
        );
        assert_eq!(rejection(401, "APIGW.0301", "verify aksk signature fail"), None);
        assert_eq!(rejection(400, "APIGW.0307", "The token must be updated"), None);
        assert_eq!(parse(StatusCode::UNAUTHORIZED, b"<html>"), None);
        // Plain text may come from any gateway; the service itself responds with JSON.
        for body in [
            "token expires",
            "<html><title>token expires</title></html>",
            "server time:20260115T083045Z",
            "[\"token expires\"]",
        ] {
            assert_eq!(parse(StatusCode::FORBIDDEN, body.as_bytes()), None, "{body}");
        }
        // IAM nests the error; a code counts even without a message.
        for body in [
            r#"{"error":{"code":"APIGW.0307","message":"The token must be updated"}}"#,
            r#"{"error_code":"APIGW.0307"}"#,
        ] {
            assert_eq!(parse(StatusCode::UNAUTHORIZED, body.as_bytes()), expired);
        }
    }
}

#[cfg(test)]
mod signature_mismatch_tests {
    use super::*;

    const OURS: &str = "GET\n/v2/p/\na=1\nhost:h\nx-security-token:SECRET\n\nhost\nhash";

    #[test]
    fn the_first_difference_is_named() {
        let seen = |theirs: &str| {
            explain(&format!("verify aksk signature fail, canonicalRequest:{theirs}"), OURS)
                .unwrap()
        };
        let request = |text: &str| Mismatch::Request(text.to_owned());
        assert_eq!(
            seen("GET|/v2/p/|a=2|host:h|x-security-token:SECRET||host|hash"),
            request(
                "the gateway saw another request than was signed: the query is \"a=2\" there and \
                 was \"a=1\" here"
            )
        );
        assert_eq!(
            seen("GET|/v2/p/|a=1|host:h|x-security-token:OTHER||host|hash"),
            request(
                "the gateway saw another request than was signed: a header is x-security-token:*** \
                 there and was x-security-token:*** here"
            )
        );
        assert_eq!(
            seen("GET|/v2/p/|a=1|host:h|x-security-token:SECRET||host|hash"),
            Mismatch::SecretKey
        );
        assert_eq!(explain("ak X not exist", OURS), None);
    }
}
