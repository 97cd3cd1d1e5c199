//! Every answer of the description, with every spelling that is tolerated: field
//! by field, and in generated documents. What is checked comes from the
//! description, so a new field is checked from the day that it is written.
// clippy knows tests by their attribute; what they call has none.
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
