//! Routes beside the operations, faults, and protection against web pages.

mod admin;
mod faults;
mod safety;
