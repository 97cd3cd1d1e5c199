//! OBS over HTTP: the files below the OBS root, as buckets and objects of the S3 protocol.
//!
//! The crate s3s parses requests, checks signatures and writes XML. `server` receives requests,
//! counts them and applies injected faults; `access` determines the user. `service` implements the
//! operations on objects, `lists` those that list, and `multipart` those on uploads in parts. All
//! use `store`, `objects` and `uploads` for the files. `conditions` evaluates conditional headers,
//! and `fields` converts fields of requests and responses. `keys` checks names, `records` stores
//! the properties that a file does not have, `pages` lists keys in order, and `transfer` moves
//! bytes between connections and files.
//!
//! Jobs read and write the same files without this module. A record is therefore valid only as long
//! as its file has the same size, modification time and inode.

mod access;
mod conditions;
mod fields;
mod keys;
mod lists;
mod multipart;
mod objects;
mod pages;
mod records;
pub(crate) mod server;
mod service;
mod store;
mod transfer;
mod uploads;
