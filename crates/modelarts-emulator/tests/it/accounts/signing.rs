//! Tests of the signature verifier, both with the vectors of the official signer and over HTTP.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use modelarts_emulator::signature::{MAX_SKEW, ReceivedRequest, SignatureError, verify};
use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde::Deserialize;
use serde_json::json;

use crate::support::{Reply, Site};

/// Test vector: a request and its signature.
#[derive(Deserialize)]
struct Vector {
    name: String,
    method: String,
    path: String,
    query: Vec<(String, String)>,
    target: String,
    headers: BTreeMap<String, String>,
    #[serde(default)]
    unsigned_headers: BTreeMap<String, String>,
    body: Option<String>,
    body_base64: Option<String>,
    access_key: String,
    secret_key: String,
    authorization: String,
    canonical_request: String,
}

#[derive(Deserialize)]
struct Vectors {
    cases: Vec<Vector>,
}

fn vectors() -> Vec<Vector> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/vectors/signing.json");
    let vectors: Vectors = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(!vectors.cases.is_empty());
    vectors.cases
}

/// Request that a test can modify before it is verified.
#[derive(Clone)]
struct Sent {
    method: String,
    path: Vec<u8>,
    query: Vec<u8>,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Vector {
    /// Returns the request as sent over HTTP.
    fn sent(&self) -> Sent {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let mut headers: Vec<(String, Vec<u8>)> = self
            .headers
            .iter()
            .chain(&self.unsigned_headers)
            .map(|(name, value)| (name.clone(), value.clone().into_bytes()))
            .collect();
        headers.push(("Authorization".into(), self.authorization.clone().into_bytes()));
        let body = match (&self.body, &self.body_base64) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(base64)) => from_base64(base64),
            (None, None) => Vec::new(),
        };
        Sent {
            method: self.method.clone(),
            path: path.as_bytes().to_vec(),
            query: query.as_bytes().to_vec(),
            headers,
            body,
        }
    }

    fn verify(&self, sent: &Sent) -> Result<String, SignatureError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &sent.headers {
            headers.append(
                HeaderName::try_from(name).unwrap(),
                HeaderValue::from_bytes(value).unwrap(),
            );
        }
        let received = ReceivedRequest {
            method: &sent.method,
            path: std::str::from_utf8(&sent.path).unwrap(),
            query: std::str::from_utf8(&sent.query).unwrap(),
            headers: &headers,
            body: &sent.body,
        };
        verify(received, self.date(), |key| {
            (key == self.access_key).then(|| self.secret_key.clone())
        })
    }

    fn date(&self) -> SystemTime {
        at(&self.headers["X-Sdk-Date"])
    }
}

fn at(date: &str) -> SystemTime {
    let date = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", date).unwrap();
    date.to_zoned_datetime(jiff::tz::TimeZone::UTC).unwrap().try_into().unwrap()
}

fn from_base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = group.iter().fold(0u32, |bits, c| bits << 6 | u32::from(digit(*c)));
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

/// Vectors whose request line differs from the signed one, because HTTP libraries resolve dot
/// segments when sending. The emulator verifies them against the signed path.
const NOT_AS_SENT: [&str; 1] = ["path-dot-segments"];

/// Vectors with an unsigned body, as specified by the header `X-Sdk-Content-Sha256:
/// UNSIGNED-PAYLOAD`.
const BODY_UNSIGNED: [&str; 2] = ["body-octet-stream-unsigned-payload", "body-form-urlencoded"];

#[test]
fn every_signing_vector_is_accepted() {
    let mut not_as_sent = BTreeSet::new();
    for vector in vectors() {
        let name = &vector.name;
        let mut sent = vector.sent();
        if vector.verify(&sent).is_err() {
            not_as_sent.insert(name.clone());
            sent.path = vector.path.clone().into_bytes();
        }
        let key = vector.verify(&sent);
        assert_eq!(key.as_ref(), Ok(&vector.access_key), "{name}");
    }
    assert_eq!(not_as_sent, NOT_AS_SENT.map(str::to_owned).into());
}

#[test]
fn another_algorithm_is_refused_by_its_name() {
    let vector = &vectors()[0];
    let mut sent = vector.sent();
    let (_, authorization) = sent.headers.last_mut().unwrap();
    let text = vector.authorization.replacen("SDK-HMAC-SHA256", "V11-HMAC-SHA256", 1);
    *authorization = text.into_bytes();
    let found = "V11-HMAC-SHA256".to_owned();
    assert_eq!(vector.verify(&sent), Err(SignatureError::UnsupportedAlgorithm { found }));
}

