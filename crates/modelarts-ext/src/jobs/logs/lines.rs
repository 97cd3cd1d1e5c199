//! Reader of logs by line numbers.
//!
//! Sources do not state the following facts (SOURCES S, and "Without a number"):
//!
//! - whether a response repeats the line from which it continues
//! - which value of `order` requests later lines
//! - how many lines a response contains at most
//! - which lines have no number
//!
//! The reader does not depend on these facts. It puts the lines of a response into the order of the
//! log, begins each poll with lines that were read before, and continues until a response contains
//! no new lines.

use std::collections::VecDeque;

use modelarts_api::{
    BoxFuture,
    types::{LogLines, SortOrder},
};

use crate::{
    error::{Error, ErrorKind},
    jobs::logs::{item::LogItem, preview::MAX_LINE},
};

/// Number of lines to request, the maximum of the service.
pub(super) const MAX_LINES: i64 = 500;

/// Number of lines of a response that may not end with the newest line.
const FULL_PAGE: usize = MAX_LINES as usize;

/// Maximum size of one poll, in bytes, to limit the memory. It equals the size of a preview.
const MAX_BYTES: usize = 5 << 20;

/// Source of the lines of one log, as the service returns them.
pub(super) trait LineSource: Sync {
    fn fetch_lines(
        &self,
        base: Option<&str>,
        order: SortOrder,
    ) -> BoxFuture<'_, Result<LogLines, Error>>;
}

/// Reader of one log, with its position and the detected order.
#[derive(Clone, Debug, Default)]
pub(super) struct LineReader {
    /// Value of `order` that returns newer lines; `None` until a response has determined it.
    forward: Option<SortOrder>,
    /// Number and content of the first line, until a second line is complete.
    first_line: Option<(String, String)>,
    /// Number of a line that was read, from which the next poll continues.
    base: Option<String>,
    /// Lines after `base` that the stream has returned.
    given_lines: Vec<String>,
    /// Number of the first of `given_lines`; `None` if the response began with `base`.
    first_given: Option<String>,
    /// Last line, while it is incomplete.
    partial_line: Option<String>,
    /// `true` if a response has ended with a line break, so that a response without one ends with an
    /// incomplete line.
    ends_lines: bool,
    /// Number of the last line that was read.
    last_number: Option<String>,
    /// `true` if the last poll returned lines that differ from the earlier ones.
    has_mismatch: bool,
    /// Text of the line `base` as far as a response contains it, until it is taken.
    cut_line: Option<String>,
    /// Position in the log after the last cut line, which was read by the link to the log.
    pub(super) link_position: u64,
    /// `true` if a cut line could not be read, so the position of the next one is not known.
    pub(super) has_unread_end: bool,
}

impl LineReader {
    /// Returns `true` if no line was read yet.
    pub(super) fn is_new(&self) -> bool {
        self.base.is_none() && self.first_line.is_none()
    }

    /// Polls the log once. Returns the new items, and `true` if more items are available without a
    /// pause.
    pub(super) async fn poll(
        &mut self,
        log: &impl LineSource,
    ) -> Result<(Vec<LogItem>, bool), Error> {
        // A poll that fails before it yields items does not change the state. A poll that fails
        // later returns its items: otherwise a long log could never be read to its end if every
        // second request fails. The next poll sends the request again, because an error of a poll
        // before the end of the job must not stand for the last poll.
        let mut next = self.clone();
        let mut items = Vec::new();
        let more = match next.read(log, &mut items).await {
            Err(_) if !items.is_empty() => true,
            more => more?,
        };
        *self = next;
        Ok((items, more))
    }

    /// Removes and returns the beginning of a line that the service does not return whole. The line
    /// follows the items of the last poll, and the items of the next poll follow the line.
    pub(super) fn take_cut_line(&mut self) -> Option<String> {
        self.cut_line.take()
    }

    /// Removes and returns the last line, if it is incomplete or cut, and longer than 1 MiB.
    pub(super) fn take_long_end(&mut self) -> Option<String> {
        let line = self.partial_line.take_if(|line| line.len() >= MAX_LINE)?;
        self.base.clone_from(&self.last_number);
        self.given_lines.clear();
        self.first_given = None;
        Some(line)
    }

