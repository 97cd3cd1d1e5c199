//! Reads a list that changes while it is read.
//!
//! Each request asks for some rows that were read before, see [`Frame`]. They show
//! whether the list has shifted: rows that came in before push what was read into
//! the window, where it is recognised; rows that went away pull unread rows in front
//! of the window, and then not one of its rows is known. In that case the known rows
//! are [searched](Search) for, and reading goes on behind them. So every row that was
//! there all the time is given once.

use std::sync::Arc;

use futures::{StreamExt, stream::FuturesOrdered};
use modelarts_api::{BoxFuture, Offset, Pagination};

use crate::{
    error::{Error, ErrorKind},
    known::Known,
    page::{Batch, Page, Reading, Source},
    position::{Counts, Position},
    search::Search,
    window::{Frame, Window},
};

/// Overlaps. Where rows have an id, one known row is enough; three, because the last
/// ones may just have been deleted. Rows without an id are told apart by their
/// neighbours.
const OVERLAP_OF_IDS: u32 = 3;
const OVERLAP_OF_ROWS: u32 = 16;
/// How many keys a saved position holds.
const SAVED: u32 = 30;
/// The same, if they end with a run of equal ones.
const SAVED_OF_A_RUN: u32 = 75;
/// How often a page that is not full and leads no further is taken for an accident
/// while the service says that there is more.
const PATIENCE: u32 = 1;

/// How many searches without a new row in between are enough.
const SEARCHES: u32 = 10;

type Answer<T> = Result<(Window, Batch<T>), Error>;

pub(crate) struct Pager<S: Source> {
    source: Arc<S>,
    frame: Frame,
    known: Known,
    in_flight: usize,
    /// What was asked for already, in order.
    flight: FuturesOrdered<BoxFuture<'static, Answer<S::Item>>>,
    /// How many rows lie before the end of the last page.
    read: u64,
    /// The same, once all that was asked for has come as expected.
    planned: u64,
    /// How many rows the service says there are.
    total: Option<u64>,
    meaning: Meaning,
    search: Option<Search>,
    /// How many searches there were since the last new row.
    searches: u32,
    /// How many pages in a row were not full and led no further.
    idle: u32,
    /// How many rows were given, those before a resumed position included.
    given: u64,
    /// How many rows in a row were known.
    stale: u64,
    first: bool,
    /// Whether everything comes in one answer.
    single: bool,
    done: bool,
}

/// How sure it is what the offset counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Sure,
    /// The documents disagree; this is what most of them say.
    Disputed,
    /// The first choice brought a page that has nothing to do with the page before.
    OtherTried,
}

impl<S: Source> Pager<S> {
    pub(crate) fn new(source: Arc<S>, pagination: Pagination, reading: Reading) -> Self {
        let saved = reading.resume;
        let sure = reading
            .meaning
            .or_else(|| saved.as_ref()?.counts.map(Counts::offset))
            .or_else(|| source.learned()?.get());
        let unique = source.is_unique();
        let mut known = Known::new(unique);
        let mut read = 0;
        if let Some(saved) = saved {
            read = saved.read;
            known.remember(saved.last);
            if saved.more {
                known.forget_more();
            }
        }
        Self {
            source,
            frame: Frame {
                meaning: sure.unwrap_or(pagination.offset),
                size: reading.size,
                max: pagination.max_limit.unwrap_or(reading.size).max(1),
                overlap: if unique {
                    OVERLAP_OF_IDS
                } else {
                    OVERLAP_OF_ROWS
                },
            },
            known,
            in_flight: reading.in_flight,
            flight: FuturesOrdered::new(),
            read,
            planned: read,
            total: None,
            meaning: if sure.is_some() || !pagination.disputed {
                Meaning::Sure
            } else {
                Meaning::Disputed
            },
            search: None,
            searches: 0,
            idle: 0,
            given: read,
            stale: 0,
            first: true,
            single: pagination.offset == Offset::SinglePage,
            done: false,
        }
    }

