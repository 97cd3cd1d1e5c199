//! Commands on existing jobs.

mod arguments;
pub(crate) mod diff;
pub(crate) mod download;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod logs;
pub(crate) mod ls;
pub(crate) mod results;
pub(crate) mod rm;
mod selection;
pub(crate) mod show;
pub(crate) mod stop;
pub(crate) mod top;
pub(crate) mod update;
pub(crate) mod values;
pub(crate) mod wait;

pub(crate) use arguments::{positive_number, time_span, whole_number};
pub(crate) use logs::nodes;
