//! Interface of a run of a worker, independent of the runner.

use futures::future::BoxFuture;

use crate::clock::system::Sleep;

/// Outcome of a run that ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The code ended with this exit code, or with 128 + n after signal n.
    Code(i32),
    /// The nodes were lost, which ended all processes on them.
    Lost(Loss),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    NodeFault,
    #[cfg(feature = "slurm")]
    Preempted,
    /// An operator of the nodes ended the job.
    #[cfg(feature = "slurm")]
    Cancelled,
}

/// Run of a worker whose code has been started.
pub(crate) trait Run: Send {
    /// Waits for the run to end. The future may be dropped, and the method called again.
    fn wait(&mut self) -> BoxFuture<'_, Exit>;
    /// Returns the process id if the worker is a process.
    fn pid(&self) -> Option<u32> {
        None
    }
    /// Requests the processes to end, kills them after `grace`, and waits for their end.
    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, Exit>;
}
