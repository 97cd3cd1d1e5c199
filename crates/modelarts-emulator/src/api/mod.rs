//! Requests and responses of the API.
//!
//! [`json_field`] and [`query`] read requests, and [`response`] builds responses. [`error`] defines
//! the errors, with the codes and texts of [`error_table`]; [`ids`] generates ids.

pub(crate) mod error;
mod error_table;
pub(crate) mod ids;
pub(crate) mod json_field;
pub(crate) mod query;
pub(crate) mod response;
