//! `Site`: what all requests share.

use std::{ops::Deref, sync::Arc, time::Duration};

use modelarts_ext::Client;
use modelarts_obs::Staging;

use crate::{
    access::keys::Access,
    create::{choices::Choices, drafts::Drafts},
    emulator::administration::Administration,
    live::Watches,
};

/// What all requests share.
pub(crate) struct Site {
    pub(crate) client: Client,
    /// Place of code and data that are dropped on the form.
    pub(crate) staging: Staging,
    /// Name of the service for the header of the page.
    pub(crate) service: String,
    /// Name of the context, for commands that the page shows.
    pub(crate) context: Option<String>,
    /// `true` if the site changes nothing.
    pub(crate) is_read_only: bool,
    /// Pause between two polls of the service.
    pub(crate) interval: Duration,
    /// Port of the server.
    pub(crate) port: u16,
    /// Name of the cookie of sessions. It contains the port, because cookies are shared by all
    /// ports of a host.
    pub(crate) cookie: String,
    pub(crate) access: Access,
    /// Lists of the service for the form.
    pub(crate) choices: Choices,
    /// Files that were dropped on the form.
    pub(crate) drafts: Drafts,
    pub(crate) watches: Watches,
    /// Control of the emulator; `None` for a real service.
    pub(crate) emulator: Option<Administration>,
}

/// Handle of the site, which each handler takes.
#[derive(Clone)]
pub(crate) struct State(pub(crate) Arc<Site>);

impl Deref for State {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.0
    }
}
