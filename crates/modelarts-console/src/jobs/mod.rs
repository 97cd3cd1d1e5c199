//! Page with the list of jobs.

mod list;
mod row;
mod search;

pub(crate) use list::routes;
