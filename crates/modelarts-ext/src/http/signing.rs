//! Request signature `SDK-HMAC-SHA256` in two variants.
//!
//! The official SDKs sign with the secret key. The older SDK of Open Telekom Cloud signs with a key
//! that is derived from the secret key for one day. [`SigningScheme`] selects the variant.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, _| {
//! use modelarts_ext::signing::SigningScheme;
//!
//! let client = ClientBuilder::from_vars(emulator.vars())
//!     .signing(SigningScheme::Scoped { region: "eu-de".into(), service: "modelarts".into() })
//!     .build()?;
//! client.training_jobs().list().collect(10).await?;
//! # Ok(()) }) }
//! ```

// `Access` is implemented as in the official Python signer (`openapi/vectors/signing.json`). No
// official signer implements `Scoped`. A script of this project generated `signing-scoped.json`.

use std::{borrow::Cow, time::SystemTime};

use hmac::{Hmac, KeyInit, Mac};
use jiff::{Timestamp, tz::Offset};
use modelarts_api::hex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// Variant of the request signature. Both variants have the name `SDK-HMAC-SHA256`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SigningScheme {
    /// Signs with the secret key, as the official SDKs do. Header: `Access=…`.
    #[default]
    Access,
    /// Signs with a key that is derived from the secret key for one day, region and service, as the
    /// older SDK of Open Telekom Cloud does, with an empty region and service. Header:
    /// `Credential=…/<day>/<region>/<service>/sdk_request`.
    ///
    /// Sorts the query after encoding, ignoring case, and merges adjacent blanks in headers.
    Scoped {
        /// Name of the region, or an empty string.
        region: String,
        /// Name of the service, such as `modelarts`, or an empty string.
        service: String,
    },
}

impl SigningScheme {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Self::Scoped { region, service } = self else {
            return Ok(());
        };
        for (name, value) in [("region", region), ("service", service)] {
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if !value.chars().all(is_allowed) {
                return Err(Error::config(format!(
                    "the {name} of the signature is {value:?}; only letters, digits, '-', '_' \
                     and '.' can be in it"
                )));
            }
        }
        Ok(())
    }
}

pub(crate) const DATE: &str = "x-sdk-date";
/// Header whose value replaces the hash of a non-empty body in the signature.
const CONTENT_SHA256: &str = "x-sdk-content-sha256";

const EMPTY_SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const RESERVED_IN_PATHS: &AsciiSet = &RESERVED.remove(b'/');

pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a [(String, String)],
    pub(crate) headers: &'a [(&'a str, Cow<'a, str>)],
    pub(crate) body: &'a [u8],
}

pub(crate) struct Signature {
    pub(crate) authorization: String,
    /// Canonical request. A gateway that rejects the signature returns its own version.
    pub(crate) canonical_request: String,
    pub(crate) query: String,
}

