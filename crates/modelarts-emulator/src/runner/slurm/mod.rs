//! Launcher that runs the workers of jobs on the nodes of a Slurm cluster, which queues the jobs.
//! One `srun` starts this program for all workers of a job, in a directory that all nodes share.

mod allocation;
mod check;
mod commands;
pub(crate) mod config;
mod connection;
pub(crate) mod launcher;
mod protocol;
mod run;
#[cfg(feature = "cli")]
pub(crate) mod worker;

use std::{io, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{
    job::worker::Worker,
    metrics::usage::Usage,
    runner::{
        launcher::Run,
        launcher::{Allocation, Launcher, Step},
        slurm::{
            allocation::SlurmAllocation, launcher::SlurmLauncher, protocol::Command, run::SlurmRun,
        },
        worker_files::{Transfer, WorkerFiles},
    },
};

/// Time limit for the usage of a worker. A node that does not respond has no usage.
const USAGE_TIMEOUT: Duration = Duration::from_secs(5);

impl Launcher for SlurmLauncher {
    fn files(&self) -> &WorkerFiles {
        &self.files
    }

    fn prepare<'a>(
        self: Arc<Self>,
        is_own: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            check::end_earlier(is_own).await?;
            let arguments = self.config.check_arguments();
            check::check(&self.site.shared, &self.program, &arguments).await
        })
    }

    fn allocate(self: Arc<Self>, workers: &[Worker], priority: i64) -> Option<Box<dyn Allocation>> {
        let connection = self.connect(workers, priority);
        Some(Box::new(SlurmAllocation {
            connection: connection.map_err(|error| error.to_string()),
            launcher: self,
            workers: workers.to_vec(),
            priority,
            applied: priority,
            reason: String::new(),
        }))
    }

    fn perform(
        self: Arc<Self>,
        worker: Worker,
        step: Step,
        interrupt: CancellationToken,
    ) -> BoxFuture<'static, io::Result<()>> {
        Box::pin(async move {
            let command = Command::Perform(step.clone());
            if let Some(done) = self.call(&worker, command, &interrupt).await {
                return done;
            }
            let Step::Copy(transfer @ Transfer::Output(_)) = step else {
                return Err(io::Error::other("the node was lost"));
            };
            // The outputs of a lost node are still in the shared directory.
            let copy = move || self.files.copy(&worker, transfer, &interrupt);
            let copied = tokio::task::spawn_blocking(copy).await;
            copied.unwrap_or_else(|error| Err(io::Error::other(error)))
        })
    }

    fn requirements(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Vec<String>> {
        Box::pin(async move {
            let never = CancellationToken::new();
            let names = self.call(&worker, Command::Requirements, &never).await;
            names.and_then(Result::ok).unwrap_or_default()
        })
    }

    fn start(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Box<dyn Run>> {
        Box::pin(async move {
            let command = Command::Run { run: worker.run, trial: worker.trial.as_deref().cloned() };
            let connection = self.connection(&worker);
            let call = connection.map(|connection| {
                let call = connection.call(worker.rank, command);
                (connection, call)
            });
            let run: Box<dyn Run> = Box::new(SlurmRun { launcher: self, worker, call, exit: None });
            run
        })
    }

    fn usage(self: Arc<Self>, worker: Worker) -> BoxFuture<'static, Option<Usage>> {
        Box::pin(async move {
            let never = CancellationToken::new();
            let usage = self.call(&worker, Command::Usage, &never);
            let usage = tokio::time::timeout(USAGE_TIMEOUT, usage).await.ok()?;
            usage.and_then(Result::ok).flatten()
        })
    }

    fn kill_all(&self) {
        // SIGTERM to `srun` would kill the workers before they kill their processes.
        for (_, connection) in self.connections.lock().drain() {
            connection.release();
        }
    }
}