    /// Removes and returns the last line, if it was incomplete when it was read.
    pub(super) fn finish(&mut self) -> Option<LogItem> {
        self.partial_line.take().map(LogItem::Line)
    }

    async fn read(
        &mut self,
        log: &impl LineSource,
        items: &mut Vec<LogItem>,
    ) -> Result<bool, Error> {
        let mut page = match self.base.clone() {
            None => match self.read_first_page(log, items).await? {
                Some(page) => page,
                // The lines after a cut line are read after it.
                None => return Ok(self.base.is_some()),
            },
            Some(base) => self.fetch_after(log, &base).await?,
        };
        let mut size = 0;
        loop {
            // Without the incomplete line, the log was restarted.
            let is_shorter = page.lines.is_empty() && self.partial_line.is_some();
            if is_shorter
                || self.has_lost_lines(&page)
                || !page.lines.starts_with(&self.given_lines)
            {
                return Ok(self.handle_mismatch(page, items));
            }
            self.has_mismatch = false;
            size += self.take_page(&page, items);
            if size >= MAX_BYTES {
                return Ok(true);
            }
            let Some(last) = page.last_number else {
                return Ok(false);
            };
            let next = self.fetch_after(log, &last).await?;
            if next.lines.is_empty() {
                return Ok(false);
            }
            // The last line of a response that is not full was the newest line of the log, so it may
            // have grown before the lines of the next response were written.
            let is_full = page.lines.len() + 1 >= FULL_PAGE;
            if self.partial_line.is_some()
                && (!is_full || self.ends_lines)
                && self.refresh_partial_line(log).await?
                && let Some(line) = self.partial_line.take()
            {
                self.continue_after_cut(last, line, items);
                return Ok(true);
            }
            let is_cut;
            (page, is_cut) = self.find_cut(log, Some(&last), next).await?;
            if page.is_incomplete_line() {
                // A line becomes `base` only when a complete line follows it, by which it can be
                // recognised.
                if let Some(line) = self.partial_line.take() {
                    self.given_lines.push(line.clone());
                    items.push(LogItem::Line(line));
                }
                self.partial_line = page.lines.pop();
                self.last_number = page.last_number.or(self.last_number.take());
                if is_cut
                    && let Some(number) = self.last_number.clone()
                    && let Some(line) = self.partial_line.take()
                {
                    self.continue_after_cut(number, line, items);
                    return Ok(true);
                }
                return Ok(false);
            }
            // Lines follow `last`, so it is complete.
            items.extend(self.finish());
            self.base = Some(last);
            self.given_lines.clear();
            self.first_given = None;
        }
    }

    /// Reads a page of one incomplete line again, if the log has lines after it. Returns the page,
    /// and `true` if the line is still incomplete: then the service has cut it.
    async fn find_cut(
        &mut self,
        log: &impl LineSource,
        base: Option<&str>,
        page: LinePage,
    ) -> Result<(LinePage, bool), Error> {
        let number = page.last_number.clone();
        let Some(number) = number.filter(|_| page.is_incomplete_line()) else {
            return Ok((page, false));
        };
        if self.fetch_after(log, &number).await?.lines.is_empty() {
            return Ok((page, false));
        }
        let again = match base {
            Some(base) => self.fetch_after(log, base).await?,
            None => {
                let order = self.forward.unwrap_or(SortOrder::Asc);
                self.fetch(log, None, order).await?
            }
        };
        if again.lines.is_empty() {
            return Ok((page, false));
        }
        let is_cut = again.is_incomplete_line() && again.last_number == Some(number);
        Ok((again, is_cut))
    }

    /// Continues after a line that the service has cut.
    fn continue_after_cut(&mut self, number: String, line: String, items: &mut Vec<LogItem>) {
        // If responses do not end with line breaks, a line of usual length is whole.
        match self.ends_lines || line.len() >= MAX_LINE {
            true => self.cut_line = Some(line),
            false => items.push(LogItem::Line(line)),
        }
        self.base = Some(number.clone());
        self.last_number = Some(number);
        self.given_lines.clear();
        self.first_given = None;
    }

