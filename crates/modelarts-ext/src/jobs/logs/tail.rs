//! End of a log, read by a preview.

use crate::{
    error::Error,
    jobs::logs::{Logs, preview::LogEnd},
};

/// Number of the last lines of a log in the result of a wait and in a diagnosis.
pub(crate) const LAST_LINES: usize = 10;

/// Last lines of a log, oldest first.
#[derive(Debug, Default)]
pub(crate) struct LogTail {
    /// Number of the first line of `lines` in the log, counted from 1. `None` if the preview did
    /// not contain the whole log.
    pub(crate) first: Option<u64>,
    /// Lines without control characters, each in its last state.
    pub(crate) lines: Vec<String>,
}

impl Logs {
    /// Reads the lines in the last `max` bytes of the log, from a preview of at most 5 MB.
    pub(crate) async fn tail(&self, max: usize) -> Result<LogTail, Error> {
        let LogEnd { text, is_whole } = self.end().await?;
        let mut start = text.ceil_char_boundary(text.len().saturating_sub(max));
        // The first line may be incomplete.
        if start > 0 && !text[..start].ends_with('\n') {
            start = text[start..].find('\n').map_or(start, |end| start + end + 1);
        }
        let (before, end) = text.split_at(start);
        let before = before.bytes().filter(|byte| *byte == b'\n').count() as u64;
        Ok(LogTail {
            first: is_whole.then_some(before + 1),
            lines: end.lines().map(|line| printable(last_state(line))).collect(),
        })
    }

    /// Returns the last lines of the log, oldest first, each cut to the last `max_line` characters.
    /// For a line that carriage returns overwrite, the last state is returned.
    pub(crate) async fn last_lines(
        &self,
        count: usize,
        max_line: usize,
    ) -> Result<Vec<String>, Error> {
        let end = self.end().await?;
        let lines = end.text.trim_end().lines().rev().take(count);
        let mut lines: Vec<String> = lines
            .map(|line| {
                let line = last_state(line);
                let start = line.char_indices().rev().nth(max_line.saturating_sub(1));
                line[start.map_or(0, |(at, _)| at)..].to_owned()
            })
            .collect();
        lines.reverse();
        Ok(lines)
    }
}

/// Returns the last state of a line that carriage returns overwrite, such as a progress bar.
fn last_state(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or_default()
}

/// Returns a line of a log without terminal escape sequences or control characters except tabs.
pub(crate) fn printable(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            // An escape sequence consists of ESC, `[`, parameters, and a final character.
            '\u{1b}' if letters.as_str().starts_with('[') => {
                letters.next();
                letters.find(|letter| ('@'..='~').contains(letter));
            }
            '\t' => text.push(letter),
            _ if letter.is_control() => {}
            _ => text.push(letter),
        }
    }
    text
}
