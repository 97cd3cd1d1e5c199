//! `Stdout`: buffered output on stdout, and the task names before log lines.

use std::io::{self, BufWriter, StdoutLock, Write};

use anstream::AutoStream;

use crate::{
    failure::Failure,
    terminal::{Emphasis, Terminal},
};

/// Buffered stdout. Styles are removed if colours are disabled. A write error ends the command,
/// without a message if the reader has closed stdout.
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

    /// Writes the buffer, for output that a reader waits for.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.0.flush()?)
    }
}

/// Prefixes of the log lines of each task, such as `worker-0 │ `. Each is formatted once.
pub(crate) struct TaskPrefixes {
    /// Spaces before the task names.
    indent: &'static str,
    known: Vec<(String, String)>,
}

impl TaskPrefixes {
    pub(crate) fn new(indent: &'static str) -> Self {
        Self { indent, known: Vec::new() }
    }

    pub(crate) fn of(&mut self, task: &str) -> &str {
        let known = self.known.iter().position(|(known, _)| known == task);
        let index = known.unwrap_or_else(|| {
            let prefix = Terminal::styled(format_args!("{task} │"), Emphasis::Dim);
            self.known.push((task.to_owned(), format!("{}{prefix} ", self.indent)));
            self.known.len() - 1
        });
        &self.known[index].1
    }
}