    /// Reads the incomplete line again, when the log has lines after it. Returns `true` if the
    /// service has cut the line.
    async fn refresh_partial_line(&mut self, log: &impl LineSource) -> Result<bool, Error> {
        let Some(base) = self.base.clone() else {
            return Ok(false);
        };
        let page = self.fetch_after(log, &base).await?;
        let line = page.lines.get(self.given_lines.len());
        if page.lines.starts_with(&self.given_lines)
            && let (Some(partial), Some(line)) = (&mut self.partial_line, line)
            && line.starts_with(partial.as_str())
        {
            partial.clone_from(line);
            let is_last = page.lines.len() == self.given_lines.len() + 1;
            return Ok(is_last && page.ends_partial && self.ends_lines);
        }
        Ok(false)
    }

    /// Adds the new lines of a page to `items`. Returns their size in bytes.
    fn take_page(&mut self, page: &LinePage, items: &mut Vec<LogItem>) -> usize {
        let mut new = page.lines[self.given_lines.len()..].to_vec();
        if self.given_lines.is_empty() {
            self.first_given.clone_from(&page.first_number);
        }
        self.partial_line = if page.ends_partial { new.pop() } else { None };
        if page.last_number.is_some() {
            self.last_number.clone_from(&page.last_number);
        }
        self.given_lines.extend_from_slice(&new);
        let size = new.iter().map(|line| line.len() + 1).sum();
        items.extend(new.into_iter().map(LogItem::Line));
        size
    }

    /// Reads the first page, and the lines before it. Returns `None` if no line is complete.
    async fn read_first_page(
        &mut self,
        log: &impl LineSource,
        items: &mut Vec<LogItem>,
    ) -> Result<Option<LinePage>, Error> {
        let forward = self.forward.unwrap_or(SortOrder::Asc);
        let page = self.fetch(log, None, forward).await?;
        if page.lines.is_empty() {
            return Ok(None);
        }
        let (mut page, is_cut) = self.find_cut(log, None, page).await?;
        let Some(first) = page.first_number.take() else {
            return Err(Error::new(
                ErrorKind::Unexpected,
                "the service gives lines of a log without their numbers; read it by preview",
            ));
        };
        let text = page.lines.remove(0);
        let (head, before) = (self.first_line.take(), self.partial_line.take());
        if is_cut {
            let older = self.fetch_before(log, &first).await?;
            let other = before.filter(|before| !text.starts_with(before.as_str()));
            items.extend(other.map(LogItem::Line));
            items.extend(older);
            self.continue_after_cut(first, text, items);
            return Ok(None);
        }
        if page.ends_partial && page.lines.is_empty() {
            // The line is stored, because it may still grow, and a request only returns lines after
            // a given number.
            let other = before.filter(|before| !text.starts_with(before.as_str()));
            items.extend(other.map(LogItem::Line));
            self.partial_line = Some(text);
            self.last_number = Some(first);
            return Ok(None);
        }
        if head != Some((first.clone(), text.clone())) {
            // The lines after this line are read first, because they show which order leads
            // backward.
            page = self.fetch_after(log, &first).await?;
            let mut older = self.fetch_before(log, &first).await?;
            let oldest = match older.front() {
                None => Some(text.as_str()),
                Some(LogItem::Line(line)) => Some(line.as_str()),
                Some(LogItem::Gap { .. }) => None,
            };
            match (head, before) {
                (Some((_, head)), _) if oldest == Some(&head) => {
                    older.pop_front();
                }
                (None, Some(before)) if oldest.is_some_and(|line| line.starts_with(&before)) => {}
                // The incomplete line belongs to an earlier log.
                (_, before) => items.extend(before.map(LogItem::Line)),
            }
            items.extend(older);
            items.push(LogItem::Line(text.clone()));
        } else if page.lines.is_empty() {
            // The next line may have no room in the response.
            page = self.fetch_after(log, &first).await?;
        }
        let is_cut;
        (page, is_cut) = self.find_cut(log, Some(&first), page).await?;
        if is_cut && let Some((number, line)) = page.last_number.clone().zip(page.lines.pop()) {
            self.continue_after_cut(number, line, items);
            return Ok(None);
        }
        if page.lines.len() <= usize::from(page.ends_partial) {
            self.partial_line = page.lines.pop();
            self.last_number = page.last_number;
            self.first_line = Some((first, text));
            return Ok(None);
        }
        self.last_number = Some(first.clone());
        self.base = Some(first);
        Ok(Some(page))
    }

