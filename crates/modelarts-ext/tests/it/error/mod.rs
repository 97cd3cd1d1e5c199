//! Tests of errors: messages, forms of error responses, and redaction of secrets.

mod configuration;
mod debug;
mod messages;
mod redaction;
mod vectors;
