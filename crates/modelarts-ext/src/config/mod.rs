//! Configuration of a client: the cloud, the endpoints of its regions, variables and files.

pub(crate) mod cloud;
pub(crate) mod endpoints;
pub(crate) mod environment;
pub(crate) mod files;

pub use cloud::Cloud;
pub use environment::Environment;
