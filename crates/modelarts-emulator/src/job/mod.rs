//! Jobs: their requests, states, events and documented JSON.

pub(crate) mod channel;
pub(crate) mod event;
pub(crate) mod event_language;
pub(crate) mod request;
pub(crate) mod roles;
pub(crate) mod state;
pub(crate) mod view;
