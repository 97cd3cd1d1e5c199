//! Reader of a log by line numbers, which reads the lines that the service cuts by the link to the
//! log.

use crate::{
    error::Error,
    jobs::{
        logs::{Logs, item::LogItem, lines::LineReader, link::LinkReader, whole::LineSplitter},
        polling::follower::Part,
    },
};

/// Size of the parts that are returned while a line is read, in bytes. It equals the size of a
/// preview.
const PART: usize = 5 << 20;

/// Reader of one log by line numbers. A line that exceeds a response is read by the link. It is
/// returned in parts of up to 1 MiB.
#[derive(Debug, Default)]
pub(super) struct NumberedReader {
    lines: LineReader,
    fill: Option<Box<LongLine>>,
}

impl NumberedReader {
    /// Returns `true` if no line was read yet.
    pub(super) fn is_new(&self) -> bool {
        self.lines.is_new()
    }

    /// Polls the log once. Returns the new items, and `true` if more items are available without a
    /// pause. `is_last` is `true` if the log does not grow any more.
    pub(super) async fn poll(
        &mut self,
        logs: &Logs,
        is_last: bool,
    ) -> Result<Part<LogItem>, Error> {
        let mut items = Vec::new();
        if self.fill.is_none() {
            let more;
            (items, more) = self.lines.poll(logs).await?;
            let cut_line = self.lines.take_cut_line();
            let end = match cut_line.is_none() && is_last && !more {
                true => self.lines.take_long_end(),
                false => None,
            };
            let may_be_open = end.is_some();
            let Some(text) = cut_line.or(end) else {
                return Ok((items, more));
            };
            let mut line = LongLine::new(text);
            line.may_be_open = may_be_open;
            if self.lines.has_unread_end {
                line.fail(&mut items);
            } else {
                line.link = Some(LinkReader::new(logs, self.lines.link_position, None));
                self.fill = Some(Box::new(line));
            }
            return Ok((items, true));
        }
        self.read_fill(&mut items).await;
        Ok((items, true))
    }

    /// Reads the next part of the long line.
    async fn read_fill(&mut self, items: &mut Vec<LogItem>) {
        let Some(mut line) = self.fill.take() else {
            return;
        };
        let mut size = 0;
        while size < PART {
            let Some(link) = &mut line.link else {
                return;
            };
            let bytes = match link.next().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) if line.may_be_open && matches!(line.search, Search::Found) => {
                    items.extend(line.splitter.finish());
                    self.lines.link_position = link.offset();
                    return;
                }
                Ok(None) => {
                    tracing::debug!("the link leads to another log, the gap remains");
                    return self.fail(*line, items);
                }
                Err(error) => {
                    tracing::debug!(%error, "the log cannot be read by its link, the gap remains");
                    return self.fail(*line, items);
                }
            };
            let end = link.offset();
            size += bytes.len();
            if let Some(rest) = line.push(&bytes, items) {
                self.lines.link_position = end - rest as u64;
                return;
            }
        }
        self.fill = Some(line);
    }

    fn fail(&mut self, line: LongLine, items: &mut Vec<LogItem>) {
        self.lines.has_unread_end = true;
        line.fail(items);
    }

    /// Removes and returns the last line, if it is incomplete.
    pub(super) fn finish(&mut self) -> Option<LogItem> {
        self.lines.finish()
    }
}

/// A line that is read by the link. It is the first line from a position on that begins with the
/// text that the service has returned, because an earlier line with this text would have been cut,
/// too.
#[derive(Debug)]
struct LongLine {
    link: Option<LinkReader>,
    /// Text that the service has returned.
    text: String,
    /// `true` for the last line of a log, which may have no line break.
    may_be_open: bool,
    search: Search,
    splitter: LineSplitter,
}

/// State of the search for a line.
#[derive(Clone, Copy, Debug)]
enum Search {
    /// The bytes up to the next line break belong to another line.
    Other,
    /// The current line begins with this number of bytes of the text.
    Matching(usize),
    /// The current line begins with the text.
    Found,
}

impl LongLine {
    fn new(text: String) -> Self {
        Self {
            link: None,
            text,
            may_be_open: false,
            search: Search::Matching(0),
            splitter: LineSplitter::default(),
        }
    }

    /// Processes bytes of the log. Returns the number of bytes after the line, if they contain its
    /// end.
    fn push(&mut self, mut bytes: &[u8], items: &mut Vec<LogItem>) -> Option<usize> {
        loop {
            let line_end = || bytes.iter().position(|byte| *byte == b'\n');
            match self.search {
                Search::Other => {
                    bytes = &bytes[line_end()? + 1..];
                    self.search = Search::Matching(0);
                }
                Search::Matching(count) => {
                    let expected = &self.text.as_bytes()[count..];
                    let length = expected.len().min(bytes.len());
                    if expected[..length] != bytes[..length] {
                        self.search = Search::Other;
                        continue;
                    }
                    bytes = &bytes[length..];
                    if length < expected.len() {
                        self.search = Search::Matching(count + length);
                        return None;
                    }
                    self.search = Search::Found;
                    items.extend(self.splitter.push(self.text.as_bytes()));
                }
                Search::Found => {
                    let length = line_end().map_or(bytes.len(), |at| at + 1);
                    let (line, rest) = bytes.split_at(length);
                    items.extend(self.splitter.push(line));
                    return line.ends_with(b"\n").then_some(rest.len());
                }
            }
        }
    }

    /// Returns the text that is known, and a gap.
    fn fail(mut self, items: &mut Vec<LogItem>) {
        if !matches!(self.search, Search::Found) {
            items.extend(self.splitter.push(self.text.as_bytes()));
        }
        items.extend(self.splitter.finish());
        items.push(LogItem::Gap { bytes: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_begins_with_the_text_is_found_at_any_place() {
        let log = "no\nlon\nxlong\nlong line\r\nlong again\n";
        for size in 1..=log.len() {
            let mut line = LongLine::new("long".to_owned());
            let (mut items, mut read) = (Vec::new(), 0);
            let rest = log.as_bytes().chunks(size).find_map(|bytes| {
                read += bytes.len();
                line.push(bytes, &mut items)
            });
            assert_eq!(items, [LogItem::Line("long line".into())], "{size}");
            assert_eq!(&log[read - rest.unwrap()..], "long again\n", "{size}");
        }
    }

    #[test]
    fn a_line_that_is_absent_or_incomplete_ends_with_a_gap() {
        for (log, text) in [
            ("", "long"),
            ("other\nlo", "long"),
            ("a\nlong line", "long line"),
        ] {
            let mut line = LongLine::new("long".to_owned());
            let mut items = Vec::new();
            assert_eq!(line.push(log.as_bytes(), &mut items), None);
            line.fail(&mut items);
            let gap = LogItem::Gap { bytes: None };
            assert_eq!(items, [LogItem::Line(text.into()), gap], "{log}");
        }
    }
}
