//! Public modules: one page for each part of the interface. What they name is defined below them.
//!
//! `clock` and `traffic` are public themselves.

pub mod events;
pub mod faults;
pub mod jobs;
pub mod pools;
pub mod quirks;
pub mod script;
pub mod seeds;
pub mod signature;
