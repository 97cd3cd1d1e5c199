//! `Search`: search for lines of a spool that match an expression.

use std::{io, ops::Range, sync::Weak};

use regex::{Regex, RegexBuilder};

use crate::live::{
    spool::{Spool, View},
    text::plain,
};

/// Maximum size of a compiled expression, in bytes.
const MAX_EXPRESSION: usize = 1 << 20;
/// Number of lines that a backward search reads at once.
const BLOCK: u64 = 4096;

/// Condition on the text of lines.
#[derive(Clone, Debug)]
pub(crate) struct Search(pub(crate) Regex);

/// Caller of a search. The search is cancelled when the caller no longer exists.
pub(crate) struct Caller(Weak<()>);

impl Caller {
    /// Number of lines between two checks of the caller.
    const LINES: u64 = 4096;

    /// Creates a caller that exists as long as the referenced value.
    pub(crate) fn new(waiting: Weak<()>) -> Self {
        Self(waiting)
    }

    /// Returns an error if the caller no longer exists. Checks only some values of `number`.
    fn check(&self, number: u64) -> io::Result<()> {
        match number.is_multiple_of(Self::LINES) && self.0.strong_count() == 0 {
            true => Err(io::Error::other("the search was cancelled")),
            false => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Next,
    Previous,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Number of the line, from 0.
    pub(crate) line: u64,
    /// `true` if the search continued beyond the end or the beginning of the lines.
    pub(crate) is_wrapped: bool,
}

impl Search {
    /// Parses a plain text or a regular expression. The error is a sentence.
    pub(crate) fn parse(
        text: &str,
        is_expression: bool,
        is_case_sensitive: bool,
    ) -> Result<Self, String> {
        let escaped;
        let expression = match is_expression {
            true => text,
            false => {
                escaped = regex::escape(text);
                &escaped
            }
        };
        let compiled = RegexBuilder::new(expression)
            .case_insensitive(!is_case_sensitive)
            .size_limit(MAX_EXPRESSION)
            .build();
        compiled.map(Self).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => {
                "the regular expression must be simpler: its repetitions are too large".to_owned()
            }
            error => {
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default();
                let reason = reason.strip_prefix("error: ").unwrap_or(reason);
                format!(
                    "the search must be a regular expression: {reason}; switch off regular \
                     expressions to search for the text itself"
                )
            }
        })
    }
}

impl Spool {
    /// Returns the next matching line after or before `from`, which comes last. Continues at the
    /// other end. Without `from`, begins at the first or at the last line.
    pub(crate) fn find(
        &self,
        view: View,
        search: &Search,
        from: Option<u64>,
        direction: Direction,
        caller: &Caller,
    ) -> io::Result<Option<Hit>> {
        let end = self.lines(view);
        let (first, second) = match (direction, from) {
            (_, None) => (0..end, 0..0),
            (Direction::Next, Some(from)) => {
                let from = from.saturating_add(1).min(end);
                (from..end, 0..from)
            }
            (Direction::Previous, Some(from)) => {
                let from = from.min(end);
                (0..from, from..end)
            }
        };
        for (range, is_wrapped) in [(first, false), (second, true)] {
            let found = match direction {
                Direction::Next => self.first_match(view, search, range, caller)?,
                Direction::Previous => self.last_match(view, search, range, caller)?,
            };
            if let Some(line) = found {
                return Ok(Some(Hit { line, is_wrapped }));
            }
        }
        Ok(None)
    }

    /// Returns the number of matching lines before a line and in total, both up to a limit.
    pub(crate) fn count(
        &self,
        view: View,
        search: &Search,
        before: u64,
        limit: u64,
        caller: &Caller,
    ) -> io::Result<(u64, u64)> {
        let mut cursor = self.cursor(view, 0, u64::MAX)?;
        let (mut earlier, mut all) = (0, 0);
        while let Some((number, _)) = cursor.next_line(usize::MAX)? {
            caller.check(number)?;
            if search.0.is_match(&plain(cursor.text())) {
                all += 1;
                earlier += u64::from(number < before);
                if all == limit {
                    break;
                }
            }
        }
        Ok((earlier, all))
    }

