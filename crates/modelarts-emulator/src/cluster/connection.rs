//! Connection to the workers of a job by `srun`: [`Request`] and [`Message`] are lines of JSON on
//! its standard input and output. `srun` writes the rank of a worker before each line.

use std::{
    collections::HashMap,
    io,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, Command as Process},
    sync::{mpsc, oneshot, watch},
};
use tokio_util::sync::CancellationToken;

use crate::{
    job::worker::{Host, WorkerTrial},
    runner::launcher::Step,
};

/// Maximum time that a worker may take to stop its work, and that `srun` may take to end.
pub(super) const END_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Nodes of all workers, by rank. Sent first, to all workers.
    Hosts(Vec<Host>),
    /// Request to the worker of this rank. The worker sends one reply with the same number.
    To { rank: u32, number: u64, command: Command },
    /// Ends the work that the request with this number started.
    Stop { number: u64, how: Stop },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Command {
    Perform(Step),
    /// Finds the requirements files. The reply contains a list of their names.
    Requirements,
    /// Runs the code. The reply contains the exit code. `run` is the number of earlier runs.
    Run {
        run: usize,
        trial: Option<WorkerTrial>,
    },
    /// Measures the usage. The reply contains the usage, or null if the code is not running.
    Usage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stop {
    /// Interrupts a step, or sends SIGTERM to the code.
    Terminate,
    Kill,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// First message, which states that the worker is ready.
    Hello(Host),
    /// Reply to a request: the result, or the error of the work.
    Reply { number: u64, result: Result<Value, String> },
}

#[derive(Debug)]
pub(super) struct Connection {
    state: watch::Sender<State>,
    /// Lines for the standard input of `srun`; `None` once the workers must end.
    requests: Mutex<Option<mpsc::UnboundedSender<String>>>,
    /// Expected replies by the number of the request; `None` once the connection has ended.
    replies: Mutex<Option<HashMap<u64, oneshot::Sender<Result<Value, String>>>>>,
    last_number: AtomicU64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not all workers have started.
    Waiting,
    Ready,
    /// `srun` has ended, with this status.
    Ended(String),
}

/// Request that has been sent.
#[derive(Debug)]
pub(super) struct Call {
    number: u64,
    /// Receives the reply. The sender is dropped once the connection has ended.
    pub(super) reply: oneshot::Receiver<Result<Value, String>>,
}

impl Connection {
    /// Starts `srun`, whose command line is in `words`.
    pub(super) fn start(words: &[String], workers: usize) -> io::Result<Arc<Self>> {
        let (requests, mut lines) = mpsc::unbounded_channel::<String>();
        let mut child = Process::new("srun")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let connection = Arc::new(Self {
            state: watch::Sender::new(State::Waiting),
            requests: Mutex::new(Some(requests)),
            replies: Mutex::default(),
            last_number: AtomicU64::new(0),
        });
        *connection.replies.lock() = Some(HashMap::new());
        if let Some(mut stdin) = child.stdin.take() {
            tokio::spawn(async move {
                while let Some(line) = lines.recv().await {
                    if write(&mut stdin, &line).await.is_err() {
                        return;
                    }
                }
            });
        }
        tokio::spawn(Arc::clone(&connection).attend(child, workers));
        Ok(connection)
    }

    pub(super) fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// Waits until `srun` has ended.
    pub(super) async fn ended(&self) -> String {
        let mut state = self.state();
        match state.wait_for(|state| matches!(state, State::Ended(_))).await.as_deref() {
            Ok(State::Ended(status)) => status.clone(),
            // Unreachable, because the sender lives as long as `self`.
            _ => String::new(),
        }
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

    /// Sends a command, and waits for its result. Returns `None` if the node is lost.
    pub(super) async fn result<T: DeserializeOwned>(
        &self,
        rank: u32,
        command: Command,
        interrupt: &CancellationToken,
    ) -> Option<io::Result<T>> {
        let mut call = self.call(rank, command);
        let reply = tokio::select! {
            reply = &mut call.reply => reply,
            () = interrupt.cancelled() => {
                self.stop(&call, Stop::Terminate);
                tokio::time::timeout(END_TIMEOUT, &mut call.reply).await.ok()?
            }
        };
        let value = reply.ok()?.map_err(io::Error::other);
        Some(value.and_then(|value| serde_json::from_value(value).map_err(io::Error::other)))
    }

    pub(super) fn stop(&self, call: &Call, how: Stop) {
        self.send(&Request::Stop { number: call.number, how });
    }

    fn send(&self, request: &Request) {
        match serde_json::to_string(request) {
            // A closed connection is reported by its state.
            Ok(line) => drop(self.requests.lock().as_ref().map(|lines| lines.send(line + "\n"))),
            Err(error) => tracing::error!(%error, "a request to a worker cannot be written"),
        }
    }

    /// Ends the workers, which end with their standard input. `srun` ends with its workers.
    pub(super) fn release(&self) {
        self.requests.lock().take();
    }

    async fn attend(self: Arc<Self>, mut child: Child, workers: usize) {
        self.read_messages(child.stdout.take(), workers).await;
        let status = tokio::time::timeout(END_TIMEOUT, child.wait()).await;
        let status = match status {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no end".to_owned(),
        };
        self.requests.lock().take();
        self.replies.lock().take();
        self.state.send_replace(State::Ended(status));
    }

    async fn read_messages(&self, output: Option<impl AsyncRead + Unpin>, workers: usize) {
        let Some(output) = output else { return };
        let mut output = BufReader::new(output);
        let mut hosts = vec![None; workers];
        let mut line = Vec::new();
        while matches!(output.read_until(b'\n', &mut line).await, Ok(1..)) {
            let text = String::from_utf8_lossy(&line).into_owned();
            line.clear();
            let message = text.split_once(':').and_then(|(rank, message)| {
                let rank: usize = rank.trim().parse().ok()?;
                Some((rank, serde_json::from_str::<Message>(message).ok()?))
            });
            match message {
                Some((rank, Message::Hello(host))) if rank < workers => {
                    hosts[rank] = Some(host);
                    let all: Option<Vec<Host>> = hosts.iter().cloned().collect();
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
                _ => tracing::warn!(line = text, "srun wrote a line that is no message"),
            }
        }
    }
}

async fn write(input: &mut ChildStdin, line: &str) -> io::Result<()> {
    input.write_all(line.as_bytes()).await?;
    input.flush().await
}
