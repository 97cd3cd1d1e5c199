//! Copying of a worker's output to its log files, up to a maximum size.

use std::{
    fs::File,
    io::{self, PipeReader, PipeWriter, Read},
    os::fd::OwnedFd,
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::{net::unix::pipe, task::JoinHandle};

use crate::runner::worker_files::append_capped;

/// Maximum wait for remaining output. Without `/proc`, a process may keep the pipe open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum number of bytes in a pipe of an unprivileged process (`pipe-max-size` of Linux).
const MAX_PIPE_LENGTH: u64 = 1 << 20;

#[derive(Clone, Debug)]
pub(super) struct Pump(Arc<Mutex<PumpState>>);

#[derive(Debug)]
struct PumpState {
    pipe: PipeReader,
    logs: Logs,
}

/// Log files of a worker. The flag of a file is `true` once some of its output has been discarded.
#[derive(Debug)]
struct Logs {
    files: Vec<(File, bool)>,
    cap: u64,
}

impl Pump {
    /// Creates a pump, and returns it with the write end of its pipe.
    pub(super) fn new(logs: Vec<File>, cap: u64) -> io::Result<(Self, PipeWriter)> {
        let (pipe, writer) = io::pipe()?;
        let flags = fcntl_getfl(&pipe)?;
        fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?;
        let files = logs.into_iter().map(|file| (file, false)).collect();
        let logs = Logs { files, cap };
        let state = PumpState { pipe, logs };
        Ok((Self(Arc::new(Mutex::new(state))), writer))
    }

    /// Reads all output written so far, and appends it to the logs.
    pub(super) fn drain(&self) {
        let mut state = self.0.lock();
        let PumpState { pipe, logs } = &mut *state;
        read_available(pipe, |bytes| logs.take(bytes));
    }

    /// Starts a task that reads until all writers have closed the pipe.
    pub(super) fn spawn(&self) -> io::Result<JoinHandle<()>> {
        let state = Arc::clone(&self.0);
        // A second descriptor of the same pipe reports when the pipe is readable.
        let signal = OwnedFd::from(state.lock().pipe.try_clone()?);
        let signal = pipe::Receiver::from_owned_fd(signal)?;
        Ok(tokio::spawn(async move {
            let mut bytes = vec![0; 64 << 10];
            while signal.readable().await.is_ok() {
                let mut state = state.lock();
                // Reading through the runtime makes it detect an empty pipe.
                match signal.try_read(&mut bytes) {
                    Ok(count @ 1..) => state.logs.take(&bytes[..count]),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Ok(0) | Err(_) => break,
                }
            }
        }))
    }

    /// Waits for the remaining output. The future may be dropped, and the method called again.
    pub(super) async fn finish(&self, pumping: &mut JoinHandle<()>) {
        if tokio::time::timeout(DRAIN_TIMEOUT, &mut *pumping).await.is_err() {
            pumping.abort();
        }
        self.drain();
    }
}

impl Logs {
    fn take(&mut self, bytes: &[u8]) {
        for (file, overflowed) in self.files.iter_mut().filter(|(_, overflowed)| !overflowed) {
            match append_capped(file, bytes, self.cap) {
                Ok(is_full) => *overflowed = is_full,
                Err(error) => tracing::warn!(%error, "a log cannot be written"),
            }
        }
    }
}

/// Reads the bytes that are currently in a pipe, so that a process that writes continuously does
/// not keep the reader busy.
fn read_available(pipe: impl Read, mut take: impl FnMut(&[u8])) {
    let mut pipe = pipe.take(MAX_PIPE_LENGTH);
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = pipe.read(&mut bytes) {
        take(&bytes[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_never_stops_is_left_when_a_pipe_would_be_empty() {
        let mut taken = 0;
        read_available(io::repeat(b'y'), |bytes| taken += bytes.len() as u64);
        assert_eq!(taken, MAX_PIPE_LENGTH);
        let mut text = Vec::new();
        read_available(&b"all of it"[..], |bytes| text.extend_from_slice(bytes));
        assert_eq!(text, b"all of it");
    }
}
