//! `LogPrinter`: lines of logs as text or JSON.

use modelarts_ext::LogItem;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    failure::Failure,
    output::{self, Format, Output, Repetitions, Stdout, TaskLines},
    terminal::note,
};

/// Logs of a job.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LogDocument {
    /// Lines in the order of their times, and gaps.
    pub(crate) lines: Vec<LogItemRow>,
}

/// A line of a log, or a gap in it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum LogItemRow {
    /// A line.
    Log {
        /// Task, such as `worker-0`.
        task: String,
        /// The line, without its line break.
        line: String,
        /// Number of the line in the log of its task, from 1 on; null if it is not known.
        number: Option<u64>,
    },
    /// Missing lines.
    LogGap {
        /// Task, such as `worker-0`.
        task: String,
        /// Number of missing bytes, if it is known.
        bytes: Option<u64>,
    },
}

/// Printer of log lines. Text is buffered until [`flush`](Self::flush) or a full buffer.
pub(super) struct LogPrinter<'a> {
    output: &'a Output,
    stdout: Stdout,
    lines: TaskLines,
    /// Items of the document that the formats `json` and `yaml` print as a whole.
    items: Vec<LogItemRow>,
}

impl<'a> LogPrinter<'a> {
    pub(super) fn new(output: &'a Output, has_prefix: bool, repetitions: Repetitions) -> Self {
        Self {
            output,
            stdout: Stdout::lock(),
            lines: TaskLines::new(has_prefix.then_some(""), repetitions),
            items: Vec::new(),
        }
    }

    pub(super) fn print(
        &mut self,
        task: &str,
        item: LogItem,
        number: Option<u64>,
    ) -> Result<(), Failure> {
        if self.output.is_text() {
            return self.print_text(task, &item);
        }
        let task = task.to_owned();
        let row = match item {
            LogItem::Line(line) => LogItemRow::Log { task, line, number },
            LogItem::Gap { bytes } => LogItemRow::LogGap { task, bytes },
            _ => return Ok(()),
        };
        if self.output.format == Format::Ndjson {
            return self.output.print_json(&mut self.stdout, &row);
        }
        self.items.push(row);
        Ok(())
    }

    fn print_text(&mut self, task: &str, item: &LogItem) -> Result<(), Failure> {
        match item {
            LogItem::Line(line) => self.lines.line(task, line, |text| self.stdout.write(text)),
            LogItem::Gap { bytes } => {
                self.lines.end(|text| self.stdout.write(text))?;
                self.stdout.flush()?;
                let bytes = bytes.map_or_else(|| "lines".to_owned(), output::bytes);
                note(format_args!("{task}: {bytes} of the log are missing here"));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.stdout.flush()
    }

    /// Prints the items that were read before an error, as [`finish`](Self::finish) does, but
    /// prints no document if there are no items.
    pub(super) fn finish_partly(mut self) -> Result<(), Failure> {
        match self.items.is_empty() {
            true => {
                self.lines.end(|text| self.stdout.write(text))?;
                self.flush()
            }
            false => self.finish(),
        }
    }

    /// Prints the document of the formats `json` and `yaml`, and flushes stdout.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        if matches!(self.output.format, Format::Json | Format::Yaml) {
            let document = LogDocument { lines: std::mem::take(&mut self.items) };
            self.output.print_json(&mut self.stdout, &document)?;
        }
        self.lines.end(|text| self.stdout.write(text))?;
        self.flush()
    }
}
