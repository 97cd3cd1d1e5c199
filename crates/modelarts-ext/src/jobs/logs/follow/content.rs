//! Content of a followed log: its position, and the text that previews add.

use modelarts_api::types::LogPreview;

use crate::jobs::logs::{
    line_splitter::{LineSplitter, LogItem},
    preview::{content, first_position},
};

/// Size of the stored beginning and end of the content, which previews are compared with, in bytes.
pub(super) const STORED: usize = 64 << 10;

/// Minimum size of an overlap within a line, in bytes. Shorter text may recur by chance.
const LONG_OVERLAP: usize = 1 << 10;

/// Content of a log as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// Position in the log at which the content ends, including gaps.
    position: u64,
    /// Beginning of the log, from the last preview that contained the beginning.
    start: String,
    /// End of the content, at most [`STORED`] bytes.
    end: String,
    lines: LineSplitter,
    /// Bytes of an incomplete character at the end of the bytes that were read by the link.
    partial_character: Vec<u8>,
}

/// Relation of a preview to the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Located {
    /// The relation is unknown, because the response may lack the text.
    Unknown,
    /// New text begins at the index `at` of the preview, after `missing` bytes that it lacks.
    Continued { at: usize, missing: u64 },
    /// The preview shows another log, and lacks the first `missing` bytes of that log. `missing` is
    /// `None` if the number is not known.
    Replaced { missing: Option<u64> },
}

impl Located {
    /// Returns the number of missing bytes, if the number is known and not zero.
    pub(super) fn missing(self) -> Option<u64> {
        let missing = match self {
            Self::Unknown => None,
            Self::Continued { missing, .. } => Some(missing),
            Self::Replaced { missing } => missing,
        };
        missing.filter(|missing| *missing > 0)
    }
}

impl Content {
    /// Returns the position in the log at which the content ends.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the end of the content.
    pub(super) fn end(&self) -> &str {
        &self.end
    }

    /// Returns `true` if the last line is incomplete.
    pub(super) fn has_incomplete_line(&self) -> bool {
        self.lines.has_incomplete_line()
    }

    /// Removes and returns the last line if the line is incomplete.
    pub(super) fn finish(&mut self) -> Option<LogItem> {
        self.lines.finish()
    }

    /// Adds the incomplete line of the old log, and continues at the beginning of another log.
    pub(super) fn restart(&mut self, items: &mut Vec<LogItem>) {
        items.extend(self.finish());
        *self = Self::default();
    }

    /// Adds the items of a located preview. Bytes that the preview lacks become a gap.
    pub(super) fn take(
        &mut self,
        preview: &LogPreview,
        located: Located,
        items: &mut Vec<LogItem>,
    ) {
        let text = content(preview);
        let (at, gap) = match located {
            Located::Unknown => return,
            Located::Continued { at, missing: 0 } => (at, None),
            Located::Continued { at, .. } => {
                items.extend(self.finish());
                (at, Some(located.missing()))
            }
            Located::Replaced { .. } => {
                self.restart(items);
                (0, Some(located.missing()))
            }
        };
        if let Some(bytes) = gap {
            // Texts on both sides of a gap must not be compared as a single text.
            self.end.clear();
            items.push(LogItem::Gap { bytes });
        }
        let first = first_position(preview);
        let size = text.len() as u64;
        self.position = first.map_or(self.position.max(size), |first| first + size);
        if first == Some(0) {
            self.start.clear();
            let start = &text[..text.floor_char_boundary(STORED)];
            self.start.push_str(start);
        }
        self.push(text.get(at..).unwrap_or_default(), items);
    }

    /// Adds bytes of the log at the current position.
    pub(super) fn push_bytes(&mut self, bytes: &[u8], items: &mut Vec<LogItem>) {
        self.position += bytes.len() as u64;
        let mut text = std::mem::take(&mut self.partial_character);
        text.extend_from_slice(bytes);
        self.partial_character = text.split_off(complete_len(&text));
        self.push(&String::from_utf8_lossy(&text), items);
    }

    /// Moves the position back before an incomplete character, which the next preview contains.
    pub(super) fn drop_partial_character(&mut self) {
        self.position -= self.partial_character.len() as u64;
        self.partial_character.clear();
    }

