//! What is new in a log whose lines have numbers.
//!
//! The documents do not say whether an answer repeats the line that it goes on from,
//! which word of `order` leads forward, how many lines an answer has at the most, or
//! which lines come when no number is given. So none of this is relied on: answers
//! are brought into the order of time, each look begins with lines that were read
//! before, and goes on until nothing more comes.

use std::collections::VecDeque;

use modelarts_api::{
    BoxFuture,
    types::{LogLines, SortOrder},
};

use crate::{
    error::{Error, ErrorKind},
    jobs::logs::item::LogItem,
};

/// How many lines are asked for, the most that the service gives.
pub(crate) const MOST: i64 = 500;

/// How much is read in one look, in bytes, so that memory is bounded. As much as a
/// preview has.
const LOOK: usize = 5 << 20;

/// The service, asked for lines of one log.
pub(crate) trait Lines: Sync {
    fn ask(&self, base: Option<&str>, order: SortOrder) -> BoxFuture<'_, Result<LogLines, Error>>;
}

/// How far a log has been read.
#[derive(Clone, Debug)]
pub(crate) struct LineReader {
    /// The word that leads forward, and whether an answer has shown that.
    forward: SortOrder,
    sure: bool,
    /// The number and the text of the first line, as long as no other one is complete.
    head: Option<(String, String)>,
    /// A line that was read. Looks go on from here.
    base: Option<String>,
    /// The lines behind it that were given.
    shown: Vec<String>,
    /// The number of the first of them, unless the answer began with the base.
    behind: Option<String>,
    /// The last line, while it has no end.
    open: Option<String>,
    /// The number of the last line that was seen.
    last: Option<String>,
    /// Whether the last look found something else than what was given before.
    doubt: bool,
    /// The error that ended the last look after it had brought something.
    failed: Option<Error>,
}

impl Default for LineReader {
    fn default() -> Self {
        Self {
            forward: SortOrder::Asc,
            sure: false,
            head: None,
            base: None,
            shown: Vec::new(),
            behind: None,
            open: None,
            last: None,
            doubt: false,
            failed: None,
        }
    }
}

impl LineReader {
    /// Whether nothing was read yet.
    pub(crate) fn is_new(&self) -> bool {
        self.base.is_none() && self.head.is_none()
    }

