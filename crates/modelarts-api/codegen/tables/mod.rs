//! What the description says that generated types do not carry. It becomes tables, and lists in
//! the documentation.

pub mod docs;
pub mod fields;
pub mod limits;
pub mod operations;
