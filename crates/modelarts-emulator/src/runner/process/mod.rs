//! Runner that starts each worker as a process group on this machine.

pub(crate) mod environment;
pub(crate) mod image_command;
mod log_pump;
mod moxing;
mod orphans;
mod process_table;
pub(crate) mod python;
mod run;
mod staging;
mod start_gate;
pub(crate) mod view;
pub(crate) mod watchdog;

use std::{
    ffi::OsString,
    io::{self, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use futures::future::BoxFuture;
use rustix::process::Pid;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    task::spawn_blocking,
};
use tokio_util::sync::CancellationToken;

use crate::{
    files::{
        confined_dir::ConfinedDir,
        container_path::{ContainerPath, PACKAGE_DIR},
    },
    job::{request::Start, worker::Worker},
    metrics::usage::{Meter, Usage},
    runner::{
        launcher::{Exit, Launcher, Run, Step, WorkerSettings},
        process::{
            image_command::ImageCommand,
            log_pump::Pump,
            python::{Python, python3},
            run::{ActiveRuns, COMMAND_NOT_FOUND, ProcessRun, Started},
            view::{HOSTS, LazySight, RUN_OPTIONS, Stage, ViewStatus, host_table},
        },
        worker_files::WorkerFiles,
    },
};

#[derive(Debug)]
pub(crate) struct ProcessRunner {
    files: WorkerFiles,
    runs: Arc<ActiveRuns>,
    settings: Settings,
    meter: Arc<Meter>,
}

/// Command for a fine-tuning job, whose code and model exist only on the platform.
const NO_FINE_TUNING: &str = "echo 'modelarts-emulator: this job tunes a model of the platform; \
    the emulator has none, so the job fails. Jobs of --runner simulated follow a script.' >&2; \
    exit 1";

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) workers: WorkerSettings,
    /// View of this machine for the code, unless the code runs in an image.
    pub(crate) sight: LazySight,
    /// Directory for the wheel of MoXing.
    pub(crate) package: PathBuf,
    /// Temporary directory to remove when the process of the emulator has ended.
    pub(crate) temporary: Option<PathBuf>,
}

impl ProcessRunner {
    /// Creates the runner. Ends processes of an earlier emulator, found by `records` and `jobs`.
    pub(crate) fn new(
        files: WorkerFiles,
        jobs: &Path,
        records: &Path,
        settings: Settings,
    ) -> io::Result<Self> {
        Ok(Self {
            files,
            runs: ActiveRuns::new(jobs, records, settings.temporary.clone())?,
            settings,
            meter: Arc::default(),
        })
    }

    /// Performs the two parts of the service's pre-check (SOURCES G) that apply to this machine:
    /// the worker is reachable by its name, and its scratch directory has sufficient free space.
    fn pre_check(&self, worker: &Worker) -> Result<(), String> {
        let address = worker.address_of(worker.rank);
        TcpListener::bind((address.as_str(), 0))
            .map_err(|error| format!("dns: {address} cannot be used: {error}"))?;
        let free = self.files.free_space(worker);
        let free = free.map_err(|error| format!("disk-size cache: {error}"))?;
        let needed = self.settings.workers.least_disk;
        if free < needed {
            return Err(format!("disk-size cache: {free} bytes are free, and {needed} are needed"));
        }
        Ok(())
    }

    /// Installs the packages of a requirements file, and logs the output of pip or the error.
    async fn install(
        &self,
        worker: &Worker,
        file: &str,
        interrupt: CancellationToken,
    ) -> io::Result<()> {
        match self.run_installation(worker, file, &interrupt).await {
            Ok(output) => self.files.open_log(worker)?.write_all(output.as_bytes()),
            Err(error) if interrupt.is_cancelled() => Err(error),
            Err(error) => {
                self.files.log(worker, &format!("{file}: {error}"))?;
                Err(error)
            }
        }
    }