    /// Reads the lines before a given line, because the first response may have contained only the
    /// newest lines.
    async fn fetch_before(
        &mut self,
        log: &impl LineSource,
        first: &str,
    ) -> Result<VecDeque<LogItem>, Error> {
        let backward = match self.forward {
            Some(SortOrder::Desc) => SortOrder::Asc,
            _ => SortOrder::Desc,
        };
        let mut first = first.to_owned();
        let mut lines = VecDeque::new();
        let mut size = 0;
        loop {
            let page = self.fetch(log, Some(&first), backward).await?;
            let page = page.without_line(&first);
            let before = page
                .first_number
                .filter(|number| compare_numbers(number, &first).is_none_or(|order| order.is_lt()));
            let Some(before) = before.filter(|before| *before != first && !page.lines.is_empty())
            else {
                return Ok(lines);
            };
            if size >= MAX_BYTES {
                lines.push_front(LogItem::Gap { bytes: None });
                return Ok(lines);
            }
            for line in page.lines.into_iter().rev() {
                size += line.len() + 1;
                lines.push_front(LogItem::Line(line));
            }
            first = before;
        }
    }

    /// Reads one page.
    async fn fetch(
        &mut self,
        log: &impl LineSource,
        base: Option<&str>,
        order: SortOrder,
    ) -> Result<LinePage, Error> {
        let page = LinePage::new(log.fetch_lines(base, order).await?);
        self.ends_lines |= !page.lines.is_empty() && !page.ends_partial;
        Ok(page)
    }

    /// Reads the lines after a given line.
    async fn fetch_after(&mut self, log: &impl LineSource, base: &str) -> Result<LinePage, Error> {
        let orders = match self.forward {
            Some(forward) => vec![forward],
            None => vec![SortOrder::Asc, SortOrder::Desc],
        };
        for order in orders {
            let page = self.fetch(log, Some(base), order).await?;
            // `Desc` is tried second, and is used only if the line numbers prove that it leads
            // forward.
            let first = page.first_number.as_deref();
            let is_numeric = || first.is_some_and(|first| compare_numbers(first, base).is_some());
            let is_likely = self.forward.is_some() || order == SortOrder::Asc || is_numeric();
            if is_likely && page.goes_beyond(base) {
                self.forward = Some(order);
                return Ok(page.without_line(base));
            }
        }
        Ok(LinePage::default())
    }

    /// Returns `true` if the log dropped lines after `base` that were already returned. Equal lines
    /// after them may hide this.
    fn has_lost_lines(&self, page: &LinePage) -> bool {
        if self.given_lines.is_empty() {
            return false;
        }
        if let Some(lost) = self.lines_before(page) {
            return lost > 0;
        }
        page.begins_after(self.first_given.as_deref())
    }

    /// Returns the number of returned lines that the log dropped; `None` unless the page begins
    /// with the remaining returned lines.
    fn lost_line_count(&self, page: &LinePage) -> Option<usize> {
        let goes_on = |lost: &usize| match self.given_lines.get(*lost..) {
            Some([]) => match (&self.partial_line, page.lines.first()) {
                (Some(open), Some(line)) => line.starts_with(open),
                _ => false,
            },
            Some(rest) => page.lines.starts_with(rest),
            None => false,
        };
        match self.lines_before(page) {
            Some(lost) => Some(lost).filter(goes_on),
            None => (1..self.given_lines.len()).find(goes_on),
        }
    }

    /// Returns the number of returned lines before a page; `None` if the numbers are not
    /// consecutive line counts.
    fn lines_before(&self, page: &LinePage) -> Option<usize> {
        let number = |text: &Option<String>| text.as_deref()?.parse::<u128>().ok();
        let behind = match &self.first_given {
            Some(_) => number(&self.first_given)?,
            None => number(&self.base)?.checked_add(1)?,
        };
        let count = self.given_lines.len() + usize::from(self.partial_line.is_some());
        if number(&self.last_number)?.checked_add(1)? != behind.checked_add(count as u128)? {
            return None;
        }
        usize::try_from(number(&page.first_number)?.checked_sub(behind)?).ok()
    }

