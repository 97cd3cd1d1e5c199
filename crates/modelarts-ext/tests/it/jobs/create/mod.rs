//! Tests of job creation.

mod builder;
mod copy;
pub(crate) mod fixtures;
mod from_document;
mod local_files;
mod look_up;
mod lost_create;
mod service_checks;
mod time_limits;
mod token;
