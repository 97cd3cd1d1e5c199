//! `Interrupt`: the signals that end a command while a job continues elsewhere, or while local
//! files must still be removed.

use std::{future, io, task::Poll};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlC as Signal, ctrl_c};

/// Receiver of Ctrl-C, SIGTERM and SIGHUP, which no longer end the process once it exists. It is
/// created before a job and the embedded emulator, so that no id is lost and no file remains.
pub(crate) struct Interrupt {
    /// Streams of the received signals. Other signals keep their effect.
    signals: Vec<Signal>,
    is_received: bool,
}

impl Interrupt {
    pub(crate) fn new() -> Self {
        let received = |signal: io::Result<Signal>| {
            let failed = |error: &io::Error| tracing::debug!(%error, "a signal ends the process");
            signal.inspect_err(failed).ok()
        };
        Self { signals: listen().filter_map(received).collect(), is_received: false }
    }

    /// Waits for a signal. Returns immediately if a signal was received before.
    pub(crate) async fn received(&mut self) {
        if !self.is_received {
            let received = future::poll_fn(|context| {
                let mut signals = self.signals.iter_mut();
                let found = signals.find_map(|signal| match signal.poll_recv(context) {
                    Poll::Ready(received) => received,
                    Poll::Pending => None,
                });
                found.map_or(Poll::Pending, Poll::Ready)
            });
            received.await;
            self.is_received = true;
        }
    }

    pub(crate) fn is_received(&self) -> bool {
        self.is_received
    }

    /// Runs work to its end. Returns `None` if a signal arrives first.
    pub(crate) async fn unless<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.received() => None,
            result = work => Some(result),
        }
    }
}

#[cfg(unix)]
fn listen() -> impl Iterator<Item = io::Result<Signal>> {
    let hangup = (!is_hangup_ignored()).then(SignalKind::hangup);
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
    kinds.into_iter().chain(hangup).map(signal)
}

#[cfg(windows)]
fn listen() -> impl Iterator<Item = io::Result<Signal>> {
    std::iter::once(ctrl_c())
}

/// Returns `true` if the process ignores SIGHUP because its parent did, as `nohup` does to let a
/// process outlive its terminal. Only Linux reports the ignored signals.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit stands for signal 1, SIGHUP.
    mask.is_some_and(|mask| mask & 1 == 1)
}
