//! Tests of the validation of a job before it is sent.

mod known_specs;
mod limits;
mod rules;