    fn push(&mut self, text: &str, items: &mut Vec<LogItem>) {
        self.end.push_str(text);
        let excess = self.end.len().saturating_sub(STORED);
        self.end.drain(..self.end.ceil_char_boundary(excess));
        items.extend(self.lines.push(text.as_bytes()));
    }

    /// Compares a preview with the content.
    pub(super) fn locate(&self, preview: &LogPreview) -> Located {
        let text = content(preview);
        if text.is_empty() && preview.full_size != Some(0) {
            // The response may lack the text.
            return Located::Unknown;
        }
        let first = first_position(preview);
        let located = first.and_then(|first| self.locate_by_position(text, first));
        located.unwrap_or_else(|| match self.locate_after_loss(text, first) {
            Some(at) => Located::Continued { at, missing: 0 },
            // The task was restarted, and may have written more than before.
            None => Located::Replaced { missing: first },
        })
    }

    /// Locates a preview by its position. Returns `None` if the text differs from the content.
    fn locate_by_position(&self, text: &str, first: u64) -> Option<Located> {
        let at = usize::try_from(self.position.saturating_sub(first)).ok()?;
        let (known, _) = text.split_at_checked(at)?;
        let is_same = self.end.ends_with(known) || known.ends_with(&self.end);
        let starts_same = first > 0 || text.starts_with(&self.start);
        let missing = first.saturating_sub(self.position);
        (is_same && starts_same).then_some(Located::Continued { at, missing })
    }

    /// Returns the index in `text` at which the content ends, if a log of limited size has dropped
    /// its oldest lines. `first` is the position of the text, if known.
    fn locate_after_loss(&self, text: &str, first: Option<u64>) -> Option<usize> {
        let end = self.end.as_str();
        // An end of this length does not recur by chance.
        if end.len() + 4 > STORED
            && let Some(found) = text.rfind(end)
        {
            let at = found + end.len();
            let is_unique = text.find(end) == Some(found);
            return (is_unique && self.may_have_moved(text, first, at)).then_some(at);
        }
        // The beginning of a shortened preview may be the end of a line, which recurs by chance.
        if first != Some(0) {
            return None;
        }
        // At least the first line that is not blank must be the same.
        let blank = text.len() - text.trim_start_matches(['\r', '\n']).len();
        let (blank, rest) = text.split_at(blank);
        let line = &rest[..=rest.find('\n')?];
        let mut places =
            end.match_indices(line).filter_map(|(at, _)| end[..at].strip_suffix(blank));
        let known = places.find_map(|before| {
            let known = &end[before.len()..];
            // The end of a line can equal another line by chance.
            let is_line = before.is_empty() || before.ends_with('\n');
            let may_match = is_line || known.len() >= LONG_OVERLAP;
            (may_match && text.starts_with(known)).then_some(known.len())
        })?;
        // A single remaining line may be the complete text of another log.
        let is_shorter = (text.len() as u64) < self.position;
        let is_single = known == text.len() && text.lines().count() < 2;
        (!(is_shorter && is_single)).then_some(known)
    }

    /// Returns `true` if the content that ends at this index of `text` may have moved there,
    /// because the log has dropped its beginning.
    fn may_have_moved(&self, text: &str, first: Option<u64>, at: usize) -> bool {
        let Some(first) = first else {
            return true;
        };
        let dropped = self.position.checked_sub(first + at as u64);
        dropped.filter(|dropped| *dropped > 0).is_some_and(|dropped| {
            let dropped = usize::try_from(dropped).ok();
            let rest = dropped.and_then(|dropped| self.start.get(dropped..));
            first > 0 || rest.is_none_or(|rest| text.starts_with(rest))
        })
    }
}

/// Returns the length of the bytes without an incomplete UTF-8 character at the end.
fn complete_len(bytes: &[u8]) -> usize {
    let last = bytes.len().saturating_sub(3);
    let begins = bytes[last..].iter().rposition(|byte| *byte >= 0xc0);
    let begins = begins.map(|at| last + at).filter(|at| {
        std::str::from_utf8(&bytes[*at..]).is_err_and(|error| error.error_len().is_none())
    });
    begins.unwrap_or(bytes.len())
}