    /// The next page that has something to tell. The first one always has.
    pub(crate) async fn next(&mut self) -> Result<Option<Page<S::Item>>, Error> {
        while !self.done {
            let (window, batch) = match &self.search {
                Some(search) => self.ask(search.window(&self.frame)).await?,
                None => {
                    self.launch();
                    match self.flight.next().await {
                        Some(answer) => answer?,
                        None => break,
                    }
                }
            };
            let first = self.first;
            if let Some(page) = self.take(window, batch)?
                && (first || !page.items.is_empty() || page.dropped > 0)
            {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    fn ask(&self, window: Window) -> BoxFuture<'static, Answer<S::Item>> {
        let source = Arc::clone(&self.source);
        let offset = i64::try_from(window.offset).unwrap_or(i64::MAX);
        Box::pin(async move { Ok((window, source.fetch(offset, window.limit).await?)) })
    }

    /// Asks for what is expected to come next.
    fn launch(&mut self) {
        // One page tells whether there are more, and what the offset counts.
        let most = if self.first || self.meaning != Meaning::Sure {
            1
        } else {
            self.in_flight
        };
        while self.flight.len() < most {
            let beyond = self.total.is_some_and(|total| self.planned >= total);
            if beyond && !self.flight.is_empty() {
                break;
            }
            let window = match self.flight.is_empty() {
                true => self.safe_window(self.planned),
                false => self.frame.after(self.planned),
            };
            self.planned = window.end().max(self.planned + 1);
            self.flight.push_back(self.ask(window));
        }
    }

    /// The window behind what was read that begins with rows by which a shift is seen.
    fn safe_window(&self, read: u64) -> Window {
        let usual = self.frame.overlap.min(self.frame.max / 2);
        // Where pages are shorter than they say, a longer overlap could fill them.
        if self.frame.overlap < OVERLAP_OF_ROWS {
            return self.frame.after(read);
        }
        let most = self.frame.max - self.frame.max / 4;
        let overlap = self.known.overlap(usual, most);
        self.frame.overlapping(read, overlap)
    }

    /// Forgets what is in flight and goes on behind the first `read` rows.
    fn go_on_from(&mut self, read: u64) {
        self.flight = FuturesOrdered::new();
        self.read = read;
        self.planned = read;
    }

    /// Takes an answer. `None`: it has to be asked for something else.
    fn take(
        &mut self,
        mut window: Window,
        batch: Batch<S::Item>,
    ) -> Result<Option<Page<S::Item>>, Error> {
        // The service may have a smaller idea of the largest page.
        let used = batch.limit.and_then(|used| u32::try_from(used).ok());
        let used = used.filter(|used| (1..window.limit).contains(used));
        if let Some(used) = used {
            self.frame.max = used;
            window.limit = used;
            if self.frame.meaning == Offset::PageIndex {
                window.start = window.offset * u64::from(used);
            }
        }
        let rows = (batch.items.len() + batch.dropped) as u64;
        let full = rows > 0 && rows >= u64::from(window.limit);
        let end = window.start + rows;
        let positive = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
        let (total, matching) = (positive(batch.total), positive(batch.count));
        let more = matching.or(total).is_some_and(|all| all > end);

        if self.search.is_none()
            && self.meaning == Meaning::Sure
            && self.read > 0
            && self.safe_window(self.read).start < window.start
        {
            self.go_on_from(self.read);
            return Ok(None);
        }

        let keys: Vec<String> = batch
            .items
            .iter()
            .map(|item| self.source.key(item))
            .collect();
        // In a search, and where rows are missing in between, nothing is expected.
        let overlap = match self.search {
            None => self.read.checked_sub(window.start),
            Some(_) => None,
        };
        let overlap = overlap.and_then(|overlap| usize::try_from(overlap).ok());
        // After a search the end of what was read may have gone for good.
        let expected = overlap.filter(|overlap| self.searches == 0 || *overlap == 0);
        let new = self.known.new_among(&keys, expected);
        let Some(new) = new.filter(|new| self.means(&window, overlap, new)) else {
            self.lost(&window, rows, full || more)?;
            return Ok(None);
        };
        let searched = self.search.take().is_some();
        let further = searched || full || end > self.read || new.contains(&true);
        let as_planned = !searched && used.is_none() && end == window.end();
        if as_planned && end >= self.read {
            self.read = end;
        } else {
            self.go_on_from(end);
        }

        let (read, fresh) = (new.len(), new.iter().filter(|new| **new).count());
        let mut given = new.clone();
        if let Some(split) = new.iter().position(|new| *new) {
            self.searches = 0;
            self.known.pass_over(&keys, split, &mut given);
        }
        let mut items = batch.items;
        let mut flags = given.iter();
        items.retain(|_| flags.next() == Some(&true));
        let new = keys.into_iter().zip(new).filter(|(_, new)| *new);
        self.known.remember(new.map(|(key, _)| key));

        // A count that is smaller than what was read is that of the page.
        self.total = matching.filter(|count| *count > end).or(total);
        self.idle = if further { 0 } else { self.idle + 1 };
        if !full {
            self.done = !more || self.idle > PATIENCE;
            if more {
                // Pages are shorter than they say; the overlap must not fill them.
                let half = u32::try_from(rows / 2).unwrap_or(u32::MAX).max(1);
                self.frame.overlap = self.frame.overlap.min(half);
            }
        }
        self.done |= self.single;
        if !self.done {
            self.done = self.goes_in_circles(read, fresh, batch.dropped)?;
        }
        self.first = false;
        Ok(Some(Page {
            items,
            total,
            dropped: batch.dropped,
            position: self.position(),
            told: batch.told,
        }))
    }

    /// Whether the same rows come again and again, because the service does not know so
    /// large an offset: more of them in a row than can come of rows that moved in before
    /// what was read, which is as many as are remembered.
    fn goes_in_circles(&mut self, rows: usize, new: usize, dropped: usize) -> Result<bool, Error> {
        if new == 0 {
            self.stale += rows as u64;
        } else {
            self.stale = 0;
            self.given += (new + dropped) as u64;
        }
        let most = self.known.len() as u64 + u64::from(self.frame.max);
        if self.stale <= 2 * most {
            return Ok(false);
        }
        match self.total {
            Some(total) if total <= self.given => Ok(true),
            _ => Err(changed_too_much(&*self.source)),
        }
    }

    /// Whether the page can be what was asked for, going by what its rows are, where it
    /// is not sure what the offset counts.
    fn means(&mut self, window: &Window, overlap: Option<usize>, new: &[bool]) -> bool {
        let tells = window.offset > 0 && window.limit > 1;
        let Some(overlap) = overlap.filter(|overlap| tells && *overlap > 0) else {
            return true;
        };
        if self.meaning == Meaning::Sure {
            return true;
        }
        let exact = new
            .iter()
            .enumerate()
            .all(|(at, new)| *new == (at >= overlap));
        if exact {
            self.meaning = Meaning::Sure;
            if let Some(learned) = self.source.learned() {
                learned.set(self.frame.meaning);
            }
        }
        // Numbers of pages are small. Taken for numbers of records they bring rows that
        // are known as well, only not those that were expected.
        exact || self.frame.meaning == Offset::Record
    }

    /// None of the rows is known.
    fn lost(&mut self, window: &Window, rows: u64, more: bool) -> Result<(), Error> {
        let other = match self.frame.meaning {
            Offset::PageIndex => Offset::Record,
            _ => Offset::PageIndex,
        };
        match self.meaning {
            Meaning::Disputed => {
                self.frame.meaning = other;
                self.meaning = Meaning::OtherTried;
                self.go_on_from(self.read);
                return Ok(());
            }
            Meaning::OtherTried => {
                self.frame.meaning = other;
                self.meaning = Meaning::Sure;
                self.go_on_from(self.read);
                return Ok(());
            }
            Meaning::Sure => {}
        }
        let Some(search) = self.search.take() else {
            self.go_on_from(self.read);
            self.searches += 1;
            if self.searches > SEARCHES {
                return Err(changed_too_much(&*self.source));
            }
            // Earlier by half a window: as much that is known as what is not.
            let half = u64::from(self.frame.max / 2);
            self.search = Some(Search::new(window.start.saturating_sub(half)));
            return Ok(());
        };
        // Windows overlap by half, so that what is searched for is whole in one.
        let step = rows.min(u64::from(self.frame.max)) / 2;
        self.search = search.next(window.start, step, more && rows > 0);
        if self.search.is_none() {
            // Nothing of what was read is there any more. If that is certain, then
            // everything that is there has not been read.
            if self.known.has_forgotten() {
                return Err(changed_too_much(&*self.source));
            }
            self.known.all_gone();
            self.go_on_from(0);
        }
        Ok(())
    }

    fn position(&self) -> Position {
        let enough = self.known.overlap(SAVED, SAVED_OF_A_RUN);
        let last = self.known.last(enough as usize);
        Position {
            list: self.source.operation().to_owned(),
            read: self.read,
            more: self.known.has_forgotten() || last.len() < self.known.len(),
            last,
            counts: (self.meaning == Meaning::Sure)
                .then(|| Counts::of(self.frame.meaning))
                .flatten(),
        }
    }
}

fn changed_too_much(source: &impl Source) -> Error {
    Error::new(
        ErrorKind::Unexpected,
        format!(
            "{}: the list has changed so much while it was read that it cannot be said where to \
             go on; read it again",
            source.operation()
        ),
    )
}
