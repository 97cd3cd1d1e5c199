//! `Interrupt`: Ctrl-C while a job continues elsewhere.

use std::{future, io};

#[cfg(unix)]
use tokio::signal::unix::Signal;
#[cfg(windows)]
use tokio::signal::windows::CtrlC as Signal;

/// Reception of Ctrl-C. From its creation on, Ctrl-C does not end the process.
///
/// It is created before a job, so that Ctrl-C during the request that creates the job is not lost:
/// the id of the job is printed in any case.
pub(crate) struct Interrupt {
    /// `None` if the system does not report Ctrl-C, which ends the process then.
    signal: Option<Signal>,
    is_received: bool,
}

impl Interrupt {
    /// Starts the reception.
    pub(crate) fn new() -> Self {
        let signal = listen();
        if let Err(error) = &signal {
            tracing::debug!(%error, "Ctrl-C ends the process");
        }
        Self {
            signal: signal.ok(),
            is_received: false,
        }
    }

    /// Waits for Ctrl-C. Returns at once if it was received before.
    pub(crate) async fn received(&mut self) {
        if self.is_received {
            return;
        }
        let received = match &mut self.signal {
            Some(signal) => signal.recv().await,
            None => None,
        };
        if received.is_none() {
            future::pending::<()>().await;
        }
        self.is_received = true;
    }

    /// Returns `true` if a method has returned because of Ctrl-C.
    pub(crate) fn is_received(&self) -> bool {
        self.is_received
    }

    /// Runs work until its end; `None` if Ctrl-C arrives before.
    pub(crate) async fn unless<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.received() => None,
            result = work => Some(result),
        }
    }
}

#[cfg(unix)]
fn listen() -> io::Result<Signal> {
    use tokio::signal::unix::{SignalKind, signal};

    signal(SignalKind::interrupt())
}

#[cfg(windows)]
fn listen() -> io::Result<Signal> {
    tokio::signal::windows::ctrl_c()
}
