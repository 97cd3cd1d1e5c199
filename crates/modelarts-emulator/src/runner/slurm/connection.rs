//! Connection to the workers of a job through their `srun`.

use std::{
    collections::{HashMap, VecDeque},
    io,
    os::unix::process::ExitStatusExt,
    process::{ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, Command as Process},
    sync::{mpsc, oneshot, watch},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    job::worker::Worker,
    runner::{
        launcher::{Exit, Loss},
        slurm::{
            commands::{self, Cluster, QUEUE_PERIOD, Queue, QueuedJob},
            protocol::{Command, Message, Request, Stop},
        },
    },
};

/// Maximum time that `srun` may run after its workers were told to end, and after SIGTERM.
pub(super) const END_TIMEOUT: Duration = Duration::from_secs(15);
/// Time limit for the state of a job whose `srun` has ended.
const STATE_TIMEOUT: Duration = Duration::from_secs(60);
/// Parts of the error messages of an `srun` that could not send its job to Slurm.
const NO_RESPONSE: [&str; 3] = [
    "Unable to contact slurm controller",
    "Socket timed out",
    "Zero Bytes were transmitted or received",
];
/// Number of lines of the error output of `srun` that are kept.
const ERROR_LINES: usize = 20;

#[derive(Debug)]
pub(super) struct Connection {
    state: watch::Sender<State>,
    /// Lines for the standard input of `srun`; `None` once the workers must end.
    requests: Mutex<Option<mpsc::UnboundedSender<String>>>,
    /// Expected replies by the number of the request; `None` once the connection has ended.
    replies: Mutex<Option<Replies>>,
    last_number: AtomicU64,
    released: CancellationToken,
    /// Comment of the job in Slurm, which identifies this run in the queue.
    token: String,
}

type Replies = HashMap<u64, oneshot::Sender<Result<Value, String>>>;

/// Reply of a worker, or the end of its connection.
type Reply = Result<Result<Value, String>, oneshot::error::RecvError>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not all workers have started.
    Waiting,
    Ready,
    /// The nodes were lost, or the job was ended by Slurm. `cause` is the message of `srun`.
    Ended {
        exit: Exit,
        cause: String,
    },
    /// `srun` did not start, or ended before it had nodes, for this reason.
    Rejected(String),
    Unavailable(String),
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) number: u64,
    /// Receives the reply. The sender is dropped once the connection has ended.
    pub(super) reply: oneshot::Receiver<Result<Value, String>>,
}

