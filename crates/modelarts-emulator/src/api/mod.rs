//! Requests and responses of the API.

pub(crate) mod error;
pub(crate) mod ids;
pub(crate) mod json_field;
pub(crate) mod query;
pub(crate) mod response;
