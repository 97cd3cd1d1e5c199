//! Commands on what the service offers.

pub(crate) mod algorithms;
pub(crate) mod engines;
pub(crate) mod flavors;
