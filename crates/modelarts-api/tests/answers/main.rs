//! Checks every answer of the description with every tolerated spelling: field by field, and in
//! generated documents. The checks are derived from the description, so they include every new
//! field.
// clippy exempts only functions with the attribute of a test, not the functions that these call.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod attested;
mod cases;
mod description;
mod documents;
mod every_field;
mod examples;
mod fuzz;
mod job_times;
#[path = "../../codegen/lower/portable_forms.rs"]
mod portable_forms;
mod provider;
mod types;
