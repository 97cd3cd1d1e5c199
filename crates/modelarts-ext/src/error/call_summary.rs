//! `CallSummary`: details of a call that an error contains.

use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub(crate) struct CallSummary {
    pub(crate) operation: Option<&'static str>,
    pub(crate) request_id: Option<String>,
    pub(crate) attempts: u32,
    pub(crate) elapsed: Duration,
    pub(crate) uncertain: bool,
    pub(crate) retry_after: Option<Duration>,
}
