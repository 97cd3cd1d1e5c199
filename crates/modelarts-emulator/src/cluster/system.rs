//! Settings of a Slurm cluster, and the submission of jobs to it.

use std::{
    collections::BTreeSet,
    fmt, io,
    path::{PathBuf, absolute},
    time::Duration,
};

use tokio::{sync::Semaphore, task::spawn_blocking};

use crate::{
    cluster::{
        commands::{self, CommandError, QueueReader},
        config::Config,
        layout::{Directory, LAYOUT, Specification},
    },
    job::Job,
    runner::{
        launcher::{Launcher, WorkerSettings},
        worker_files::WorkerFiles,
    },
    state::EmulatorState,
};

/// Maximum number of commands of Slurm for single jobs that run at the same time.
const COMMANDS: usize = 4;

/// Slurm cluster on whose nodes an emulator runs its jobs.
///
/// All programs run as the user of this process. The commands of Slurm must be on the `PATH`.
#[derive(Clone, Debug)]
pub struct Slurm {
    pub(crate) shared: PathBuf,
    pub(crate) program: Option<PathBuf>,
    /// Boxed, because it is large.
    pub(crate) config: Box<Config>,
}

impl Slurm {
    /// Creates settings for the cluster of this machine. `shared` is a directory at the same path
    /// on this machine and on all nodes; it is created if it does not exist.
    pub fn new(shared: impl Into<PathBuf>) -> Self {
        Self { shared: shared.into(), program: None, config: Box::default() }
    }

    /// Sets the options of `sbatch`. By default, each job requests the hardware of its flavor.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = Box::new(config);
        self
    }

    /// Sets the path of `modelarts-emulator` on the nodes. The default is that of this executable.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }
}

pub(crate) struct SlurmSystem {
    files: WorkerFiles,
    workers: WorkerSettings,
    program: PathBuf,
    pub(super) config: Box<Config>,
    pub(super) queue: QueueReader,
    /// Permits to run a command of Slurm for one job.
    pub(super) commands: Semaphore,
    /// `true` if no later emulator knows the jobs, which therefore end with this one.
    is_temporary: bool,
    /// Ids of the jobs that this emulator has submitted and that have not ended.
    pub(super) own: parking_lot::Mutex<BTreeSet<String>>,
}

impl fmt::Debug for SlurmSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlurmSystem").field("config", &self.config).finish_non_exhaustive()
    }
}

impl SlurmSystem {
    pub(crate) fn new(
        slurm: Slurm,
        files: WorkerFiles,
        workers: WorkerSettings,
        is_temporary: bool,
    ) -> io::Result<Self> {
        let Slurm { program, config, .. } = slurm;
        Ok(Self {
            files,
            workers: WorkerSettings {
                place: absolute(workers.place)?,
                datasets: workers.datasets.map(absolute).transpose()?,
                nfs: absolute(workers.nfs)?,
                image: config.image.clone(),
                ..workers
            },
            program: program.map_or_else(std::env::current_exe, absolute)?,
            config,
            queue: QueueReader::default(),
            commands: Semaphore::new(COMMANDS),
            is_temporary,
            own: parking_lot::Mutex::default(),
        })
    }

    pub(super) fn directory(&self, job_id: &str, number: u32) -> Directory {
        Directory::new(&self.workers.place, job_id, number)
    }

    /// Writes the files of a submission, and submits it. Returns the id in Slurm.
    pub(super) async fn submit(
        &self,
        state: &EmulatorState,
        job_id: &str,
    ) -> Result<String, CommandError> {
        // The semaphore is never closed.
        let _permit = self.commands.acquire().await;
        let rejected = |error: &dyn fmt::Display| CommandError::Rejected(error.to_string());
        let look = |job: &Job| {
            let number = job.submission.as_ref().map_or(0, |submission| submission.number);
            let directory = self.directory(job_id, number);
            let mut timing = state.settings.timing.clone();
            // The emulator has waited for this time before.
            timing.queuing = Duration::ZERO;
            let mut workers = self.workers.clone();
            if let Some(obs) = &mut workers.host.obs {
                obs.keys.retain(|user, _| *user == job.owner.user_id);
            }
            let specification = Specification {
                layout: LAYOUT,
                job: serde_json::to_value(job)?,
                body: job.request.body.clone(),
                timing,
                restart_on: state.settings.restart_on,
                quirks: state.settings.quirks,
                workers,
                token: uuid::Uuid::new_v4().to_string(),
                srun: self.config.srun(&job.request, &self.program, &directory.0),
            };
            let options = self.config.arguments(&job.request, job.settings.priority);
            io::Result::Ok((directory, specification, options))
        };
        let read = state.store.read(job_id, look);
        let read = read.ok_or_else(|| rejected(&"the job does not exist"))?;
        let (directory, specification, mut options) = read.map_err(|error| rejected(&error))?;
        let script = self.config.script(&self.program, &["batch", &directory.0.to_string_lossy()]);
        let (output, script_file) = (directory.output(), directory.script());
        let write = spawn_blocking(move || {
            let written = directory.write(&script, &specification);
            written.map_err(|error| format!("cannot write to {}: {error}", directory.0.display()))
        });
        write.await.unwrap_or_else(|error| Err(error.to_string())).map_err(CommandError::Later)?;
        // These options apply to the whole job, and must precede the first colon.
        options.splice(
            0..0,
            [
                format!("--job-name={job_id}"),
                format!("--output={}", output.display()),
                "--open-mode=append".to_owned(),
                "--requeue".to_owned(),
            ],
        );
        let id = commands::submit(&options, &script_file, &self.config.variables()).await?;
        self.own.lock().insert(id.clone());
        Ok(id)
    }
}

/// Files of the workers in the shared directory. The code of jobs runs elsewhere.
impl Launcher for SlurmSystem {
    fn files(&self) -> &WorkerFiles {
        &self.files
    }

    /// Cancels the jobs if no later emulator knows them.
    fn kill_all(&self) {
        let own = std::mem::take(&mut *self.own.lock());
        if self.is_temporary && !own.is_empty() {
            let cancelled = std::process::Command::new("scancel").args(&own).spawn();
            if let Err(error) = cancelled {
                tracing::warn!(?own, %error, "jobs remain in Slurm");
            }
        }
    }
}
