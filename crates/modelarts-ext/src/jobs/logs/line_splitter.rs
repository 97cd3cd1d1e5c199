//! Items of a log, and a splitter of the bytes of a log into lines.

use serde::Serialize;

/// Maximum length of a line, in bytes, which bounds the memory.
pub(super) const MAX_LINE: usize = 1 << 20;

/// Item of a followed log. As JSON, it is `{"line": "epoch 1"}` or `{"gap": {"bytes": 4096}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogItem {
    /// Line of the log, without its line break. A line of more than 1 MiB is split into parts of up
    /// to 1 MiB.
    Line(String),
    /// Missing lines, or the missing end of a line:
    ///
    /// - The log grew faster than it was polled, and cannot be read by its link.
    /// - The log was replaced, as by a restart of its task. The lines before the gap belong to the
    ///   earlier log, whose last lines may be missing.
    /// - The service deleted the log, or no longer has the log.
    Gap {
        /// Number of missing bytes, if the service states the length of the log.
        bytes: Option<u64>,
    },
}

/// Splitter of the bytes of a log into lines, which holds the beginning of an incomplete line. A
/// line that is longer than 1 MiB is returned in parts of whole characters.
#[derive(Debug, Default)]
pub(super) struct LineSplitter(Vec<u8>);

impl LineSplitter {
    /// Returns `true` if the last line is incomplete.
    pub(super) fn has_incomplete_line(&self) -> bool {
        !self.0.is_empty()
    }

    /// Adds bytes, and returns the lines that the bytes complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<LogItem> {
        let mut items = Vec::new();
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            self.append(&bytes[..at], &mut items);
            if self.0.ends_with(b"\r") {
                self.0.pop();
            }
            items.push(self.take());
            bytes = &bytes[at + 1..];
        }
        self.append(bytes, &mut items);
        items
    }

    /// Removes and returns the last line if the line is incomplete.
    pub(super) fn finish(&mut self) -> Option<LogItem> {
        (!self.0.is_empty()).then(|| self.take())
    }

    /// Appends to the incomplete line. Adds parts that reach the maximum length to `items`.
    fn append(&mut self, mut bytes: &[u8], items: &mut Vec<LogItem>) {
        while self.0.len() + bytes.len() > MAX_LINE {
            let (fits, rest) = bytes.split_at(MAX_LINE - self.0.len());
            self.0.extend_from_slice(fits);
            // An incomplete character at the end of a part is moved to the next part.
            let start = match std::str::from_utf8(&self.0) {
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                _ => self.0.len(),
            };
            let next = self.0.split_off(start);
            items.push(self.take());
            self.0 = next;
            bytes = rest;
        }
        self.0.extend_from_slice(bytes);
    }

    fn take(&mut self) -> LogItem {
        let line = String::from_utf8(std::mem::take(&mut self.0));
        LogItem::Line(
            line.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(parts: &[&[u8]]) -> Vec<String> {
        let mut splitter = LineSplitter::default();
        let mut items: Vec<_> = parts.iter().flat_map(|part| splitter.push(part)).collect();
        items.extend(splitter.finish());
        let lines = items.into_iter().map(|item| match item {
            LogItem::Line(line) => line,
            LogItem::Gap { .. } => "gap".to_owned(),
        });
        lines.collect()
    }

    #[test]
    fn bytes_are_split_into_lines_at_any_place() {
        let text = "one\r\n\näöü\rx\nno end €";
        let lines = ["one", "", "äöü\rx", "no end €"];
        for size in 1..=text.len() {
            let parts: Vec<_> = text.as_bytes().chunks(size).collect();
            assert_eq!(split(&parts), lines, "{size}");
        }
        assert_eq!(split(&[b"a\xff\xe2\n\xe2\x82"]), ["a\u{fffd}\u{fffd}", "\u{fffd}"]);
        assert_eq!(split(&[b"end\n"]), ["end"]);
        assert_eq!(split(&[]), [""; 0]);
    }

    #[test]
    fn a_line_that_does_not_end_comes_in_parts_of_whole_characters() {
        let text = format!("x{}", "€".repeat(MAX_LINE));
        let parts: Vec<_> = text.as_bytes().chunks(70_000).collect();
        let lines = split(&parts);
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.len() <= MAX_LINE));
        assert!(lines.concat() == text);
    }
}
