//! Repeated requests: their interval, their errors and their end.

pub(crate) mod end;
pub(crate) mod interval;
pub(crate) mod tolerance;
