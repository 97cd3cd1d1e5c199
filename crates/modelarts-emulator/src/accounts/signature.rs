//! Verification of SDK-HMAC-SHA256 signatures in both dialects. `Access=` signs with the secret key
//! itself, `Credential=` with a key derived from it for a day, a region and a service.

use std::time::{Duration, SystemTime};

use axum::http::HeaderMap;
use hmac::{Hmac, KeyInit, Mac};
use modelarts_api::hex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};
use sha2::{Digest, Sha256};

use crate::clock::timestamp::Timestamp;

const ALGORITHM: &str = "SDK-HMAC-SHA256";

/// Greatest accepted difference between the client's clock and the server's, in either direction.
pub const MAX_SKEW: Duration = Duration::from_secs(15 * 60);

/// Characters that are percent-encoded: all except letters, digits, `-`, `_`, `.` and `~`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Parts of a received request that a signature covers.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedRequest<'a> {
    /// The HTTP method, in upper or lower case.
    pub method: &'a str,
    /// The path as sent, percent-encoded, without the query.
    pub path: &'a str,
    /// The query as sent, without the question mark; empty if the request has no query.
    pub query: &'a str,
    /// All headers of the request.
    pub headers: &'a HeaderMap,
    /// The body of the request, byte for byte.
    pub body: &'a [u8],
}

/// Error of the verification of a signature. The messages are those of the gateway where known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The request has no `Authorization` header, or more than one.
    #[error("x-auth-token not found")]
    NoCredentials,
    /// The algorithm, such as the derived `V11-HMAC-SHA256`, is not supported.
    #[error("calc aksk signature fail:unsupported algorithm:{found}")]
    UnsupportedAlgorithm {
        /// The name of the algorithm at the start of the `Authorization` header.
        found: String,
    },
    /// `Authorization`, `X-Sdk-Date` or `X-Sdk-Content-Sha256` is invalid or does not match.
    #[error("calc aksk signature fail:{reason}")]
    Malformed {
        /// The description of the defect.
        reason: &'static str,
    },
    /// The access key does not exist.
    #[error("ak {access_key} not exist")]
    UnknownKey {
        /// The access key as sent.
        access_key: String,
    },
    /// The signing time differs from the server's time by more than [`MAX_SKEW`].
    #[error(
        "calc aksk signature fail:signature expired, signature time:{signed},server time:{server}"
    )]
    Expired {
        /// The value of `X-Sdk-Date` as sent.
        signed: String,
        /// The server's time in the format of `X-Sdk-Date`.
        server: String,
    },
    /// The signature does not match the request and the key.
    #[error("verify aksk signature fail, canonicalRequest:{canonical_request}")]
    Mismatch {
        /// The canonical request computed by the server, with `|` for line breaks.
        canonical_request: String,
    },
}

/// Verifies the signature of a request, and returns its access key.
///
/// `secret_of` returns the secret key of an access key, or `None` if the access key does not exist.
///
/// # Errors
/// Returns an error if the signature is missing, malformed, expired or wrong, or its key unknown.
pub fn verify(
    request: ReceivedRequest<'_>,
    now: SystemTime,
    secret_of: impl Fn(&str) -> Option<String>,
) -> Result<String, SignatureError> {
    let claim = SignedRequest::of(request, now, secret_of)?;
    claim.check(request.body)?;
    Ok(claim.access_key().to_owned())
}

/// Signed request whose head is valid, and whose signature must still be checked with the body.
pub(crate) struct SignedRequest<'a> {
    request: ReceivedRequest<'a>,
    authorization: Authorization<'a>,
    date: &'a str,
    secret: String,
    /// Canonical form of the signed headers.
    headers: Vec<u8>,
}

