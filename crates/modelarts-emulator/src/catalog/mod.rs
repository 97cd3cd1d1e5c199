//! Tables of the resources that the service offers: operations, clouds, engines, flavors and pools.
//!
//! [`quirks`] defines a switch for each behaviour on which sources are silent or disagree.

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
