//! Runs the workers of jobs. Behind a trait, because a simulated runner will follow.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal};
use tokio::process::{Child, Command};
use tokio::task::spawn_blocking;

use crate::clock::Clock;
use crate::confined::{self, Confined, Stray};
use crate::environment;
use crate::home::{HomePath, MA_LOG_DIR};
use crate::obs::ObsPath;
use crate::process_group;
use crate::request::{Channel, JobRequest, Start};
use crate::store::task_name;

/// One worker of a job.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) job_id: String,
    pub(crate) request: Arc<JobRequest>,
    pub(crate) index: u32,
}

impl Worker {
    /// `worker-0`.
    pub(crate) fn task(&self) -> String {
        task_name(self.index)
    }

    /// `modelarts-job-<id>-worker-0`: the pod's name, and that of the log file.
    pub(crate) fn pod(&self) -> String {
        format!("modelarts-job-{}-{}", self.job_id, self.task())
    }

    fn log_file(&self) -> PathBuf {
        HomePath::fixed(MA_LOG_DIR)
            .join(&format!("{}.log", self.pod()))
            .relative()
            .to_owned()
    }
}

/// The end of a log.
#[derive(Debug)]
pub(crate) struct LogTail {
    pub(crate) content: Vec<u8>,
    pub(crate) full_size: u64,
}

/// Where and how workers run. Errors are sentences for events and logs.
pub(crate) trait Runner: fmt::Debug + Send + Sync + 'static {
    /// Copies the code directory to its place.
    fn download_code(&self, worker: Worker) -> BoxFuture<'_, io::Result<()>>;
    /// Copies the input with this index to its place.
    fn download_input(&self, worker: Worker, index: usize) -> BoxFuture<'_, io::Result<()>>;
    /// Starts the code.
    fn start(&self, worker: Worker) -> BoxFuture<'_, Box<dyn Run>>;
    /// Copies the output with this index back.
    fn upload_output(&self, worker: Worker, index: usize) -> BoxFuture<'_, io::Result<()>>;
    /// Copies the log to where the job wants it kept.
    fn export_log(&self, worker: Worker, to: ObsPath) -> BoxFuture<'_, io::Result<()>>;
    /// The last `limit` bytes of the log; nothing before its first byte.
    fn log_tail(&self, worker: Worker, limit: u64) -> BoxFuture<'_, io::Result<Option<LogTail>>>;
    /// Forgets everything about a job whose workers have ended.
    fn remove(&self, job_id: String) -> BoxFuture<'_, ()>;
    /// Ends all workers at once, without waiting. For the moment when nobody can wait any more.
    fn kill_all(&self);
}

/// A worker whose code has been started.
pub(crate) trait Run: Send {
    /// Waits for the code to end by itself; gives its exit code, 128 + n after signal n. May be
    /// dropped and called again.
    fn wait(&mut self) -> BoxFuture<'_, i32>;
    /// Asks all processes to end, forces them after `grace`, and returns when they have gone.
    fn terminate(&mut self, grace: Duration) -> BoxFuture<'_, i32>;
}

/// Runs each worker as a process group on this machine.
#[derive(Clone, Debug)]
pub(crate) struct ProcessRunner {
    jobs: Confined,
    obs: Confined,
    clock: Arc<dyn Clock>,
    groups: Groups,
}

/// The process groups that are alive.
#[derive(Clone, Debug, Default)]
struct Groups(Arc<Mutex<HashSet<Pid>>>);

impl ProcessRunner {
    pub(crate) fn new(data_dir: &Path, obs: Confined, clock: Arc<dyn Clock>) -> io::Result<Self> {
        Ok(Self {
            jobs: Confined::create(&data_dir.join("jobs"))?,
            obs,
            clock,
            groups: Groups::default(),
        })
    }

    /// The directory of a worker; paths below `/home` lie below it.
    fn directory(&self, worker: &Worker) -> io::Result<Confined> {
        let below = Path::new(&worker.job_id).join(worker.task());
        Confined::create(&self.jobs.directory(&below)?)
    }

    fn copy_in(&self, worker: &Worker, from: &ObsPath, to: &HomePath) -> io::Result<()> {
        let directory = self.directory(worker)?;
        confined::copy(
            (&self.obs, &from.relative()),
            (&directory, to.relative()),
            Stray::Refuse,
        )?;
        Ok(())
    }

    fn copy_out(&self, worker: &Worker, output: &Channel) -> io::Result<()> {
        let directory = self.directory(worker)?;
        directory.directory(output.local_dir.relative())?;
        let left_out = confined::copy(
            (&directory, output.local_dir.relative()),
            (&self.obs, &output.obs.relative()),
            Stray::Skip,
        )?;
        for sentence in left_out {
            let name = &output.name;
            self.log(
                worker,
                &format!("output {name}: not uploaded, because {sentence}"),
            )?;
        }
        Ok(())
    }

