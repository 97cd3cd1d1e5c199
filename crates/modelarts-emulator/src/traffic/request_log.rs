//! Log of the last authenticated requests for operations, for tests of a client.

use std::{
    collections::{BTreeMap, VecDeque, btree_map},
    fmt,
    ops::Deref,
    sync::Arc,
};

use axum::http::{StatusCode, Uri};
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::Value;

use crate::catalog::operations::operation_ids;

const MAX_ENTRIES: usize = 256;
/// Maximum size in bytes of a body that the log keeps.
const MAX_BODY: usize = 64 << 10;

const MASK: &str = "***";
/// Parts of names, in upper or lower case, by which members are recognised as credentials.
const SECRET_NAMES: [&str; 6] =
    ["password", "secret", "token", "credential", "access_key", "private_key"];
/// Parameters of presigned requests that authenticate their sender, in lower case.
const SECRET_PARAMETERS: [&str; 5] = [
    "signature",
    "x-amz-signature",
    "x-obs-signature",
    "x-amz-security-token",
    "x-obs-security-token",
];

/// Authenticated request for an operation, with the status of its response. Headers are not
/// included. Values of environment variables and of credentials in the body, and signatures and
/// security tokens in the query, are `***`, unless
/// [`Builder::show_secrets`](crate::Builder::show_secrets) is on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LoggedRequest {
    /// operationId of the request, or the name of the operation of OBS, such as `obs.PutObject`.
    pub operation: &'static str,
    /// Path of the request, as sent.
    pub path: String,
    /// Query of the request, as sent except for masked values.
    pub query: String,
    /// Body of the request if it is JSON of at most 64 KiB, otherwise null.
    pub body: Value,
    /// Status of the response, even if the response did not reach the client.
    pub status: u16,
}

/// Masks environment variables, credentials and sensitive hyper-parameters, or all if `secret`.
fn mask(value: &mut Value, secret: bool) {
    match value {
        Value::Null => {}
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, secret)),
        Value::Object(members) => {
            let constraint = members.get("constraint");
            let sensitive = constraint.is_some_and(|it| it["sensitive"] == true);
            for (name, member) in members {
                let name = name.to_ascii_lowercase();
                let hidden = name == "environments"
                    || SECRET_NAMES.iter().any(|part| name.contains(part))
                    || (sensitive && name == "value");
                mask(member, secret || hidden);
            }
        }
        value if secret => *value = MASK.into(),
        _ => {}
    }
}

/// Returns a query in which signatures and security tokens of presigned requests are masked.
fn mask_query(query: &str) -> String {
    let masked = query.split('&').map(|pair| {
        let (name, _) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = percent_decode_str(name).decode_utf8_lossy();
        let secret = SECRET_PARAMETERS.iter().any(|it| decoded.eq_ignore_ascii_case(it));
        match secret {
            true => format!("{name}={MASK}"),
            false => pair.to_owned(),
        }
    });
    masked.collect::<Vec<_>>().join("&")
}

#[derive(Debug)]
pub(crate) struct RequestLog {
    requests: Mutex<VecDeque<LoggedRequest>>,
    show_secrets: bool,
}

impl RequestLog {
    pub(crate) fn new(show_secrets: bool) -> Self {
        Self { requests: Mutex::default(), show_secrets }
    }

    pub(crate) fn add(&self, operation: &'static str, uri: &Uri, body: &[u8], status: StatusCode) {
        let mut body = match body.len() {
            1..=MAX_BODY => serde_json::from_slice(body).unwrap_or_default(),
            _ => Value::Null,
        };
        let mut query = uri.query().unwrap_or_default().to_owned();
        if !self.show_secrets {
            mask(&mut body, false);
            query = mask_query(&query);
        }
        let mut all = self.requests.lock();
        if all.len() == MAX_ENTRIES {
            all.pop_front();
        }
        all.push_back(LoggedRequest {
            operation,
            path: uri.path().to_owned(),
            query,
            body,
            status: status.as_u16(),
        });
    }

    pub(crate) fn all(&self) -> Vec<LoggedRequest> {
        self.requests.lock().iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        self.requests.lock().clear();
    }
}

/// Numbers of requests for one operation since the start or the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RequestCount {
    /// Number of authenticated requests for the project of the user.
    pub received: u64,
    /// Number of successfully executed requests, even if their response did not reach the client.
    pub executed: u64,
}

/// Counts of requests by operationId, a map of all implemented operations. The debug form contains
/// only operations that were requested.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RequestCounts(BTreeMap<&'static str, RequestCount>);

impl Deref for RequestCounts {
    type Target = BTreeMap<&'static str, RequestCount>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl IntoIterator for RequestCounts {
    type Item = (&'static str, RequestCount);
    type IntoIter = btree_map::IntoIter<&'static str, RequestCount>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a RequestCounts {
    type Item = (&'a &'static str, &'a RequestCount);
    type IntoIter = btree_map::Iter<'a, &'static str, RequestCount>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Debug for RequestCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requested = self.0.iter().filter(|(_, count)| count.received > 0);
        f.debug_map().entries(requested).finish()
    }
}

#[derive(Debug, Default)]
pub(crate) struct RequestCounters(Mutex<BTreeMap<&'static str, RequestCount>>);

impl RequestCounters {
    pub(crate) fn add_received(&self, operation: &'static str) {
        self.0.lock().entry(operation).or_default().received += 1;
    }

    pub(crate) fn add_executed(&self, operation: &'static str) {
        self.0.lock().entry(operation).or_default().executed += 1;
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    /// Returns the counts of all operations, including those that were never requested.
    pub(crate) fn all(&self) -> RequestCounts {
        let counts = self.0.lock();
        let all = operation_ids().map(|id| (id, counts.get(id).copied().unwrap_or_default()));
        RequestCounts(all.collect())
    }
}

/// Request for an operation of the service, with its response.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Exchange<'a> {
    /// operationId; `None` for operations that the emulator does not implement.
    pub operation: Option<&'static str>,
    /// Method of the request, for example `GET`.
    pub method: &'a str,
    /// Path of the request, as sent.
    pub path: &'a str,
    /// Query of the request, as sent, without the question mark; empty if the request has none.
    pub query: &'a str,
    /// Body of the request; empty if the request was rejected for its head, its size or a timeout.
    pub request: &'a [u8],
    /// Status of the response.
    pub status: u16,
    /// Body of the response, before a fault cuts it.
    pub answer: &'a [u8],
    /// `true` if a [`FaultRule`](crate::traffic::faults::FaultRule) changed the response.
    pub by_fault: bool,
}

/// Function that the emulator calls with each exchange, before it sends the response.
pub(crate) type Observer = Arc<dyn Fn(&Exchange<'_>) + Send + Sync>;
