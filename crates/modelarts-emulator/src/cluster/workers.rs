//! Workers of a job on its nodes, which the program of its first node starts by `srun` and calls by
//! HTTP: it sends a [`Call`], and gets the result when the work is done.

use std::{
    io,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, to_bytes},
    http::{
        Request,
        header::{AUTHORIZATION, CONTENT_TYPE},
    },
};
use futures::future::BoxFuture;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command as Process},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Sleep,
    job::worker::{Host, Worker, WorkerTrial},
    metrics::usage::Usage,
    runner::{
        launcher::{Exit, Launcher, Loss, Run, Step},
        worker_files::WorkerFiles,
    },
};

/// Maximum time that a worker may take to stop its work.
pub(super) const END_TIMEOUT: Duration = Duration::from_secs(15);
/// Time limit for the usage of a worker. A node that does not respond has no usage.
const USAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which the system tests an idle connection.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// Maximum size of a result, in bytes.
const MAX_RESULT: usize = 1 << 20;

/// Line that a worker prints when it is ready.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ready {
    pub(super) rank: usize,
    pub(super) host: Host,
    pub(super) port: u16,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Call {
    /// Number of the call, by which [`Command::Stop`] refers to it.
    pub(super) number: u64,
    pub(super) command: Command,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Command {
    /// Sets the nodes of all workers, by rank.
    Hosts(Vec<Host>),
    Perform(Step),
    /// Finds the requirements files. The result is a list of their names.
    Requirements,
    /// Runs the code. The result is the exit code. `run` is the number of earlier runs.
    Run {
        run: usize,
        trial: Option<WorkerTrial>,
    },
    /// Measures the usage. The result is the usage, or null if the code is not running.
    Usage,
    /// Interrupts a step, or sends SIGTERM, or SIGKILL, to the code.
    Stop {
        number: u64,
        kill: bool,
    },
    /// Ends the worker.
    End,
}

#[derive(Debug)]
pub(super) struct Workers {
    /// Addresses of the workers, by rank. Empty if they did not start.
    addresses: Vec<(String, u16)>,
    token: String,
    client: Client<HttpConnector, Body>,
    last_number: AtomicU64,
    /// Token that is cancelled when a worker does not respond.
    pub(super) lost: CancellationToken,
}

impl Workers {
    /// Starts `srun` with arguments, and waits for the workers. They expect `token` in each call.
    pub(super) async fn start(
        arguments: &[String],
        count: usize,
        token: String,
    ) -> io::Result<(Arc<Self>, Child)> {
        let mut srun = Process::new("srun")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut ready: Vec<Option<Ready>> = (0..count).map(|_| None).collect();
        if let Some(output) = srun.stdout.take() {
            let mut lines = BufReader::new(output).lines();
            while ready.iter().any(Option::is_none)
                && let Some(line) = lines.next_line().await?
            {
                match serde_json::from_str::<Ready>(&line) {
                    Ok(worker) if worker.rank < count => {
                        let rank = worker.rank;
                        ready[rank] = Some(worker);
                    }
                    _ => tracing::warn!(line, "srun wrote a line that is no message"),
                }
            }
            // A closed pipe would end `srun`.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        }
        let ready: Vec<Ready> = ready.into_iter().collect::<Option<_>>().unwrap_or_default();
        let mut connector = HttpConnector::new();
        // The run of code may last for weeks, without a byte on its connection.
        connector.set_keepalive(Some(KEEPALIVE));
        let workers = Arc::new(Self {
            addresses: ready.iter().map(|it| (it.host.ip.clone(), it.port)).collect(),
            token,
            client: Client::builder(TokioExecutor::new()).build(connector),
            last_number: AtomicU64::new(0),
            lost: CancellationToken::new(),
        });
        let hosts: Vec<Host> = ready.into_iter().map(|it| it.host).collect();
        for rank in 0..workers.addresses.len() {
            let command = Command::Hosts(hosts.clone());
            workers.result::<()>(rank as u32, command).await;
        }
        Ok((workers, srun))
    }

    pub(super) fn are_ready(&self) -> bool {
        !self.addresses.is_empty()
    }

    /// Calls a worker, and waits for the result. Returns `None` if its node is lost.
    async fn result<T: DeserializeOwned>(
        &self,
        rank: u32,
        command: Command,
    ) -> Option<io::Result<T>> {
        self.call(rank, self.next_number(), command).await
    }

    fn next_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        rank: u32,
        number: u64,
        command: Command,
    ) -> Option<io::Result<T>> {
        let (ip, port) = self.addresses.get(usize::try_from(rank).ok()?)?;
        let body = serde_json::to_vec(&Call { number, command }).ok()?;
        let request = Request::post(format!("http://{ip}:{port}/"))
            .header(AUTHORIZATION, &self.token)
            .header(CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .ok()?;
        let response = self.client.request(request).await;
        let bytes = match response {
            Ok(response) => to_bytes(Body::new(response.into_body()), MAX_RESULT).await.ok(),
            Err(_) => None,
        };
        let result = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if result.is_none() {
            self.lost.cancel();
        }
        let result: Result<Value, String> = result?;
        let value = result.map_err(io::Error::other);
        Some(value.and_then(|value| serde_json::from_value(value).map_err(io::Error::other)))
    }

    async fn stop(&self, rank: u32, number: u64, kill: bool) {
        self.result::<()>(rank, Command::Stop { number, kill }).await;
    }

    /// Ends the workers.
    pub(super) async fn end(&self) {
        for rank in 0..self.addresses.len() {
            let _ = timeout(END_TIMEOUT, self.result::<()>(rank as u32, Command::End)).await;
        }
    }
}

/// Launcher of the code of workers on their nodes.
#[derive(Debug)]
pub(super) struct NodesLauncher {
    pub(super) files: WorkerFiles,
    pub(super) workers: Arc<Workers>,
}

impl Launcher for NodesLauncher {
    fn files(&self) -> &WorkerFiles {
        &self.files
    }

    fn perform(
        self: Arc<Self>,
        worker: Worker,
        step: Step,
        interrupt: CancellationToken,
    ) -> BoxFuture<'static, io::Result<()>> {
        Box::pin(async move {
            let number = self.workers.next_number();
            let work = self.workers.call(worker.rank, number, Command::Perform(step));
            tokio::pin!(work);
            let done = tokio::select! {
                done = &mut work => done,
                () = interrupt.cancelled() => {
                    self.workers.stop(worker.rank, number, false).await;
                    timeout(END_TIMEOUT, work).await.ok().flatten()
                }
            };
            done.unwrap_or_else(|| Err(io::Error::other("the node was lost")))
        })
    }

    fn requirements(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Vec<String>> {
        Box::pin(async move {
            let names = self.workers.result(worker.rank, Command::Requirements).await;
            names.and_then(Result::ok).unwrap_or_default()
        })
    }

    fn start(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Box<dyn Run>> {
        let workers = Arc::clone(&self.workers);
        let (rank, number) = (worker.rank, workers.next_number());
        let command = Command::Run { run: worker.run, trial: worker.trial.as_deref().cloned() };
        let call = Arc::clone(&workers);
        let run = tokio::spawn(async move { call.call(rank, number, command).await });
        let run: Box<dyn Run> = Box::new(NodeRun { workers, rank, number, run, exit: None });
        Box::pin(std::future::ready(run))
    }

    fn usage(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Option<Usage>> {
        Box::pin(async move {
            let usage = self.workers.result(worker.rank, Command::Usage);
            timeout(USAGE_TIMEOUT, usage).await.ok().flatten().and_then(Result::ok).flatten()
        })
    }
}

/// Run of the code of a worker on its node.
struct NodeRun {
    workers: Arc<Workers>,
    rank: u32,
    number: u64,
    run: JoinHandle<Option<io::Result<i32>>>,
    exit: Option<Exit>,
}

impl Run for NodeRun {
    fn wait(&mut self) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            if self.exit.is_none() {
                self.exit = Some(match (&mut self.run).await {
                    Ok(Some(Ok(code))) => Exit::Code(code),
                    Ok(Some(Err(error))) => {
                        tracing::warn!(%error, "a worker did not run its code");
                        Exit::Code(255)
                    }
                    // The program ends with a worker that does not respond.
                    Ok(None) | Err(_) => return std::future::pending().await,
                });
            }
            self.exit.unwrap_or(Exit::Lost(Loss::NodeFault))
        })
    }

    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            self.workers.stop(self.rank, self.number, false).await;
            let exit = tokio::select! {
                exit = self.wait() => Some(exit),
                () = grace => None,
            };
            if let Some(exit) = exit {
                return exit;
            }
            self.workers.stop(self.rank, self.number, true).await;
            timeout(END_TIMEOUT, self.wait()).await.unwrap_or(Exit::Lost(Loss::NodeFault))
        })
    }
}
