//! Secrets, sizes and times of the fault matrix.

use std::time::Duration;

pub(super) const HOUR: Duration = Duration::from_secs(3600);
/// The length of an error body that must not be read completely.
pub(super) const FLOOD: usize = 50 << 20;
/// A length beyond that of any valid response.
pub(super) const TOO_LONG: usize = 65 << 20;
pub(super) const JSON: &str = "application/json";
pub(super) const ACCESS_KEY: &str = "ak-hidden-0";
