//! Secrets, sizes and times of the fault matrix.

use std::time::Duration;

pub(super) const HOUR: Duration = Duration::from_secs(3600);
/// How long the body of an error is that nobody wants to read.
pub(super) const FLOOD: usize = 50 << 20;
/// Longer than any good answer may be.
pub(super) const TOO_LONG: usize = 65 << 20;
// All secrets contain "-hidden-".
pub(super) const ACCESS_KEY: &str = "ak-hidden-0";
pub(super) const SECRET_KEY: &str = "sk-hidden-1";
pub(super) const SECURITY_TOKEN: &str = "st-hidden-2";
pub(super) const TOKEN: &str = "tk-hidden-3";
pub(super) const JUPYTER_TOKEN: &str = "jl-hidden-4";
pub(super) const IN_LOCATION: &str = "location-hidden-5";
pub(super) const ENVIRONMENT: &str = "env-hidden-6";
pub(super) const JSON: &str = "application/json";
