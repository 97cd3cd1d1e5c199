//! End of a log, read by a preview.

use crate::{
    error::Error,
    jobs::logs::{
        Logs,
        preview::{content, trusted_size},
        printable::{last_state, printable},
    },
};

/// Last lines of a log, oldest first.
#[derive(Debug, Default)]
pub(crate) struct LogTail {
    /// Number of the first of these lines in the log, from 1 on; `None` if the preview did not
    /// contain the whole log.
    pub(crate) first: Option<u64>,
    /// Lines without control characters. For a line that carriage returns overwrite, the last
    /// state.
    pub(crate) lines: Vec<String>,
}

impl Logs {
    /// Reads the lines in the last `max` bytes of the log, of a preview of at most 5 MB.
    ///
    /// # Errors
    /// Returns an error with [`Error::is_not_ready`] if the log does not exist yet.
    pub(crate) async fn tail(&self, max: usize) -> Result<LogTail, Error> {
        let preview = self.preview().await?;
        let content = content(&preview);
        let is_whole = trusted_size(content, &preview) == Some(content.len() as u64);
        let mut start = content.ceil_char_boundary(content.len().saturating_sub(max));
        // The first line may be incomplete.
        if start > 0 && !content[..start].ends_with('\n') {
            start = content[start..]
                .find('\n')
                .map_or(start, |end| start + end + 1);
        }
        let (before, end) = content.split_at(start);
        let before = before.bytes().filter(|byte| *byte == b'\n').count() as u64;
        Ok(LogTail {
            first: is_whole.then_some(before + 1),
            lines: end
                .lines()
                .map(|line| printable(last_state(line)))
                .collect(),
        })
    }
}
