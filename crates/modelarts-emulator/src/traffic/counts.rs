//! Numbers of requests by operation.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde::Serialize;

use crate::catalog::operations::operation_ids;

/// Numbers of requests for one operation since the start, or since the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RequestCount {
    /// Number of authenticated requests for the right project.
    pub received: u64,
    /// Number of successfully executed requests, even if their response did not reach the client.
    pub executed: u64,
}

#[derive(Debug, Default)]
pub(crate) struct RequestCounts(Mutex<BTreeMap<&'static str, RequestCount>>);

impl RequestCounts {
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
    pub(crate) fn all(&self) -> BTreeMap<&'static str, RequestCount> {
        let counts = self.0.lock();
        operation_ids().map(|id| (id, counts.get(id).copied().unwrap_or_default())).collect()
    }
}
