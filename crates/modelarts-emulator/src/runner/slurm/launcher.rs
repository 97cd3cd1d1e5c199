//! Launcher of workers on the nodes of a Slurm cluster: settings, and connections to the workers.

use std::{
    collections::HashMap,
    fmt, fs, io,
    path::{Path, PathBuf, absolute},
    sync::Arc,
};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::{
    files::confined_dir::ConfinedDir,
    job::worker::Worker,
    runner::{
        launcher::RunnerSettings,
        slurm::{
            commands::Cluster,
            config::Config,
            connection::{Call, Connection},
            protocol::{Command, ExitRecord, Specification, Stop, WorkerSite},
        },
        worker_files::WorkerFiles,
    },
};

/// Slurm cluster on whose nodes an emulator runs its jobs.
///
/// All programs run as the user of this process. The commands of Slurm must be on the `PATH`.
#[derive(Clone, Debug)]
pub struct Slurm {
    pub(crate) shared: PathBuf,
    pub(crate) program: Option<PathBuf>,
    pub(crate) config: Config,
}

impl Slurm {
    /// Creates settings for the cluster of this machine. `shared` is a directory at the same path
    /// on this machine and on all nodes; it is created if it does not exist.
    pub fn new(shared: impl Into<PathBuf>) -> Self {
        Self { shared: shared.into(), program: None, config: Config::default() }
    }

    /// Sets the options of `srun`. By default, each job requests the hardware of its flavor.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the path of `modelarts-emulator` on the nodes. The default is that of this executable.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }
}

pub(crate) struct SlurmLauncher {
    pub(super) files: WorkerFiles,
    pub(super) site: WorkerSite,
    pub(super) program: PathBuf,
    pub(super) config: Config,
    pub(super) cluster: Arc<Cluster>,
    /// Connections of the jobs that wait for nodes or have nodes, by job id.
    pub(super) connections: Mutex<HashMap<String, Arc<Connection>>>,
}

impl fmt::Debug for SlurmLauncher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlurmLauncher")
            .field("site", &self.site)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl SlurmLauncher {
    pub(crate) fn new(
        slurm: Slurm,
        settings: RunnerSettings,
        is_offline: bool,
    ) -> io::Result<Arc<Self>> {
        let shared = ConfinedDir::create(&slurm.shared)?.root().to_owned();
        let Slurm { program, config, .. } = slurm;
        let (obs, datasets) = (settings.obs, settings.datasets);
        Ok(Arc::new(Self {
            site: WorkerSite {
                nfs: absolute(settings.nfs.unwrap_or_else(|| shared.join("nfs")))?,
                obs: obs.root().to_owned(),
                datasets: datasets.clone().map(absolute).transpose()?,
                log_cap: settings.log_cap,
                least_disk: settings.least_disk,
                install_packages: settings.install_packages,
                is_offline,
                image: config.image.clone(),
                shared: shared.clone(),
            },
            files: WorkerFiles::new(&shared, obs, datasets)?,
            program: program.map_or_else(std::env::current_exe, absolute)?,
            config,
            cluster: Arc::new(Cluster::new(settings.temporary)),
            connections: Mutex::default(),
        }))
    }

    pub(super) fn connect(
        self: &Arc<Self>,
        workers: &[Worker],
        priority: i64,
    ) -> io::Result<Arc<Connection>> {
        let first = workers.first().ok_or_else(|| io::Error::other("the job has no workers"))?;
        let specification = self.write_specification(first)?;
        let count = workers.len().to_string();
        // The options contain the id of the job, but no other value of its request.
        let mut options = [
            ("--job-name=", first.job_id.as_str()),
            ("--nodes=", &count),
            ("--ntasks=", &count),
            ("--ntasks-per-node=", "1"),
            ("--kill-on-bad-exit=", "1"),
            ("--mpi=", "none"),
            ("--label", ""),
        ]
        .map(|(option, value)| format!("{option}{value}"))
        .to_vec();
        // In the allocation, all roles of a heterogeneous job have the flavor of the first role.
        options.extend(self.config.arguments(&first.request, priority));
        options.push(self.program.to_string_lossy().into_owned());
        options.push("worker".to_owned());
        options.push(specification.to_string_lossy().into_owned());
        let connection = Connection::start(&self.cluster, workers, &options);
        let job_id = first.job_id.clone();
        self.connections.lock().insert(job_id, Arc::clone(&connection));
        Ok(connection)
    }

    /// Writes the file from which the workers of a job read the specification of the job.
    fn write_specification(&self, worker: &Worker) -> io::Result<PathBuf> {
        let directory = self.files.directory(worker)?;
        let directory = directory.root().parent().unwrap_or(Path::new("/"));
        let specification = Specification {
            job_id: worker.job_id.clone(),
            body: worker.job.body.clone(),
            site: self.site.clone(),
        };
        // A temporary file has the mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer(&mut file, &specification)?;
        let path = directory.join("job.json");
        file.persist(&path)?;
        Ok(path)
    }

    pub(super) fn connection(&self, worker: &Worker) -> Option<Arc<Connection>> {
        self.connections.lock().get(&worker.job_id).cloned()
    }

    /// Sends a command to a worker. Returns `None` if its node is lost.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        worker: &Worker,
        command: Command,
        interrupt: &CancellationToken,
    ) -> Option<io::Result<T>> {
        let connection = self.connection(worker)?;
        let Call { number, mut reply } = connection.call(worker.rank, command);
        let reply = tokio::select! {
            reply = &mut reply => reply,
            () = interrupt.cancelled() => {
                connection.stop(number, Stop::Terminate);
                connection.last_reply(&mut reply).await?
            }
        };
        let value = reply.ok()?.map_err(io::Error::other);
        Some(value.and_then(|value| serde_json::from_value(value).map_err(io::Error::other)))
    }

    /// Returns the exit code of a run that its worker recorded before its node was lost.
    pub(super) fn recorded_exit(&self, worker: &Worker) -> Option<i32> {
        let path = exit_path(&self.site.shared, worker);
        let record: ExitRecord = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (record.run == worker.run).then_some(record.exit_code)
    }
}

pub(super) fn exit_path(shared: &Path, worker: &Worker) -> PathBuf {
    let name = format!("{}.exit", worker.log_name());
    shared.join("jobs").join(&worker.job_id).join(name)
}