impl<'a> SignedRequest<'a> {
    /// Checks the parts of a signed request that do not depend on its body.
    pub(crate) fn of(
        request: ReceivedRequest<'a>,
        now: SystemTime,
        secret_of: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SignatureError> {
        let authorization = Authorization::of(request.headers)?;
        let date = single_header(request.headers, "x-sdk-date")
            .ok_or(malformed("header x-sdk-date not found"))?;
        let date = std::str::from_utf8(date).unwrap_or_default();
        let signed = Timestamp::parse_compact(date)
            .ok_or(malformed("header x-sdk-date is not of the form YYYYMMDDTHHMMSSZ"))?;
        if !authorization.signed_headers.contains(&"x-sdk-date") {
            return Err(malformed("header x-sdk-date is not signed"));
        }
        let access_key = authorization.access_key;
        let secret = secret_of(access_key)
            .ok_or_else(|| SignatureError::UnknownKey { access_key: access_key.to_owned() })?;
        let now = Timestamp::from(now);
        let skew = now.millis().abs_diff(signed.millis());
        if u128::from(skew) > MAX_SKEW.as_millis() {
            return Err(SignatureError::Expired { signed: date.to_owned(), server: now.compact() });
        }
        let scope = authorization.scope;
        if scope.is_some_and(|scope| scope.split('/').next() != date.get(..8)) {
            return Err(malformed("the date of the credential is not the one of x-sdk-date"));
        }
        let signed_headers = &authorization.signed_headers;
        let headers = canonical_headers(request.headers, signed_headers, scope.is_some())?;
        Ok(Self { request, authorization, date, secret, headers })
    }

    pub(crate) fn access_key(&self) -> &'a str {
        self.authorization.access_key
    }

    pub(crate) fn check(&self, body: &[u8]) -> Result<(), SignatureError> {
        let ReceivedRequest { method, query, .. } = self.request;
        let method = method.to_ascii_uppercase();
        let scoped = self.authorization.scope.is_some();
        let body_hash = if scoped && body.is_empty() && method == "POST" {
            // If the body is empty, the hash of the query is signed instead.
            sha256(query)
        } else {
            body_hash(self.request.headers, body)?
        };
        let path = canonical_path(self.request.path);
        let signed_headers = self.authorization.signed_headers.join(";");
        let canonical = |query: &str| {
            let lines: [&[u8]; 6] = [
                method.as_bytes(),
                path.as_bytes(),
                query.as_bytes(),
                &self.headers,
                signed_headers.as_bytes(),
                body_hash.as_bytes(),
            ];
            lines.join(&b'\n')
        };
        let (by_value, as_sent) = canonical_queries(query);
        let expected = canonical(&by_value);
        let alternative = as_sent.map(|query| canonical(&query));
        let mut accepted = std::iter::once(&expected).chain(&alternative);
        if accepted.any(|canonical| self.matches(canonical) == Some(true)) {
            Ok(())
        } else {
            Err(SignatureError::Mismatch {
                canonical_request: String::from_utf8_lossy(&expected).replace('\n', "|"),
            })
        }
    }

    /// Compares the signature in constant time. Returns `None` if it is not lower-case hexadecimal.
    fn matches(&self, canonical: &[u8]) -> Option<bool> {
        let (date, hash) = (self.date, sha256(canonical));
        let (to_sign, mac) = match self.authorization.scope {
            None => (format!("{ALGORITHM}\n{date}\n{hash}"), hmac(self.secret.as_bytes())?),
            Some(scope) => {
                // The key is derived from the secret, the day, the region and the service.
                let mut mac = hmac(format!("SDK{}", self.secret).as_bytes())?;
                for part in scope.split('/') {
                    mac = hmac(&mac.chain_update(part).finalize().into_bytes())?;
                }
                (format!("{ALGORITHM}\n{date}\n{scope}\n{hash}"), mac)
            }
        };
        let given = unhex(self.authorization.signature)?;
        Some(mac.chain_update(to_sign).verify_slice(&given).is_ok())
    }
}

fn malformed(reason: &'static str) -> SignatureError {
    SignatureError::Malformed { reason }
}

fn hmac(key: &[u8]) -> Option<Hmac<Sha256>> {
    Hmac::new_from_slice(key).ok()
}

/// Returns the access key in `Authorization`, or `None` unless there is exactly one valid header.
#[must_use]
pub fn access_key(headers: &HeaderMap) -> Option<&str> {
    Authorization::of(headers).ok().map(|authorization| authorization.access_key)
}

struct Authorization<'a> {
    access_key: &'a str,
    /// Scope of the `Credential=` dialect, `YYYYMMDD/region/service/sdk_request`; region and
    /// service may be empty.
    scope: Option<&'a str>,
    signed_headers: Vec<&'a str>,
    signature: &'a str,
}

