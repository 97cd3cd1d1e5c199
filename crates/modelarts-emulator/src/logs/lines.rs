//! Search for lines of a log by their numbers, chunk by chunk, so that only one chunk is in memory.
//! The first chunk is found by the [`index`](crate::logs::index).

use std::collections::VecDeque;

/// The lines of a request. Numbers start from 1; the base line itself is not included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineQuery {
    /// Maximum number of lines to return; at least 1.
    pub(crate) count: usize,
    /// The lines after the base line instead of those before it.
    pub(crate) ascending: bool,
    /// Default: the beginning or the end of the log.
    pub(crate) base: Option<usize>,
}

impl LineQuery {
    /// Number of lines at the beginning of the log that are not requested.
    pub(crate) fn skip(&self) -> usize {
        match (self.ascending, self.base) {
            (true, Some(base)) => base,
            _ => 0,
        }
    }

    /// The highest requested line number.
    pub(crate) fn last(&self) -> usize {
        match (self.ascending, self.base) {
            (true, _) => self.skip().saturating_add(self.count),
            (false, None) => usize::MAX,
            (false, Some(base)) => base.saturating_sub(1),
        }
    }
}

/// A search that takes a log in pieces.
#[derive(Debug)]
pub(super) struct LineFinder {
    query: LineQuery,
    /// Maximum size in bytes of the lines.
    max_bytes: u64,
    /// Positions of the last line starts, at most as many as requested.
    line_starts: VecDeque<u64>,
    /// Number of lines that have begun.
    lines: usize,
    /// Number of bytes searched.
    at: u64,
    /// The next byte starts a line.
    at_line_start: bool,
}

/// The position of the requested lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundLines {
    /// The number of the first line.
    pub(super) first: usize,
    pub(super) lines: usize,
    /// The range of their bytes.
    pub(super) start: u64,
    pub(super) end: u64,
    /// The only line is too long, and only its beginning is returned.
    pub(super) is_cut: bool,
}

impl LineFinder {
    /// Creates a search. Beyond `max_bytes` bytes, only as many lines are found as fit. The first
    /// piece starts at the position `at`, before which `lines` lines begin, none of them requested.
    pub(super) fn new(query: LineQuery, max_bytes: u64, (at, lines): (u64, usize)) -> Self {
        Self {
            query,
            max_bytes,
            line_starts: VecDeque::new(),
            lines,
            at,
            at_line_start: at == 0,
        }
    }

    /// The searched length: the position of the next piece.
    pub(super) fn position(&self) -> u64 {
        self.at
    }

    /// Takes the next piece. Returns `false` if no more is needed.
    pub(super) fn feed(&mut self, mut piece: &[u8]) -> bool {
        let (skip, stop) = (self.query.skip(), self.query.last());
        let ascending = self.query.ascending;
        while !piece.is_empty() {
            let first = self.line_starts.front();
            if ascending && first.is_some_and(|first| self.at - first > self.max_bytes) {
                return false;
            }
            if self.at_line_start {
                if self.lines == stop {
                    return false;
                }
                if self.lines >= skip {
                    self.line_starts.push_back(self.at);
                    if self.line_starts.len() > self.query.count {
                        self.line_starts.pop_front();
                    }
                }
                self.lines += 1;
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            self.at_line_start = end.is_some();
            let (line, rest) = piece.split_at(end.map_or(piece.len(), |end| end + 1));
            self.at += line.len() as u64;
            piece = rest;
        }
        true
    }

    /// The lines, once the log has ended or no more is needed. If not all of them fit, those next
    /// to the base line; of a single line that does not fit, its beginning. Returns `None` if there
    /// are no such lines.
    pub(super) fn finish(mut self) -> Option<FoundLines> {
        let max_bytes = self.max_bytes;
        let first = self.lines - self.line_starts.len() + 1;
        let mut found = FoundLines {
            first,
            lines: self.line_starts.len(),
            start: *self.line_starts.front()?,
            end: self.at,
            is_cut: false,
        };
        while found.end - found.start > max_bytes && found.lines > 1 {
            if self.query.ascending {
                found.end = self.line_starts.pop_back()?;
            } else {
                self.line_starts.pop_front();
                found.start = *self.line_starts.front()?;
                found.first += 1;
            }
            found.lines -= 1;
        }
        if found.end - found.start > max_bytes {
            found.end = found.start + max_bytes;
            found.is_cut = true;
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_do_not_fit_are_in_the_next_page() {
        let log = b"123456789\nabc\ndef\n";
        let found = |ascending, base, max_bytes| {
            let query = LineQuery {
                count: 3,
                ascending,
                base,
            };
            let mut finder = LineFinder::new(query, max_bytes, (0, 0));
            finder.feed(log);
            let found = finder.finish().unwrap();
            let bytes = found.start as usize..found.end as usize;
            (found.first, found.lines, &log[bytes])
        };
        assert_eq!(found(true, None, 14), (1, 2, &log[..14]));
        assert_eq!(found(true, None, 13), (1, 1, &log[..10]));
        assert_eq!(found(true, None, 5), (1, 1, &log[..5]));
        assert_eq!(found(false, None, 13), (2, 2, &log[10..]));
        assert_eq!(found(false, None, 2), (3, 1, &log[14..16]));
    }
}
