//! Repeated requests: their interval, their errors, their deadline and their end.

pub(crate) mod deadline;
pub(crate) mod end;
pub(crate) mod interval;
pub(crate) mod tolerance;
