//! The offer of the service: clouds and switches.

mod clouds;
mod quirks;