    fn first_match(
        &self,
        view: View,
        search: &Search,
        range: Range<u64>,
        caller: &Caller,
    ) -> io::Result<Option<u64>> {
        let mut cursor = self.cursor(view, range.start, range.end)?;
        while let Some((number, _)) = cursor.next_line(usize::MAX)? {
            caller.check(number)?;
            if search.0.is_match(&plain(cursor.text())) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn last_match(
        &self,
        view: View,
        search: &Search,
        Range { start: from, end: mut to }: Range<u64>,
        caller: &Caller,
    ) -> io::Result<Option<u64>> {
        while from < to {
            caller.check(0)?;
            let start = to.saturating_sub(BLOCK).max(from);
            let mut cursor = self.cursor(view, start, to)?;
            let mut last = None;
            while let Some((number, _)) = cursor.next_line(usize::MAX)? {
                if search.0.is_match(&plain(cursor.text())) {
                    last = Some(number);
                }
            }
            if last.is_some() {
                return Ok(last);
            }
            to = start;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use modelarts_ext::LogItem;

    use super::*;
    use crate::live::spool::NewLine;

    /// Returns a spool of 10,000 lines in which each hundredth line has a hit, alternating between
    /// two tasks.
    fn spool() -> Spool {
        let spool = Spool::create().unwrap();
        let lines = (0..10_000).map(|number| {
            let text = match number % 100 {
                99 => format!("step {number} Loss=0.5"),
                _ => format!("step {number}"),
            };
            let (task, item) = (format!("worker-{}", number % 2), LogItem::Line(text));
            NewLine { task, item, is_of_platform: false, arrived: None }
        });
        spool.append(lines.collect()).unwrap();
        spool
    }

    fn find(
        spool: &Spool,
        view: View,
        from: Option<u64>,
        direction: Direction,
    ) -> Option<(u64, bool)> {
        let search = Search::parse("loss=", false, false).unwrap();
        let waiting = Arc::new(());
        let caller = Caller::new(Arc::downgrade(&waiting));
        let hit = spool.find(view, &search, from, direction, &caller);
        hit.unwrap().map(|hit| (hit.line, hit.is_wrapped))
    }

    #[test]
    fn hits_are_found_in_both_directions_and_around_the_ends() {
        let spool = spool();
        let (next, previous) = (Direction::Next, Direction::Previous);
        assert_eq!(find(&spool, None, None, next), Some((99, false)));
        assert_eq!(find(&spool, None, Some(99), next), Some((199, false)));
        assert_eq!(find(&spool, None, Some(9_999), next), Some((99, true)));
        assert_eq!(find(&spool, None, Some(9_000), previous), Some((8_999, false)));
        assert_eq!(find(&spool, None, Some(50), previous), Some((9_999, true)));
        assert_eq!(find(&spool, None, None, previous), Some((9_999, false)));
        assert_eq!(find(&spool, None, Some(u64::MAX), next), Some((99, true)));
        // All hits are lines of the second task.
        assert_eq!(find(&spool, Some(0), None, next), None);
        assert_eq!(find(&spool, Some(1), Some(49), next), Some((99, false)));
    }

    #[test]
    fn a_single_hit_is_found_again_from_itself() {
        let spool = Spool::create().unwrap();
        let item = LogItem::Line("LOSS=1".to_owned());
        let line =
            NewLine { task: "worker-0".to_owned(), item, is_of_platform: false, arrived: None };
        spool.append(vec![line]).unwrap();
        for direction in [Direction::Next, Direction::Previous] {
            assert_eq!(find(&spool, None, Some(0), direction), Some((0, true)));
        }
    }

    #[test]
    fn hits_are_counted_up_to_a_limit() {
        let spool = spool();
        let waiting = Arc::new(());
        let caller = Caller::new(Arc::downgrade(&waiting));
        let count = |search: &Search, before, limit| {
            let counts = spool.count(None, search, before, limit, &caller);
            counts.unwrap()
        };
        let search = Search::parse("loss=[0-9.]+$", true, false).unwrap();
        assert_eq!(count(&search, 500, 1000), (5, 100));
        assert_eq!(count(&search, 500, 10), (5, 10));
        let search = Search::parse("loss", false, true).unwrap();
        assert_eq!(count(&search, 0, 10), (0, 0));
    }

    #[test]
    fn a_search_without_a_caller_ends() {
        let spool = spool();
        let search = Search::parse("absent", false, false).unwrap();
        let caller = Caller::new(Weak::new());
        for direction in [Direction::Next, Direction::Previous] {
            let found = spool.find(None, &search, Some(5000), direction, &caller);
            assert_eq!(found.unwrap_err().to_string(), "the search was cancelled");
        }
        let counted = spool.count(None, &search, 0, 10, &caller);
        assert_eq!(counted.unwrap_err().to_string(), "the search was cancelled");
    }

    #[test]
    fn an_expression_that_is_not_valid_is_explained() {
        assert_eq!(
            Search::parse("loss(", true, false).unwrap_err(),
            "the search must be a regular expression: unclosed group; switch off regular \
             expressions to search for the text itself"
        );
        assert!(Search::parse("loss(", false, false).is_ok());
        assert!(Search::parse("(a{1000}){1000}", true, false).is_err());
    }
}
