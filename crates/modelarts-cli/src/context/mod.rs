//! Contexts: named settings in a file, one for each cloud, project or emulator.
//!
//! The file `~/.config/modelarts/config.toml` (variable `MODELARTS_CONFIG`) has a table for each
//! context. The file contains no secrets: credentials come from the environment variables and files
//! of [`ClientBuilder::from_env`](modelarts_ext::ClientBuilder::from_env), and the keys of an
//! emulator from its data directory.
//!
//! ```toml
//! current = "team"
//!
//! [context.team]
//! region = "eu-de"
//! project_id = "0c1f3b6a2d9e4f588a7b6c5d4e3f2a1b"
//! bucket = "team-bucket"
//! flavor = "modelarts.vm.cpu.8u"
//! ```

mod edit;
pub(crate) mod fields;
mod file;
mod precedence;
mod selection;

pub(crate) use edit::ConfigEdit;
pub(crate) use file::{ConfigFile, Context};
#[cfg(unix)]
pub(crate) use selection::connection;
pub(crate) use selection::{CONNECTION_FILE, CONTEXT_VARIABLE, Selection};
