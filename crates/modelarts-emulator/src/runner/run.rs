//! A run of a worker, by whichever runner.

use futures::future::BoxFuture;

use crate::clock::system::Sleep;

/// The end of a worker that was not stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The code ended, with this exit code; 128 + n after signal n.
    Code(i32),
    /// The node died, with everything on it.
    NodeFault,
}

/// A worker whose code has been started.
pub(crate) trait Run: Send {
    /// Waits for the worker to end. May be dropped and called again.
    fn wait(&mut self) -> BoxFuture<'_, Exit>;
    /// The process id, if the worker is a process.
    fn pid(&self) -> Option<u32> {
        None
    }
    /// Asks all processes to end, kills them after `grace`, and returns when they have ended.
    fn terminate(&mut self, grace: Sleep) -> BoxFuture<'_, i32>;
}
