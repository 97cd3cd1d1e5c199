//! Tests of the operations on jobs.

mod details;
mod events;
mod images;
mod logs;
mod operations;
mod search;
