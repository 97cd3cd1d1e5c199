//! Tests of jobs: creation, lists, changes, waits, events and logs.

pub(crate) mod create;
mod details;
mod diagnosis;
mod end_errors;
mod ends;
mod events;
mod filter;
mod fixtures;
mod follow;
mod follow_end;
mod handle;
mod lifecycle;
mod list;
mod log_gaps;
mod log_tail;
mod logs;
mod long_lines;
mod long_ranges;
mod names_and_ids;
mod serialized;
mod submit_all;
mod wait;
mod wait_all;
mod wait_rate;
mod waiters;
mod watch_modes;
mod whole_logs;
