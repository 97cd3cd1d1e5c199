//! Tests of jobs: creation, lists, changes, waits, events and logs.

mod create;
mod details;
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
mod logs;
mod names_and_ids;
mod wait;
mod wait_all;
mod waiters;
mod watch_modes;
mod whole_logs;
