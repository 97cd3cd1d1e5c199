//! Access: login links, sessions, and checks of each request.
//!
//! The site can stop and delete jobs and send files, so another program or web page on this machine
//! must not use it. `keys` makes and checks sessions, `visitor` has the user of a request,
//! and masks what the user has not asked for. The module `guard` checks each request before its
//! handler.

pub(crate) mod keys;
pub(crate) mod visitor;
