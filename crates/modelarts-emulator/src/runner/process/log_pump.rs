//! Copying of the output of a worker's processes to its log files, up to a size.

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

/// Time to wait for the rest of the output after all known processes have ended. Without `/proc`, a
/// process that has left its group may keep the pipe open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum number of bytes in a pipe of an unprivileged process (`pipe-max-size` of Linux).
const MAX_PIPE_LENGTH: u64 = 1 << 20;

/// The reader of one worker's pipe.
#[derive(Clone, Debug)]
pub(super) struct Pump(Arc<Mutex<PumpState>>);

#[derive(Debug)]
struct PumpState {
    pipe: PipeReader,
    logs: Vec<Log>,
    /// Maximum size in bytes of a log.
    cap: u64,
    ended: bool,
}

#[derive(Debug)]
struct Log {
    file: File,
    overflowed: bool,
}

impl Pump {
    /// Creates a pump into logs, and the end of the pipe for the processes.
    pub(super) fn new(logs: Vec<File>, cap: u64) -> io::Result<(Self, PipeWriter)> {
        let (pipe, writer) = io::pipe()?;
        let flags = fcntl_getfl(&pipe)?;
        fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?;
        let logs = logs.into_iter().map(|file| Log {
            file,
            overflowed: false,
        });
        let state = PumpState {
            pipe,
            logs: logs.collect(),
            cap,
            ended: false,
        };
        Ok((Self(Arc::new(Mutex::new(state))), writer))
    }

    /// Reads all output written so far, so that the log contains it.
    pub(super) fn drain(&self) {
        self.0.lock().drain();
    }

    /// Starts to read until all writers have ended.
    pub(super) fn spawn(&self) -> io::Result<JoinHandle<()>> {
        let state = Arc::clone(&self.0);
        // A second descriptor of the same pipe, which reports when it can be read.
        let signal = OwnedFd::from(state.lock().pipe.try_clone()?);
        let signal = pipe::Receiver::from_owned_fd(signal)?;
        Ok(tokio::spawn(async move {
            let mut bytes = vec![0; 64 << 10];
            while signal.readable().await.is_ok() {
                let mut state = state.lock();
                // Read here, so that the runtime notices when the pipe is empty.
                match signal.try_read(&mut bytes) {
                    Ok(0) => state.ended = true,
                    Ok(count) => state.take(&bytes[..count]),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => state.ended = true,
                }
                if state.ended {
                    break;
                }
            }
        }))
    }

    /// Waits for the rest of the output. May be dropped and called again.
    pub(super) async fn finish(&self, pumping: &mut JoinHandle<()>) {
        if tokio::time::timeout(DRAIN_TIMEOUT, &mut *pumping)
            .await
            .is_err()
        {
            pumping.abort();
        }
        self.drain();
    }
}

impl PumpState {
    fn drain(&mut self) {
        let (logs, cap) = (&mut self.logs, self.cap);
        read_available(&self.pipe, |bytes| take(logs, cap, bytes));
    }

    fn take(&mut self, bytes: &[u8]) {
        take(&mut self.logs, self.cap, bytes);
    }
}

/// Reads the bytes that are in a pipe, and no bytes written meanwhile: a process that never stops
/// writing would keep the reader busy for ever.
fn read_available(pipe: impl Read, mut take: impl FnMut(&[u8])) {
    let mut pipe = pipe.take(MAX_PIPE_LENGTH);
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = pipe.read(&mut bytes) {
        take(&bytes[..count]);
    }
}

fn take(logs: &mut [Log], cap: u64, bytes: &[u8]) {
    for log in logs {
        if let Err(error) = log.take(bytes, cap) {
            tracing::warn!(%error, "a log cannot be written");
        }
    }
}

impl Log {
    fn take(&mut self, bytes: &[u8], cap: u64) -> io::Result<()> {
        if !self.overflowed {
            self.overflowed = append_capped(&mut self.file, bytes, cap)?;
        }
        Ok(())
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
