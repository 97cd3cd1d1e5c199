//! Checks signatures of the algorithm SDK-HMAC-SHA256, in both dialects:
//! `Access=` with the secret key itself, `Credential=` with a key derived from it for a day, a
//! region and a service.
//!
//! Written from the description of the algorithm and not shared with the client, so that an error
//! in one of them shows as a mismatch.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use axum::http::HeaderMap;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};
use sha2::{Digest, Sha256};

use crate::clock::timestamp::Timestamp;

const ALGORITHM: &str = "SDK-HMAC-SHA256";

/// Greatest accepted difference between the client's clock and the server's, in either direction.
pub const MAX_SKEW: Duration = Duration::from_secs(15 * 60);

/// Characters to percent-encode, in upper case: all but `A-Z a-z 0-9 - _ . ~`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A request as it was received.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedRequest<'a> {
    /// The method; its case does not matter.
    pub method: &'a str,
    /// The path as sent, percent-encoded, without the query.
    pub path: &'a str,
    /// The query as sent, without the question mark; empty if there is none.
    pub query: &'a str,
    /// All headers.
    pub headers: &'a HeaderMap,
    /// The exact bytes of the body.
    pub body: &'a [u8],
}

/// Reasons for rejecting a signature. Texts are those of the gateway where they are known,
/// otherwise the emulator's own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureError {
    /// Neither a signature nor a token.
    NoCredentials,
    /// The `Authorization` header names an algorithm that this verifier does not support, for
    /// example the derived signature `V11-HMAC-SHA256`.
    UnsupportedAlgorithm {
        /// The first word of the header.
        found: String,
    },
    /// The `Authorization` header, or `X-Sdk-Date`, is malformed or does not match the request.
    Malformed {
        /// The reason.
        reason: &'static str,
    },
    /// The access key does not exist.
    UnknownKey {
        /// The access key.
        access_key: String,
    },
    /// The signing time is too far in the past or in the future.
    Expired {
        /// `X-Sdk-Date` as sent.
        signed: String,
        /// The server's time in the same form.
        server: String,
    },
    /// The signature does not match the request and the key.
    Mismatch {
        /// The canonical request as the server sees it, `|` for line ends.
        canonical_request: String,
    },
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCredentials => f.write_str("x-auth-token not found"),
            Self::UnsupportedAlgorithm { found } => {
                write!(f, "calc aksk signature fail:unsupported algorithm:{found}")
            }
            Self::Malformed { reason } => write!(f, "calc aksk signature fail:{reason}"),
            Self::UnknownKey { access_key } => write!(f, "ak {access_key} not exist"),
            Self::Expired { signed, server } => write!(
                f,
                "calc aksk signature fail:signature expired, signature time:{signed},server time:{server}"
            ),
            Self::Mismatch { canonical_request } => {
                write!(
                    f,
                    "verify aksk signature fail, canonicalRequest:{canonical_request}"
                )
            }
        }
    }
}

impl std::error::Error for SignatureError {}

/// Verifies a request signed with a known key, and returns that access key.
///
/// `secret_of` returns the secret key of an access key. The result depends on the arguments only.
///
/// # Errors
/// The first [`SignatureError`] that applies.
pub fn verify(
    request: ReceivedRequest<'_>,
    now: SystemTime,
    secret_of: impl Fn(&str) -> Option<String>,
) -> Result<String, SignatureError> {
    let head = RequestHead {
        method: request.method,
        path: request.path,
        query: request.query,
        headers: request.headers,
    };
    let claim = SignedRequest::of(head, now, secret_of)?;
    claim.check(request.body)?;
    Ok(claim.access_key().to_owned())
}

/// A received request without its body. The fields are those of [`ReceivedRequest`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestHead<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) headers: &'a HeaderMap,
}

/// A signed request whose head is valid; checking the signature itself needs the body.
pub(crate) struct SignedRequest<'a> {
    head: RequestHead<'a>,
    authorization: Authorization<'a>,
    date: &'a str,
    secret: String,
    /// Canonical headers.
    headers: Vec<u8>,
}

