//! Tests of credentials: sources, renewal, and errors that are returned if no credentials are
//! found.

mod advice;
mod cache;
mod chain;
mod current_user;
mod files;
mod fixtures;
mod manual_clock;
mod metadata;
mod oidc;
mod password;
mod projects;
mod retry_after;
mod secrets;
mod temporary_keys;
mod terraform;
