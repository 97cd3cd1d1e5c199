//! Tests of errors: messages, shapes of bodies, and masking of secrets.

mod messages;
mod redaction;
mod vectors;