pub(crate) fn sign(
    request: &Request<'_>,
    access_key: &str,
    secret_key: &str,
    signing: &SigningScheme,
) -> Signature {
    let scoped = matches!(signing, SigningScheme::Scoped { .. });
    let mut headers: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::with_capacity(request.headers.len());
    for (name, value) in request.headers {
        // Gateways remove headers with an underscore, so such headers must not be signed.
        if name.bytes().any(|byte| byte == b'_') {
            continue;
        }
        let name = match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => name.to_ascii_lowercase().into(),
            false => Cow::Borrowed(*name),
        };
        let value = if scoped {
            let words: Vec<_> = value.split_whitespace().collect();
            words.join(" ").into()
        } else {
            value.trim().into()
        };
        headers.push((name, value));
    }
    headers.sort();
    let header = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name == wanted);
        found.map_or("", |(_, value)| value.as_ref())
    };
    let query = canonical_query(request.query, scoped);
    let hash: Cow<'_, str> = match header(CONTENT_SHA256) {
        _ if request.body.is_empty() => EMPTY_SHA256.into(),
        "" => hex::encode(&Sha256::digest(request.body)).into(),
        // The official signer uses this header only for requests with a body.
        value => value.into(),
    };
    let mut canonical_request = String::with_capacity(512);
    canonical_request.push_str(request.method);
    canonical_request.make_ascii_uppercase();
    canonical_request.push('\n');
    push_path(&mut canonical_request, request.path);
    canonical_request.extend(["\n", &query, "\n"]);
    for (name, value) in &headers {
        canonical_request.extend([name, ":", value, "\n"]);
    }
    canonical_request.push('\n');
    let names = canonical_request.len();
    for (index, (name, _)) in headers.iter().enumerate() {
        if index > 0 {
            canonical_request.push(';');
        }
        canonical_request.push_str(name);
    }
    let names = names..canonical_request.len();
    canonical_request.extend(["\n", &hash]);
    let date = header(DATE);
    let hash = hex::encode(&Sha256::digest(&canonical_request));
    let (credential, to_sign, key) = match signing {
        SigningScheme::Access => (
            // The secret key is the signing key, so it is valid in every region.
            ["Access=", access_key].concat(),
            ["SDK-HMAC-SHA256\n", date, "\n", &hash].concat(),
            Cow::Borrowed(secret_key.as_bytes()),
        ),
        SigningScheme::Scoped { region, service } => {
            let day = date.get(..8).unwrap_or_default();
            let scope = format!("{day}/{region}/{service}/sdk_request");
            let mut key = format!("SDK{secret_key}").into_bytes();
            for part in [day, region, service, "sdk_request"] {
                key = hmac(&key, part.as_bytes()).to_vec();
            }
            (
                format!("Credential={access_key}/{scope}"),
                format!("SDK-HMAC-SHA256\n{date}\n{scope}\n{hash}"),
                key.into(),
            )
        }
    };
    let signature = hex::encode(&hmac(&key, to_sign.as_bytes()));
    let names = canonical_request.get(names).unwrap_or_default();
    let authorization =
        ["SDK-HMAC-SHA256 ", &credential, ", SignedHeaders=", names, ", Signature=", &signature];
    Signature { authorization: authorization.concat(), canonical_request, query }
}

/// Formats a time, such as `20260115T083045Z`. Takes less code than the formatter of jiff.
pub(crate) fn date(time: SystemTime) -> String {
    let time = Offset::UTC.to_datetime(Timestamp::try_from(time).unwrap_or_default());
    let (year, month, day) = (time.year(), time.month(), time.day());
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    // Formatting two numbers takes fewer instructions than formatting six.
    let date = i32::from(year) * 10_000 + i32::from(month) * 100 + i32::from(day);
    let clock = i32::from(hour) * 10_000 + i32::from(minute) * 100 + i32::from(second);
    format!("{date:08}T{clock:06}Z")
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    // HMAC accepts keys of any length, so this cannot fail.
    Hmac::<Sha256>::new_from_slice(key)
        .map_or([0; 32], |mac| mac.chain_update(message).finalize().into_bytes().into())
}

/// Appends the path for the signature: decoded, encoded again, and with a slash at the end.
fn push_path(canonical: &mut String, path: &str) {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    if path.bytes().all(is_plain) {
        // All paths of this service are of this kind, because identifiers are validated.
        canonical.push_str(path);
    } else {
        let decoded = percent_decode_str(path).decode_utf8_lossy();
        canonical.extend(utf8_percent_encode(&decoded, RESERVED_IN_PATHS));
    }
    if !canonical.ends_with('/') {
        canonical.push('/');
    }
}

