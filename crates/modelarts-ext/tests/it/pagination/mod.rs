//! Lists and their pages.

mod list_operations;
mod stream;