impl<'a> SignedRequest<'a> {
    /// Checks everything that does not depend on the body.
    pub(crate) fn of(
        head: RequestHead<'a>,
        now: SystemTime,
        secret_of: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SignatureError> {
        let authorization = Authorization::of(head.headers)?;
        let date = single_header(head.headers, "x-sdk-date").ok_or(SignatureError::Malformed {
            reason: "header x-sdk-date not found",
        })?;
        let date = std::str::from_utf8(date).unwrap_or_default();
        let signed = Timestamp::parse_compact(date).ok_or(SignatureError::Malformed {
            reason: "header x-sdk-date is not of the form YYYYMMDDTHHMMSSZ",
        })?;
        if !authorization.signed_headers.contains(&"x-sdk-date") {
            return Err(SignatureError::Malformed {
                reason: "header x-sdk-date is not signed",
            });
        }
        let secret =
            secret_of(authorization.access_key).ok_or_else(|| SignatureError::UnknownKey {
                access_key: authorization.access_key.to_owned(),
            })?;
        let now = Timestamp::from(now);
        if now.millis().abs_diff(signed.millis())
            > u64::try_from(MAX_SKEW.as_millis()).unwrap_or(u64::MAX)
        {
            return Err(SignatureError::Expired {
                signed: date.to_owned(),
                server: now.compact(),
            });
        }
        let scoped = authorization.scope.is_some();
        if authorization
            .scope
            .is_some_and(|scope| scope.split('/').next() != date.get(..8))
        {
            return Err(SignatureError::Malformed {
                reason: "the date of the credential is not the one of x-sdk-date",
            });
        }
        let headers = canonical_headers(head.headers, &authorization.signed_headers, scoped)?;
        Ok(Self {
            head,
            authorization,
            date,
            secret,
            headers,
        })
    }

    /// The access key.
    pub(crate) fn access_key(&self) -> &'a str {
        self.authorization.access_key
    }

    /// Compares the signature with the one computed for this body.
    pub(crate) fn check(&self, body: &[u8]) -> Result<(), SignatureError> {
        let Self {
            head,
            authorization,
            date,
            ..
        } = self;
        let scoped = authorization.scope.is_some();
        let body_hash = if scoped && body.is_empty() && head.method.eq_ignore_ascii_case("post") {
            // Without a body, the query is hashed in its place.
            hex(&Sha256::digest(head.query))
        } else {
            body_hash(head.headers, body)?
        };
        let canonical = |query: String| {
            let mut text = Vec::new();
            text.extend_from_slice(head.method.to_ascii_uppercase().as_bytes());
            text.push(b'\n');
            text.extend_from_slice(canonical_path(head.path).as_bytes());
            text.push(b'\n');
            text.extend_from_slice(query.as_bytes());
            text.push(b'\n');
            text.extend_from_slice(&self.headers);
            text.push(b'\n');
            text.extend_from_slice(authorization.signed_headers.join(";").as_bytes());
            text.push(b'\n');
            text.extend_from_slice(body_hash.as_bytes());
            text
        };
        let given = unhex(authorization.signature);
        let matches = |canonical: &[u8]| {
            let hash = hex(&Sha256::digest(canonical));
            let (to_sign, key) = match authorization.scope {
                None => (
                    format!("{ALGORITHM}\n{date}\n{hash}"),
                    Some(self.secret.clone().into_bytes()),
                ),
                Some(scope) => (
                    format!("{ALGORITHM}\n{date}\n{scope}\n{hash}"),
                    scoped_key(&self.secret, scope),
                ),
            };
            let Some(key) = key else { return false };
            let mac = Hmac::<Sha256>::new_from_slice(&key);
            match (&given, mac) {
                // `verify_slice` compares in constant time.
                (Some(given), Ok(mac)) => mac.chain_update(to_sign).verify_slice(given).is_ok(),
                _ => false,
            }
        };
        let (by_value, as_sent) = canonical_queries(head.query);
        let expected = canonical(by_value);
        if matches(&expected) || as_sent.is_some_and(|query| matches(&canonical(query))) {
            Ok(())
        } else {
            Err(SignatureError::Mismatch {
                canonical_request: String::from_utf8_lossy(&expected).replace('\n', "|"),
            })
        }
    }
}

/// The access key named in the `Authorization` header.
#[must_use]
pub fn access_key(headers: &HeaderMap) -> Option<&str> {
    Authorization::of(headers)
        .ok()
        .map(|authorization| authorization.access_key)
}

/// The signing key of the scoped dialect, derived from the secret, the day, the region and the
/// service.
fn scoped_key(secret: &str, scope: &str) -> Option<Vec<u8>> {
    let mut key = format!("SDK{secret}").into_bytes();
    for part in scope.split('/') {
        let mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
        key = mac.chain_update(part).finalize().into_bytes().to_vec();
    }
    Some(key)
}

struct Authorization<'a> {
    access_key: &'a str,
    /// `YYYYMMDD/region/service/sdk_request` of the scoped dialect; region and service may be
    /// empty.
    scope: Option<&'a str>,
    signed_headers: Vec<&'a str>,
    signature: &'a str,
}

