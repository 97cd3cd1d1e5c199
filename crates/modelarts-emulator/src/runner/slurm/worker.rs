//! Worker of a job on a node, which `srun` starts. It performs the requests of the emulator with
//! the runner of this machine, and ends with its standard input.

use std::{
    collections::HashMap,
    env, fs,
    io::{self, BufRead, Write},
    path::Path,
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    files::confined_dir::ConfinedDir,
    job::{request::JobRequest, worker::Worker},
    runner::{
        launcher::Launcher,
        launcher::{Exit, Run},
        process::{ProcessRunner, Settings, environment::HostEnvironment, view::LazySight},
        slurm::{
            launcher::exit_path,
            protocol::{Command, ExitRecord, Message, Request, Specification, Stop},
        },
        worker_files::WorkerFiles,
    },
};

/// Environment variables by which Slurm assigns devices to a job.
const DEVICE_VARIABLES: [&str; 6] = [
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
];
/// Maximum length of an error in a message, in bytes. `srun` splits lines of more than about 1 kB.
const MAX_ERROR: usize = 300;
/// Maximum time between the SIGTERM of Slurm to the code and that to this process.
const SIGNAL_DELAY: Duration = Duration::from_millis(500);
/// Maximum time for killed processes to end, after the end of the emulator.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves requests until standard input or the job in Slurm ends. `path` is the specification.
pub(crate) async fn serve(path: &Path) -> Result<(), String> {
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let unusable =
        |error: &dyn std::fmt::Display| format!("cannot use {}: {error}", path.display());
    let text = fs::read(path).map_err(|error| unusable(&error))?;
    let specification: Specification =
        serde_json::from_slice(&text).map_err(|error| unusable(&error))?;
    let rank = env::var("SLURM_PROCID").ok().and_then(|rank| rank.parse::<usize>().ok());
    let rank =
        rank.ok_or("SLURM_PROCID must be the rank of the worker: srun starts this command")?;
    let worker = WorkerProcess::new(specification, rank)?;
    worker.say(&Message::Hello { host: gethostname::gethostname().to_string_lossy().into_owned() });
    let mut lines = read_lines();
    let mut tasks = JoinSet::new();
    loop {
        let is_retired = worker.0.is_retired.is_cancelled();
        if is_retired && tasks.is_empty() {
            return Ok(());
        }
        let line = tokio::select! {
            line = lines.recv() => line,
            _ = tasks.join_next(), if is_retired => continue,
            _ = terminate.recv() => {
                // Slurm also ends the code by SIGTERM, and kills it after its own grace period. The
                // emulator reads the cause from Slurm, and not from the exit code.
                worker.0.is_retired.cancel();
                worker.stop_all(Stop::Terminate);
                continue;
            }
        };
        let Some(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(Request::Hosts(hosts)) => worker.0.worker.lock().hosts = hosts.into(),
            Ok(Request::To { rank: to, number, command }) => {
                if usize::try_from(to) == Ok(rank) {
                    let token = worker.register(number);
                    tasks.spawn(worker.clone().reply(number, command, token));
                }
            }
            Ok(Request::Stop { number, how }) => worker.stop(number, how),
            Err(error) => tracing::error!(%error, "a request of the emulator cannot be read"),
        }
        while tasks.try_join_next().is_some() {}
    }
    // Code that ends because its emulator or `srun` has ended has no exit code of its own.
    worker.0.is_retired.cancel();
    worker.stop_all(Stop::Kill);
    let ended = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(KILL_TIMEOUT, ended).await.is_err() {
        worker.0.runner.kill_all();
    }
    Ok(())
}

/// Prints the token in the file of a check. Called on a node.
pub(crate) fn print_token(file: &Path) -> Result<(), String> {
    let token = fs::read_to_string(file).unwrap_or_default();
    writeln!(io::stdout(), "{token}").map_err(|error| error.to_string())
}

/// Returns the lines of standard input, which a thread reads until the end of the process.
fn read_lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

#[derive(Clone)]
struct WorkerProcess(Arc<WorkerState>);

struct WorkerState {
    /// The worker, with the host names of all workers once they are known.
    worker: Mutex<Worker>,
    runner: Arc<ProcessRunner>,
    specification: Specification,
    /// Tokens of the requests that are not finished, by number.
    stops: Mutex<HashMap<u64, StopTokens>>,
    /// Token that is cancelled once Slurm ends the job by SIGTERM, or `srun` has ended.
    is_retired: CancellationToken,
}

#[derive(Clone, Default)]
struct StopTokens {
    terminate: CancellationToken,
    kill: CancellationToken,
}

impl StopTokens {
    fn cancel(&self, how: Stop) {
        self.terminate.cancel();
        if how == Stop::Kill {
            self.kill.cancel();
        }
    }
}

impl WorkerProcess {
    fn new(specification: Specification, rank: usize) -> Result<Self, String> {
        let request = JobRequest::read(specification.body.clone());
        let request =
            request.map_err(|error| format!("the request of the job is not valid: {error:?}"))?;
        let worker = Worker::all(&specification.job_id, &Arc::new(request)).nth(rank);
        let worker = worker.ok_or_else(|| format!("the job has no worker of rank {rank}"))?;
        let runner = runner(&specification, &worker);
        let runner = runner.map_err(|error| {
            let shared = specification.site.shared.display();
            format!("cannot use the directory {shared}: {error}")
        })?;
        Ok(Self(Arc::new(WorkerState {
            worker: Mutex::new(worker),
            runner: Arc::new(runner),
            specification,
            stops: Mutex::default(),
            is_retired: CancellationToken::new(),
        })))
    }