    async fn run_installation(
        &self,
        worker: &Worker,
        file: &str,
        interrupt: &CancellationToken,
    ) -> io::Result<String> {
        if !self.settings.workers.install_packages {
            return Err(io::Error::other("this emulator installs no packages"));
        }
        let python = python3().await;
        let python = python.ok_or_else(|| io::Error::other("there is no python3"))?;
        let directory = self.files.directory(worker)?;
        let root = directory.root();
        let sight = self.settings.sight.get().await;
        let stage = self.stage(worker, &directory, Some(python), &[], &sight)?;
        let file = worker.request.code_copy().host_path(&stage.root).join(file);
        let run = self.runs.processes.run_mark(root, Some(INSTALLATION_PART));
        let watchdog = &self.runs.watchdog;
        let installed = tokio::select! {
            biased;
            () = interrupt.cancelled() => {
                Err(io::Error::other("the installation was interrupted"))
            }
            installed = python::install(python, root, &stage, &file, &run, watchdog) => installed,
        };
        self.runs.processes.end(None, &run).await;
        installed
    }

    async fn start(&self, worker: &Worker) -> Box<dyn Run> {
        if let Some(notice) = self.settings.sight.get().await.notice()
            && let Err(error) = self.files.log(worker, &notice)
        {
            tracing::warn!(job = worker.job_id, %error, "the log cannot be written");
        }
        let error = match self.spawn(worker, python3().await).await {
            Ok(run) => return Box::new(run),
            Err(error) => error,
        };
        tracing::warn!(job = worker.job_id, %error, "the code did not start");
        let line = format!("the code did not start: {error}");
        if let Err(error) = self.files.log(worker, &line) {
            tracing::warn!(job = worker.job_id, %error, "the log cannot be written");
        }
        Box::new(Exit::Code(COMMAND_NOT_FOUND))
    }

    /// Starts the process group of a worker, whose output and errors share the log.
    async fn spawn(
        &self,
        worker: &Worker,
        python: Option<&'static Python>,
    ) -> io::Result<ProcessRun> {
        let request = &worker.request;
        let directory = self.files.directory(worker)?;
        let root = directory.root();
        directory.directory(request.job_dir().relative())?;
        for output in &request.outputs {
            directory.directory(output.local_dir.relative())?;
        }
        let home = request.working_dir.clone();
        let home = home.unwrap_or_else(|| request.code_copy());
        directory.directory(home.relative())?;
        let sight = self.settings.sight.get().await;
        let stage = self.stage(worker, &directory, python, &request.volumes, &sight)?;
        let wheel = ContainerPath::from_static(PACKAGE_DIR).join(moxing::WHEEL);
        let wheel = wheel.host_path(&stage.root);
        let packages = match python {
            Some(python) => python.add_packages(&directory, &wheel)?,
            None => None,
        };
        let packages = packages.map(|packages| [wheel, stage.root.join(packages)]);
        let installed = python::installed(root, &stage);
        let interpreters = installed.as_deref().into_iter();
        let interpreters = interpreters.chain(python.map(|python| &*python.executable));
        let interpreters: Vec<&Path> = interpreters.collect();
        let python = interpreters.first().copied();
        let (program, arguments) = self.command(worker, &directory, &stage, python)?;
        let (pump, output) =
            Pump::new(self.files.open_logs(worker)?, self.settings.workers.log_cap)?;
        // This step may fail, and therefore precedes the start of the process.
        let pumping = pump.spawn()?;
        let (go, mut starter) = io::pipe()?;
        let trial = worker.trial.as_ref().map(|trial| trial.id.as_str());
        let run = self.runs.processes.run_mark(root, trial);
        let host = &self.settings.workers.host;
        let variables =
            environment::variables(worker, &stage, &interpreters, packages, host, &run.variable);
        let words = start_gate::words(program, arguments, &variables);
        let mut child = stage
            .command(&RUN_OPTIONS, words, &home.host_path(&stage.root))
            .env_clear()
            .envs(&variables)
            .stdin(Stdio::from(go))
            .stdout(Stdio::piped())
            .stderr(Stdio::from(output))
            // A signal to the group reaches all of its processes, but not the emulator.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let mut leader = child.id().and_then(|id| i32::try_from(id).ok());
        if stage.is_container() {
            let mut status = String::new();
            if let Some(reports) = &mut child.stdout {
                BufReader::new(reports).read_line(&mut status).await?;
            }
            // Bubblewrap has written the cause to the log.
            let status: ViewStatus = serde_json::from_str(&status)
                .map_err(|_| io::Error::other("bubblewrap did not make the container view"))?;
            leader = Some(status.child_pid);
        }
        let started =
            Started { child, group: leader.and_then(Pid::from_raw), has_init: stage.has_init() };
        let run = ActiveRuns::begin(&self.runs, started, worker.log_name(), run, (pump, pumping));
        // If the write fails, the process has been killed, which the run then reports.
        let _ = starter.write_all(start_gate::GO);
        Ok(run)
    }

