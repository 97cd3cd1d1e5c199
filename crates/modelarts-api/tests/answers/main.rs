//! Tests that decode every response of the description in every tolerated spelling, both single
//! fields and generated documents. The tests are derived from the description, so they cover new
//! fields automatically.
// clippy's exemption for tests covers only functions with a test attribute, not the helper
// functions that they call.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod attested;
mod cases;
#[path = "../../examples/payload/comparison.rs"]
mod comparison;
mod description;
mod documents;
mod every_field;
mod examples;
mod fuzz;
mod job_times;
mod payload;
#[path = "../../codegen/lower/portable_forms.rs"]
mod portable_forms;
mod provider;
mod schema;
mod types;
