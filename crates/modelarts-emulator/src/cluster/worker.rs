//! Worker of a job on a node, which `srun` starts. It performs calls with the runner of its machine.

use std::{
    collections::HashMap,
    env,
    io::Write,
    net::{IpAddr, Ipv4Addr, UdpSocket},
    sync::Arc,
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    routing::post,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{
    cluster::{
        layout::{Directory, Specification, open_files},
        workers::{Call, Command, Ready},
    },
    job::worker::{Host, Worker},
    runner::{
        launcher::{Exit, Launcher, WorkerSettings},
        process::{ProcessRunner, Settings, environment::HostEnvironment, view::LazySight},
    },
};

/// Maximum time between the SIGTERM of Slurm to the code and that to this process.
const SIGNAL_DELAY: Duration = Duration::from_millis(500);

/// Serves calls until one ends the worker, or Slurm kills it.
pub(super) async fn serve(directory: &Directory) -> Result<(), String> {
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let rank = env::var("SLURM_PROCID").ok().and_then(|rank| rank.parse::<usize>().ok());
    let rank =
        rank.ok_or("SLURM_PROCID must be the rank of the worker: srun starts this command")?;
    let specification = Specification::read(directory)?;
    let job = specification.job()?;
    let all = Worker::all(&job.id, &job.request);
    let worker = { all }.nth(rank).ok_or_else(|| format!("there is no worker {rank}"))?;
    let worker = Worker { user_id: job.owner.user_id, ..worker };
    let node = Arc::new(Node {
        runner: Arc::new(runner(specification.workers, &worker).await?),
        worker: Mutex::new(worker),
        token: specification.token,
        stops: Mutex::default(),
        retired: CancellationToken::new(),
        end: CancellationToken::new(),
    });
    let address = address();
    let unusable = |error| format!("cannot listen on {address}: {error}");
    let listener = TcpListener::bind((address, 0)).await.map_err(unusable)?;
    let port = listener.local_addr().map_err(unusable)?.port();
    let name = gethostname::gethostname().to_string_lossy().into_owned();
    let ready = Ready { rank, host: Host { name, ip: address.to_string() }, port };
    // One write, because the lines of all workers share a pipe.
    let line = format!("{}\n", json!(ready));
    std::io::stdout().write_all(line.as_bytes()).map_err(|error| error.to_string())?;
    let router = Router::new().route("/", post(answer)).with_state(Arc::clone(&node));
    tokio::select! {
        served = axum::serve(listener, router) => return served.map_err(|error| error.to_string()),
        () = node.end.cancelled() => return Ok(()),
        _ = terminate.recv() => node.retire(),
    }
    node.end.cancelled().await;
    Ok(())
}

struct Node {
    /// The worker, with the nodes of all workers once they are known.
    worker: Mutex<Worker>,
    runner: Arc<ProcessRunner>,
    token: String,
    /// Tokens of the calls that are not finished, by number: to interrupt them, and to kill.
    stops: Mutex<HashMap<u64, [CancellationToken; 2]>>,
    /// Token that is cancelled when Slurm ends the job by SIGTERM.
    retired: CancellationToken,
    end: CancellationToken,
}

/// Answers a call with its result, or the error of its work.
async fn answer(
    State(node): State<Arc<Node>>,
    headers: HeaderMap,
    Json(Call { number, command }): Json<Call>,
) -> Result<Json<Result<Value, String>>, StatusCode> {
    if headers.get(AUTHORIZATION).is_none_or(|token| *token != *node.token) {
        return Err(StatusCode::FORBIDDEN);
    }
    // A connection that is cut must not end the work without its clean-up.
    let work = tokio::spawn(async move {
        let stops = [(); 2].map(|()| CancellationToken::new());
        node.stops.lock().insert(number, stops.clone());
        let result = node.perform(command, stops).await;
        node.stops.lock().remove(&number);
        if node.retired.is_cancelled() {
            // The end of the work is that of the job, which Slurm reports.
            node.retire();
            std::future::pending::<()>().await;
        }
        result.map_err(|error| error.to_string())
    });
    Ok(Json(work.await.unwrap_or_else(|error| Err(error.to_string()))))
}

impl Node {
    /// Ends the work by SIGTERM, and the worker when no work is left. Slurm kills it later.
    fn retire(&self) {
        self.retired.cancel();
        let stops = self.stops.lock();
        stops.values().for_each(|[terminate, _]| terminate.cancel());
        if stops.is_empty() {
            self.end.cancel();
        }
    }

    async fn perform(
        &self,
        command: Command,
        [terminate, kill]: [CancellationToken; 2],
    ) -> std::io::Result<Value> {
        let worker = self.worker.lock().clone();
        let launcher = Arc::clone(&self.runner) as Arc<dyn Launcher>;
        match command {
            Command::Hosts(hosts) => self.worker.lock().hosts = hosts.into(),
            Command::Perform(step) => launcher.perform(worker, step, terminate).await?,
            Command::Requirements => return Ok(json!(launcher.requirements(worker).await)),
            Command::Usage => return Ok(json!(launcher.usage(worker).await)),
            Command::Run { run, trial } => {
                let worker = trial.map_or(worker.clone(), |trial| worker.with_trial(trial));
                let mut run = launcher.start(Worker { run, ..worker }).await;
                let exit = tokio::select! {
                    exit = run.wait() => Some(exit),
                    () = terminate.cancelled() => None,
                };
                let exit = match exit {
                    Some(Exit::Code(code @ 1..)) => {
                        // Slurm may have signalled the code before this process.
                        let _ = timeout(SIGNAL_DELAY, self.retired.cancelled()).await;
                        Exit::Code(code)
                    }
                    Some(exit) => exit,
                    None => run.terminate(Box::pin(kill.cancelled_owned())).await,
                };
                return Ok(match exit {
                    Exit::Code(code) => json!(code),
                    // Processes on this machine always have exit codes.
                    Exit::Lost(_) => json!(255),
                });
            }
            Command::Stop { number, kill } => {
                if let Some([terminate, killing]) = self.stops.lock().get(&number) {
                    terminate.cancel();
                    if kill {
                        killing.cancel();
                    }
                }
            }
            Command::End => self.end.cancel(),
        }
        Ok(Value::Null)
    }
}

/// Creates the runner of the node. Records of processes are beside the directory of the worker.
async fn runner(workers: WorkerSettings, worker: &Worker) -> Result<ProcessRunner, String> {
    let place = workers.place.clone();
    let unusable = |error| format!("cannot use the directory {}: {error}", place.display());
    let files = open_files(&workers).map_err(unusable)?;
    let directory = files.directory(worker).map_err(unusable)?.root().to_owned();
    let records = directory.with_added_extension("running");
    let settings = Settings {
        sight: LazySight::new(workers.container, &directory).await?,
        package: directory.with_added_extension("moxing"),
        workers: WorkerSettings {
            host: HostEnvironment {
                // The emulator listens on a loopback address of another machine.
                url: None,
                node: env::vars_os().filter(|(name, _)| !is_own(&name.to_string_lossy())).collect(),
                path: env::var_os("PATH"),
                ..workers.host
            },
            ..workers
        },
        temporary: None,
    };
    ProcessRunner::new(files, &directory, &records, settings).map_err(unusable)
}

/// Returns `true` for a variable that the code of a job does not receive: it belongs to Slurm, or
/// to the shell of the batch script.
fn is_own(name: &str) -> bool {
    ["SLURM", "SRUN_", "PMI", "SBATCH_"].iter().any(|prefix| name.starts_with(prefix))
        || ["PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME", "TMPDIR"].contains(&name)
}

/// Returns the address of this node by which the node of the batch script can reach it.
fn address() -> IpAddr {
    let peer = env::var("SLURM_LAUNCH_NODE_IPADDR").or_else(|_| env::var("SLURM_SRUN_COMM_HOST"));
    // Connecting a datagram socket sends nothing. It selects the address of this node.
    let address = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
        socket.connect((peer.as_deref().unwrap_or("127.0.0.1"), 9))?;
        socket.local_addr()
    });
    address.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |address| address.ip())
}
