//! Tests of calls over HTTP.

mod authentication;
mod call_info;
mod connections;
mod fixtures;
mod lost_answers;
mod requests;
mod responses;
mod retry;
mod retry_budget;
mod runtime;
mod settings;
