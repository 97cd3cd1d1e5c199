//! Requests and responses of the API.
//!
//! [`json_field`] reads members of a request body, [`query`] decodes values of the query, and
//! [`response`] builds responses. [`error`] defines the errors, and [`error_table`] contains the
//! codes and texts of the documented errors. [`ids`] generates ids.

pub(crate) mod error;
mod error_table;
pub(crate) mod ids;
pub(crate) mod json_field;
pub(crate) mod query;
pub(crate) mod response;
