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
    /// Streams of the received signals, with their names. Other signals keep their effect.
    signals: Vec<(&'static str, Signal)>,
    received: Option<&'static str>,
}

impl Interrupt {
    pub(crate) fn new() -> Self {
        let received = |(name, signal): (&'static str, io::Result<Signal>)| {
            let failed = |error: &io::Error| tracing::debug!(%error, "a signal ends the process");
            Some((name, signal.inspect_err(failed).ok()?))
        };
        Self { signals: listen().filter_map(received).collect(), received: None }
    }

    /// Waits for a signal. Returns immediately if a signal was received before.
    pub(crate) async fn received(&mut self) {
        if self.received.is_none() {
            let received = future::poll_fn(|context| {
                let mut signals = self.signals.iter_mut();
                let found = signals.find_map(|(name, signal)| match signal.poll_recv(context) {
                    Poll::Ready(received) => received.map(|()| *name),
                    Poll::Pending => None,
                });
                found.map_or(Poll::Pending, Poll::Ready)
            });
            self.received = Some(received.await);
        }
    }

    pub(crate) fn is_received(&self) -> bool {
        self.received.is_some()
    }

    /// Forgets the received signal, so that the next one can be waited for. Returns its name.
    #[cfg(unix)]
    pub(crate) fn take(&mut self) -> Option<&'static str> {
        self.received.take()
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
fn listen() -> impl Iterator<Item = (&'static str, io::Result<Signal>)> {
    let hangup = (!is_hangup_ignored()).then(|| ("SIGHUP", SignalKind::hangup()));
    let kinds = [("Ctrl-C", SignalKind::interrupt()), ("SIGTERM", SignalKind::terminate())];
    kinds.into_iter().chain(hangup).map(|(name, kind)| (name, signal(kind)))
}

#[cfg(windows)]
fn listen() -> impl Iterator<Item = (&'static str, io::Result<Signal>)> {
    std::iter::once(("Ctrl-C", ctrl_c()))
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
