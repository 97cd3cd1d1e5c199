//! Authentication of OBS requests by access keys and security tokens, and buckets in host names.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use s3s::{
    S3Error, S3Result,
    access::{S3Access, S3AccessContext},
    auth::{S3Auth, SecretKey},
    host::{S3Host, VirtualHost},
    s3_error,
};

use crate::{
    accounts::KnownKey, catalog::operations::obs_operation, clock::timestamp::Timestamp,
    obs::service::too_many_objects, state::EmulatorState, traffic::faults::Fault,
};

/// Suffix of host names that start with a bucket, such as `bucket.localhost`.
const LOCAL_DOMAIN: &str = ".localhost";

/// Returns the bucket in a host name such as `bucket.localhost:80`, if there is one.
pub(super) fn bucket_of_host(host: &str) -> Option<&str> {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let at = name.len().checked_sub(LOCAL_DOMAIN.len())?;
    let (bucket, domain) = (name.get(..at)?, name.get(at..)?);
    (domain.eq_ignore_ascii_case(LOCAL_DOMAIN) && !bucket.is_empty()).then_some(bucket)
}

pub(super) struct Hosts;

impl S3Host for Hosts {
    fn parse_host_header<'a>(&'a self, host: &'a str) -> S3Result<VirtualHost<'a>> {
        let parsed = VirtualHost::new(host);
        Ok(match bucket_of_host(host) {
            Some(bucket) => parsed.with_bucket(bucket),
            None => parsed,
        })
    }
}

/// Validation that accepts all names, because the operations return errors that state the rule.
pub(super) struct AnyName;

impl s3s::validation::NameValidation for AnyName {
    fn validate_bucket_name(&self, _: &str) -> bool {
        true
    }
}

pub(super) struct Keys(pub(super) Arc<EmulatorState>);

#[async_trait::async_trait]
impl S3Auth for Keys {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        Ok(known_key(&self.0, access_key)?.secret.into())
    }
}

fn known_key(state: &EmulatorState, access_key: &str) -> S3Result<KnownKey> {
    let found = state.accounts.key(access_key);
    found.map_err(S3Error::internal_error)?.ok_or_else(|| {
        s3_error!(
            InvalidAccessKeyId,
            "The access key {access_key:?} does not exist in this emulator."
        )
    })
}

/// Check of a request between the verification of its signature by s3s and its operation.
pub(super) struct Access(pub(super) Arc<EmulatorState>);

#[async_trait::async_trait]
impl S3Access for Access {
    async fn check(&self, request: &mut S3AccessContext<'_>) -> S3Result<()> {
        let Some(credentials) = request.credentials() else {
            return Err(s3_error!(
                AccessDenied,
                "The request must be signed with an access key of this emulator."
            ));
        };
        let key = known_key(&self.0, &credentials.access_key)?;
        check_signature(request)?;
        let now = Timestamp::now(self.0.clock.as_ref());
        check_token(&key, request, now)?;
        let length = request.headers().get("content-length");
        let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        // s3s would return the status 500 for a larger body.
        if request.s3_op().name() == "DeleteObjects" && length > Some(MAX_XML) {
            return Err(too_many_objects());
        }
        let context = request.extensions_mut().get::<Arc<ObsRequest>>().cloned();
        match context {
            Some(context) => context.begin(&self.0, request.s3_op().name()),
            None => Ok(()),
        }
    }
}

/// State of one request, which [`Access`] sets.
#[derive(Debug, Default)]
pub(super) struct ObsRequest {
    /// Name of the operation, such as `obs.GetObject`.
    pub(super) operation: OnceLock<&'static str>,
    pub(super) fault: Mutex<Option<Fault>>,
}

impl ObsRequest {
    /// Counts the request. Returns an error if a fault of the operation replaces the response.
    fn begin(&self, state: &EmulatorState, operation: &str) -> S3Result<()> {
        let Some(operation) = obs_operation(operation) else {
            return Ok(());
        };
        let _ = self.operation.set(operation);
        state.traffic.request_counts.add_received(operation);
        let Some(fault) = state.traffic.faults.take(operation) else {
            return Ok(());
        };
        let now = Timestamp::now(state.clock.as_ref());
        let replaces = fault.replacement(now).is_some();
        *self.fault.lock() = Some(fault);
        match replaces {
            true => Err(s3_error!(ServiceUnavailable, "A fault replaces the response.")),
            false => Ok(()),
        }
    }
}

