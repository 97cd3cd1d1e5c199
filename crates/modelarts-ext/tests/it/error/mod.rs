//! Errors: their messages, the shapes of their bodies, and the secrets that they do not show.

mod messages;
mod redaction;
mod vectors;
