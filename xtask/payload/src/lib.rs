//! Checks bodies with the generated types: decodes them, encodes them again and lists the
//! differences. The program is started by `cargo xtask payload`.

pub mod compare;
mod meaning;
mod pointer;
pub mod schemas;
mod trip;

pub use trip::Report;
