//! Runs each worker as a process group on this machine.
//!
//! [`environment`] builds the variables and arguments of the code, [`python`] finds the interpreter
//! and installs packages, and [`start_gate`] delays the code until its group is recorded by
//! [`orphans`]. A [`run`] waits for the end; [`log_pump`] copies its output. [`process_group`] and
//! [`process_table`] find and end all processes of a run, and the [`watchdog`] those of an emulator
//! that was killed.

pub(crate) mod environment;
mod log_pump;
mod orphans;
mod process_group;
mod process_table;
pub(crate) mod python;
mod run;
mod start_gate;
pub(crate) mod watchdog;

use std::{
    ffi::OsString,
    fs,
    io::{self, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use futures::future::BoxFuture;
use rustix::process::Pid;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::system::Sleep,
    files::{
        confined_dir::{self, ConfinedDir, OnEscape},
        container_path::ContainerPath,
        obs_path::ObsPath,
    },
    job::{
        address::address,
        channel::{Channel, DataSource, Volume, VolumeSource},
        request::Start,
        worker::Worker,
    },
    metrics::usage::{Meter, Usage},
    runner::{
        LogTail, Run, Runner,
        process::{
            log_pump::Pump,
            orphans::OrphanRecord,
            process_table::ProcessTable,
            python::python3,
            run::{FailedStart, ProcessRun, Pumps, RunCleanup},
            watchdog::Watchdog,
        },
        worker_files::WorkerFiles,
    },
};

/// The runner of all jobs' workers.
#[derive(Clone, Debug)]
pub(crate) struct ProcessRunner {
    files: WorkerFiles,
    settings: Settings,
    processes: Arc<ProcessTable>,
    watchdog: Watchdog,
    pumps: Pumps,
    orphans: OrphanRecord,
    meter: Arc<Meter>,
}

/// The command of a fine-tuning job, whose code and model are the platform's.
const NO_FINE_TUNING: &str = "echo 'modelarts-emulator: this job tunes a model of the platform; \
    the emulator has none, so the job fails. Jobs of --runner simulated follow a script.' >&2; exit 1";

/// Settings of the runner.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) obs: ConfinedDir,
    /// Directory of data sets, `<id>/<version id>`.
    pub(crate) datasets: Option<PathBuf>,
    /// Directory of file systems, `<server>/<path>`.
    pub(crate) nfs: PathBuf,
    /// URL of the emulator: `MA_APIGW_ENDPOINT`.
    pub(crate) url: String,
    /// Maximum size in bytes of a log.
    pub(crate) log_cap: u64,
    /// Free bytes that the pre-check requires.
    pub(crate) least_disk: u64,
    pub(crate) install_packages: bool,
    /// Directory to remove when the process of the emulator has ended.
    pub(crate) temporary: Option<PathBuf>,
}

impl ProcessRunner {
    pub(crate) fn new(data_dir: &Path, settings: Settings) -> io::Result<Self> {
        let processes = ProcessTable::new(data_dir);
        Ok(Self {
            files: WorkerFiles::new(data_dir)?,
            watchdog: Watchdog::new(processes.mark(), settings.temporary.clone()),
            settings,
            pumps: Pumps::default(),
            orphans: OrphanRecord::end_all(data_dir, &processes)?,
            processes,
            meter: Arc::default(),
        })
    }

    fn copy_in(
        &self,
        worker: &Worker,
        from: &DataSource,
        to: &ContainerPath,
        interrupt: &CancellationToken,
    ) -> io::Result<()> {
        let directory = self.files.directory(worker)?;
        let (root, path) = self.find_source(from)?;
        let to = (&directory, to.relative());
        confined_dir::copy((&root, &path), to, OnEscape::Refuse, interrupt)?;
        Ok(())
    }

    /// The location of the data of a channel on this machine.
    fn find_source(&self, source: &DataSource) -> io::Result<(ConfinedDir, PathBuf)> {
        match source {
            DataSource::Obs(path) => Ok((self.settings.obs.clone(), path.relative())),
            DataSource::DataSet { id, version } => {
                let Some(root) = &self.settings.datasets else {
                    return Err(io::Error::other("there are no data sets"));
                };
                let below = Path::new(id).join(version.as_deref().unwrap_or_default());
                Ok((ConfinedDir::create(root)?, below))
            }
        }
    }

