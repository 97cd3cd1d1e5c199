//! Errors: their messages, and the secrets that they do not show.

mod messages;
mod redaction;
