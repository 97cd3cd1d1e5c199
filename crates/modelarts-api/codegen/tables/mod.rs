//! Facts of the description that generated types do not carry. They become tables, and lists in
//! the documentation.

pub mod docs;
pub mod error_codes;
pub mod fields;
pub mod limits;
pub mod operations;
pub mod parameters;