    fn say(&self, message: &Message) {
        if self.0.is_retired.is_cancelled() {
            return;
        }
        if let Ok(text) = serde_json::to_string(message) {
            let mut output = io::stdout().lock();
            // Standard output is closed if `srun` has ended, which also ends standard input.
            let _ = writeln!(output, "{text}").and_then(|()| output.flush());
        }
    }

    fn register(&self, number: u64) -> StopTokens {
        let tokens = StopTokens::default();
        self.0.stops.lock().insert(number, tokens.clone());
        tokens
    }

    fn stop(&self, number: u64, how: Stop) {
        if let Some(tokens) = self.0.stops.lock().get(&number) {
            tokens.cancel(how);
        }
    }

    fn stop_all(&self, how: Stop) {
        self.0.stops.lock().values().for_each(|tokens| tokens.cancel(how));
    }

    async fn reply(self, number: u64, command: Command, tokens: StopTokens) {
        let result = self.perform(command, tokens).await;
        self.0.stops.lock().remove(&number);
        let result = result.map_err(|error| {
            let text = error.to_string().replace(char::is_control, " ");
            text[..text.floor_char_boundary(MAX_ERROR)].to_owned()
        });
        self.say(&Message::Reply { number, result });
    }

    async fn perform(&self, command: Command, tokens: StopTokens) -> io::Result<Value> {
        let worker = self.0.worker.lock().clone();
        let launcher = Arc::clone(&self.0.runner) as Arc<dyn Launcher>;
        match command {
            Command::Perform(step) => {
                launcher.perform(worker, step, tokens.terminate).await?;
                Ok(Value::Null)
            }
            Command::Requirements => Ok(json!(launcher.requirements(worker).await)),
            Command::Usage => Ok(json!(launcher.usage(worker).await)),
            Command::Run { run, trial } => {
                let mut worker = match trial {
                    Some(trial) => worker.with_trial(trial),
                    None => worker,
                };
                worker.run = run;
                let stopped = tokens.terminate.clone();
                let is_stopped = move || stopped.is_cancelled();
                let exit_code = wait(launcher.start(worker.clone()).await, tokens).await;
                // The SIGTERM of Slurm may reach the code before this process. Code that then ends at
                // once with 0 counts as completed.
                if exit_code != 0 && !is_stopped() {
                    let _ = tokio::time::timeout(SIGNAL_DELAY, self.0.is_retired.cancelled()).await;
                }
                if let Err(error) = self.record_exit(&worker, exit_code) {
                    tracing::warn!(%error, "the exit code is not recorded");
                }
                Ok(json!(exit_code))
            }
        }
    }

    /// Writes the exit code to a file, by renaming, so that the file is never incomplete.
    fn record_exit(&self, worker: &Worker, exit_code: i32) -> io::Result<()> {
        if self.0.is_retired.is_cancelled() {
            return Ok(());
        }
        let run = worker.run;
        let path = exit_path(&self.0.specification.site.shared, worker);
        let directory = path.parent().unwrap_or(Path::new("/"));
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer(&mut file, &ExitRecord { run, exit_code })?;
        file.persist(path)?;
        Ok(())
    }
}

async fn wait(mut run: Box<dyn Run>, tokens: StopTokens) -> i32 {
    let exit = tokio::select! {
        exit = run.wait() => Some(exit),
        () = tokens.terminate.cancelled() => None,
    };
    let exit = match exit {
        Some(exit) => exit,
        None => run.terminate(Box::pin(tokens.kill.cancelled_owned())).await,
    };
    match exit {
        Exit::Code(code) => code,
        // Processes on this machine always have exit codes.
        Exit::Lost(_) => 255,
    }
}

/// Creates the runner of the node. Records of processes are beside the directory of the worker.
fn runner(specification: &Specification, worker: &Worker) -> io::Result<ProcessRunner> {
    let site = &specification.site;
    let obs = ConfinedDir::create(&site.obs)?.with_umask_mode();
    let files = WorkerFiles::new(&site.shared, obs, site.datasets.clone())?;
    let directory = files.directory(worker)?.root().to_owned();
    let records = directory.with_added_extension("running");
    let device = |name: &&str| Some(((*name).to_owned(), env::var(name).ok()?));
    let settings = Settings {
        nfs: site.nfs.clone(),
        host: HostEnvironment {
            // The emulator listens on the loopback addresses of another machine.
            url: None,
            obs: None,
            devices: DEVICE_VARIABLES.iter().filter_map(device).collect(),
            is_offline: site.is_offline,
        },
        sight: LazySight::machine(),
        package: directory.with_added_extension("moxing"),
        image: site.image.clone(),
        log_cap: site.log_cap,
        least_disk: site.least_disk,
        install_packages: site.install_packages,
        temporary: None,
    };
    ProcessRunner::new(files, &directory, &records, settings)
}
