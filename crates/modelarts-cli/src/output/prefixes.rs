//! `TaskPrefixes`: names of tasks before the lines of their logs.

use crate::terminal::{Emphasis, Terminal};

/// Texts before the lines of each task, such as `worker-0 │ `. Each is formatted once.
pub(crate) struct TaskPrefixes {
    /// Blanks before the names.
    indent: &'static str,
    /// Tasks with their texts.
    known: Vec<(String, String)>,
}

impl TaskPrefixes {
    pub(crate) fn new(indent: &'static str) -> Self {
        Self { indent, known: Vec::new() }
    }

    /// Returns the text before a line of the task.
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
