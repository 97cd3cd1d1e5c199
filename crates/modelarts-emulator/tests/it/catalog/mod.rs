//! Resources that the service offers, and switches for undocumented behaviour.

mod clouds;
mod quirks;
