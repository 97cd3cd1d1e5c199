//! Tests of errors: messages, shapes of bodies, and masking of secrets.

mod configuration;
mod debug;
mod messages;
mod redaction;
mod vectors;
