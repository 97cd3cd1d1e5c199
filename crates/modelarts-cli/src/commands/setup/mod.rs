//! Commands that set up the program: contexts, emulator, diagnosis, completion, manual pages.

pub(crate) mod context;
pub(crate) mod dev;
pub(crate) mod doctor;
pub(crate) mod generated;
