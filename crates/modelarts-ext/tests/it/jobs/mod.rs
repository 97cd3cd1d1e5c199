//! Jobs and what is done with them.

mod create;
mod filter;
mod follow;
mod lifecycle;
mod wait;
mod watch_modes;
