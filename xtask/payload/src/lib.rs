//! Holds bodies against the generated types: decodes them, encodes them again and says what
//! became of each value. The program is started by `cargo xtask payload`.

pub mod compare;
mod meaning;
mod pointer;
pub mod schemas;
mod trip;

pub use trip::Report;