    /// What is new, and whether there is more of it already.
    pub(crate) async fn look(&mut self, log: &impl Lines) -> Result<(Vec<LogItem>, bool), Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        // Nothing is kept of a look that fails before it has brought something. What another
        // one has brought is kept, and its error comes next: a long log would never be read
        // to its end where each second answer fails.
        let mut next = self.clone();
        let mut items = Vec::new();
        let more = match next.read(log, &mut items).await {
            Err(error) if !items.is_empty() => {
                next.failed = Some(error);
                true
            }
            more => more?,
        };
        *self = next;
        Ok((items, more))
    }

    /// The last line, if it has no end.
    pub(crate) fn finish(&mut self) -> Option<LogItem> {
        self.open.take().map(LogItem::Line)
    }

    async fn read(&mut self, log: &impl Lines, items: &mut Vec<LogItem>) -> Result<bool, Error> {
        let mut page = match self.base.clone() {
            None => match self.begin(log, items).await? {
                Some(page) => page,
                None => return Ok(false),
            },
            Some(base) => self.after(log, &base).await?,
        };
        let mut size = 0;
        loop {
            if self.has_lost_head(&page) || !page.lines.starts_with(&self.shown) {
                return Ok(self.differs(page, items));
            }
            self.doubt = false;
            size += self.give(&page, items);
            if size >= LOOK {
                return Ok(true);
            }
            let Some(last) = page.last else {
                return Ok(false);
            };
            page = self.after(log, &last).await?;
            if page.lines.is_empty() {
                return Ok(false);
            }
            if page.open && page.lines.len() == 1 {
                // What looks go on from has to have a complete line behind it, to be known
                // by.
                if let Some(line) = self.open.take() {
                    self.shown.push(line.clone());
                    items.push(LogItem::Line(line));
                }
                self.open = page.lines.pop();
                self.last = page.last.or(self.last.take());
                return Ok(false);
            }
            self.go_on_from(last, items);
        }
    }

    /// Gives what is new on a page, and says how many bytes that was.
    fn give(&mut self, page: &Slice, items: &mut Vec<LogItem>) -> usize {
        let mut new = page.lines[self.shown.len()..].to_vec();
        if self.shown.is_empty() {
            self.behind.clone_from(&page.first);
        }
        self.open = if page.open { new.pop() } else { None };
        if page.last.is_some() {
            self.last.clone_from(&page.last);
        }
        self.shown.extend_from_slice(&new);
        let size = new.iter().map(|line| line.len() + 1).sum();
        items.extend(new.into_iter().map(LogItem::Line));
        size
    }

    /// A line has others behind it, so it has its end.
    fn go_on_from(&mut self, last: String, items: &mut Vec<LogItem>) {
        items.extend(self.finish());
        self.base = Some(last);
        self.shown.clear();
        self.behind = None;
    }

    /// The first page, and what is before it. `None`: there is no line that is complete.
    async fn begin(
        &mut self,
        log: &impl Lines,
        items: &mut Vec<LogItem>,
    ) -> Result<Option<Slice>, Error> {
        let mut page = Slice::of(log.ask(None, self.forward).await?);
        if page.lines.is_empty() {
            return Ok(None);
        }
        let Some(first) = page.first.take() else {
            return Err(Error::new(
                ErrorKind::Unexpected,
                "the service gives lines of a log without their numbers; read it by preview",
            ));
        };
        let before = self.open.take();
        if page.open && page.lines.len() == 1 {
            // It may grow, and only lines behind a number can be asked for.
            self.open = page.lines.pop();
            self.head = None;
            let now = self.open.clone().map(LogItem::Line);
            let other = |before: &String| !now.as_ref().is_some_and(|now| is_grown(now, before));
            items.extend(before.filter(other).map(LogItem::Line));
            return Ok(None);
        }
        let text = page.lines.remove(0);
        match self.head.take() {
            Some(head) if head == (first.clone(), text.clone()) => {}
            head => {
                // In this order, because what is behind shows which way leads back.
                let behind = self.after(log, &first).await?;
                let mut older = self.older(log, &first).await?;
                let oldest = older
                    .front()
                    .unwrap_or(&LogItem::Line(text.clone()))
                    .clone();
                match (head, before) {
                    (Some((_, head)), _) if oldest == LogItem::Line(head.clone()) => {
                        older.pop_front();
                    }
                    (None, Some(before)) if is_grown(&oldest, &before) => {}
                    // Another log.
                    (_, before) => items.extend(before.map(LogItem::Line)),
                }
                items.extend(older);
                items.push(LogItem::Line(text.clone()));
                page = behind;
            }
        }
        if page.lines.len() <= usize::from(page.open) {
            self.open = page.lines.pop();
            self.head = Some((first, text));
            return Ok(None);
        }
        self.last = Some(first.clone());
        self.base = Some(first);
        Ok(Some(page))
    }

    /// The lines before a line, in case that the first answer had the newest ones.
    async fn older(&mut self, log: &impl Lines, first: &str) -> Result<VecDeque<LogItem>, Error> {
        let backward = other(self.forward);
        let mut first = first.to_owned();
        let mut lines = VecDeque::new();
        let mut size = 0;
        loop {
            let page = Slice::of(log.ask(Some(&first), backward).await?).without(&first);
            let before = page
                .first
                .filter(|number| compare(number, &first).is_none_or(|order| order.is_lt()));
            let Some(before) = before.filter(|before| *before != first && !page.lines.is_empty())
            else {
                return Ok(lines);
            };
            if size >= LOOK {
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

    /// The lines behind a line.
    async fn after(&mut self, log: &impl Lines, base: &str) -> Result<Slice, Error> {
        let page = Slice::of(log.ask(Some(base), self.forward).await?);
        if page.is_behind(base) {
            self.sure = true;
            return Ok(page.without(base));
        }
        if !self.sure {
            let backward = other(self.forward);
            let page = Slice::of(log.ask(Some(base), backward).await?);
            if page.is_behind(base)
                && page
                    .first
                    .as_deref()
                    .is_some_and(|first| compare(first, base).is_some())
            {
                self.forward = backward;
                self.sure = true;
                return Ok(page.without(base));
            }
        }
        Ok(Slice::default())
    }

    /// Returns whether lines behind the base that were given have gone. Equal lines behind
    /// them may hide that.
    fn has_lost_head(&self, page: &Slice) -> bool {
        if self.shown.is_empty() {
            return false;
        }
        let after_behind = || compare(page.first.as_deref()?, self.behind.as_deref()?);
        match self.lines_before(page) {
            Some(lost) => lost > 0,
            None => after_behind().is_some_and(|order| order.is_gt()),
        }
    }

    /// The number of given lines that have gone, if a page begins with the others.
    fn lost_head(&self, page: &Slice) -> Option<usize> {
        let goes_on = |lost: &usize| match self.shown.get(*lost..) {
            Some([]) => match (&self.open, page.lines.first()) {
                (Some(open), Some(line)) => line.starts_with(open),
                _ => false,
            },
            Some(rest) => page.lines.starts_with(rest),
            None => false,
        };
        match self.lines_before(page) {
            Some(lost) => Some(lost).filter(goes_on),
            None => (1..self.shown.len()).find(goes_on),
        }
    }

    /// The number of given lines that are before a page. `None`: numbers do not count lines.
    fn lines_before(&self, page: &Slice) -> Option<usize> {
        let number = |text: &Option<String>| text.as_deref()?.parse::<u128>().ok();
        let behind = match &self.behind {
            Some(_) => number(&self.behind)?,
            None => number(&self.base)?.checked_add(1)?,
        };
        let seen = self.shown.len() + usize::from(self.open.is_some());
        if number(&self.last)?.checked_add(1)?.checked_sub(behind)? != seen as u128 {
            return None;
        }
        usize::try_from(number(&page.first)?.checked_sub(behind)?).ok()
    }

    /// What was given is not there. Says whether to look again.
    fn differs(&mut self, page: Slice, items: &mut Vec<LogItem>) -> bool {
        let first = page.first.as_deref();
        let order = |other: &Option<String>| compare(first?, other.as_deref()?);
        let (after_base, after_last) = (order(&self.base), order(&self.last));
        // The service has thrown lines away.
        if after_last.is_some_and(|order| order.is_gt()) {
            // Perhaps also some that were not read, unless no number lies between.
            let number = |text: Option<&str>| text?.parse::<u128>().ok();
            let next = number(self.last.as_deref()).and_then(|last| last.checked_add(1));
            if self.open.is_some() || next.is_none() || next != number(first) {
                items.extend(self.finish());
                items.push(LogItem::Gap { bytes: None });
            }
            self.shown.clear();
            self.behind = None;
            self.give(&page, items);
            return true;
        }
        if after_base.is_some_and(|order| order.is_gt())
            && let Some(lost) = self.lost_head(&page)
        {
            // All of them were given before.
            self.shown.drain(..lost);
            self.behind.clone_from(&page.first);
            self.give(&page, items);
            return true;
        }
        // One answer may be wrong. Two say that the log began again.
        if std::mem::replace(&mut self.doubt, true) {
            items.extend(self.finish());
            *self = Self {
                forward: self.forward,
                sure: self.sure,
                ..Self::default()
            };
        }
        true
    }
}

/// Whether a line can be what became of one that had no end.
fn is_grown(line: &LogItem, open: &str) -> bool {
    matches!(line, LogItem::Line(line) if line.starts_with(open))
}

fn other(order: SortOrder) -> SortOrder {
    match order {
        SortOrder::Asc => SortOrder::Desc,
        SortOrder::Desc => SortOrder::Asc,
    }
}

/// Which of two lines is older, if their numbers tell.
fn compare(one: &str, two: &str) -> Option<std::cmp::Ordering> {
    let number = |text: &str| text.parse::<u128>().ok();
    Some(number(one)?.cmp(&number(two)?))
}

/// Some lines in the order of time.
#[derive(Debug, Default)]
struct Slice {
    first: Option<String>,
    last: Option<String>,
    lines: Vec<String>,
    /// Whether the last line has no end.
    open: bool,
}

impl Slice {
    fn of(answer: LogLines) -> Self {
        let content = answer.content.unwrap_or_default();
        if content.is_empty() && answer.lines.unwrap_or_default() < 1 {
            return Self::default();
        }
        let mut lines: Vec<String> = content
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned())
            .collect();
        // Where lines are only separated, the last one may be empty.
        let count = answer.lines.and_then(|lines| usize::try_from(lines).ok());
        let open = !content.ends_with('\n') || count == Some(lines.len());
        if !open {
            lines.pop();
        }
        let (mut first, mut last) = (answer.start_line, answer.end_line);
        let order = first.as_deref().zip(last.as_deref());
        if order
            .and_then(|(first, last)| compare(first, last))
            .is_some_and(|order| order.is_gt())
        {
            std::mem::swap(&mut first, &mut last);
            lines.reverse();
        }
        Self {
            first,
            last,
            lines,
            open,
        }
    }

    /// Whether there are lines behind this one.
    fn is_behind(&self, base: &str) -> bool {
        let last = self.last.as_deref().filter(|_| !self.lines.is_empty());
        last.is_some_and(|last| {
            last != base && compare(last, base).is_none_or(|order| order.is_gt())
        })
    }

    /// Without the line that it goes on from.
    fn without(mut self, base: &str) -> Self {
        if self.first.as_deref() == Some(base) {
            self.lines.remove(0);
            self.first = None;
        } else if self.last.as_deref() == Some(base) {
            self.lines.pop();
            self.last = None;
        }
        self
    }
}
