//! `Site`: the state that all requests share.

use std::{ops::Deref, sync::Arc, time::Duration};

use modelarts_ext::{Client, client::CurrentUser};
use modelarts_obs::Staging;
use tokio::sync::{OnceCell, watch};

use crate::{
    access::keys::Access,
    administration::Administration,
    choices::Choices,
    drafts::Drafts,
    facts::Facts,
    live::{Watches, lists::Lists},
    service_clock::ServiceClock,
};

/// The state that all requests share.
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
    pub(crate) lists: Lists,
    /// User of the credentials, once it was looked up.
    pub(crate) user: OnceCell<CurrentUser>,
    /// `true` when the server ends, and responses without an end must end.
    pub(crate) closed: watch::Receiver<bool>,
    /// Stages, diagnoses, tags and usage of jobs.
    pub(crate) facts: Facts,
    /// Time of the service.
    pub(crate) clock: ServiceClock,
    /// Control of the emulator; `None` for a real service.
    pub(crate) emulator: Option<Administration>,
}

impl Site {
    /// Compares the clocks, unless that was done a short time ago.
    pub(crate) async fn compare_clocks(&self) {
        self.clock
            .compare(&self.client, self.emulator.as_ref())
            .await;
    }
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