#[test]
fn the_query_given_by_the_signing_vectors_is_on_the_wire() {
    // Ensures that the vectors contain the queries that the tests above verify.
    for vector in vectors() {
        let pairs = vector.query.len();
        let wire = vector.target.split_once('?').map_or(0, |(_, query)| query.split('&').count());
        assert_eq!(pairs, wire, "{}", vector.name);
    }
}

/// Returns a different byte whose meaning also differs: neither the other case of a hexadecimal
/// digit nor a space that is trimmed.
fn changed(byte: u8) -> u8 {
    if byte == b'0' { b'1' } else { b'0' }
}

#[test]
fn every_signing_vector_is_refused_after_one_changed_byte() {
    let mut body_unsigned = BTreeSet::new();
    let mut tried = 0;
    for vector in &vectors() {
        let name = &vector.name;
        let mut good = vector.sent();
        if NOT_AS_SENT.contains(&name.as_str()) {
            good.path = vector.path.clone().into_bytes();
        }
        vector.verify(&good).unwrap();
        let mut refused = |what: &str, sent: &Sent| {
            tried += 1;
            vector.verify(sent).is_err() || panic!("{name}: accepted after a change in {what}")
        };

        for index in 0..good.method.len() {
            let mut sent = good.clone();
            let other =
                if sent.method.as_bytes()[index].eq_ignore_ascii_case(&b'x') { "y" } else { "x" };
            sent.method.replace_range(index..=index, other);
            refused("the method", &sent);
        }
        for index in 0..good.path.len() {
            let mut sent = good.clone();
            sent.path[index] = changed(sent.path[index]);
            if std::str::from_utf8(&sent.path).is_ok() {
                refused("the path", &sent);
            }
        }
        for index in 0..good.query.len() {
            let mut sent = good.clone();
            sent.query[index] = changed(sent.query[index]);
            refused("the query", &sent);
        }
        let signed = vector.authorization.split("SignedHeaders=").nth(1).unwrap();
        let signed: Vec<&str> = signed.split(", ").next().unwrap().split(';').collect();
        for (header, (header_name, value)) in good.headers.iter().enumerate() {
            if !signed.contains(&header_name.to_ascii_lowercase().as_str()) {
                continue;
            }
            for (index, byte) in value.iter().enumerate() {
                let mut sent = good.clone();
                sent.headers[header].1[index] = changed(*byte);
                refused(header_name, &sent);
            }
            let mut sent = good.clone();
            sent.headers[header].1.push(b'0');
            refused(header_name, &sent);
            let mut sent = good.clone();
            sent.headers.remove(header);
            refused(header_name, &sent);
        }
        let authorization = good.headers.len() - 1;
        let signature = vector.authorization.rfind('=').unwrap() + 1;
        for index in signature..vector.authorization.len() {
            let mut sent = good.clone();
            let value = &mut sent.headers[authorization].1;
            value[index] = changed(value[index]);
            refused("the signature", &sent);
            let mut sent = good.clone();
            let value = &mut sent.headers[authorization].1;
            if value[index].is_ascii_lowercase() {
                value[index].make_ascii_uppercase();
                refused("the signature's case", &sent);
            }
        }
        for index in 0..good.body.len() {
            let mut sent = good.clone();
            sent.body[index] = changed(sent.body[index]);
            if vector.verify(&sent).is_ok() {
                body_unsigned.insert(name.clone());
                break;
            }
        }
        if good.body.is_empty() {
            let mut sent = good.clone();
            sent.body.push(b'0');
            refused("the body", &sent);
        }
    }
    assert!(tried > 5_000, "{tried}");
    assert_eq!(body_unsigned, BODY_UNSIGNED.map(str::to_owned).into());
}

#[test]
fn the_error_of_a_wrong_signature_has_the_canonical_request() {
    for vector in &vectors() {
        let mut sent = vector.sent();
        sent.path = vector.path.clone().into_bytes();
        let authorization = sent.headers.last_mut().unwrap();
        let last = authorization.1.last_mut().unwrap();
        *last = changed(*last);
        let canonical_request = vector.canonical_request.replace('\n', "|");
        match vector.verify(&sent) {
            Err(SignatureError::Mismatch { canonical_request: received })
                if !vector.name.contains("int-list") =>
            {
                assert_eq!(received, canonical_request, "{}", vector.name);
            }
            // The signer sorted these values as numbers; the verifier sorts them as strings.
            Err(SignatureError::Mismatch { .. }) => {}
            other => panic!("{}: {other:?}", vector.name),
        }
    }
}

