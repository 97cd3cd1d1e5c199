//! Tests of create requests that the emulator rejects, accepts, or accepts with fields that have no
//! effect.

mod accepted_jobs;
mod ignored_fields;
mod refused_jobs;
