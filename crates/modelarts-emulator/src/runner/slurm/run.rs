//! Run of the code of a worker on a node of a Slurm cluster.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::{
    clock::Sleep,
    job::worker::Worker,
    runner::{
        launcher::{Exit, Loss, Run},
        slurm::{
            connection::{Call, Connection, END_TIMEOUT, State},
            launcher::SlurmLauncher,
            protocol::Stop,
        },
    },
};

pub(super) struct SlurmRun {
    pub(super) launcher: Arc<SlurmLauncher>,
    pub(super) worker: Worker,
    /// Connection and request of the run. `None` if the node was lost before the run.
    pub(super) call: Option<(Arc<Connection>, Call)>,
    pub(super) exit: Option<Exit>,
}

impl SlurmRun {
    async fn exit(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let reply = match &mut self.call {
            Some((_, call)) => (&mut call.reply).await.ok(),
            None => None,
        };
        let exit = match reply {
            Some(Ok(Value::Number(code))) => {
                Exit::Code(code.as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(255))
            }
            Some(reply) => {
                tracing::warn!(job = self.worker.job_id, ?reply, "the worker did not run its code");
                Exit::Code(255)
            }
            None => self.exit_of_lost_node(),
        };
        self.exit = Some(exit);
        exit
    }

    fn exit_of_lost_node(&self) -> Exit {
        if let Some(code) = self.launcher.recorded_exit(&self.worker) {
            return Exit::Code(code);
        }
        let connection = self.call.as_ref().map(|(connection, _)| connection);
        let (exit, cause) = match connection.map(|connection| connection.state().borrow().clone()) {
            Some(State::Ended { exit, cause }) => (exit, cause),
            _ => (Exit::Lost(Loss::NodeFault), String::new()),
        };
        let loss = match exit {
            Exit::Lost(Loss::NodeFault | Loss::Evicted) => "a node of the job failed",
            Exit::Lost(Loss::Preempted) => "the job was preempted",
            Exit::Lost(Loss::Cancelled) => "the job was cancelled in Slurm",
            Exit::Code(137) => "the job exceeded its memory in Slurm",
            Exit::Code(_) => "the job exceeded its time limit in Slurm",
        };
        // The state of the job reports the loss as well.
        let _ = self.launcher.files.log(&self.worker, &format!("{loss}: {cause}"));
        exit
    }

    /// Ends `srun`, because the worker does not respond. Returns the loss of its node.
    fn give_up(&self) -> Exit {
        if let Some((connection, _)) = &self.call {
            connection.release();
        }
        Exit::Lost(Loss::NodeFault)
    }

    fn stop(&self, how: Stop) {
        if let Some((connection, call)) = &self.call {
            connection.stop(call.number, how);
        }
    }
}

impl Run for SlurmRun {
    fn wait(&mut self) -> BoxFuture<'_, Exit> {
        Box::pin(self.exit())
    }

    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            self.stop(Stop::Terminate);
            let exit = tokio::select! {
                exit = self.exit() => Some(exit),
                () = grace => None,
            };
            match exit {
                Some(exit) => exit,
                None => {
                    self.stop(Stop::Kill);
                    match tokio::time::timeout(END_TIMEOUT, self.exit()).await {
                        Ok(exit) => exit,
                        Err(_) => self.give_up(),
                    }
                }
            }
        })
    }
}
