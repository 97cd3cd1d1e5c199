//! Secrets, sizes and times of the fault matrix.

use std::time::Duration;

pub(super) const HOUR: Duration = Duration::from_secs(3600);
/// Length of an error body that the client must not read completely, in bytes.
pub(super) const FLOOD: usize = 50 << 20;
/// Length that exceeds that of any valid response, in bytes.
pub(super) const TOO_LONG: usize = 65 << 20;
pub(super) const JSON: &str = "application/json";
pub(super) const ACCESS_KEY: &str = "ak-hidden-0";
