//! Engine of a followed log: the next request, and the items that a response adds.
//!
//! The engine sends no requests. The caller sends [`Engine::request`], and passes the response to
//! [`Engine::step`]. After a transient failure, the caller passes nothing, and the request stays
//! the same.

use std::mem;

use modelarts_api::types::LogPreview;

use crate::jobs::logs::{
    follow::content::{Content, Located, STORED},
    line_splitter::LogItem,
    preview::{content, first_position},
};

/// Request for a part of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Request for the newest part of the log.
    Preview,
    /// Request for the bytes between two positions, by the link to the log.
    Range { from: u64, to: u64 },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Answer<'a> {
    Preview(&'a LogPreview),
    /// The service does not have the log at the moment.
    Absent,
    /// The service has deleted the log permanently.
    Deleted,
    /// Next bytes of the range.
    Bytes(&'a [u8]),
    /// End of the range, or of the bytes that the link returns.
    RangeEnd,
}

#[derive(Debug)]
enum State {
    /// No preview was read yet. Of the first preview, only this number of last lines is returned.
    Tail(usize),
    /// The next preview continues the content that was read.
    Continuing,
    /// The last preview lacks a part of the log, which is being read by the link.
    Filling(Fill),
    /// The part was read by the link. The next preview follows without a pause.
    Filled,
    /// The part cannot be read by the link. The next preview follows without a pause, and returns
    /// the rest of the part as a gap.
    Unfilled,
    /// The service does not have the log at the moment.
    Absent,
    /// The service has deleted the log. There is no further request.
    Deleted,
}

/// Part of a log that is read by the link.
#[derive(Debug)]
struct Fill {
    /// Content before the part. The bytes of the link must begin with this content.
    known: Vec<u8>,
    /// Position at which the part ends.
    end: u64,
    /// Beginning of the preview, which the bytes after the part must equal.
    expected: Vec<u8>,
    /// Position at which the preview ended.
    log_end: u64,
    /// `true` if `known` or `expected` shows that the bytes belong to the log.
    is_confirmed: bool,
}

/// Engine of a followed log: its state, and its content as far as it was read.
#[derive(Debug)]
pub(super) struct Engine {
    state: State,
    content: Content,
    /// `false` if the link led to other content than the previews. The link is then not used again.
    is_link_trusted: bool,
}

impl Engine {
    /// Creates an engine that begins with the last `tail` existing lines, or with all lines.
    pub(super) fn new(tail: Option<usize>) -> Self {
        Self {
            state: tail.map_or(State::Continuing, State::Tail),
            content: Content::default(),
            is_link_trusted: true,
        }
    }

    /// Returns the next request, or `None` for a log that was deleted.
    pub(super) fn request(&self) -> Option<Request> {
        match &self.state {
            State::Filling(fill) => Some(Request::Range {
                from: self.content.position().saturating_sub(fill.known.len() as u64),
                to: fill.log_end,
            }),
            State::Deleted => None,
            _ => Some(Request::Preview),
        }
    }

    /// Returns `true` if the next request follows without a pause.
    pub(super) fn has_more(&self) -> bool {
        matches!(self.state, State::Filling(_) | State::Filled | State::Unfilled)
    }

    /// Returns `true` if the service does not have the log at the moment.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self.state, State::Absent)
    }

    /// Returns `true` if content was read.
    pub(super) fn has_content(&self) -> bool {
        self.content.position() > 0
    }

    /// Processes a response, and adds the new items.
    pub(super) fn step(&mut self, answer: Answer<'_>, items: &mut Vec<LogItem>) {
        let state = mem::replace(&mut self.state, State::Continuing);
        self.state = match (state, answer) {
            (State::Deleted, _) => State::Deleted,
            (_, Answer::Deleted) => {
                items.extend(self.content.finish());
                items.push(LogItem::Gap { bytes: None });
                State::Deleted
            }
            (_, Answer::Absent) => State::Absent,
            (State::Tail(lines), Answer::Preview(preview)) => {
                self.take_tail(lines, preview, items);
                State::Continuing
            }
            (state, Answer::Preview(preview)) => self.take_preview(&state, preview, items),
            (State::Filling(fill), Answer::Bytes(bytes)) => self.take_bytes(fill, bytes, items),
            (State::Filling(fill), Answer::RangeEnd) => self.end_fill(&fill, items),
            (state, Answer::Bytes(_) | Answer::RangeEnd) => state,
        };
    }

    /// Returns the items at the end of the stream: an incomplete line, and a gap for a lost log.
    pub(super) fn finish(&mut self) -> Vec<LogItem> {
        let mut items = Vec::from_iter(self.content.finish());
        if self.is_absent() && self.has_content() {
            items.push(LogItem::Gap { bytes: None });
        }
        items
    }

    fn take_preview(
        &mut self,
        state: &State,
        preview: &LogPreview,
        items: &mut Vec<LogItem>,
    ) -> State {
        let located = self.content.locate(preview);
        // A log with content does not become empty unless the response states a size of zero.
        if located == Located::Unknown && self.has_content() {
            return State::Absent;
        }
        let may_fill = self.is_link_trusted && !matches!(state, State::Unfilled);
        let missing = located.missing().filter(|_| may_fill);
        let Some((missing, first)) = missing.zip(first_position(preview)) else {
            self.content.take(preview, located, items);
            return State::Continuing;
        };
        if matches!(located, Located::Replaced { .. }) {
            self.restart(items);
        }
        let known = self.content.end().as_bytes().to_vec();
        let text = content(preview).as_bytes();
        State::Filling(Fill {
            is_confirmed: !known.is_empty(),
            known,
            end: self.content.position() + missing,
            expected: text[..text.len().min(STORED)].to_vec(),
            log_end: first + text.len() as u64,
        })
    }

    /// Processes the first preview. Adds only its last `lines` lines, including an incomplete line.
    fn take_tail(&mut self, lines: usize, preview: &LogPreview, items: &mut Vec<LogItem>) {
        self.content.take(preview, self.content.locate(preview), items);
        let complete = match lines {
            0 => {
                self.content.finish();
                0
            }
            _ => lines - usize::from(self.content.has_incomplete_line()),
        };
        items.drain(..items.len().saturating_sub(complete));
    }

    fn take_bytes(&mut self, mut fill: Fill, bytes: &[u8], items: &mut Vec<LogItem>) -> State {
        let (known, new) = bytes.split_at(bytes.len().min(fill.known.len()));
        if fill.known.drain(..known.len()).ne(known.iter().copied()) {
            tracing::debug!("the link leads to another log, the gap remains");
            return State::Unfilled;
        }
        // The first `until_end` bytes are in the part, the others in the preview from `at` on.
        let until_end = fill.end.saturating_sub(self.content.position());
        let (part, after) = new.split_at(new.len().min(to_index(until_end)));
        let at = to_index(self.content.position().saturating_sub(fill.end));
        let expected = fill.expected.get(at..).unwrap_or_default();
        let compared = after.len().min(expected.len());
        self.content.push_bytes(part, items);
        if after[..compared] != expected[..compared] {
            tracing::debug!("the link leads to another log, and is not used again");
            self.is_link_trusted = false;
            self.restart(items);
            return State::Unfilled;
        }
        fill.is_confirmed |= compared > 0;
        self.content.push_bytes(after, items);
        State::Filling(fill)
    }

    fn end_fill(&mut self, fill: &Fill, items: &mut Vec<LogItem>) -> State {
        self.content.drop_partial_character();
        if self.content.position() >= fill.end && fill.is_confirmed {
            return State::Filled;
        }
        if self.has_content() && !fill.is_confirmed {
            // The bytes may belong to another log.
            self.restart(items);
        }
        State::Unfilled
    }

    /// Continues at the beginning of the log as if it were another log, after a gap.
    fn restart(&mut self, items: &mut Vec<LogItem>) {
        self.content.restart(items);
        items.push(LogItem::Gap { bytes: None });
    }
}

fn to_index(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