/// Returns the encoded query, sorted before encoding, or if `scoped` after it, ignoring case.
pub(crate) fn canonical_query(query: &[(String, String)], scoped: bool) -> String {
    let mut query: Vec<_> = query.iter().collect();
    query.sort();
    let encode = |text| Cow::from(utf8_percent_encode(text, RESERVED));
    let mut query: Vec<_> =
        query.into_iter().map(|(name, value)| (encode(name), encode(value))).collect();
    if scoped {
        query.sort_by_cached_key(|(name, value)| {
            (name.to_ascii_lowercase(), name.clone(), value.clone())
        });
    }
    let pairs: Vec<_> = query.iter().map(|(name, value)| [name, "=", value].concat()).collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    fn borrowed(headers: &[(String, String)]) -> Vec<(&str, Cow<'_, str>)> {
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str().into())).collect()
    }

    fn cases(file: &str) -> Vec<Value> {
        let file = format!("{}/../../openapi/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
        let mut file: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        serde_json::from_value(file["cases"].take()).unwrap()
    }

    /// Signs a request, and compares the canonical request and the header with the expected ones.
    fn check(case: &Value, scheme: &SigningScheme) {
        let text = |key: &str| case[key].as_str().unwrap();
        let mut headers = BTreeMap::new();
        for key in ["headers", "unsigned_headers"] {
            let some: Option<BTreeMap<String, String>> =
                serde_json::from_value(case[key].clone()).unwrap();
            headers.extend(some.unwrap_or_default());
        }
        let headers: Vec<_> = headers.into_iter().collect();
        let body =
            case["body_base64"].as_str().map_or_else(|| text("body").as_bytes().to_vec(), base64);
        let mut query: Vec<(String, String)> =
            serde_json::from_value(case["query"].clone()).unwrap();
        // The order of query parameters must not affect the signature.
        for _ in 0..2 {
            let signature = sign(
                &Request {
                    method: text("method"),
                    path: text("path"),
                    query: &query,
                    headers: &borrowed(&headers),
                    body: &body,
                },
                text("access_key"),
                text("secret_key"),
                scheme,
            );
            let name = text("name");
            assert_eq!(signature.canonical_request, text("canonical_request"), "{name}");
            assert_eq!(signature.authorization, text("authorization"), "{name}");
            query.reverse();
        }
    }

    #[test]
    fn signatures_are_those_of_the_official_signer() {
        let cases = cases("signing.json");
        assert_eq!(cases.len(), 41);
        for case in cases {
            // All values are strings here, as in the official signer for JavaScript.
            if case["needs"] != "number-sort" {
                check(&case, &SigningScheme::Access);
            }
        }
    }

    /// Decodes base64, limited to the forms in the test vectors.
    fn base64(text: &str) -> Vec<u8> {
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut bits = 0_u32;
        let mut count = 0;
        let mut bytes = Vec::new();
        for byte in text.bytes().filter(|byte| *byte != b'=') {
            let digit = ALPHABET.iter().position(|known| *known == byte).unwrap();
            bits = bits << 6 | u32::try_from(digit).unwrap();
            count += 6;
            if count >= 8 {
                count -= 8;
                bytes.push(u8::try_from(bits >> count & 0xff).unwrap());
            }
        }
        bytes
    }

    #[test]
    fn signing_known_answers_of_the_go_sdk() {
        let date = ("X-Sdk-Date".to_owned(), "20060102T150405Z".to_owned());
        let signature = |method, query: &[(&str, &str)], body: &[u8]| {
            let query: Vec<_> = query.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
            sign(
                &Request {
                    method,
                    path: "/path",
                    query: &query,
                    headers: &borrowed(std::slice::from_ref(&date)),
                    body,
                },
                "AccessKey",
                "SecretKey",
                &SigningScheme::Access,
            )
            .authorization
        };
        assert!(
            signature("GET", &[("limit", "1")], b"")
                .ends_with("5a2ce64c865e0e6046321c6f3d5a77ba8413eeaf355c3166c03d58d02ac79624")
        );
        assert!(
            signature("POST", &[("key", "value")], b"{\"Name\":\"test\",\"Id\":1}\n")
                .ends_with("cecc2af119b18ab70b4d094c0750f3b42c02f254903179a0fc2cc72fc9db4f59")
        );
    }

    #[test]
    fn scoped_signatures_are_those_of_the_script() {
        let cases = cases("signing-scoped.json");
        assert_eq!(cases.len(), 16);
        for case in cases {
            let text = |key: &str| case[key].as_str().unwrap().to_owned();
            let (region, service) = (text("region"), text("service"));
            check(&case, &SigningScheme::Scoped { region, service });
        }
    }

    #[test]
    fn a_scope_takes_no_separators() {
        let scoped = |region: &str, service: &str| SigningScheme::Scoped {
            region: region.to_owned(),
            service: service.to_owned(),
        };
        assert!(scoped("", "").check().is_ok());
        assert!(scoped("eu-de", "modelarts").check().is_ok());
        assert_eq!(
            scoped("eu-de", "a/b").check().unwrap_err().to_string(),
            "the service of the signature is \"a/b\"; only letters, digits, '-', '_' and '.' can \
             be in it"
        );
    }

    #[test]
    fn date_is_in_utc_without_separators() {
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_768_465_845);
        assert_eq!(date(time), "20260115T083045Z");
        assert_eq!(date(SystemTime::UNIX_EPOCH), "19700101T000000Z");
        let leap_day = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(951_868_799);
        assert_eq!(date(leap_day), "20000229T235959Z");
    }
}
