//! Log of the last requests, for testers who check the requests of a client.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

/// Number of requests that are kept.
const MAX_ENTRIES: usize = 256;
/// Maximum size in bytes of a body that is kept.
const MAX_BODY: usize = 64 << 10;

/// Replaces a value that is not shown.
const MASK: &str = "***";
/// Parts of the names, in any case, of members that are credentials.
const SECRET_NAMES: [&str; 6] = [
    "password",
    "secret",
    "token",
    "credential",
    "access_key",
    "private_key",
];

/// An authenticated request for an operation, and the status of its response. Headers are not
/// included; values of environment variables and of credentials in its body are `***`, unless
/// [`Builder::show_secrets`](crate::Builder::show_secrets) is on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LoggedRequest {
    /// The operationId.
    pub operation: &'static str,
    /// The path, as sent.
    pub path: String,
    /// The query, as sent.
    pub query: String,
    /// The body, if it is JSON of no more than 64 KiB; else null.
    pub body: Value,
    /// The status of the response, including one that was lost.
    pub status: u16,
}

impl LoggedRequest {
    pub(crate) fn new(
        operation: &'static str,
        uri: &axum::http::Uri,
        body: &[u8],
        status: u16,
    ) -> Self {
        let body = match body.len() {
            1..=MAX_BODY => serde_json::from_slice(body).unwrap_or_default(),
            _ => Value::Null,
        };
        Self {
            operation,
            path: uri.path().to_owned(),
            query: uri.query().unwrap_or_default().to_owned(),
            body,
            status,
        }
    }
}

/// Masks environment variables, members with names of credentials, and hyper-parameters marked as
/// sensitive.
fn mask(body: &mut Value) {
    match body {
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(members) => {
            let constraint = members.get("constraint");
            let sensitive = constraint.is_some_and(|it| it["sensitive"] == true);
            for (name, value) in members {
                let name = name.to_ascii_lowercase();
                if name == "environments"
                    || SECRET_NAMES.iter().any(|part| name.contains(part))
                    || (sensitive && name == "value")
                {
                    mask_all(value);
                } else {
                    mask(value);
                }
            }
        }
        _ => {}
    }
}

fn mask_all(value: &mut Value) {
    match value {
        Value::Null => {}
        Value::Array(items) => items.iter_mut().for_each(mask_all),
        Value::Object(members) => members.values_mut().for_each(mask_all),
        value => *value = MASK.into(),
    }
}

/// The last requests, the oldest first.
#[derive(Debug)]
pub(crate) struct RequestLog {
    requests: Mutex<VecDeque<LoggedRequest>>,
    show_secrets: bool,
}

impl RequestLog {
    pub(crate) fn new(show_secrets: bool) -> Self {
        Self {
            requests: Mutex::default(),
            show_secrets,
        }
    }

    pub(crate) fn add(&self, mut recorded: LoggedRequest) {
        if !self.show_secrets {
            mask(&mut recorded.body);
        }
        let mut all = self.requests.lock();
        if all.len() == MAX_ENTRIES {
            all.pop_front();
        }
        all.push_back(recorded);
    }

    pub(crate) fn all(&self) -> Vec<LoggedRequest> {
        self.requests.lock().iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        self.requests.lock().clear();
    }
}