    fn command(
        &self,
        worker: &Worker,
        directory: &ConfinedDir,
        stage: &Stage,
        python: Option<&Path>,
    ) -> io::Result<(OsString, Vec<OsString>)> {
        let image = self.image_command(worker);
        let bash = |text: OsString| ("bash".into(), vec!["-c".into(), text]);
        let (program, arguments) = match &worker.request.start {
            Start::BootFile { below, .. } => {
                let python = match (&image, python) {
                    (Some(_), _) => Path::new("python3"),
                    (None, Some(python)) => python,
                    (None, None) => {
                        let error =
                            "there is no python3 on the PATH of the machine that runs the code";
                        return Err(io::Error::other(error));
                    }
                };
                let boot_file = worker.request.code_copy().host_path(&stage.root).join(below);
                let mut arguments = vec![boot_file.into_os_string()];
                arguments.extend(environment::boot_file_arguments(&worker.request, &stage.root));
                (python.into(), arguments)
            }
            Start::Command(command) => {
                bash(environment::command_text(command, worker, &stage.root))
            }
            Start::FineTuning => bash(NO_FINE_TUNING.into()),
        };
        match image {
            Some(image) => {
                directory.write(Path::new(HOSTS), host_table(worker).as_bytes())?;
                image.wrap(worker.request.image(), directory.root(), program, arguments)
            }
            None => Ok((program, arguments)),
        }
    }

    /// Returns the command for images, if one is configured and the job of the worker has an image.
    fn image_command(&self, worker: &Worker) -> Option<&ImageCommand> {
        let image = self.settings.workers.image.as_ref();
        image.filter(|_| worker.request.engine.contains_key("image_url"))
    }
}

impl Launcher for ProcessRunner {
    fn files(&self) -> &WorkerFiles {
        &self.files
    }

    fn drain_log(&self, worker: &Worker) {
        self.runs.drain_log(worker);
    }

    fn perform(
        self: Arc<Self>,
        worker: Worker,
        step: Step,
        interrupt: CancellationToken,
    ) -> BoxFuture<'static, io::Result<()>> {
        Box::pin(async move {
            match step {
                Step::PreCheck => self.pre_check(&worker).map_err(io::Error::other),
                Step::Copy(transfer) => self.copy(worker, transfer, interrupt).await,
                Step::Install(file) => self.install(&worker, &file, interrupt).await,
            }
        })
    }

    fn requirements(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Vec<String>> {
        Box::pin(async move {
            // An image already contains its packages.
            if self.image_command(&worker).is_some() {
                return Vec::new();
            }
            let Ok(directory) = self.files.directory(&worker) else {
                return Vec::new();
            };
            let code = worker.request.code_copy().host_path(directory.root());
            let mut names = vec!["pip-requirements.txt", "requirements.txt"];
            names.retain(|name| code.join(name).is_file());
            names.into_iter().map(str::to_owned).collect()
        })
    }

    fn start(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Box<dyn Run>> {
        Box::pin(async move { Self::start(&self, &worker).await })
    }

    fn usage(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Option<Usage>> {
        Box::pin(async move {
            let leader = self.runs.find(&worker)?.leader?;
            let leader = u32::try_from(leader.as_raw_nonzero().get()).ok()?;
            let meter = Arc::clone(&self.meter);
            spawn_blocking(move || meter.measure(leader)).await.ok()?
        })
    }

    fn kill_all(&self) {
        self.runs.watchdog.end_all();
    }
}

/// Last part of the mark of an installation, in place of the id of a trial.
const INSTALLATION_PART: &str = "packages";
