//! Tables of the resources that the service offers: operations, clouds, engines, flavors and pools.

pub(crate) mod cloud;
pub(crate) mod engines;
pub(crate) mod flavors;
pub(crate) mod operations;
#[cfg(test)]
mod page_tables_tests;
#[cfg(test)]
mod pages_tests;
pub(crate) mod pools;
pub(crate) mod quirks;
