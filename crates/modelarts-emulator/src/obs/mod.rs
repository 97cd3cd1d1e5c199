//! OBS over HTTP: the files below the OBS root as buckets and objects of the S3 protocol. The crate
//! s3s implements the format and the signatures.
//!
//! Jobs read and write the same files without this module. A record is therefore valid only as long
//! as its file has the same size, modification time and inode.

mod access;
mod conditions;
mod fields;
mod keys;
mod objects;
mod operations;
mod pages;
mod records;
pub(crate) mod server;
mod service;
mod store;
mod transfer;
mod uploads;
