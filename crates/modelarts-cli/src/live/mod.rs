//! Live views: rows below the other output of the terminal that are redrawn in place.

mod screen;
mod table;

pub(crate) use screen::{INTERRUPT, Screen};
pub(crate) use table::{lost_since, pause, table};
