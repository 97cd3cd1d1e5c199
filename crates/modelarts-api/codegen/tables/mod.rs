//! Facts of the description that generated types do not carry, as tables and as lists in the
//! documentation.

pub mod docs;
pub mod error_codes;
pub mod fields;
pub mod limits;
pub mod operations;
pub mod parameters;
pub mod request_paths;
