//! Access: login links, sessions, and checks of each request.
//!
//! The site can stop and delete jobs and send files, so other programs and web pages on this
//! machine must not use it. `keys` creates and checks sessions. `visitor` determines the user of a
//! request, and masks secrets that the user has not asked for. The module `guard` checks each
//! request before its handler runs.

pub(crate) mod keys;
pub(crate) mod visitor;
