//! Settings of a client: the cloud, its endpoints, the environment and files.

pub(crate) mod cloud;
pub(crate) mod endpoints;
pub(crate) mod environment;
