//! Access to the objects of a bucket, in OBS or in a local directory.
//!
//! `location` parses the address of OBS, `credentials` converts the credentials of the client, and
//! `http` sends the requests of the crate `object_store`. `store` provides the objects of one
//! bucket, and `directory` those of a local directory.

mod credentials;
mod directory;
mod http;
pub(crate) mod location;
pub(crate) mod store;