impl<'a> Authorization<'a> {
    fn of(headers: &'a HeaderMap) -> Result<Self, SignatureError> {
        let header =
            single_header(headers, "authorization").ok_or(SignatureError::NoCredentials)?;
        let malformed = |reason| SignatureError::Malformed { reason };
        let text = std::str::from_utf8(header)
            .map_err(|_| malformed("header authorization is not text"))?;
        let (algorithm, rest) = text.split_once(' ').unwrap_or((text, ""));
        if algorithm != ALGORITHM {
            return Err(SignatureError::UnsupportedAlgorithm {
                found: algorithm.into(),
            });
        }
        let fields: Vec<&str> = rest.split(", ").collect();
        let [access, signed, signature] = fields.as_slice() else {
            return Err(malformed(
                "header authorization is not of the form Access=, SignedHeaders=, Signature=",
            ));
        };
        let field = |text: &'a str, name| {
            text.strip_prefix(name).ok_or(malformed(
                "header authorization is not of the form Access=, SignedHeaders=, Signature=",
            ))
        };
        let (access_key, scope) = match access.strip_prefix("Credential=") {
            None => (field(access, "Access=")?, None),
            Some(credential) => {
                let (access_key, scope) = credential.split_once('/').unwrap_or((credential, ""));
                let well = scope.split('/').count() == 4 && scope.ends_with("/sdk_request");
                if !well {
                    return Err(malformed(
                        "the credential is not of the form AK/YYYYMMDD/region/service/sdk_request",
                    ));
                }
                (access_key, Some(scope))
            }
        };
        Ok(Self {
            access_key,
            scope,
            signed_headers: field(signed, "SignedHeaders=")?.split(';').collect(),
            signature: field(signature, "Signature=")?,
        })
    }
}

/// The value of a header that must not be repeated.
fn single_header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value.as_bytes()),
        _ => None,
    }
}

/// `name:value` lines of the signed headers, which must be present, sorted and in lower case. The
/// scoped dialect collapses repeated blanks.
fn canonical_headers(
    headers: &HeaderMap,
    signed: &[&str],
    scoped: bool,
) -> Result<Vec<u8>, SignatureError> {
    let sorted = signed.windows(2).all(|pair| pair[0] < pair[1]);
    let lower = signed
        .iter()
        .all(|name| !name.is_empty() && name.to_ascii_lowercase() == *name);
    if !sorted || !lower {
        return Err(SignatureError::Malformed {
            reason: "SignedHeaders must be sorted and in lower case",
        });
    }
    let mut lines = Vec::new();
    for name in signed {
        let value = single_header(headers, name).ok_or(SignatureError::Malformed {
            reason: "a header of SignedHeaders is not in the request",
        })?;
        lines.extend_from_slice(name.as_bytes());
        lines.push(b':');
        let mut value = value.trim_ascii().to_vec();
        if scoped {
            value.dedup_by(|a, b| *a == b' ' && *b == b' ');
        }
        lines.extend_from_slice(&value);
        lines.push(b'\n');
    }
    Ok(lines)
}

/// The canonical path: each segment decoded once and encoded again, with a slash at the end.
fn canonical_path(path: &str) -> String {
    let decoded: Vec<u8> = percent_decode(path.as_bytes()).collect();
    let mut canonical = decoded
        .split(|byte| *byte == b'/')
        .map(encode)
        .collect::<Vec<_>>()
        .join("/");
    if !canonical.ends_with('/') {
        canonical.push('/');
    }
    canonical
}

/// The canonical query: pairs sorted by key and value. If a key repeats, also the variant with its
/// values in the order in which they were sent, because a signer may have sorted them as numbers.
fn canonical_queries(query: &str) -> (String, Option<String>) {
    let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode = |text: &str| percent_decode(text.as_bytes()).collect();
            (decode(key), decode(value))
        })
        .collect();
    let join = |pairs: &[(Vec<u8>, Vec<u8>)]| {
        pairs
            .iter()
            .map(|(key, value)| format!("{}={}", encode(key), encode(value)))
            .collect::<Vec<_>>()
            .join("&")
    };
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    let as_sent = pairs
        .windows(2)
        .any(|pair| pair[0].0 == pair[1].0)
        .then(|| join(&pairs));
    pairs.sort();
    (join(&pairs), as_sent)
}

/// The last line of the canonical request. A hash sent by the client must match the body.
fn body_hash(headers: &HeaderMap, body: &[u8]) -> Result<String, SignatureError> {
    let actual = hex(&Sha256::digest(body));
    match single_header(headers, "x-sdk-content-sha256") {
        // The official signer ignores the header if there is no body.
        _ if body.is_empty() => Ok(actual),
        None => Ok(actual),
        Some(b"UNSIGNED-PAYLOAD") => Ok("UNSIGNED-PAYLOAD".into()),
        Some(claimed) if claimed == actual.as_bytes() => Ok(actual),
        Some(_) => Err(SignatureError::Malformed {
            reason: "header x-sdk-content-sha256 is not the hash of the body",
        }),
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    percent_encode(bytes.as_ref(), RESERVED).to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Accepts lower case only, the form of signatures.
fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2)
        || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok())
        .collect()
}
