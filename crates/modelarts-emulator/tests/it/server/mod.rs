//! Tests of the control routes, of configured faults, and of the rejection of requests from web
//! pages.

mod admin;
mod date;
mod faults;
mod safety;