impl<'a> Authorization<'a> {
    fn of(headers: &'a HeaderMap) -> Result<Self, SignatureError> {
        let header =
            single_header(headers, "authorization").ok_or(SignatureError::NoCredentials)?;
        let text = std::str::from_utf8(header)
            .map_err(|_| malformed("header authorization is not text"))?;
        let (algorithm, rest) = text.split_once(' ').unwrap_or((text, ""));
        if algorithm != ALGORITHM {
            return Err(SignatureError::UnsupportedAlgorithm { found: algorithm.into() });
        }
        let form = malformed(
            "header authorization is not of the form Access=, SignedHeaders=, Signature=",
        );
        let fields: Vec<&str> = rest.split(", ").collect();
        let [access, signed, signature] = fields.as_slice() else {
            return Err(form);
        };
        let field = |text: &'a str, name| text.strip_prefix(name).ok_or(form.clone());
        let (access_key, scope) = match access.strip_prefix("Credential=") {
            None => (field(access, "Access=")?, None),
            Some(credential) => {
                let (access_key, scope) = credential.split_once('/').unwrap_or((credential, ""));
                if scope.split('/').count() != 4 || !scope.ends_with("/sdk_request") {
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

/// Returns the value of a header, or `None` if the header is missing or repeated.
fn single_header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value.as_bytes()),
        _ => None,
    }
}

/// Returns the lines `name:value` of `signed`, which must be present, sorted and in lower case.
fn canonical_headers(
    headers: &HeaderMap,
    signed: &[&str],
    scoped: bool,
) -> Result<Vec<u8>, SignatureError> {
    let sorted = signed.windows(2).all(|pair| pair[0] < pair[1]);
    let lower = signed.iter().all(|name| !name.is_empty() && name.to_ascii_lowercase() == *name);
    if !sorted || !lower {
        return Err(malformed("SignedHeaders must be sorted and in lower case"));
    }
    let mut lines = Vec::new();
    for name in signed {
        let value = single_header(headers, name)
            .ok_or(malformed("a header of SignedHeaders is not in the request"))?;
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

/// Returns the path decoded once and encoded again, except for slashes, with a slash at the end.
fn canonical_path(path: &str) -> String {
    let decoded: Vec<u8> = percent_decode(path.as_bytes()).collect();
    let segments = decoded.split(|byte| *byte == b'/').map(encode);
    let mut canonical = segments.collect::<Vec<_>>().join("/");
    if !canonical.ends_with('/') {
        canonical.push('/');
    }
    canonical
}

/// Returns the canonical query with sorted pairs. If a key repeats, also returns the variant that
/// keeps its values in the order sent, because a signer may have sorted them as numbers.
fn canonical_queries(query: &str) -> (String, Option<String>) {
    let decode = |text: &str| percent_decode(text.as_bytes()).collect::<Vec<u8>>();
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let mut pairs: Vec<_> = pairs.map(|(key, value)| (decode(key), decode(value))).collect();
    let join = |pairs: &[(Vec<u8>, Vec<u8>)]| {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(key, value)| format!("{}={}", encode(key), encode(value)));
        pairs.collect::<Vec<_>>().join("&")
    };
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    let repeated = pairs.windows(2).any(|pair| pair[0].0 == pair[1].0);
    let as_sent = repeated.then(|| join(&pairs));
    pairs.sort();
    (join(&pairs), as_sent)
}

/// Returns the hash of the body or, if declared, `UNSIGNED-PAYLOAD`. A declared hash must match.
fn body_hash(headers: &HeaderMap, body: &[u8]) -> Result<String, SignatureError> {
    let actual = sha256(body);
    match single_header(headers, "x-sdk-content-sha256") {
        None => Ok(actual),
        // The official signer ignores the header if the body is empty.
        Some(_) if body.is_empty() => Ok(actual),
        Some(b"UNSIGNED-PAYLOAD") => Ok("UNSIGNED-PAYLOAD".into()),
        Some(claimed) if claimed == actual.as_bytes() => Ok(actual),
        Some(_) => Err(malformed("header x-sdk-content-sha256 is not the hash of the body")),
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    percent_encode(bytes.as_ref(), RESERVED).to_string()
}

fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(&Sha256::digest(bytes))
}

/// Decodes hexadecimal digits in lower case, the form in signatures. Returns `None` for other text.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect()
}
