//! Launcher that runs the workers of jobs on the nodes of a Slurm cluster.
//!
//! One `srun` starts all workers of a job, each as this program with the command `worker`
//! ([`worker`]). [`connection`] exchanges the messages of [`protocol`] with them. Slurm queues the
//! jobs, so the emulator's own pools are unlimited. [`config`] selects the options of `srun`,
//! [`commands`] reads the queue, and [`cluster`] is what all jobs share. [`check`] runs when the
//! emulator starts.
//!
//! The directories of the workers are in a directory that all nodes share. The emulator reads logs
//! there, and copies outputs from there if the nodes are lost.

mod check;
mod cluster;
mod commands;
pub(crate) mod config;
mod connection;
mod protocol;
#[cfg(feature = "cli")]
pub(crate) mod worker;

use std::{
    collections::HashMap,
    fmt, fs, io,
    path::{Path, PathBuf, absolute},
    sync::Arc,
    time::Duration,
};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::system::Sleep,
    files::confined_dir::ConfinedDir,
    job::worker::Worker,
    metrics::usage::Usage,
    runner::{
        launcher::{Allocation, Launcher, Progress, Step},
        run::{Exit, Loss, Run},
        slurm::{
            cluster::Cluster,
            commands::QUEUE_PERIOD,
            config::Config,
            connection::{Call, Connection, END_TIMEOUT, State},
            protocol::{Command, ExitRecord, Specification, Stop, WorkerSite},
        },
        worker_files::{Transfer, WorkerFiles},
    },
};

/// Slurm cluster on whose nodes an emulator runs its jobs.
///
/// Everything runs as the user of this process. The commands of Slurm must be on the `PATH`.
#[derive(Clone, Debug)]
pub struct Slurm {
    pub(crate) shared: PathBuf,
    pub(crate) program: Option<PathBuf>,
    pub(crate) config: Config,
}

impl Slurm {
    /// Uses the cluster of this machine. `shared` is a directory at the same path on this machine
    /// and on all nodes; it is created if it does not exist.
    pub fn new(shared: impl Into<PathBuf>) -> Self {
        Self {
            shared: shared.into(),
            program: None,
            config: Config::default(),
        }
    }

    /// Sets the options of jobs. Default: flavors request their own hardware in the default
    /// partition.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the path of the program `modelarts-emulator` on the nodes. Default: the program of this
    /// process.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }
}

/// Settings of the launcher.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) slurm: Slurm,
    pub(crate) obs: ConfinedDir,
    pub(crate) datasets: Option<PathBuf>,
    pub(crate) nfs: Option<PathBuf>,
    pub(crate) log_cap: u64,
    pub(crate) least_disk: u64,
    pub(crate) install_packages: bool,
    /// Temporary directory to remove when the process of the emulator has ended.
    pub(crate) temporary: Option<PathBuf>,
}

