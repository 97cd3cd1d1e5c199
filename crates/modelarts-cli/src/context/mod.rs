//! Contexts: named settings in a file, one for each cloud, project or emulator.
//! [`Contexts`] of modelarts-ext reads the file.

mod edit;
pub(crate) mod fields;
mod precedence;
mod selection;

pub(crate) use edit::ConfigEdit;
#[cfg(unix)]
pub(crate) use modelarts_ext::client::contexts::connection;
pub(crate) use modelarts_ext::client::contexts::{CONNECTION_FILE, Context, Contexts};
pub(crate) use selection::{CONTEXT_VARIABLE, Selection};
