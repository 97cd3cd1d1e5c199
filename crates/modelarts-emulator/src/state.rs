//! State of an emulator, shared by its routes and its jobs.

use std::{net::SocketAddr, sync::Arc, time::Duration};

#[cfg(feature = "slurm")]
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    accounts::Accounts,
    api::ids::Ids,
    catalog::quirks::Quirks,
    clock::{Clock, idle::IdleTracker, timing::Timing},
    database::{
        Database,
        documents::{Documents, Quotas},
    },
    job::{event::Wording, state::RestartOn},
    logs::{LogLinks, index::LogIndexes},
    metrics::Metrics,
    runner::Runner,
    scheduler::Scheduler,
    store::JobStore,
    traffic::{
        faults::Faults,
        request_log::{Observer, RequestCounters, RequestLog},
    },
    validation::creation::Offer,
};

pub(crate) struct EmulatorState {
    pub(crate) accounts: Accounts,
    /// Address of the emulator, which is its own origin and the host in its links.
    pub(crate) address: SocketAddr,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Settings,
    /// Resources that the service offers, against which create requests are validated.
    pub(crate) offer: Offer,
    pub(crate) store: JobStore,
    pub(crate) records: Records,
    pub(crate) work: Work,
    pub(crate) traffic: Traffic,
    pub(crate) ids: Ids,
}

pub(crate) struct Settings {
    pub(crate) timing: Timing,
    pub(crate) wording: Wording,
    pub(crate) restart_on: RestartOn,
    /// `true` if a job is rejected when an active job writes to the same output path.
    pub(crate) one_job_per_output: bool,
    pub(crate) quirks: Quirks,
}

pub(crate) struct Records {
    pub(crate) algorithms: Documents,
    pub(crate) experiments: Documents,
    pub(crate) publications: Documents,
    pub(crate) quotas: Quotas,
}

pub(crate) struct Work {
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) runner: Runner,
    /// Cluster that runs the jobs, in place of the scheduler and the runner.
    #[cfg(feature = "slurm")]
    pub(crate) batch_system: Option<Arc<dyn BatchSystem>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) log_links: LogLinks,
    pub(crate) log_indexes: LogIndexes,
    pub(crate) closing: watch::Sender<bool>,
    /// Token that is cancelled when the emulator no longer waits for copies.
    pub(crate) copy_cancellation: CancellationToken,
    pub(crate) background: Background,
}

pub(crate) struct Traffic {
    pub(crate) faults: Faults,
    pub(crate) request_counts: RequestCounters,
    pub(crate) request_log: RequestLog,
    pub(crate) observer: Option<Observer>,
}

/// Parts from which a state is made, other than those that are the same in each emulator.
pub(crate) struct Parts {
    pub(crate) database: Arc<Database>,
    pub(crate) accounts: Accounts,
    pub(crate) address: SocketAddr,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Settings,
    pub(crate) offer: Offer,
    pub(crate) job_quota: Option<u32>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) runner: Runner,
    #[cfg(feature = "slurm")]
    pub(crate) batch_system: Option<Arc<dyn BatchSystem>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) show_secrets: bool,
    pub(crate) observer: Option<Observer>,
    pub(crate) id_seed: Option<u64>,
}

/// Batch system of a cluster: it queues jobs, and runs them while no emulator exists.
#[cfg(feature = "slurm")]
pub(crate) trait BatchSystem: std::fmt::Debug + Send + Sync {
    /// Checks that jobs can be submitted. The error is a sentence.
    fn prepare(&self) -> BoxFuture<'_, Result<(), String>>;

    /// Submits a job, if this has not been done, and follows it until it is settled.
    fn follow(self: Arc<Self>, state: Arc<EmulatorState>, id: String) -> BoxFuture<'static, ()>;
}

/// Tasks of all jobs, with the tracker of their activity and the lock for moves of the clock.
#[derive(Debug, Default)]
pub(crate) struct Background {
    tasks: Mutex<JoinSet<()>>,
    idle: IdleTracker,
    /// Lock that is held while the clock is moved, so that concurrent moves do not overlap.
    clock_lock: tokio::sync::Mutex<()>,
}

impl EmulatorState {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let database = parts.database;
        Arc::new(Self {
            accounts: parts.accounts,
            address: parts.address,
            clock: parts.clock,
            settings: parts.settings,
            offer: parts.offer,
            records: Records {
                algorithms: Documents::new(&database, "algorithm"),
                experiments: Documents::new(&database, "experiment"),
                publications: Documents::new(&database, "publication"),
                quotas: Quotas::new(&database, parts.job_quota),
            },
            store: JobStore::new(database),
            work: Work {
                scheduler: parts.scheduler,
                runner: parts.runner,
                #[cfg(feature = "slurm")]
                batch_system: parts.batch_system,
                metrics: parts.metrics,
                log_links: LogLinks::default(),
                log_indexes: LogIndexes::default(),
                closing: watch::Sender::new(false),
                copy_cancellation: CancellationToken::new(),
                background: Background::default(),
            },
            traffic: Traffic {
                faults: Faults::default(),
                request_counts: RequestCounters::default(),
                request_log: RequestLog::new(parts.show_secrets),
                observer: parts.observer,
            },
            ids: Ids::new(parts.id_seed),
        })
    }

    /// Spawns a task of a job, which runs until it completes or the emulator ends.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.work.background.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(self.work.background.idle.watch(work));
    }

    /// Moves the clock. Returns `false` if the clock cannot be moved. The clock stops at each due
    /// time until the due work is complete, so that each action has its own time.
    pub(crate) async fn advance(&self, duration: Duration) -> bool {
        let _guard = self.work.background.clock_lock.lock().await;
        let clock = self.clock.as_ref();
        let Some(target) = clock.now().checked_add(duration) else {
            return false;
        };
        loop {
            self.work.background.idle.wait_until_idle().await;
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
        self.work.background.idle.wait_until_idle().await;
        true
    }

    /// Takes all tasks that are still running when the emulator ends.
    pub(crate) fn take_tasks(&self) -> JoinSet<()> {
        std::mem::take(&mut self.work.background.tasks.lock())
    }
}
