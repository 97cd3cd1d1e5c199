//! Commands on the program itself.

mod completion;
mod context;
#[cfg(unix)]
mod dev;
mod doctor;
mod man;