    fn copy_out(
        &self,
        worker: &Worker,
        output: &Channel,
        interrupt: &CancellationToken,
    ) -> io::Result<()> {
        let directory = self.files.directory(worker)?;
        directory.directory(output.local_dir.relative())?;
        let (root, path) = self.find_source(&output.source)?;
        let left_out = confined_dir::copy(
            (&directory, output.local_dir.relative()),
            (&root, &path),
            OnEscape::Skip,
            interrupt,
        )?;
        for sentence in left_out {
            let name = &output.name;
            self.files.log(
                worker,
                &format!("output {name}: not uploaded, because {sentence}"),
            )?;
        }
        Ok(())
    }

    /// Links a volume into the directory of the worker.
    fn mount(&self, directory: &ConfinedDir, volume: &Volume) -> io::Result<()> {
        let real = match &volume.source {
            VolumeSource::Obs(path) => self.settings.obs.directory(&path.relative())?,
            VolumeSource::Nfs(server) => {
                let (server, path) = server.split_once(':').unwrap_or((server, ""));
                let below = Path::new(server).join(path.trim_start_matches('/'));
                ConfinedDir::create(&self.settings.nfs)?.directory(&below)?
            }
        };
        let place = volume.local_path.trim_matches('/');
        let (parent, name) = place.rsplit_once('/').unwrap_or(("", place));
        let link = directory.directory(Path::new(parent))?.join(name);
        match std::os::unix::fs::symlink(&real, &link) {
            // The code is restarted in place, or runs as another trial.
            Err(_) if fs::read_link(&link).is_ok_and(|led| led == real) => Ok(()),
            Err(error) => Err(io::Error::new(
                error.kind(),
                format!("a volume cannot be mounted at /{place}: {error}"),
            )),
            Ok(()) => Ok(()),
        }
    }

    fn venv(directory: &ConfinedDir) -> PathBuf {
        directory.root().join("venv")
    }

    /// Creates the directories and starts the process group; stdout and stderr share the log.
    fn spawn(&self, worker: &Worker, python: Option<&Path>) -> io::Result<ProcessRun> {
        let request = &worker.request;
        let directory = self.files.directory(worker)?;
        directory.directory(Path::new("tmp"))?;
        directory.directory(request.job_dir().relative())?;
        for output in &request.outputs {
            directory.directory(output.local_dir.relative())?;
        }
        for volume in &request.volumes {
            self.mount(&directory, volume)?;
        }
        self.files.make_scratch(&directory)?;
        let home = request
            .working_dir
            .clone()
            .unwrap_or_else(|| request.code_copy());
        let home = directory.directory(home.relative())?;
        let installed = python::interpreter(&Self::venv(&directory));
        let python = if installed.exists() {
            Some(installed.as_path())
        } else {
            python
        };

        let (program, mut arguments) = match &request.start {
            Start::BootFile { below, .. } => {
                let Some(python) = python else {
                    return Err(io::Error::other(
                        "there is no python3 on the PATH of this emulator",
                    ));
                };
                let boot_file = request.code_copy().host_path(directory.root()).join(below);
                (
                    python.as_os_str().to_owned(),
                    vec![boot_file.into_os_string()],
                )
            }
            // Arguments after the command are its $0 and its "$@".
            Start::Command(command) => {
                let arguments = ["-c", command.as_str(), "bash"].map(OsString::from);
                (OsString::from("bash"), arguments.to_vec())
            }
            Start::FineTuning => {
                let arguments = ["-c", NO_FINE_TUNING, "bash"].map(OsString::from);
                (OsString::from("bash"), arguments.to_vec())
            }
        };
        arguments.extend(environment::arguments(request, directory.root()));
        let (pump, output) = Pump::new(self.files.open_logs(worker)?, self.settings.log_cap)?;
        // Started before the process, so that no step can fail after its start.
        let pumping = pump.spawn()?;
        let (go, mut starter) = io::pipe()?;
        let run = self
            .processes
            .run_value(directory.root(), worker.trial.as_deref());
        let url = &self.settings.url;
        let variables = environment::variables(worker, directory.root(), python, url, &run);
        let child = start_gate::command(program, arguments, &variables)
            .current_dir(home)
            .stdin(Stdio::from(go))
            .stderr(Stdio::from(output.try_clone()?))
            .stdout(Stdio::from(output))
            // Signals to the group reach all of its processes, and not the emulator.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(group) = group {
            self.watchdog.add_group(group);
            self.orphans.add(group);
        }
        // A failure means that the process was killed; its end is noticed.
        let _ = starter.write_all(start_gate::GO);
        self.pumps.begin(worker.log_name(), pump.clone(), group);
        Ok(ProcessRun::new(
            child,
            RunCleanup {
                group,
                run,
                processes: Arc::clone(&self.processes),
                watchdog: self.watchdog.clone(),
                orphans: self.orphans.clone(),
                name: worker.log_name(),
                pumps: self.pumps.clone(),
                pump,
                pumping,
            },
        ))
    }
}

