//! Control routes, faults, and protection from web pages.

mod admin;
mod faults;
mod safety;