    /// Handles a page that does not begin with the returned lines. Returns `true` if the log must
    /// be polled again.
    fn handle_mismatch(&mut self, page: LinePage, items: &mut Vec<LogItem>) -> bool {
        // The page begins after all lines that were read, so the service deleted the lines in
        // between.
        if page.begins_after(self.last_number.as_deref()) {
            // The deleted lines may include unread ones, unless the numbers are consecutive.
            let number = |text: Option<&str>| text?.parse::<u128>().ok();
            let next = number(self.last_number.as_deref()).and_then(|last| last.checked_add(1));
            if self.partial_line.is_some()
                || next.is_none()
                || next != number(page.first_number.as_deref())
            {
                items.extend(self.finish());
                items.push(LogItem::Gap { bytes: None });
            }
            self.given_lines.clear();
            self.first_given = None;
            self.take_page(&page, items);
            return true;
        }
        if page.begins_after(self.base.as_deref())
            && let Some(lost) = self.lost_line_count(&page)
        {
            // All deleted lines were returned before.
            self.given_lines.drain(..lost);
            self.first_given.clone_from(&page.first_number);
            self.take_page(&page, items);
            return true;
        }
        // A single such response may be an error. A second one shows that the log was restarted.
        if std::mem::replace(&mut self.has_mismatch, true) {
            items.extend(self.finish());
            *self = Self {
                forward: self.forward,
                ends_lines: self.ends_lines,
                ..Self::default()
            };
        }
        true
    }
}

/// Compares the numbers of two lines; returns `None` if they are not numeric.
fn compare_numbers(one: &str, two: &str) -> Option<std::cmp::Ordering> {
    let number = |text: &str| text.parse::<u128>().ok();
    Some(number(one)?.cmp(&number(two)?))
}

/// Returns `true` if line `one` is known to follow line `two`.
fn is_after(one: &str, two: &str) -> bool {
    compare_numbers(one, two).is_some_and(|order| order.is_gt())
}

/// Lines of one response, in the order of the log.
#[derive(Debug, Default)]
struct LinePage {
    first_number: Option<String>,
    last_number: Option<String>,
    lines: Vec<String>,
    /// `true` if the last line is incomplete.
    ends_partial: bool,
}

impl LinePage {
    fn new(answer: LogLines) -> Self {
        let content = answer.content.unwrap_or_default();
        if content.is_empty() && answer.lines.unwrap_or_default() < 1 {
            return Self::default();
        }
        let mut lines: Vec<String> = content
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned())
            .collect();
        // If line breaks only separate lines, the last line of a response may be empty.
        let count = answer.lines.and_then(|lines| usize::try_from(lines).ok());
        let ends_partial = !content.ends_with('\n') || count == Some(lines.len());
        if !ends_partial {
            lines.pop();
        }
        let (mut first, mut last) = (answer.start_line, answer.end_line);
        let numbers = first.as_deref().zip(last.as_deref());
        if numbers.is_some_and(|(first, last)| is_after(first, last)) {
            std::mem::swap(&mut first, &mut last);
            lines.reverse();
        }
        Self {
            first_number: first,
            last_number: last,
            lines,
            ends_partial,
        }
    }

    /// Returns `true` if the page has only one line, which is incomplete.
    fn is_incomplete_line(&self) -> bool {
        self.ends_partial && self.lines.len() == 1
    }

    /// Returns `true` if the page is known to begin after this line.
    fn begins_after(&self, number: Option<&str>) -> bool {
        let numbers = self.first_number.as_deref().zip(number);
        numbers.is_some_and(|(first, number)| is_after(first, number))
    }

    /// Returns `true` if the page contains lines after `base`.
    fn goes_beyond(&self, base: &str) -> bool {
        let last = self
            .last_number
            .as_deref()
            .filter(|_| !self.lines.is_empty());
        last.is_some_and(|last| {
            last != base && compare_numbers(last, base).is_none_or(|order| order.is_gt())
        })
    }

    /// Returns the page without the line from which it continues.
    fn without_line(mut self, base: &str) -> Self {
        if self.first_number.as_deref() == Some(base) {
            self.lines.remove(0);
            self.first_number = None;
        } else if self.last_number.as_deref() == Some(base) {
            self.lines.pop();
            self.last_number = None;
        }
        self
    }
}
