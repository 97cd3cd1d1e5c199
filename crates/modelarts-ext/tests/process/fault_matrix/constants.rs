//! Secrets, sizes and times of the fault matrix.

use std::time::Duration;

pub(super) const HOUR: Duration = Duration::from_secs(3600);
/// How long the body of an error is that nobody wants to read.
pub(super) const FLOOD: usize = 50 << 20;
/// Longer than any good answer may be.
pub(super) const TOO_LONG: usize = 65 << 20;
pub(super) const JSON: &str = "application/json";
pub(super) const ACCESS_KEY: &str = "ak-hidden-0";