impl Connection {
    pub(super) fn start(
        cluster: &Arc<Cluster>,
        workers: &[Worker],
        options: &[String],
    ) -> Arc<Self> {
        let (requests, lines) = mpsc::unbounded_channel();
        let connection = Arc::new(Self {
            state: watch::Sender::new(State::Waiting),
            requests: Mutex::new(Some(requests)),
            replies: Mutex::new(Some(Replies::new())),
            last_number: AtomicU64::new(0),
            released: CancellationToken::new(),
            token: Uuid::new_v4().to_string(),
        });
        let job_id = workers.first().map_or("", |worker| worker.job_id.as_str());
        let mut command = srun();
        command.arg(format!("--comment={}", connection.token)).args(options);
        match command.process_group(0).spawn() {
            Err(error) => {
                let text = commands::start_error("srun", &error);
                let state = match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                        State::Rejected(text)
                    }
                    // A resource of this machine, such as descriptors or processes, is exhausted.
                    _ => State::Unavailable(text),
                };
                connection.state.send_replace(state);
                connection.replies.lock().take();
            }
            Ok(mut child) => {
                if let Some(stdin) = child.stdin.take() {
                    tokio::spawn(write_lines(stdin, lines));
                }
                tokio::spawn(Arc::clone(&connection).attend(
                    Arc::clone(cluster),
                    job_id.to_owned(),
                    workers.len(),
                    child,
                ));
            }
        }
        connection
    }

    pub(super) fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    pub(super) fn find<'a>(&self, queue: &'a Queue) -> Option<&'a QueuedJob> {
        queue.iter().find(|job| job.comment == self.token)
    }

    pub(super) fn call(&self, rank: u32, command: Command) -> Call {
        let number = self.last_number.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, reply) = oneshot::channel();
        if let Some(replies) = self.replies.lock().as_mut() {
            replies.insert(number, sender);
        }
        self.send(&Request::To { rank, number, command });
        Call { number, reply }
    }

    pub(super) fn stop(&self, number: u64, how: Stop) {
        self.send(&Request::Stop { number, how });
    }

    /// Waits for a reply after a stop. Releases the connection if the worker does not respond.
    pub(super) async fn last_reply(
        &self,
        reply: &mut oneshot::Receiver<Result<Value, String>>,
    ) -> Option<Reply> {
        let reply = tokio::time::timeout(END_TIMEOUT, reply).await;
        if reply.is_err() {
            self.release();
        }
        reply.ok()
    }

    fn send(&self, request: &Request) {
        match serde_json::to_string(request) {
            // A closed connection is reported by its state.
            Ok(line) => drop(self.requests.lock().as_ref().map(|lines| lines.send(line + "\n"))),
            Err(error) => tracing::error!(%error, "a request to a worker cannot be written"),
        }
    }

    /// Ends the workers, or the wait for nodes.
    pub(super) fn release(&self) {
        self.requests.lock().take();
        self.released.cancel();
    }

    async fn attend(
        self: Arc<Self>,
        cluster: Arc<Cluster>,
        job_id: String,
        workers: usize,
        mut child: Child,
    ) {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let group = id.and_then(Pid::from_raw);
        if let Some(group) = group {
            cluster.watchdog.add_group(group);
        }
        let mut reading =
            tokio::spawn(Arc::clone(&self).read_messages(child.stdout.take(), workers));
        let mut errors = tokio::spawn(last_lines(child.stderr.take(), job_id.clone()));
        let ended = tokio::select! {
            ended = child.wait() => Some(ended),
            () = self.released.cancelled() => None,
        };
        if ended.is_none() {
            self.end_srun(&mut child, group).await;
        }
        if let Some(group) = group {
            cluster.watchdog.remove_group(group);
        }
        // The output may be held open by a process that outlives `srun`.
        let _ = tokio::time::timeout(Duration::from_secs(1), &mut reading).await;
        reading.abort();
        let errors = tokio::time::timeout(Duration::from_secs(1), &mut errors).await;
        let errors = errors.ok().and_then(Result::ok).unwrap_or_default();
        let is_released = ended.is_none();
        if let Some(status) = ended {
            let state = self.find_end(&cluster, status.ok(), errors).await;
            tracing::info!(job = job_id, ?state, "srun has ended");
            self.state.send_replace(state);
        }
        self.requests.lock().take();
        self.replies.lock().take();
        if is_released {
            self.leave_queue(&cluster).await;
        }
    }

    async fn read_messages(
        self: Arc<Self>,
        output: Option<impl AsyncRead + Unpin>,
        workers: usize,
    ) {
        let Some(output) = output else { return };
        let mut output = BufReader::new(output);
        let mut hosts = vec![None; workers];
        while let Some(line) = next_line(&mut output).await {
            let message = line.split_once(':').and_then(|(rank, message)| {
                let rank: usize = rank.trim().parse().ok()?;
                Some((rank, serde_json::from_str::<Message>(message).ok()?))
            });
            match message {
                Some((rank, Message::Hello { host })) if rank < workers => {
                    hosts[rank] = Some(host);
                    let all: Option<Vec<String>> = hosts.iter().cloned().collect();
                    if let Some(hosts) = all {
                        self.send(&Request::Hosts(hosts));
                        self.state.send_replace(State::Ready);
                    }
                }
                Some((_, Message::Reply { number, result })) => {
                    let mut replies = self.replies.lock();
                    let reply = replies.as_mut().and_then(|replies| replies.remove(&number));
                    // The receiver may have been dropped.
                    let _ = reply.map(|reply| reply.send(result));
                }
                _ => tracing::warn!(line, "srun wrote a line that is no message of a worker"),
            }
        }
    }

    /// Ends `srun`. Workers end with their standard input, and `srun` ends with its workers.
    async fn end_srun(&self, child: &mut Child, group: Option<Pid>) {
        let is_ready = *self.state.borrow() == State::Ready;
        if is_ready && tokio::time::timeout(END_TIMEOUT, child.wait()).await.is_ok() {
            return;
        }
        for signal in [Signal::TERM, Signal::KILL] {
            if let Some(group) = group {
                // The group may have ended in the meantime.
                let _ = kill_process_group(group, signal);
            }
            if tokio::time::timeout(END_TIMEOUT, child.wait()).await.is_ok() {
                break;
            }
        }
    }

    /// Removes the job from the queue: it stays there if `srun` was killed or did not reach Slurm.
    async fn leave_queue(&self, cluster: &Cluster) {
        loop {
            if let Ok(queue) = cluster.queue.read(Instant::now()).await {
                let job = self.find(&queue).filter(|job| job.is_live());
                let Some(job) = job else { return };
                if job.state != "COMPLETING"
                    && let Err(error) = commands::cancel(&[&job.id]).await
                {
                    tracing::warn!(job = job.name, %error, "the job is still in the queue of \
                         Slurm");
                }
            }
        }
    }

    async fn find_end(
        &self,
        cluster: &Cluster,
        status: Option<ExitStatus>,
        errors: Vec<String>,
    ) -> State {
        let is_ready = *self.state.borrow() == State::Ready;
        let ended = Instant::now();
        // Slurm cancels the job of a killed `srun`. This is not a decision of an operator.
        let mut is_cancelled = status.is_some_and(|status| status.signal().is_some());
        let (job, failure) = loop {
            let failure = match cluster.queue.read(Instant::now()).await {
                Ok(queue) => match self.find(&queue).cloned() {
                    Some(job) if job.is_live() => {
                        // Without `srun`, the workers cannot be reached any more.
                        if job.state != "COMPLETING" && ended.elapsed() > QUEUE_PERIOD {
                            is_cancelled = true;
                            commands::cancel(&[&job.id]).await.err()
                        } else {
                            None
                        }
                    }
                    job => break (job, None),
                },
                Err(error) => Some(error),
            };
            if (failure.is_some() && !is_ready) || ended.elapsed() > STATE_TIMEOUT {
                break (None, failure);
            }
        };
        let cause = errors
            .iter()
            .find(|line| line.contains("error:"))
            .or(errors.last())
            .cloned()
            .unwrap_or_else(|| status.map_or_else(String::new, |status| status.to_string()));
        let exit = job.as_ref().map(QueuedJob::exit);
        let exit = exit.filter(|exit| !(is_cancelled && *exit == Exit::Lost(Loss::Cancelled)));
        let is_lost = match exit {
            _ if is_ready => true,
            Some(Exit::Lost(Loss::NodeFault)) => job.is_some_and(|job| job.is_node_failure()),
            exit => exit.is_some(),
        };
        match failure {
            Some(error) if !is_ready => State::Unavailable(error),
            _ if is_cancelled && !is_ready => State::Unavailable(format!("srun ended: {cause}")),
            // Slurm may respond again by now.
            None if !is_ready && NO_RESPONSE.iter().any(|text| cause.contains(text)) => {
                State::Unavailable(cause)
            }
            _ if is_lost => {
                State::Ended { exit: exit.unwrap_or(Exit::Lost(Loss::NodeFault)), cause }
            }
            _ => State::Rejected(cause),
        }
    }
}

