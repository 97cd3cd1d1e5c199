//! What was asked last, for testers who want to see what their client really sends.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

/// How many requests are kept.
const KEPT: usize = 256;
/// The most bytes of a body that is kept.
const BODY: usize = 64 << 10;

/// A request for an operation, with a valid signature for the right project, and how it was
/// answered. It holds no credentials.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Recorded {
    /// The operationId.
    pub operation: &'static str,
    /// The path, as sent.
    pub path: String,
    /// The query, as sent.
    pub query: String,
    /// The body, if it is JSON of no more than 64 KiB; else null.
    pub body: Value,
    /// The status of the answer, also of one that was lost.
    pub status: u16,
}

impl Recorded {
    pub(crate) fn new(operation: &'static str, uri: &axum::http::Uri, body: &[u8]) -> Self {
        let body = match body.len() {
            1..=BODY => serde_json::from_slice(body).unwrap_or_default(),
            _ => Value::Null,
        };
        Self {
            operation,
            path: uri.path().to_owned(),
            query: uri.query().unwrap_or_default().to_owned(),
            body,
            status: 0,
        }
    }
}

/// The last requests, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<VecDeque<Recorded>>);

impl Journal {
    pub(crate) fn add(&self, recorded: Recorded) {
        let mut all = self.0.lock();
        if all.len() == KEPT {
            all.pop_front();
        }
        all.push_back(recorded);
    }

    pub(crate) fn all(&self) -> Vec<Recorded> {
        self.0.lock().iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}