    /// A line of the platform in the worker's log.
    fn log(&self, worker: &Worker, line: &str) -> io::Result<()> {
        let mut log = self.open_log(worker)?;
        writeln!(log, "[ModelArts Service Log] {line}")
    }

    fn open_log(&self, worker: &Worker) -> io::Result<fs::File> {
        let directory = self.directory(worker)?;
        directory.directory(HomePath::fixed(MA_LOG_DIR).relative())?;
        let path = directory.root().join(worker.log_file());
        fs::File::options().create(true).append(true).open(path)
    }

    /// Says what the service would do here and this runner does not.
    fn note_requirements(&self, worker: &Worker) -> io::Result<()> {
        let code = worker.request.code_copy();
        let code = code.below(self.directory(worker)?.root());
        for name in ["pip-requirements.txt", "requirements.txt"] {
            if code.join(name).exists() {
                self.log(
                    worker,
                    &format!("{name}: this emulator installs no packages"),
                )?;
            }
        }
        Ok(())
    }

    /// Makes the directories and starts the process group; stdout and stderr share the log file.
    fn spawn(&self, worker: &Worker, python: Option<&Path>) -> io::Result<Child> {
        let request = &worker.request;
        let directory = self.directory(worker)?;
        directory.directory(Path::new("tmp"))?;
        directory.directory(request.job_dir().relative())?;
        for output in &request.outputs {
            directory.directory(output.local_dir.relative())?;
        }
        let home = request
            .working_dir
            .clone()
            .unwrap_or_else(|| request.code_copy());
        let home = directory.directory(home.relative())?;

        let (program, mut arguments) = match &request.start {
            Start::BootFile { below, .. } => {
                let Some(python) = python else {
                    return Err(io::Error::other(
                        "there is no python3 on the PATH of this emulator",
                    ));
                };
                let boot_file = request.code_copy().below(directory.root()).join(below);
                (
                    python.as_os_str().to_owned(),
                    vec![boot_file.into_os_string()],
                )
            }
            // What follows the command is its $0 and its "$@".
            Start::Command(command) => {
                let arguments = ["-c", command.as_str(), "bash"].map(OsString::from);
                (OsString::from("bash"), arguments.to_vec())
            }
        };
        arguments.extend(environment::arguments(request, directory.root()));
        self.note_requirements(worker)?;
        let log = self.open_log(worker)?;
        Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(environment::variables(
                &worker.job_id,
                request,
                worker.index,
                directory.root(),
                python,
            ))
            .current_dir(home)
            .stdin(Stdio::null())
            .stderr(Stdio::from(log.try_clone()?))
            .stdout(Stdio::from(log))
            // Signals reach the process, its children and their children, and not the emulator.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }
}

/// Copying is done by blocking code, away from the threads that answer requests.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}

impl Runner for ProcessRunner {
    fn download_code(&self, worker: Worker) -> BoxFuture<'_, io::Result<()>> {
        let runner = self.clone();
        Box::pin(blocking(move || match &worker.request.code_dir {
            None => Ok(()),
            Some(code_dir) => runner.copy_in(&worker, code_dir, &worker.request.code_copy()),
        }))
    }

    fn download_input(&self, worker: Worker, index: usize) -> BoxFuture<'_, io::Result<()>> {
        let runner = self.clone();
        Box::pin(blocking(move || {
            let input = &worker.request.inputs[index];
            runner.copy_in(&worker, &input.obs, &input.local_dir)
        }))
    }

    fn start(&self, worker: Worker) -> BoxFuture<'_, Box<dyn Run>> {
        Box::pin(async move {
            let python = python3().await;
            match self.spawn(&worker, python) {
                Ok(child) => {
                    let group = child
                        .id()
                        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
                    if let Some(group) = group {
                        self.groups.0.lock().insert(group);
                    }
                    let run: Box<dyn Run> = Box::new(ProcessRun {
                        child,
                        group,
                        clock: Arc::clone(&self.clock),
                        groups: self.groups.clone(),
                    });
                    run
                }
                Err(error) => {
                    tracing::warn!(job = worker.job_id, %error, "the code did not start");
                    if let Err(error) =
                        self.log(&worker, &format!("the code did not start: {error}"))
                    {
                        tracing::warn!(job = worker.job_id, %error, "the log cannot be written");
                    }
                    Box::new(NeverStarted)
                }
            }
        })
    }

    fn upload_output(&self, worker: Worker, index: usize) -> BoxFuture<'_, io::Result<()>> {
        let runner = self.clone();
        Box::pin(blocking(move || {
            runner.copy_out(&worker, &worker.request.outputs[index])
        }))
    }

    fn export_log(&self, worker: Worker, to: ObsPath) -> BoxFuture<'_, io::Result<()>> {
        let runner = self.clone();
        Box::pin(blocking(move || {
            let directory = runner.directory(&worker)?;
            confined::copy(
                (&directory, &worker.log_file()),
                (&runner.obs, &to.relative()),
                Stray::Refuse,
            )?;
            Ok(())
        }))
    }

    fn log_tail(&self, worker: Worker, limit: u64) -> BoxFuture<'_, io::Result<Option<LogTail>>> {
        let path = self
            .jobs
            .root()
            .join(&worker.job_id)
            .join(worker.task())
            .join(worker.log_file());
        Box::pin(blocking(move || {
            // The job code can put anything in the place of its log; only a file is one.
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_file() && metadata.len() > 0 => {}
                _ => return Ok(None),
            }
            let mut file = fs::File::open(&path)?;
            let full_size = file.seek(SeekFrom::End(0))?;
            file.seek(SeekFrom::Start(full_size.saturating_sub(limit)))?;
            let mut content = Vec::new();
            file.take(limit.min(full_size)).read_to_end(&mut content)?;
            Ok(Some(LogTail { content, full_size }))
        }))
    }

    fn remove(&self, job_id: String) -> BoxFuture<'_, ()> {
        let path = self.jobs.root().join(&job_id);
        Box::pin(async move {
            if let Err(error) = blocking(move || fs::remove_dir_all(path)).await
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(job = job_id, %error, "the job's directory is left");
            }
        })
    }

    fn kill_all(&self) {
        for group in self.groups.0.lock().drain() {
            // It may have gone in this moment.
            let _ = process_group::signal(group, Signal::KILL);
        }
    }
}

