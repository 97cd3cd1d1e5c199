//! Log of the last requests, for testers who check the requests of a client.

use std::collections::VecDeque;

use axum::http::{StatusCode, Uri};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

use crate::catalog::operations::Operation;

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

/// Masks environment variables, members with names of credentials, and hyper-parameters marked as
/// sensitive. With `secret`, masks all values.
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

    pub(crate) fn add(&self, operation: Operation, uri: &Uri, body: &[u8], status: StatusCode) {
        let mut body = match body.len() {
            1..=MAX_BODY => serde_json::from_slice(body).unwrap_or_default(),
            _ => Value::Null,
        };
        if !self.show_secrets {
            mask(&mut body, false);
        }
        let mut all = self.requests.lock();
        if all.len() == MAX_ENTRIES {
            all.pop_front();
        }
        all.push_back(LoggedRequest {
            operation: operation.id(),
            path: uri.path().to_owned(),
            query: uri.query().unwrap_or_default().to_owned(),
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
