//! `Stdout`: buffered writing to stdout.

use std::io::{self, BufWriter, StdoutLock, Write};

use anstream::AutoStream;

use crate::failure::Failure;

/// Stdout with a buffer. Styles are removed where colours are off. An error of writing ends the
/// command; if the reader is gone, without a message.
pub(crate) struct Stdout(BufWriter<AutoStream<StdoutLock<'static>>>);

impl Stdout {
    pub(crate) fn lock() -> Self {
        let stdout = io::stdout();
        let choice = AutoStream::choice(&stdout);
        let stream = AutoStream::new(stdout.lock(), choice);
        Self(BufWriter::with_capacity(1 << 16, stream))
    }

    pub(crate) fn write(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.0.write_all(text.as_bytes())?)
    }

    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.write(text)?;
        self.write("\n")
    }

    /// Sends the buffer, for output that a reader waits for.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.0.flush()?)
    }
}
