//! Shared state of one emulator.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    accounts::{Accounts, log_links::LogLinks},
    api::ids::Ids,
    catalog::quirks::Quirks,
    clock::{idle::IdleTracker, system::Clock, timing::Timing},
    database::{documents::Documents, quotas::Quotas},
    job::{event::Wording, state::RestartOn},
    logs::index::LogIndexes,
    metrics::Metrics,
    runner::Runner,
    scheduler::Scheduler,
    store::JobStore,
    traffic::{counts::RequestCounts, faults::Faults, observer::Observer, request_log::RequestLog},
    validation::creation::Offer,
};

/// The state of an emulator, without its socket.
pub(crate) struct EmulatorState {
    pub(crate) accounts: Accounts,
    /// The address of the emulator: its own origin, and the host of its links.
    pub(crate) address: SocketAddr,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timing: Timing,
    pub(crate) wording: Wording,
    pub(crate) restart_on: RestartOn,
    /// The offer of the service, against which creations are checked.
    pub(crate) offer: Offer,
    pub(crate) store: JobStore,
    pub(crate) algorithms: Documents,
    pub(crate) experiments: Documents,
    pub(crate) publications: Documents,
    pub(crate) quotas: Quotas,
    pub(crate) log_links: LogLinks,
    pub(crate) log_indexes: LogIndexes,
    /// Refuses an output path that an active job writes to.
    pub(crate) one_job_per_output: bool,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) faults: Faults,
    pub(crate) request_counts: RequestCounts,
    pub(crate) request_log: RequestLog,
    pub(crate) quirks: Quirks,
    pub(crate) ids: Ids,
    pub(crate) observer: Option<Observer>,
    pub(crate) closing: watch::Sender<bool>,
    /// Cancelled when the emulator stops waiting for copies.
    pub(crate) copy_cancellation: CancellationToken,
    tasks: Mutex<JoinSet<()>>,
    idle: IdleTracker,
    /// Held while the clock is moved, so that moves do not overlap.
    clock_lock: tokio::sync::Mutex<()>,
}

/// The parts of the state that the builder sets.
pub(crate) struct StateParts {
    pub(crate) accounts: Accounts,
    pub(crate) quotas: Quotas,
    pub(crate) one_job_per_output: bool,
    pub(crate) address: SocketAddr,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timing: Timing,
    pub(crate) wording: Wording,
    pub(crate) restart_on: RestartOn,
    pub(crate) quirks: Quirks,
    pub(crate) ids: Ids,
    pub(crate) offer: Offer,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) store: JobStore,
    pub(crate) request_log: RequestLog,
    pub(crate) observer: Option<Observer>,
}

impl EmulatorState {
    pub(crate) fn new(parts: StateParts) -> Arc<Self> {
        Arc::new(Self {
            accounts: parts.accounts,
            address: parts.address,
            clock: parts.clock,
            timing: parts.timing,
            wording: parts.wording,
            restart_on: parts.restart_on,
            offer: parts.offer,
            algorithms: Documents::new(&parts.store.database, "algorithm"),
            experiments: Documents::new(&parts.store.database, "experiment"),
            publications: Documents::new(&parts.store.database, "publication"),
            store: parts.store,
            quotas: parts.quotas,
            log_links: LogLinks::default(),
            log_indexes: LogIndexes::default(),
            one_job_per_output: parts.one_job_per_output,
            scheduler: parts.scheduler,
            metrics: parts.metrics,
            runner: parts.runner,
            faults: Faults::default(),
            request_counts: RequestCounts::default(),
            request_log: parts.request_log,
            quirks: parts.quirks,
            ids: parts.ids,
            observer: parts.observer,
            closing: watch::Sender::new(false),
            copy_cancellation: CancellationToken::new(),
            tasks: Mutex::default(),
            idle: IdleTracker::default(),
            clock_lock: tokio::sync::Mutex::default(),
        })
    }

    /// Spawns a task of a job, which runs until it is done or the emulator ends.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(self.idle.watch(work));
    }

    /// Moves the clock forward; returns `false` if it cannot be moved. The clock stops at each due
    /// time until all work that was due is done, so that everything happens at its own time,
    /// however long the move is.
    pub(crate) async fn advance(&self, duration: Duration) -> bool {
        let _guard = self.clock_lock.lock().await;
        let clock = self.clock.as_ref();
        let Some(target) = clock.now().checked_add(duration) else {
            return false;
        };
        loop {
            self.idle.wait_until_idle().await;
            let now = clock.now();
            let next = clock.next_wake().map_or(target, |next| next.min(target));
            let step = next.duration_since(now).unwrap_or_default();
            if !clock.leap(step) {
                return false;
            }
            if next >= target {
                break;
            }
        }
        self.idle.wait_until_idle().await;
        true
    }

    /// All tasks that still run, when the emulator ends.
    pub(crate) fn take_tasks(&self) -> JoinSet<()> {
        std::mem::take(&mut self.tasks.lock())
    }
}
