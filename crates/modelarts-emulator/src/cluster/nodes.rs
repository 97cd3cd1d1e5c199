//! Launcher of workers on the nodes of a batch job, which the program of its first node uses.

use std::{io, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Sleep,
    cluster::connection::{Call, Command, Connection, END_TIMEOUT, Stop},
    job::worker::Worker,
    metrics::usage::Usage,
    runner::{
        launcher::{Exit, Launcher, Loss, Run, Step},
        worker_files::WorkerFiles,
    },
};

/// Time limit for the usage of a worker. A node that does not respond has no usage.
const USAGE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct NodesLauncher {
    pub(super) files: WorkerFiles,
    pub(super) connection: Arc<Connection>,
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
            let command = Command::Perform(step);
            let done = self.connection.result(worker.rank, command, &interrupt).await;
            done.unwrap_or_else(|| Err(io::Error::other("the node was lost")))
        })
    }

    fn requirements(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Vec<String>> {
        Box::pin(async move {
            let never = CancellationToken::new();
            let names = self.connection.result(worker.rank, Command::Requirements, &never).await;
            names.and_then(Result::ok).unwrap_or_default()
        })
    }

    fn start(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Box<dyn Run>> {
        Box::pin(async move {
            let command = Command::Run { run: worker.run, trial: worker.trial.as_deref().cloned() };
            let call = self.connection.call(worker.rank, command);
            let run: Box<dyn Run> =
                Box::new(NodeRun { connection: Arc::clone(&self.connection), call, exit: None });
            run
        })
    }

    fn usage(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Option<Usage>> {
        Box::pin(async move {
            let never = CancellationToken::new();
            let usage = self.connection.result(worker.rank, Command::Usage, &never);
            let usage = tokio::time::timeout(USAGE_TIMEOUT, usage).await.ok()?;
            usage.and_then(Result::ok).flatten()
        })
    }

    fn kill_all(&self) {
        self.connection.release();
    }
}

/// Run of the code of a worker on a node.
struct NodeRun {
    connection: Arc<Connection>,
    call: Call,
    exit: Option<Exit>,
}

impl NodeRun {
    async fn exit(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let exit = match (&mut self.call.reply).await {
            Ok(Ok(Value::Number(code))) => {
                Exit::Code(code.as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(255))
            }
            Ok(reply) => {
                tracing::warn!(?reply, "a worker did not run its code");
                Exit::Code(255)
            }
            Err(_) => Exit::Lost(Loss::NodeFault),
        };
        self.exit = Some(exit);
        exit
    }
}

impl Run for NodeRun {
    fn wait(&mut self) -> BoxFuture<'_, Exit> {
        Box::pin(self.exit())
    }

    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            self.connection.stop(&self.call, Stop::Terminate);
            let exit = tokio::select! {
                exit = self.exit() => Some(exit),
                () = grace => None,
            };
            if let Some(exit) = exit {
                return exit;
            }
            self.connection.stop(&self.call, Stop::Kill);
            let exit = tokio::time::timeout(END_TIMEOUT, self.exit()).await;
            exit.unwrap_or_else(|_| {
                self.connection.release();
                Exit::Lost(Loss::NodeFault)
            })
        })
    }
}
