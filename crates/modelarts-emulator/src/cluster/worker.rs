//! Worker of a job on a node, which `srun` starts. It performs the requests of the program of the
//! first node with the runner of its machine, and ends with its standard input.

use std::{
    collections::HashMap,
    env,
    io::{self, BufRead, Write},
    net::{Ipv4Addr, UdpSocket},
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
    cluster::{
        connection::{Command, Message, Request, Stop},
        layout::{Directory, Site, Specification},
    },
    files::confined_dir::ConfinedDir,
    job::worker::{Host, Worker},
    runner::{
        launcher::{Exit, Launcher, Run},
        process::{ProcessRunner, Settings, environment::HostEnvironment, view::LazySight},
        worker_files::WorkerFiles,
    },
};

/// Maximum length of an error in a message, in bytes. `srun` splits lines of more than about 1 kB.
const MAX_ERROR: usize = 300;
/// Maximum time between the SIGTERM of Slurm to the code and that to this process.
const SIGNAL_DELAY: Duration = Duration::from_millis(500);
/// Maximum time for killed processes to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves requests until standard input or the job in Slurm ends.
pub(super) async fn serve(directory: &Directory) -> Result<(), String> {
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let rank = env::var("SLURM_PROCID").ok().and_then(|rank| rank.parse::<usize>().ok());
    let rank =
        rank.ok_or("SLURM_PROCID must be the rank of the worker: srun starts this command")?;
    let worker = WorkerProcess::new(Specification::read(directory)?, rank).await?;
    worker.say(&Message::Hello(host()));
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
                // Slurm also ends the code by SIGTERM, and kills it after its own grace period. It
                // reports the cause, which the exit code does not.
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
            Err(error) => tracing::error!(%error, "a request cannot be read"),
        }
        while tasks.try_join_next().is_some() {}
    }
    // Code that ends because the job or `srun` has ended has no exit code of its own.
    worker.0.is_retired.cancel();
    worker.stop_all(Stop::Kill);
    let ended = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(KILL_TIMEOUT, ended).await.is_err() {
        worker.0.runner.kill_all();
    }
    Ok(())
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
    async fn new(specification: Specification, rank: usize) -> Result<Self, String> {
        let job = specification.job()?;
        let all = Worker::all(&job.id, &job.request);
        let worker = { all }.nth(rank).ok_or_else(|| format!("there is no worker {rank}"))?;
        let worker = Worker { user_id: job.owner.user_id, ..worker };
        let runner = runner(&specification.site, &worker).await?;
        Ok(Self(Arc::new(WorkerState {
            worker: Mutex::new(worker),
            runner: Arc::new(runner),
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
                let exit_code = wait(launcher.start(worker).await, tokens).await;
                // The SIGTERM of Slurm may reach the code before this process. Code that then ends at
                // once with 0 counts as completed.
                if exit_code != 0 && !is_stopped() {
                    let _ = tokio::time::timeout(SIGNAL_DELAY, self.0.is_retired.cancelled()).await;
                }
                Ok(json!(exit_code))
            }
        }
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
async fn runner(site: &Site, worker: &Worker) -> Result<ProcessRunner, String> {
    let unusable = |error| format!("cannot use the directory {}: {error}", site.shared.display());
    let obs = ConfinedDir::create(&site.obs).map_err(unusable)?.with_umask_mode();
    let files = WorkerFiles::new(&site.shared, obs, site.datasets.clone()).map_err(unusable)?;
    let directory = files.directory(worker).map_err(unusable)?.root().to_owned();
    let records = directory.with_added_extension("running");
    let settings = Settings {
        nfs: site.nfs.clone(),
        host: HostEnvironment {
            // The emulator listens on a loopback address of another machine.
            url: None,
            obs: site.obs_http.clone(),
            node: env::vars_os().filter(|(name, _)| !is_own(&name.to_string_lossy())).collect(),
            path: env::var_os("PATH"),
            is_offline: site.is_offline,
        },
        sight: LazySight::new(site.container, &directory).await?,
        package: directory.with_added_extension("moxing"),
        image: site.image.clone(),
        log_cap: site.log_cap,
        least_disk: site.least_disk,
        install_packages: site.install_packages,
        temporary: None,
    };
    ProcessRunner::new(files, &directory, &records, settings).map_err(unusable)
}

/// Returns `true` for a variable that the code of a job does not receive: it belongs to Slurm, or
/// to the shell of the batch script.
fn is_own(name: &str) -> bool {
    ["SLURM", "SRUN_", "PMI", "PMIX_", "SBATCH_"].iter().any(|prefix| name.starts_with(prefix))
        || ["PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME", "TMPDIR"].contains(&name)
}

/// Returns this node, with the address by which the node of the batch script can reach it.
fn host() -> Host {
    let name = gethostname::gethostname().to_string_lossy().into_owned();
    let peer = env::var("SLURM_LAUNCH_NODE_IPADDR").or_else(|_| env::var("SLURM_SRUN_COMM_HOST"));
    // Connecting a datagram socket sends nothing. It selects the address of this node.
    let address = peer.and_then(|peer| {
        let address = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
            socket.connect((peer, 9))?;
            socket.local_addr()
        });
        address.map_err(|_| env::VarError::NotPresent)
    });
    Host { ip: address.map_or_else(|_| name.clone(), |address| address.ip().to_string()), name }
}
