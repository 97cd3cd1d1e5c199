//! `Snippets`: a job as a request body, a command, a program and a request of curl.
//!
//! `description` cuts the body into pieces, each of which is a flag of `modelarts submit` and a call of
//! the SDK. `command`, `program` and `request` join them.

mod command;
mod description;
mod program;
mod request;
mod shell;

use modelarts_ext::Client;
use serde_json::Value;

use crate::snippets::description::Description;

/// A job in the forms in which a user creates it elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snippets {
    /// Body of the request, as indented JSON.
    pub(crate) body: String,
    /// Command of `modelarts`.
    pub(crate) command: String,
    /// Program in Rust.
    pub(crate) program: String,
    /// Command of curl, which takes the token from the variable `TOKEN`.
    pub(crate) curl: String,
}

impl Snippets {
    /// Returns the forms of a body of CreateTrainingJob. `context` is that of `modelarts`.
    pub(crate) fn new(client: &Client, context: Option<&str>, body: &Value) -> Self {
        let json = format!("{body:#}");
        let description = Description::new(client, body);
        Self {
            command: command::render(description.as_ref(), context, &json),
            program: program::render(description.as_ref(), &json),
            curl: request::render(client, &json),
            body: json,
        }
    }
}
