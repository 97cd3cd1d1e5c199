//! Requests as they come: faults, the log of requests, observers.

pub(crate) mod counts;
pub(crate) mod faults;
pub(crate) mod observer;
pub(crate) mod request_log;