/// Runs blocking code, such as copies, on a thread of its own, apart from those that answer
/// requests.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}

impl Runner for ProcessRunner {
    /// Performs the two parts of the service's check (SOURCES G) that apply to this machine: the
    /// worker is reachable by its name, and its scratch directory has enough free space.
    fn pre_check(&self, worker: &Worker) -> Result<(), String> {
        let address = address(&worker.job_id, worker.index);
        TcpListener::bind((address.as_str(), 0))
            .map_err(|error| format!("dns: {address} cannot be used: {error}"))?;
        let free = self.files.free_space(worker);
        let free = free.map_err(|error| format!("disk-size cache: {error}"))?;
        let needed = self.settings.least_disk;
        if free < needed {
            return Err(format!(
                "disk-size cache: {free} bytes are free, and {needed} are needed"
            ));
        }
        Ok(())
    }

    fn renew(&self, worker: Worker) -> BoxFuture<'_, io::Result<()>> {
        let runner = self.clone();
        Box::pin(blocking(move || runner.files.renew(&worker)))
    }

    fn download_code(
        &self,
        worker: Worker,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>> {
        let runner = self.clone();
        Box::pin(blocking(move || match &worker.request.code_dir {
            None => Ok(()),
            Some(code_dir) => runner.copy_in(
                &worker,
                &DataSource::Obs(code_dir.clone()),
                &worker.request.code_copy(),
                &interrupt,
            ),
        }))
    }

    fn download_input(
        &self,
        worker: Worker,
        index: usize,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>> {
        let runner = self.clone();
        Box::pin(blocking(move || {
            let input = &worker.request.inputs[index];
            runner.copy_in(&worker, &input.source, &input.local_dir, &interrupt)
        }))
    }

    fn prefetch_output(
        &self,
        worker: Worker,
        index: usize,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>> {
        let runner = self.clone();
        Box::pin(blocking(move || {
            let output = &worker.request.outputs[index];
            match runner.copy_in(&worker, &output.source, &output.local_dir, &interrupt) {
                // The first run of a recovered job.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                result => result,
            }
        }))
    }

    fn requirements(&self, worker: &Worker) -> Vec<String> {
        let Ok(directory) = self.files.directory(worker) else {
            return Vec::new();
        };
        let code = worker.request.code_copy().host_path(directory.root());
        ["pip-requirements.txt", "requirements.txt"]
            .into_iter()
            .filter(|name| code.join(name).is_file())
            .map(str::to_owned)
            .collect()
    }

    fn install(
        &self,
        worker: Worker,
        file: String,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            let result = async {
                if !self.settings.install_packages {
                    return Err(io::Error::other("this emulator installs no packages"));
                }
                let Some(python) = python3().await else {
                    return Err(io::Error::other("there is no python3"));
                };
                let directory = self.files.directory(&worker)?;
                let path = worker
                    .request
                    .code_copy()
                    .host_path(directory.root())
                    .join(&file);
                let venv = Self::venv(&directory);
                let run = self
                    .processes
                    .run_value(directory.root(), Some(INSTALLATION_PART));
                let home = directory.root();
                let install = python::install(python, &venv, home, &path, &run, &self.watchdog);
                let installed = tokio::select! {
                    biased;
                    () = interrupt.cancelled() => {
                        Err(io::Error::other("the installation was interrupted"))
                    }
                    installed = install => installed,
                };
                self.processes.end(None, &run).await;
                installed
            };
            match result.await {
                Ok(output) => {
                    let mut log = self.files.open_log(&worker)?;
                    log.write_all(output.as_bytes())
                }
                Err(error) if interrupt.is_cancelled() => Err(error),
                Err(error) => {
                    self.files.log(&worker, &format!("{file}: {error}"))?;
                    Err(error)
                }
            }
        })
    }

    fn start(&self, worker: Worker) -> BoxFuture<'_, Box<dyn Run>> {
        Box::pin(async move {
            let python = python3().await;
            match self.spawn(&worker, python) {
                Ok(run) => Box::new(run) as Box<dyn Run>,
                Err(error) => {
                    tracing::warn!(job = worker.job_id, %error, "the code did not start");
                    if let Err(error) = self
                        .files
                        .log(&worker, &format!("the code did not start: {error}"))
                    {
                        tracing::warn!(job = worker.job_id, %error, "the log cannot be written");
                    }
                    Box::new(FailedStart)
                }
            }
        })
    }

    /// In real time, like the processes.
    fn next_poll(&self, _worker: &Worker) -> Sleep {
        Box::pin(tokio::time::sleep(POLL_PERIOD))
    }

    fn upload_output(
        &self,
        worker: Worker,
        index: usize,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>> {
        let runner = self.clone();
        Box::pin(blocking(move || {
            runner.copy_out(&worker, &worker.request.outputs[index], &interrupt)
        }))
    }

    fn clear_scratch(&self, worker: Worker) -> BoxFuture<'_, io::Result<()>> {
        let files = self.files.clone();
        Box::pin(blocking(move || files.clear_scratch(&worker)))
    }

    fn export_log(
        &self,
        worker: Worker,
        to: ObsPath,
        interrupt: CancellationToken,
    ) -> BoxFuture<'_, io::Result<()>> {
        let runner = self.clone();
        Box::pin(blocking(move || {
            // The output so far precedes the text.
            if let Some(pump) = runner.pumps.find(&worker) {
                pump.drain();
            }
            runner
                .files
                .export_log(&worker, &runner.settings.obs, &to, &interrupt)
        }))
    }

    fn write_log(&self, worker: Worker, text: String) -> BoxFuture<'_, io::Result<()>> {
        let files = self.files.clone();
        Box::pin(blocking(move || {
            files.open_log(&worker)?.write_all(text.as_bytes())
        }))
    }

    fn log_tail(&self, worker: Worker, limit: u64) -> BoxFuture<'_, io::Result<Option<LogTail>>> {
        let files = self.files.clone();
        let pump = self.pumps.find(&worker);
        Box::pin(blocking(move || {
            if let Some(pump) = pump {
                pump.drain();
            }
            files.log_tail(&worker, limit)
        }))
    }

    fn log_part(&self, worker: Worker, from: u64, most: u64) -> BoxFuture<'_, io::Result<Vec<u8>>> {
        let files = self.files.clone();
        let pump = self.pumps.find(&worker);
        Box::pin(blocking(move || {
            if let Some(pump) = pump {
                pump.drain();
            }
            files.log_part(&worker, from, most)
        }))
    }

    fn usage(&self, worker: Worker) -> BoxFuture<'_, Option<Usage>> {
        let leader = self.pumps.leader(&worker);
        let meter = Arc::clone(&self.meter);
        Box::pin(async move {
            let leader = u32::try_from(leader?.as_raw_nonzero().get()).ok()?;
            spawn_blocking(move || meter.measure(leader)).await.ok()?
        })
    }

    fn remove(&self, job_id: String) -> BoxFuture<'_, ()> {
        let files = self.files.clone();
        Box::pin(async move {
            let removal = blocking(move || {
                files.remove(&job_id);
                Ok(())
            });
            if let Err(error) = removal.await {
                tracing::warn!(%error, "a job's directory cannot be removed");
            }
        })
    }

    fn kill_all(&self) {
        self.watchdog.end_all();
    }
}

/// The suffix of an installation of packages; trials have their name there.
const INSTALLATION_PART: &str = "packages";
/// Period of checks of running workers. The emulator's clock decides what is due at a check.
const POLL_PERIOD: Duration = Duration::from_millis(100);
