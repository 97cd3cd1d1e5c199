//! Commands on what the service offers, `api` and `sync`.

mod algorithms;
mod api;
mod flavors;
mod objects;
mod sync;