/// Launcher of the workers of an emulator.
pub(crate) struct SlurmLauncher {
    files: WorkerFiles,
    site: WorkerSite,
    program: PathBuf,
    config: Config,
    cluster: Arc<Cluster>,
    /// Connections of the jobs that wait for nodes or have them.
    connections: Mutex<HashMap<String, Arc<Connection>>>,
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
    pub(crate) fn new(settings: Settings) -> io::Result<Arc<Self>> {
        let shared = ConfinedDir::create(&settings.slurm.shared)?
            .root()
            .to_owned();
        let Slurm {
            program, config, ..
        } = settings.slurm;
        let (obs, datasets) = (settings.obs, settings.datasets);
        Ok(Arc::new(Self {
            site: WorkerSite {
                nfs: absolute(settings.nfs.unwrap_or_else(|| shared.join("nfs")))?,
                obs: obs.root().to_owned(),
                datasets: datasets.clone().map(absolute).transpose()?,
                log_cap: settings.log_cap,
                least_disk: settings.least_disk,
                install_packages: settings.install_packages,
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

    /// Starts `srun` for the workers of a job.
    fn connect(self: &Arc<Self>, workers: &[Worker], priority: i64) -> io::Result<Arc<Connection>> {
        let first = workers
            .first()
            .ok_or_else(|| io::Error::other("the job has no workers"))?;
        let specification = self.write_specification(first)?;
        let count = workers.len().to_string();
        // The options contain the ID of the job, but no other value of its request. The rest comes
        // from the configuration.
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
        // Roles of a heterogeneous job have one flavor in the allocation, that of the first role.
        options.extend(self.config.arguments(&first.request, priority));
        options.push(self.program.to_string_lossy().into_owned());
        options.push("worker".to_owned());
        options.push(specification.to_string_lossy().into_owned());
        let connection = Connection::start(&self.cluster, workers, &options);
        let job_id = first.job_id.clone();
        self.connections
            .lock()
            .insert(job_id, Arc::clone(&connection));
        Ok(connection)
    }

    /// Writes the file from which the workers of a job read its facts.
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

    fn connection(&self, worker: &Worker) -> Option<Arc<Connection>> {
        self.connections.lock().get(&worker.job_id).cloned()
    }

    /// Sends a command to a worker. Returns `None` if its node is lost.
    async fn call<T: DeserializeOwned>(
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
    fn recorded_exit(&self, worker: &Worker) -> Option<i32> {
        let path = exit_path(&self.site.shared, worker);
        let record: ExitRecord = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (record.run == worker.run).then_some(record.exit_code)
    }
}

/// Returns the path of the file in which a worker records the exit of its code.
fn exit_path(shared: &Path, worker: &Worker) -> PathBuf {
    let name = format!("{}.exit", worker.log_name());
    shared.join("jobs").join(&worker.job_id).join(name)
}

impl Launcher for SlurmLauncher {
    fn files(&self) -> &WorkerFiles {
        &self.files
    }

    fn prepare<'a>(
        self: Arc<Self>,
        is_own: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            check::end_earlier(is_own).await?;
            let arguments = self.config.check_arguments();
            check::check(&self.site.shared, &self.program, &arguments).await
        })
    }

    fn allocate(self: Arc<Self>, workers: &[Worker], priority: i64) -> Option<Box<dyn Allocation>> {
        let connection = self.connect(workers, priority);
        Some(Box::new(SlurmAllocation {
            connection: connection.map_err(|error| error.to_string()),
            launcher: self,
            workers: workers.to_vec(),
            priority,
            applied: priority,
            reason: String::new(),
        }))
    }

    fn perform(
        self: Arc<Self>,
        worker: Worker,
        step: Step,
        interrupt: CancellationToken,
    ) -> BoxFuture<'static, io::Result<()>> {
        Box::pin(async move {
            let command = Command::Perform(step.clone());
            if let Some(done) = self.call(&worker, command, &interrupt).await {
                return done;
            }
            let Step::Copy(transfer @ Transfer::Output(_)) = step else {
                return Err(io::Error::other("the node was lost"));
            };
            // The outputs of a lost node are still in the shared directory.
            let copy = move || self.files.copy(&worker, transfer, &interrupt);
            let copied = tokio::task::spawn_blocking(copy).await;
            copied.unwrap_or_else(|error| Err(io::Error::other(error)))
        })
    }

    fn requirements(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Vec<String>> {
        Box::pin(async move {
            let never = CancellationToken::new();
            let names = self.call(&worker, Command::Requirements, &never).await;
            names.and_then(Result::ok).unwrap_or_default()
        })
    }

    fn start(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Box<dyn Run>> {
        Box::pin(async move {
            let command = Command::Run {
                run: worker.run,
                trial: worker.trial.as_deref().cloned(),
            };
            let connection = self.connection(&worker);
            let call = connection.map(|connection| {
                let call = connection.call(worker.rank, command);
                (connection, call)
            });
            let run: Box<dyn Run> = Box::new(SlurmRun {
                launcher: self,
                worker,
                call,
                exit: None,
            });
            run
        })
    }

    fn usage(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Option<Usage>> {
        Box::pin(async move {
            let never = CancellationToken::new();
            let usage = self.call(&worker, Command::Usage, &never);
            let usage = tokio::time::timeout(USAGE_TIMEOUT, usage).await.ok()?;
            usage.and_then(Result::ok).flatten()
        })
    }

    fn kill_all(&self) {
        // Workers kill their processes when their standard input ends. SIGTERM to `srun` would kill
        // the workers first.
        for (_, connection) in self.connections.lock().drain() {
            connection.release();
        }
    }
}

/// Nodes of a job, or its place in the queue of Slurm.
struct SlurmAllocation {
    launcher: Arc<SlurmLauncher>,
    workers: Vec<Worker>,
    priority: i64,
    /// Priority of the job in Slurm.
    applied: i64,
    /// Connection to the workers, or the reason for which `srun` was not started.
    connection: Result<Arc<Connection>, String>,
    /// Last reason of Slurm that was reported.
    reason: String,
}

/// Time limit for the usage of a worker. A node that does not respond has none.
const USAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which the reason of a waiting job is read for the first time.
const FIRST_LOOK: Duration = Duration::from_secs(1);

impl SlurmAllocation {
    /// Waits until Slurm responds again, and submits the job again.
    async fn connect_again(&mut self) {
        loop {
            tokio::time::sleep(QUEUE_PERIOD).await;
            let Ok(queue) = self.launcher.cluster.queue.read_recent().await else {
                continue;
            };
            // Slurm may have accepted the job although its response was lost.
            let job = self
                .connection
                .as_ref()
                .ok()
                .and_then(|run| run.find(&queue));
            let Some(job) = job.filter(|job| job.is_live()) else {
                break;
            };
            if let Err(error) = commands::cancel(&[&job.id]).await {
                tracing::warn!(job = job.name, %error, "a lost job of Slurm is not cancelled yet");
            }
        }
        self.applied = self.priority;
        let connection = self.launcher.connect(&self.workers, self.priority);
        self.connection = connection.map_err(|error| error.to_string());
    }

    /// Returns the reason for which the job waits, if it has changed. Applies a change of the
    /// priority.
    async fn new_reason(&mut self, connection: &Connection) -> Option<String> {
        let reason = match self.launcher.cluster.queue.read_recent().await {
            Err(error) => unavailable(&error),
            Ok(queue) => {
                let job = connection.find(&queue).filter(|job| job.is_live())?;
                if self.applied != self.priority {
                    self.apply_priority(&job.id).await;
                }
                job.reason()
            }
        };
        (reason != self.reason).then(|| {
            self.reason.clone_from(&reason);
            reason
        })
    }

    async fn apply_priority(&mut self, id: &str) {
        let config = &self.launcher.config;
        let changes = config.changes(&self.workers[0].request, self.priority);
        // The order of a job without such options does not depend on its priority.
        let applied = match changes.is_empty() {
            true => Ok(()),
            false => commands::update(id, &changes).await,
        };
        match applied {
            Ok(()) => self.applied = self.priority,
            Err(error) => tracing::warn!(id, %error, "the priority does not change in Slurm"),
        }
    }
}

fn unavailable(error: &str) -> String {
    format!("Slurm does not respond, and the job waits until it does: {error}")
}

impl Allocation for SlurmAllocation {
    fn next_change(&mut self) -> BoxFuture<'_, Progress> {
        Box::pin(async move {
            let mut pause = FIRST_LOOK;
            loop {
                let connection = match &self.connection {
                    Ok(connection) => Arc::clone(connection),
                    Err(error) => {
                        return Progress::Rejected(format!(
                            "the job was not sent to Slurm: {error}"
                        ));
                    }
                };
                let mut state = connection.state();
                let changed = state.wait_for(|state| *state != State::Waiting);
                let changed = tokio::time::timeout(pause, changed).await;
                pause = QUEUE_PERIOD;
                // The connection outlives the wait, so the wait does not fail.
                let state = changed.ok().and_then(Result::ok).map(|state| state.clone());
                match state {
                    Some(State::Ready) => return Progress::Ready,
                    Some(State::Rejected(message)) => {
                        return Progress::Rejected(format!("Slurm rejected the job: {message}"));
                    }
                    Some(State::Ended {
                        exit: Exit::Lost(loss),
                        ..
                    }) => return Progress::Lost(loss),
                    Some(State::Ended { cause, .. }) => {
                        let cause = format!("Slurm ended the job before its code started: {cause}");
                        return Progress::Rejected(cause);
                    }
                    Some(State::Unavailable(error)) => {
                        let reason = unavailable(&error);
                        if reason != self.reason {
                            self.reason.clone_from(&reason);
                            return Progress::Waiting(reason);
                        }
                        self.connect_again().await;
                    }
                    Some(State::Waiting) | None => {
                        if let Some(reason) = self.new_reason(&connection).await {
                            return Progress::Waiting(reason);
                        }
                    }
                }
            }
        })
    }

    fn set_priority(&mut self, priority: i64) {
        self.priority = priority;
    }

    fn loss(&self) -> Option<Loss> {
        let connection = self.connection.as_ref().ok()?;
        match &*connection.state().borrow() {
            State::Ended {
                exit: Exit::Lost(loss),
                ..
            } => Some(*loss),
            _ => None,
        }
    }
}

impl Drop for SlurmAllocation {
    fn drop(&mut self) {
        let Ok(connection) = &self.connection else {
            return;
        };
        connection.release();
        if let Some(worker) = self.workers.first() {
            self.launcher.connections.lock().remove(&worker.job_id);
        }
    }
}

/// Run of the code of a worker on its node.
struct SlurmRun {
    launcher: Arc<SlurmLauncher>,
    worker: Worker,
    /// Connection and request of the run; `None` if the node was lost before.
    call: Option<(Arc<Connection>, Call)>,
    exit: Option<Exit>,
}

impl SlurmRun {
    /// Waits for the reply of the worker, or for the loss of its node.
    async fn exit(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let reply = match &mut self.call {
            Some((_, call)) => (&mut call.reply).await.ok(),
            None => None,
        };
        let exit = match reply {
            Some(Ok(Value::Number(code))) => Exit::Code(
                code.as_i64()
                    .and_then(|code| i32::try_from(code).ok())
                    .unwrap_or(255),
            ),
            Some(reply) => {
                tracing::warn!(
                    job = self.worker.job_id,
                    ?reply,
                    "the worker did not run its code"
                );
                Exit::Code(255)
            }
            None => self.exit_of_lost_node(),
        };
        self.exit = Some(exit);
        exit
    }

    fn exit_of_lost_node(&self) -> Exit {
        if let Some(code) = self.launcher.recorded_exit(&self.worker) {
            return Exit::Code(code);
        }
        let connection = self.call.as_ref().map(|(connection, _)| connection);
        let (exit, cause) = match connection.map(|connection| connection.state().borrow().clone()) {
            Some(State::Ended { exit, cause }) => (exit, cause),
            _ => (Exit::Lost(Loss::NodeFault), String::new()),
        };
        let loss = match exit {
            Exit::Lost(Loss::NodeFault) => "a node of the job failed",
            Exit::Lost(Loss::Preempted) => "the job was preempted",
            Exit::Lost(Loss::Cancelled) => "the job was cancelled in Slurm",
            Exit::Code(137) => "the job exceeded its memory in Slurm",
            Exit::Code(_) => "the job exceeded its time limit in Slurm",
        };
        // The state of the job reports the loss as well.
        let _ = self
            .launcher
            .files
            .log(&self.worker, &format!("{loss}: {cause}"));
        exit
    }

    /// Ends `srun`, because the worker does not respond.
    fn give_up(&self) -> Exit {
        if let Some((connection, _)) = &self.call {
            connection.release();
        }
        Exit::Lost(Loss::NodeFault)
    }

    fn stop(&self, how: Stop) {
        if let Some((connection, call)) = &self.call {
            connection.stop(call.number, how);
        }
    }
}

impl Run for SlurmRun {
    fn wait(&mut self) -> BoxFuture<'_, Exit> {
        Box::pin(self.exit())
    }

    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            self.stop(Stop::Terminate);
            let exit = tokio::select! {
                exit = self.exit() => Some(exit),
                () = grace => None,
            };
            match exit {
                Some(exit) => exit,
                None => {
                    self.stop(Stop::Kill);
                    match tokio::time::timeout(END_TIMEOUT, self.exit()).await {
                        Ok(exit) => exit,
                        Err(_) => self.give_up(),
                    }
                }
            }
        })
    }
}
