//! Creation of the runner of an emulator from its settings.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::process::{Resource, getrlimit};

use crate::{
    clock::Clock,
    emulator::error::StartError,
    files::confined_dir::ConfinedDir,
    metrics::Metrics,
    runner::{
        Runner,
        launcher::WorkerSettings,
        process::{ProcessRunner, Settings, view::LazySight},
        simulated::{SimulatedRunner, script::Script},
        worker_files::WorkerFiles,
    },
};
#[cfg(feature = "slurm")]
use crate::{
    cluster::system::{Slurm, SlurmSystem},
    state::BatchSystem,
};

/// Maximum number of file descriptors that the emulator needs for a running worker.
const DESCRIPTORS: u64 = 5;
/// Maximum number of workers below which the emulator logs a warning at its start.
const FEW_WORKERS: u32 = 100;

/// Runner of the code of jobs: real processes or a simulation.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum RunnerKind {
    /// Runs the code as processes on this machine.
    #[default]
    Process,
    /// Runs the code as processes on the nodes of a Slurm cluster, which queues the jobs.
    #[cfg(feature = "slurm")]
    Slurm(Slurm),
    /// Simulates runs: jobs follow the script on the emulator's clock. The emulator starts no
    /// processes, copies no files and installs no packages; everything else is the same.
    Simulated(Script),
}

impl RunnerKind {
    /// Returns the address at which the nodes of a cluster reach OBS.
    #[cfg(all(feature = "slurm", feature = "obs"))]
    pub(super) const fn obs_listen(&self) -> Option<std::net::SocketAddr> {
        match self {
            Self::Slurm(slurm) => slurm.config.obs_listen,
            Self::Process | Self::Simulated(_) => None,
        }
    }

    /// Returns the directory with those of the workers.
    pub(super) fn place<'a>(&'a self, data_dir: &'a Path) -> &'a Path {
        match self {
            #[cfg(feature = "slurm")]
            Self::Slurm(slurm) => &slurm.shared,
            Self::Process | Self::Simulated(_) => data_dir,
        }
    }

    /// Returns `true` if the nodes of jobs are assigned by a queue outside of the emulator.
    pub(super) const fn has_own_queue(&self) -> bool {
        match self {
            #[cfg(feature = "slurm")]
            Self::Slurm(_) => true,
            Self::Process | Self::Simulated(_) => false,
        }
    }
}

/// Runner of an emulator, and the batch system that runs the jobs in its place, if there is one.
pub(super) struct Created {
    pub(super) runner: Runner,
    #[cfg(feature = "slurm")]
    pub(super) batch_system: Option<Arc<dyn BatchSystem>>,
}

impl From<Runner> for Created {
    fn from(runner: Runner) -> Self {
        Self {
            runner,
            #[cfg(feature = "slurm")]
            batch_system: None,
        }
    }
}

pub(super) async fn create(
    kind: RunnerKind,
    data_dir: &Path,
    workers: WorkerSettings,
    obs: ConfinedDir,
    temporary: Option<PathBuf>,
    clock: &Arc<dyn Clock>,
    metrics: &Arc<Metrics>,
) -> Result<Created, StartError> {
    let place = workers.place.clone();
    let unusable = |error| StartError::Directory(place.clone(), error);
    let files = WorkerFiles::new(&place, obs, workers.datasets.clone()).map_err(unusable)?;
    match kind {
        RunnerKind::Simulated(script) => {
            let (clock, metrics) = (Arc::clone(clock), Arc::clone(metrics));
            let log_cap = workers.log_cap;
            let runner = SimulatedRunner::new(files, log_cap, temporary, script, clock, metrics);
            Ok(Runner::Simulated(Arc::new(runner)).into())
        }
        RunnerKind::Process => {
            let sight = LazySight::new(workers.container, data_dir).await;
            let settings = Settings {
                sight: sight.map_err(StartError::Container)?,
                package: data_dir.join("moxing"),
                workers,
                temporary,
            };
            let (jobs, records) = (place.join("jobs"), data_dir.join("running"));
            let runner = ProcessRunner::new(files, &jobs, &records, settings).map_err(unusable)?;
            Ok(Runner::Process(Arc::new(runner)).into())
        }
        #[cfg(feature = "slurm")]
        RunnerKind::Slurm(slurm) => {
            let is_temporary = temporary.is_some_and(|place| data_dir.starts_with(place));
            let system = SlurmSystem::new(slurm, files, workers, is_temporary);
            let system = Arc::new(system.map_err(unusable)?);
            let batch_system: Arc<dyn BatchSystem> = Arc::clone(&system) as _;
            let runner = Runner::Process(system);
            Ok(Created { runner, batch_system: Some(batch_system) })
        }
    }
}

/// Returns the maximum number of concurrent workers: they may use half of the file descriptors.
pub(super) fn most_workers() -> u32 {
    let limit = getrlimit(Resource::Nofile).current;
    let workers =
        limit.map_or(u32::MAX, |limit| u32::try_from(limit / 2 / DESCRIPTORS).unwrap_or(u32::MAX));
    if workers < FEW_WORKERS {
        tracing::warn!(
            "the limit of open files allows {workers} workers at the same time; further jobs wait \
             in the queue (raise the hard limit, for example by ulimit -n 4096, to run more)"
        );
    }
    workers
}