/// How often a process group is looked at while it ends: nobody tells when its last process goes.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long to look after SIGKILL. What lives then cannot be killed: it hangs in the kernel.
const GONE_AFTER: Duration = Duration::from_secs(2);

struct ProcessRun {
    child: Child,
    group: Option<Pid>,
    clock: Arc<dyn Clock>,
    groups: Groups,
}

impl ProcessRun {
    /// The exit code of the process that leads the group.
    async fn leader(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        match self.child.wait().await {
            Ok(status) => status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
            Err(error) => {
                tracing::warn!(%error, "the exit code of a job is lost");
                EXIT_CODE_LOST
            }
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // ESRCH: it has gone, which is what is wanted.
            let _ = process_group::signal(group, signal);
        }
    }

    async fn group_gone(&self) {
        while self.group.is_some_and(process_group::lives) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Kills what the leader left behind, and waits until it has gone.
    async fn sweep(&mut self) {
        self.signal(Signal::KILL);
        if tokio::time::timeout(GONE_AFTER, self.group_gone())
            .await
            .is_err()
        {
            tracing::warn!(group = ?self.group, "killed processes still live");
        }
        // From here on the number may belong to somebody else.
        if let Some(group) = self.group.take() {
            self.groups.0.lock().remove(&group);
        }
    }
}

/// Reported when the operating system does not give the exit code.
const EXIT_CODE_LOST: i32 = 255;
/// What a shell reports for a command that it cannot find.
const COMMAND_NOT_FOUND: i32 = 127;

impl Run for ProcessRun {
    fn wait(&mut self) -> BoxFuture<'_, i32> {
        Box::pin(async move {
            let code = self.leader().await;
            self.sweep().await;
            code
        })
    }

    fn terminate(&mut self, grace: Duration) -> BoxFuture<'_, i32> {
        Box::pin(async move {
            self.signal(Signal::TERM);
            let patience = self.clock.sleep(grace);
            let ended = async {
                let code = self.leader().await;
                self.group_gone().await;
                code
            };
            let code = tokio::select! {
                code = ended => Some(code),
                () = patience => None,
            };
            self.signal(Signal::KILL);
            let code = match code {
                Some(code) => code,
                None => self.leader().await,
            };
            self.sweep().await;
            code
        })
    }
}

/// A run that ended before it began.
struct NeverStarted;

impl Run for NeverStarted {
    fn wait(&mut self) -> BoxFuture<'_, i32> {
        Box::pin(std::future::ready(COMMAND_NOT_FOUND))
    }

    fn terminate(&mut self, _grace: Duration) -> BoxFuture<'_, i32> {
        self.wait()
    }
}

/// The real path of python3, asked for once per process.
///
/// The `python3` of a version manager is a script that needs its user's HOME; jobs have another
/// one, so the interpreter itself is asked where it lies.
pub(crate) async fn python3() -> Option<&'static Path> {
    static PYTHON: tokio::sync::OnceCell<Option<PathBuf>> = tokio::sync::OnceCell::const_new();
    PYTHON
        .get_or_init(|| async {
            let output = Command::new("python3")
                .args(["-c", "import sys; print(sys.executable)"])
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .output()
                .await
                .ok()?;
            let path = String::from_utf8(output.stdout).ok()?;
            let path = path.trim_end();
            (output.status.success() && !path.is_empty()).then(|| PathBuf::from(path))
        })
        .await
        .as_deref()
}
