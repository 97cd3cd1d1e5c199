//! Finds lines in a log by their numbers, going through it piece by piece: however long the log is,
//! only a piece of it and what is asked for is in memory.

use std::collections::VecDeque;

/// Which lines are asked for. They have numbers from 1; the base line itself is not given again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// At most so many, 1 at least.
    pub(crate) count: usize,
    /// Those behind the base line, and not those before it.
    pub(crate) ascending: bool,
    /// If not given, the beginning or the end of the log.
    pub(crate) base: Option<usize>,
}

/// Takes a log from its beginning, in pieces.
#[derive(Debug)]
pub(crate) struct Finder {
    wanted: Wanted,
    /// Where the last lines begin that may be wanted, at most as many as are.
    starts: VecDeque<u64>,
    /// So many lines have begun.
    lines: usize,
    /// How far the log has been looked at.
    at: u64,
    /// What comes next begins a line.
    fresh: bool,
}

/// Where the lines are that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The number of the first one.
    pub(crate) first: usize,
    pub(crate) lines: usize,
    /// Their bytes.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Finder {
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            starts: VecDeque::new(),
            lines: 0,
            at: 0,
            fresh: true,
        }
    }

    /// How far the log has been looked at: where the next piece begins.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Takes the next piece. False: no more is needed.
    pub(crate) fn take(&mut self, mut piece: &[u8]) -> bool {
        let (skip, stop) = match (self.wanted.ascending, self.wanted.base) {
            (true, base) => {
                let skip = base.unwrap_or(0);
                (skip, Some(skip.saturating_add(self.wanted.count)))
            }
            (false, base) => (0, base.map(|base| base.saturating_sub(1))),
        };
        while !piece.is_empty() {
            if self.fresh {
                if Some(self.lines) == stop {
                    return false;
                }
                if self.lines >= skip {
                    self.starts.push_back(self.at);
                    if self.starts.len() > self.wanted.count {
                        self.starts.pop_front();
                    }
                }
                self.lines += 1;
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            self.fresh = end.is_some();
            let (line, rest) = piece.split_at(end.map_or(piece.len(), |end| end + 1));
            self.at += line.len() as u64;
            piece = rest;
        }
        true
    }

    /// The lines, after the log has come to its end or no more was needed. Of more than `most` bytes
    /// only as many lines as fit, those next to the base line; of a line that is longer by itself,
    /// the beginning. `None`: there are no such lines.
    pub(crate) fn found(mut self, most: u64) -> Option<Found> {
        let first = self.lines - self.starts.len() + 1;
        let mut found = Found {
            first,
            lines: self.starts.len(),
            start: *self.starts.front()?,
            end: self.at,
        };
        while found.end - found.start > most && found.lines > 1 {
            if self.wanted.ascending {
                found.end = self.starts.pop_back()?;
            } else {
                self.starts.pop_front();
                found.start = *self.starts.front()?;
                found.first += 1;
            }
            found.lines -= 1;
        }
        found.end = found.end.min(found.start.saturating_add(most));
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a look at the whole log gives: the number of the first line, how many, their text.
    fn plain(log: &str, wanted: Wanted) -> (usize, usize, String) {
        let all: Vec<&str> = log.split_inclusive('\n').collect();
        let (from, to) = match (wanted.ascending, wanted.base) {
            (true, base) => {
                let from = base.unwrap_or(0).min(all.len());
                (from, (from + wanted.count).min(all.len()))
            }
            (false, base) => {
                let to = base.map_or(all.len(), |base| base.saturating_sub(1).min(all.len()));
                (to.saturating_sub(wanted.count), to)
            }
        };
        (from + 1, to - from, all[from..to].concat())
    }

    #[test]
    fn lines_are_those_of_the_whole_log() {
        let logs = [
            "",
            "\n",
            "a",
            "a\n\nbb\n",
            "one\ntwo\nthree\nfour",
            "\n\n\nx\n",
        ];
        for log in logs {
            for piece in [1, 2, 3, 100] {
                for count in [1, 2, 3, 500] {
                    for ascending in [true, false] {
                        for base in [None, Some(0), Some(1), Some(2), Some(3), Some(5), Some(9)] {
                            let wanted = Wanted {
                                count,
                                ascending,
                                base,
                            };
                            let mut finder = Finder::new(wanted);
                            for piece in log.as_bytes().chunks(piece) {
                                if !finder.take(piece) {
                                    break;
                                }
                            }
                            let (first, lines, text) = plain(log, wanted);
                            let found = finder.found(u64::MAX).map(|found| {
                                let bytes = found.start as usize..found.end as usize;
                                (found.first, found.lines, log[bytes].to_owned())
                            });
                            let right = (lines > 0).then_some((first, lines, text));
                            assert_eq!(found, right, "{log:?} {piece} {wanted:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_left_for_the_next_time() {
        let log = b"123456789\nabc\ndef\n";
        let found = |ascending, base, most| {
            let mut finder = Finder::new(Wanted {
                count: 3,
                ascending,
                base,
            });
            finder.take(log);
            let found = finder.found(most).unwrap();
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
