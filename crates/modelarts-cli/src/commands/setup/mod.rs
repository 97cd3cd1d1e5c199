//! Commands on the program itself: contexts, emulator, completion, manual.

pub(crate) mod context;
pub(crate) mod dev;
pub(crate) mod doctor;
pub(crate) mod generated;
