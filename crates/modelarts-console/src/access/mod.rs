//! Access: login link, sessions, submitted fields, and masks of secrets.
//!
//! The site can stop and delete jobs and send files, so other programs on this machine and pages of
//! other sites must not use it. `keys` creates and verifies sessions. `visitor` contains the CSRF
//! token and the fields of a request, and masks secrets that the user has not asked for. The module
//! `guard` checks each request before its handler runs.

pub(crate) mod keys;
pub(crate) mod visitor;
