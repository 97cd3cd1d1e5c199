//! `Stdout`: buffered output on stdout, and `TaskLines`: the log lines of tasks as text.

use std::{
    fmt::Display,
    io::{self, BufWriter, StdoutLock, Write},
};

use anstream::AutoStream;
use modelarts_ext::jobs::logs::RepeatedLines;

use crate::{
    failure::Failure,
    output::text::one_line,
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

    /// Writes bytes unchanged, such as those of a file.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.0.write_all(bytes)?)
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

/// Log lines of tasks as text. Each begins with the name of its task, such as `worker-0 │ `, and a
/// line that repeats is written three times, followed by the number of its repetitions.
pub(crate) struct TaskLines {
    /// Spaces before the names of tasks; `None` if lines do not begin with a name.
    indent: Option<&'static str>,
    /// How the repetitions of a line are written.
    repetitions: Repetitions,
    known: Vec<TaskLog>,
}

/// How the repetitions of a line are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repetitions {
    /// As lines.
    Raw,
    /// As their number, which also appears while the log grows.
    Live,
    /// As their number.
    Totals,
}

struct TaskLog {
    task: String,
    prefix: String,
    repeated: RepeatedLines,
}

impl TaskLines {
    pub(crate) fn new(indent: Option<&'static str>, repetitions: Repetitions) -> Self {
        Self { indent, repetitions, known: Vec::new() }
    }

    /// Writes the next line of a task.
    pub(crate) fn line(
        &mut self,
        task: &str,
        line: &str,
        mut write: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let repetitions = self.repetitions;
        let log = self.log(task);
        if repetitions != Repetitions::Raw {
            let next = log.repeated.next(line);
            log.write_times(next.times, &mut write)?;
            if !next.is_shown {
                return Ok(());
            }
        }
        write(&log.prefix)?;
        match repetitions {
            Repetitions::Raw => write(line)?,
            // A line must not control the terminal.
            _ => write(&one_line(line.to_owned()))?,
        }
        write("\n")
    }

    /// Writes a note instead of lines of a task.
    pub(crate) fn note(
        &mut self,
        task: &str,
        note: impl Display,
        mut write: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let log = self.log(task);
        let times = log.repeated.end();
        log.write_times(times, &mut write)?;
        log.write_note(note, &mut write)
    }

    /// Writes the numbers of the repetitions with which the logs end at the moment.
    pub(crate) fn end(
        &mut self,
        mut write: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.known.iter_mut().try_for_each(|log| {
            let times = log.repeated.end();
            log.write_times(times, &mut write)
        })
    }

    fn log(&mut self, task: &str) -> &mut TaskLog {
        let known = self.known.iter().position(|known| known.task == task);
        let index = known.unwrap_or_else(|| {
            let name = Terminal::styled(format_args!("{task} │"), Emphasis::Dim);
            let prefix = self.indent.map(|indent| format!("{indent}{name} "));
            let repeated = RepeatedLines::default();
            self.known.push(TaskLog {
                task: task.to_owned(),
                prefix: prefix.unwrap_or_default(),
                repeated: match self.repetitions {
                    Repetitions::Totals => repeated.only_totals(),
                    _ => repeated,
                },
            });
            self.known.len() - 1
        });
        &mut self.known[index]
    }
}

impl TaskLog {
    fn write_times(
        &self,
        times: Option<u64>,
        write: &mut impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match times {
            Some(times) => self.write_note(RepeatedLines::note(times), write),
            None => Ok(()),
        }
    }

    fn write_note(
        &self,
        note: impl Display,
        write: &mut impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        write(&self.prefix)?;
        write(&Terminal::styled(note, Emphasis::Dim))?;
        write("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::{Repetitions::*, *};

    /// Returns the text of these lines, without styles.
    fn text(mut lines: TaskLines, items: &[(&str, &str)]) -> String {
        let mut text = String::new();
        let mut write = |part: &str| {
            text.push_str(&anstream::adapter::strip_str(part).to_string());
            Ok(())
        };
        for (task, line) in items {
            match *line {
                "gap" => lines.note(task, "… lines are missing", &mut write).unwrap(),
                line => lines.line(task, line, &mut write).unwrap(),
            }
        }
        lines.end(&mut write).unwrap();
        text
    }

    #[test]
    fn a_line_that_repeats_is_written_three_times() {
        let full = [("worker-0", "full"); 12];
        let text =
            |indent, repetitions, items: &[_]| text(TaskLines::new(indent, repetitions), items);
        let live = "full\nfull\nfull\n… the line above, 10 times\n… the line above, 12 times\n";
        assert_eq!(text(None, Live, &full), live);
        let totals = "full\nfull\nfull\n… the line above, 12 times\n";
        assert_eq!(text(None, Totals, &full), totals);
        assert_eq!(text(None, Raw, &full), "full\n".repeat(12));
        assert_eq!(text(None, Totals, &[("w", "a\u{1b}[2Jb\tc")]), "a [2Jb c\n");
        // Each task has its own lines.
        let both: Vec<_> = (0..5).flat_map(|_| [("worker-0", "a"), ("worker-1", "b")]).collect();
        let of_both = "worker-0 │ a\nworker-1 │ b\n".repeat(3)
            + "worker-0 │ … the line above, 5 times\nworker-1 │ … the line above, 5 times\n";
        assert_eq!(text(Some(""), Live, &both), of_both);
        // Lines are missing between the repetitions.
        let gap = [("w", "a"), ("w", "a"), ("w", "a"), ("w", "a"), ("w", "gap"), ("w", "a")];
        let of_gap = "a\na\na\n… the line above, 4 times\n… lines are missing\na\n";
        assert_eq!(text(None, Live, &gap), of_gap);
    }
}
