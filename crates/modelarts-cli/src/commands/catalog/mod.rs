//! Commands that list the algorithms, engines and flavors of the service.

pub(crate) mod algorithms;
pub(crate) mod engines;
pub(crate) mod flavors;