/// Maximum size of an XML body in bytes, as in s3s. A list of a thousand keys is shorter.
const MAX_XML: u64 = 20 << 20;
/// Maximum difference between the date of a signature and the clock of the system, in seconds.
const MAX_SKEW: i64 = 15 * 60;
/// Maximum duration of a presigned request, in seconds.
const MAX_PRESIGNED: u64 = 7 * 24 * 60 * 60;

fn query_value(request: &S3AccessContext<'_>, wanted: &str) -> Option<Vec<u8>> {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let decoded = percent_encoding::percent_decode_str(value);
        wanted.eq_ignore_ascii_case(name).then(|| decoded.collect())
    })
}

/// Checks the coverage and the age of a valid signature. s3s checks the dates of AWS V4.
fn check_signature(request: &S3AccessContext<'_>) -> S3Result<()> {
    let headers = request.headers();
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let authorization = text("authorization").unwrap_or_default();
    if authorization.starts_with("AWS ") {
        let date = text("x-amz-date").or(text("date")).unwrap_or_default();
        let parsed = jiff::fmt::rfc2822::parse(date).map(|date| date.timestamp());
        let parsed = parsed.or_else(|_| date.parse::<jiff::Timestamp>());
        let skew = parsed.map(|date| date.duration_since(jiff::Timestamp::now()).as_secs().abs());
        if skew.map_or(true, |skew| skew > MAX_SKEW) {
            return Err(s3_error!(
                RequestTimeTooSkewed,
                "The date of the request, {date:?}, must differ from the clock by at most 15 \
                 minutes."
            ));
        }
        return Ok(());
    }
    let life = query_value(request, "X-Amz-Expires");
    let life = life.and_then(|life| String::from_utf8(life).ok()?.parse::<u64>().ok());
    if life.is_some_and(|life| life > MAX_PRESIGNED) {
        return Err(s3_error!(
            AuthorizationQueryParametersError,
            "X-Amz-Expires must be at most {MAX_PRESIGNED} seconds (7 days)."
        ));
    }
    let in_query = query_value(request, "X-Amz-SignedHeaders");
    let in_query = in_query.map(|names| String::from_utf8_lossy(&names).into_owned());
    let in_header = authorization.split_once("SignedHeaders=");
    let in_header = in_header.and_then(|(_, rest)| rest.split([',', ' ']).next());
    if let Some(signed) = in_query.as_deref().or(in_header) {
        let signed: Vec<&str> = signed.split(';').collect();
        // The signed text always contains both values, as the hash of the body and as the date. The
        // server has added `x-amz-date` if the client has sent `Date`.
        let free = ["x-amz-content-sha256", "x-amz-date"];
        let names = headers.keys().map(|name| name.as_str());
        let names = names.filter(|name| name.starts_with("x-amz-") && !free.contains(name));
        let unsigned: Vec<&str> =
            ["host"].into_iter().chain(names).filter(|name| !signed.contains(name)).collect();
        if !unsigned.is_empty() {
            return Err(s3_error!(
                AccessDenied,
                "The signature must cover these headers: {}.",
                unsigned.join(", ")
            ));
        }
    }
    Ok(())
}

/// Checks the token and the expiration of a temporary key. The token is a header or in the query.
fn check_token(key: &KnownKey, request: &S3AccessContext<'_>, now: Timestamp) -> S3Result<()> {
    let Some(wanted) = &key.security_token else {
        return Ok(());
    };
    let headers = ["x-amz-security-token", "x-obs-security-token"];
    let header = headers.iter().find_map(|name| request.headers().get(*name));
    let in_query = headers.iter().find_map(|name| query_value(request, name));
    let given = header.map(|value| value.as_bytes().to_vec()).or(in_query);
    match given {
        None => Err(s3_error!(
            InvalidAccessKeyId,
            "The access key is temporary: the request must have its token in x-amz-security-token."
        )),
        Some(given) if given != wanted.as_bytes() => Err(s3_error!(
            InvalidToken,
            "x-amz-security-token must be the token of the access key."
        )),
        Some(_) if key.expires.is_some_and(|expires| expires <= now) => {
            Err(s3_error!(ExpiredToken, "The temporary access key has expired: obtain a new one."))
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_below_localhost_name_a_bucket() {
        assert_eq!(bucket_of_host("bucket.localhost"), Some("bucket"));
        assert_eq!(bucket_of_host("a.b.LocalHost:80"), Some("a.b"));
        for host in
            ["localhost", ".localhost", "localhost:80", "127.0.0.1:1", "b.localhost.com", "ü"]
        {
            assert_eq!(bucket_of_host(host), None, "{host}");
        }
    }
}
