//! OBS over HTTP: the files below the OBS root, as buckets and objects of the S3 protocol.
//!
//! The crate s3s parses requests, checks signatures and writes XML. `server` accepts requests, with
//! their faults and counts, and `access` finds the user. `service` implements the operations on
//! `objects` and `uploads`, with `conditions` and `fields` of requests. `keys` checks names, `records`
//! stores what a file cannot hold, `pages` lists keys in order, and `transfer` moves bytes between
//! connections and files.
//!
//! Jobs read and write the same files without this module. A record is therefore valid only as long
//! as its file has the same size, modification time and inode.

mod access;
mod conditions;
mod fields;
mod keys;
mod objects;
mod pages;
mod records;
pub(crate) mod server;
mod service;
mod transfer;
mod uploads;
