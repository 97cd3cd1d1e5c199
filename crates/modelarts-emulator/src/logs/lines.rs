//! Selection of lines of a log by number. Only one chunk and the selected lines are in memory.

use std::collections::VecDeque;

/// Query for lines. Line numbers start from 1. The base line itself is not included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineQuery {
    /// Maximum number of lines to return; at least 1.
    pub(crate) count: usize,
    /// `true` to select the lines after the base line, `false` to select those before it.
    pub(crate) ascending: bool,
    /// Number of the base line. `None` stands for the beginning or the end of the log.
    pub(crate) base: Option<usize>,
}

impl LineQuery {
    /// Returns the number of lines at the beginning of the log that are not requested.
    pub(crate) fn skip(&self) -> usize {
        match (self.ascending, self.base) {
            (true, Some(base)) => base,
            _ => 0,
        }
    }

    pub(crate) fn last(&self) -> usize {
        match (self.ascending, self.base) {
            (true, _) => self.skip().saturating_add(self.count),
            (false, None) => usize::MAX,
            (false, Some(base)) => base.saturating_sub(1),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Number of the first line.
    pub(crate) first: usize,
    pub(crate) lines: usize,
    pub(crate) content: Vec<u8>,
}

/// Collector of the requested lines from a log that is passed to it in pieces.
#[derive(Debug)]
pub(super) struct LineCollector {
    query: LineQuery,
    /// Maximum size of all kept lines, in bytes.
    max_bytes: usize,
    /// Last lines, at most as many as requested. Only the beginning of a line that is too long.
    kept: VecDeque<Vec<u8>>,
    /// Number of the first kept line.
    first: usize,
    size: usize,
    /// Number of lines of the log that have begun so far.
    lines: usize,
    at_line_start: bool,
}

impl LineCollector {
    /// Creates a collector. `at` is the start of the first piece, before which `lines` lines begin.
    pub(super) fn new(query: LineQuery, max_bytes: u64, (at, lines): (u64, usize)) -> Self {
        Self {
            query,
            // If a line does not fit, one byte more than the limit is kept.
            max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX).min(usize::MAX - 1),
            kept: VecDeque::new(),
            first: lines.max(query.skip()) + 1,
            size: 0,
            lines,
            at_line_start: at == 0,
        }
    }

    /// Processes the next piece of the log. Returns `false` if no more pieces are needed.
    pub(super) fn feed(&mut self, mut piece: &[u8]) -> bool {
        while !piece.is_empty() {
            if self.at_line_start {
                if self.lines == self.query.last() {
                    return false;
                }
                if self.lines >= self.query.skip() {
                    self.kept.push_back(Vec::new());
                }
                self.lines += 1;
                if self.kept.len() > self.query.count {
                    self.drop_first();
                }
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            self.at_line_start = end.is_some();
            let (part, rest) = piece.split_at(end.map_or(piece.len(), |end| end + 1));
            piece = rest;
            let Some(line) = self.kept.back_mut() else {
                continue;
            };
            line.extend_from_slice(part);
            self.size += part.len();
            if self.query.ascending && self.size > self.max_bytes {
                if self.kept.len() > 1 {
                    self.kept.pop_back();
                }
                return false;
            }
            while self.size > self.max_bytes && self.kept.len() > 1 {
                self.drop_first();
            }
            // One byte more than the limit marks the line as too long.
            if let Some(line) = self.kept.back_mut()
                && self.size > self.max_bytes
            {
                line.truncate(self.max_bytes + 1);
                self.size = line.len();
            }
        }
        true
    }

    fn drop_first(&mut self) {
        self.size -= self.kept.pop_front().map_or(0, |line| line.len());
        self.first += 1;
    }

    /// Returns the kept lines, or the part that fits of a longer line, or `None` without any line.
    pub(super) fn finish(self) -> Option<Page> {
        let lines = self.kept.len();
        let mut content: Vec<u8> = self.kept.into_iter().flatten().collect();
        if content.len() > self.max_bytes {
            content.truncate(self.max_bytes);
            content.truncate(whole_characters(&content));
        }
        (lines > 0).then_some(Page { first: self.first, lines, content })
    }
}

/// Returns the length of the content, excluding an incomplete character at its end.
fn whole_characters(content: &[u8]) -> usize {
    let last = content.iter().rposition(|byte| byte & 0xc0 != 0x80);
    let last = last.unwrap_or(0);
    match std::str::from_utf8(&content[last..]) {
        Err(error) if error.error_len().is_none() => last,
        _ => content.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_do_not_fit_are_in_the_next_page() {
        let log = b"123456789\nabc\ndef\n";
        let found = |ascending, base, max_bytes| {
            let query = LineQuery { count: 3, ascending, base };
            let mut collector = LineCollector::new(query, max_bytes, (0, 0));
            collector.feed(log);
            let page = collector.finish().unwrap();
            (page.first, page.lines, page.content)
        };
        assert_eq!(found(true, None, 14), (1, 2, log[..14].to_vec()));
        assert_eq!(found(true, None, 13), (1, 1, log[..10].to_vec()));
        assert_eq!(found(true, None, 5), (1, 1, log[..5].to_vec()));
        assert_eq!(found(false, None, 13), (2, 2, log[10..].to_vec()));
        assert_eq!(found(false, None, 2), (3, 1, log[14..16].to_vec()));
    }
}
