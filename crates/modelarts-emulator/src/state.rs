//! What all requests and all jobs of one emulator share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    accounts::{Accounts, log_links::LogLinks},
    api::ids::Ids,
    catalog::{operations::Counts, quirks::Quirks},
    clock::{
        idle::{BusyGuard, IdleTracker},
        system::Clock,
        timing::Timing,
    },
    database::{documents::Documents, quotas::Quotas},
    job::{event::Wording, state::RestartOn},
    logs::index::LogIndexes,
    metrics::Metrics,
    runner::Runner,
    scheduler::Scheduler,
    store::JobStore,
    traffic::{faults::Faults, observer::Observer, request_log::RequestLog},
    validation::creation::Offer,
};

/// The emulator without its socket.
#[derive(Debug)]
pub(crate) struct EmulatorState {
    pub(crate) accounts: Accounts,
    /// Where it listens: its own origin, and where its links lead.
    pub(crate) address: SocketAddr,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timing: Timing,
    pub(crate) wording: Wording,
    pub(crate) restart_on: RestartOn,
    /// What creations are judged by.
    pub(crate) terms: Offer,
    pub(crate) store: JobStore,
    pub(crate) algorithms: Documents,
    pub(crate) experiments: Documents,
    pub(crate) publications: Documents,
    pub(crate) quotas: Quotas,
    pub(crate) links: LogLinks,
    pub(crate) log_indexes: LogIndexes,
    /// Whether an output path that an active job writes to is refused.
    pub(crate) one_job_per_output: bool,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) faults: Faults,
    pub(crate) counts: Counts,
    pub(crate) journal: RequestLog,
    pub(crate) choices: Quirks,
    pub(crate) ids: Ids,
    pub(crate) observer: Option<Observer>,
    pub(crate) closing: watch::Sender<bool>,
    /// Cancelled when the emulator waits for no copy any more.
    pub(crate) copies: CancellationToken,
    work: Mutex<JoinSet<()>>,
    idle: IdleTracker,
    /// Held by whoever moves the clock.
    moving: tokio::sync::Mutex<()>,
}

/// The parts of a core that its builder chooses.
pub(crate) struct Parts {
    pub(crate) accounts: Accounts,
    pub(crate) quotas: Quotas,
    pub(crate) one_job_per_output: bool,
    pub(crate) address: SocketAddr,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) timing: Timing,
    pub(crate) wording: Wording,
    pub(crate) restart_on: RestartOn,
    pub(crate) choices: Quirks,
    pub(crate) ids: Ids,
    pub(crate) terms: Offer,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) store: JobStore,
    pub(crate) journal: RequestLog,
    pub(crate) observer: Option<Observer>,
}

impl EmulatorState {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        Arc::new(Self {
            accounts: parts.accounts,
            address: parts.address,
            clock: parts.clock,
            timing: parts.timing,
            wording: parts.wording,
            restart_on: parts.restart_on,
            terms: parts.terms,
            algorithms: Documents::new(&parts.store.database, "algorithm"),
            experiments: Documents::new(&parts.store.database, "experiment"),
            publications: Documents::new(&parts.store.database, "publication"),
            store: parts.store,
            quotas: parts.quotas,
            links: LogLinks::default(),
            log_indexes: LogIndexes::default(),
            one_job_per_output: parts.one_job_per_output,
            scheduler: parts.scheduler,
            metrics: parts.metrics,
            runner: parts.runner,
            faults: Faults::default(),
            counts: Counts::default(),
            journal: parts.journal,
            choices: parts.choices,
            ids: parts.ids,
            observer: parts.observer,
            closing: watch::Sender::new(false),
            copies: CancellationToken::new(),
            work: Mutex::default(),
            idle: IdleTracker::default(),
            moving: tokio::sync::Mutex::default(),
        })
    }

    /// Lets a job's work go on by itself until the emulator ends.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.work.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(self.idle.watch(work));
    }

    /// Lets the clock wait until this is dropped.
    pub(crate) fn thinking(&self) -> BusyGuard {
        self.idle.busy_guard()
    }

    /// Moves the clock forward, if it can be moved, and says whether it can. On the way it stops
    /// wherever somebody is to be woken, until all jobs have done what there was to do; so
    /// everything happens at its own time, however far it goes at once.
    pub(crate) async fn advance(&self, duration: Duration) -> bool {
        let _alone = self.moving.lock().await;
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

    /// All work that is still going on, for the one who ends the emulator.
    pub(crate) fn take_work(&self) -> JoinSet<()> {
        std::mem::take(&mut self.work.lock())
    }
}
