//! What all requests and all jobs of one emulator share.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::confined::Confined;
use crate::events::Wording;
use crate::faults::Faults;
use crate::operation::Counts;
use crate::runner::Runner;
use crate::store::Store;
use crate::timing::Timing;

/// The emulator without its socket.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) identity: Identity,
    /// The port it listens on, for its own origin.
    pub(crate) port: u16,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timing: Timing,
    pub(crate) wording: Wording,
    pub(crate) obs: Confined,
    pub(crate) store: Store,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) faults: Faults,
    pub(crate) counts: Counts,
    pub(crate) closing: watch::Sender<bool>,
    work: Mutex<JoinSet<()>>,
}

/// The one project and its one user.
pub(crate) struct Identity {
    pub(crate) project_id: String,
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    /// Tokens that are accepted in `X-Auth-Token`.
    pub(crate) tokens: Vec<String>,
}

/// What searches by `user_id` compare with.
pub(crate) const USER_ID: &str = "00000000000000000000000000000001";
/// `metadata.user_name`, once the service knows it.
pub(crate) const USER_NAME: &str = "emulator";

impl std::fmt::Debug for Identity {
    /// Without its secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity")
            .field("project_id", &self.project_id)
            .finish_non_exhaustive()
    }
}

/// The parts of a core that its builder chooses.
pub(crate) struct Parts {
    pub(crate) identity: Identity,
    pub(crate) port: u16,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timing: Timing,
    pub(crate) wording: Wording,
    pub(crate) obs: Confined,
    pub(crate) runner: Arc<dyn Runner>,
}

impl Core {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        Arc::new(Self {
            identity: parts.identity,
            port: parts.port,
            clock: parts.clock,
            timing: parts.timing,
            wording: parts.wording,
            obs: parts.obs,
            store: Store::new(),
            runner: parts.runner,
            faults: Faults::default(),
            counts: Counts::default(),
            closing: watch::Sender::new(false),
            work: Mutex::default(),
        })
    }

    /// Lets a job's work go on by itself until the emulator ends.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.work.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    /// All work that is still going on, for the one who ends the emulator.
    pub(crate) fn take_work(&self) -> JoinSet<()> {
        std::mem::take(&mut self.work.lock())
    }
}
