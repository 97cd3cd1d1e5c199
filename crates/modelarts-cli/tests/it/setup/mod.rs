//! Commands on the program itself.

mod completion;
mod console;
mod context;
#[cfg(unix)]
pub(crate) mod dev;
mod doctor;
mod man;
mod precedence;