/// Creates an `srun` command that does not become a part of the Slurm job of this process.
pub(super) fn srun() -> Process {
    let mut command = Process::new("srun");
    if std::env::var_os("SLURM_JOB_ID").is_some() {
        let is_setting = |name: &str| ["SLURM_CONF", "SLURM_JWT"].contains(&name);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("SLURM_") && !is_setting(&text) {
                command.env_remove(name);
            }
        }
    }
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn write_lines(mut input: ChildStdin, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        // The end of `srun` is observed elsewhere.
        if input.write_all(line.as_bytes()).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
}

async fn last_lines(output: Option<impl AsyncRead + Unpin>, job_id: String) -> Vec<String> {
    let mut last = VecDeque::new();
    let Some(output) = output else {
        return Vec::new();
    };
    let mut output = BufReader::new(output);
    while let Some(line) = next_line(&mut output).await {
        tracing::info!(job = job_id, line, "srun");
        if last.len() == ERROR_LINES {
            last.pop_front();
        }
        last.push_back(line);
    }
    last.into()
}

/// Returns the next line, or `None` at the end. Bytes that are not UTF-8 are replaced.
async fn next_line(output: &mut (impl AsyncBufRead + Unpin)) -> Option<String> {
    let mut line = Vec::new();
    match output.read_until(b'\n', &mut line).await {
        Ok(1..) => Some(String::from_utf8_lossy(&line).trim_end().to_owned()),
        Ok(0) | Err(_) => None,
    }
}