#[test]
fn the_clock_may_be_off_by_a_quarter_of_an_hour() {
    let vectors = vectors();
    let vector = &vectors[1];
    let sent = vector.sent();
    let mut headers = HeaderMap::new();
    for (name, value) in &sent.headers {
        headers
            .append(HeaderName::try_from(name).unwrap(), HeaderValue::from_bytes(value).unwrap());
    }
    let received = ReceivedRequest {
        method: &sent.method,
        path: &vector.path,
        query: "",
        headers: &headers,
        body: b"",
    };
    let check = |now| verify(received, now, |_| Some(vector.secret_key.clone()));
    let signed = vector.date();
    let second = Duration::from_secs(1);
    for near in [signed - MAX_SKEW, signed + MAX_SKEW] {
        assert!(check(near).is_ok());
    }
    for far in [signed - MAX_SKEW - second, signed + MAX_SKEW + second, UNIX_EPOCH] {
        assert!(matches!(check(far), Err(SignatureError::Expired { .. })));
    }
    assert_eq!(
        check(signed + 2 * MAX_SKEW).unwrap_err().to_string(),
        "calc aksk signature fail:signature expired, signature time:20260115T083045Z,server \
         time:20260115T090045Z"
    );
}

#[tokio::test]
async fn the_gateway_refuses_wrong_signatures() {
    let mut site = Site::start().await;
    let refusal = |reply: &Reply| {
        reply.refused(401, "APIGW.0301");
        let body = reply.json();
        let request_id = reply.headers["x-request-id"].to_str().unwrap();
        assert_eq!(body["request_id"], request_id);
        assert_eq!(body.as_object().unwrap().len(), 3);
        body["error_msg"].as_str().unwrap().to_owned()
    };
    let start = "Incorrect IAM authentication information: ";

    let url = format!("{}/v2/{}/training-jobs/x", site.emulator.url(), site.emulator.project_id());
    let unsigned = Reply::of(site.client.http.get(&url).send().await.unwrap()).await;
    assert_eq!(refusal(&unsigned), format!("{start}x-auth-token not found"));

    let old = SystemTime::now() - Duration::from_secs(3600);
    let target = format!("/v2/{}/training-jobs/x", site.emulator.project_id());
    let old = site.signed(Method::GET, &target, Vec::new(), old).send().await.unwrap();
    let old = refusal(&Reply::of(old).await);
    assert!(
        old.starts_with(&format!(
            "{start}calc aksk signature fail:signature expired, signature time:"
        )),
        "{old}"
    );
    assert!(old.contains(",server time:"), "{old}");

    let access_key = std::mem::replace(&mut site.client.access_key, "NOBODY".into());
    let nobody = site.get("/training-jobs/x").await;
    assert_eq!(refusal(&nobody), format!("{start}ak NOBODY not exist"));
    site.client.access_key = access_key;

    site.client.secret_key = "wrong".into();
    let wrong = refusal(&site.get("/training-jobs/x").await);
    let host = site.emulator.url().strip_prefix("http://").unwrap();
    assert!(
        wrong.starts_with(&format!(
            "{start}verify aksk signature fail, \
             canonicalRequest:GET|{target}/||content-type:application/json|host:{host}|x-sdk-date:"
        )),
        "{wrong}"
    );

    let request = site.client.http.get(&url).header(
        "authorization",
        "SDK-HMAC-SHA256 Credential=AK/20150907/sdk_request, SignedHeaders=host, Signature=00",
    );
    assert_eq!(
        refusal(&Reply::of(request.send().await.unwrap()).await),
        format!(
            "{start}calc aksk signature fail:the credential is not of the form \
             AK/YYYYMMDD/region/service/sdk_request"
        )
    );
}

#[tokio::test]
async fn configured_tokens_are_accepted_and_others_not() {
    let site = Site::with(|builder| builder.token("let-me-in")).await;
    let url =
        format!("{}/v2/{}/training-job-searches", site.emulator.url(), site.emulator.project_id());
    let ask = async |token: &str| {
        let request =
            site.client.http.post(&url).header("x-auth-token", token).body(json!({}).to_string());
        Reply::of(request.send().await.unwrap()).await
    };
    assert_eq!(ask("let-me-in").await.status, 200);
    let refused = ask("let-me-out").await;
    refused.refused(401, "APIGW.0301");
    assert_eq!(
        refused.json()["error_msg"],
        "Incorrect IAM authentication information: decrypt token fail"
    );
}
