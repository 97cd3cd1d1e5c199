//! The offer of the service: its operations, clouds, engines, flavors and pools.

pub(crate) mod cloud;
pub(crate) mod engines;
pub(crate) mod flavors;
pub(crate) mod operations;
pub(crate) mod pools;
pub(crate) mod quirks;
