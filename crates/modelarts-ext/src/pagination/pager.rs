//! Reads a list that changes while it is read.
//!
//! Each request asks for some rows that were read before, see [`WindowPlan`]. They show
//! whether the list has shifted: rows that came in before push what was read into
//! the window, where it is recognised; rows that went away pull unread rows in front
//! of the window, and then not one of its rows is known. In that case the known rows
//! are [searched](Relocation) for, and reading goes on behind them. So every row that was
//! there all the time is given once.
//!
//! That holds as long as the service keeps the order of the rows. Where a page shows that
//! it does not ([`OrderCheck`]), or fewer rows came than the service counts, the list is
//! read again from its beginning, page by page, and what did not come yet is given. It
//! ends without an error when, from one request on, no row was new, the total did not
//! change, and as many rows were seen as it says.

use std::sync::Arc;

use futures::{StreamExt, stream::FuturesOrdered};
use modelarts_api::{BoxFuture, Offset, Pagination};

use crate::{
    error::{Error, ErrorKind},
    pagination::{
        error::{self, End, ListError},
        history::RowHistory,
        offset::OffsetUnit,
        offset_meaning::{self, Evidence, Meaning, Verdict},
        order_check::OrderCheck,
        page::{Page, RawPage, ReadOptions, Source},
        position::Position,
        relocate::Relocation,
        resume::{SAVED_KEYS, SAVED_KEYS_IN_RUN},
        row_counts::RowCounts,
        window::{Window, WindowPlan},
    },
};

/// Overlaps. Where rows have an id, one known row is enough; three, because the last
/// ones may just have been deleted. Rows without an id are told apart by their
/// neighbours.
const OVERLAP_OF_IDS: u32 = 3;
const OVERLAP_OF_ROWS: u32 = 16;

type Answer<T> = Result<(Window, RawPage<T>), Error>;

pub(crate) struct Pager<S: Source> {
    source: Arc<S>,
    frame: WindowPlan,
    known: RowHistory,
    order: OrderCheck,
    in_flight: usize,
    /// What was asked for already, in order.
    flight: FuturesOrdered<BoxFuture<'static, Answer<S::Item>>>,
    /// Half of the rows of the shortest page, where pages are shorter than asked for.
    half_page: Option<u32>,
    /// How many requests were sent since the list was begun, or begun again.
    requests: u64,
    /// How many rows lie before the end of the last page.
    read: u64,
    /// The same, once all that was asked for has come as expected.
    planned: u64,
    /// How many rows the service says there are.
    total: Option<u64>,
    /// How many rows the list must have, as the service said last, and at least.
    required: Option<u64>,
    least: Option<u64>,
    /// The largest number of rows that the service said.
    largest: u64,
    meaning: Meaning,
    search: Option<Relocation>,
    /// The number of rows before the end of the farthest page that a search asked for.
    searched: u64,
    /// How many searches there were since the last new row.
    searches: u32,
    /// How many pages in a row were not full and led no further.
    idle: u32,
    /// The rows before the position that was resumed that are not known.
    resumed: u64,
    /// The rows that could not be read, since the list was begun, or begun again. One of them
    /// on two pages is counted twice.
    uncounted: u64,
    /// How many rows in a row were known.
    stale: u64,
    /// The service changes the order of the rows.
    unordered: bool,
    /// The service may have changed the order of the rows.
    uncertain: bool,
    /// Where the list ended, once it is read again.
    again: Option<End>,
    first: bool,
    /// Whether everything comes in one answer.
    single: bool,
    /// The list may end before all rows came.
    lenient: bool,
    failed: Option<Error>,
    done: bool,
}

impl<S: Source> Pager<S> {
    pub(crate) fn new(source: Arc<S>, pagination: Pagination, reading: ReadOptions) -> Self {
        let saved = reading.resume;
        let sure = reading
            .meaning
            .or_else(|| saved.as_ref()?.counts.map(OffsetUnit::offset))
            .or_else(|| source.learned()?.get());
        let unique = source.is_unique();
        let mut known = RowHistory::new(unique);
        let (mut read, mut resumed) = (0, 0);
        let mut order = OrderCheck::default();
        if let Some(saved) = saved {
            read = saved.read;
            let start = read.saturating_sub(saved.last.len() as u64);
            order.take(known.hashes(&saved.last), start, None);
            known.resume(saved.last, saved.more);
            resumed = read.saturating_sub(known.given());
        }
        Self {
            source,
            frame: WindowPlan {
                meaning: sure.unwrap_or(pagination.offset),
                size: reading.size,
                max: pagination.max_limit.unwrap_or(reading.size).max(1),
                overlap: [OVERLAP_OF_ROWS, OVERLAP_OF_IDS][usize::from(unique)],
            },
            known,
            order,
            in_flight: reading.in_flight,
            flight: FuturesOrdered::new(),
            half_page: None,
            requests: 0,
            read,
            planned: read,
            total: None,
            required: None,
            least: None,
            largest: 0,
            meaning: if sure.is_some() || !pagination.disputed {
                Meaning::Known
            } else {
                Meaning::Disputed(0)
            },
            search: None,
            searched: 0,
            searches: 0,
            idle: 0,
            resumed,
            uncounted: 0,
            stale: 0,
            unordered: false,
            uncertain: false,
            again: None,
            first: true,
            single: pagination.offset == Offset::SinglePage,
            lenient: reading.lenient,
            failed: None,
            done: false,
        }
    }

    /// The next page that has something to tell. The first one always has.
    pub(crate) async fn next(&mut self) -> Result<Option<Page<S::Item>>, Error> {
        while self.failed.is_none() && !self.done {
            if self.requests > self.most_requests() {
                return self.too_many_requests().map_or(Ok(None), Err);
            }
            let (window, batch) = match &self.search {
                Some(search) => {
                    let window = search.window(&self.frame);
                    self.ask(window).await?
                }
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
        self.failed.take().map_or(Ok(None), Err)
    }

    fn ask(&mut self, window: Window) -> BoxFuture<'static, Answer<S::Item>> {
        self.requests += 1;
        let source = Arc::clone(&self.source);
        let offset = i64::try_from(window.offset).unwrap_or(i64::MAX);
        Box::pin(async move { Ok((window, source.fetch(offset, window.limit).await?)) })
    }

    fn most_requests(&self) -> u64 {
        let overlap = self.frame.overlap.min(self.frame.max / 2);
        let new = self.frame.size.min(self.frame.max - overlap);
        let new = new.min(self.half_page.unwrap_or(new));
        let rows = self.largest.max(self.given()).max(self.read);
        error::most_requests(rows, new, self.searched, self.frame.max)
    }

    /// How many rows came, those before a resumed position included.
    fn given(&self) -> u64 {
        self.resumed + self.known.given() + self.uncounted
    }

    /// Asks for what is expected to come next.
    fn launch(&mut self) {
        // One page tells whether there are more, and what the offset counts.
        let most = if self.first || !self.meaning.is_known() {
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
            let asking = self.ask(window);
            self.flight.push_back(asking);
        }
    }

    /// The window behind what was read that begins with rows by which a shift is seen.
    fn safe_window(&self, read: u64) -> Window {
        let usual = self.frame.overlap.min(self.frame.max / 2);
        let mut frame = self.frame;
        if self.meaning.is_in_doubt() {
            // Small pages did not settle what the offset counts.
            frame.size = frame.max;
        }
        // Where pages are shorter than they say, a longer overlap could fill them.
        if frame.overlap < OVERLAP_OF_ROWS {
            return frame.after(read);
        }
        let most = frame.max - frame.max / 4;
        let overlap = self.known.overlap(usual, most);
        frame.overlapping(read, overlap)
    }

    /// Begins the list again.
    fn go_on_from_start(&mut self) {
        self.go_on_from(0);
        // Rows that cannot be read are not known, so they are counted again.
        self.uncounted = 0;
        if !self.known.is_incomplete() {
            self.resumed = 0;
        }
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
        batch: RawPage<S::Item>,
    ) -> Result<Option<Page<S::Item>>, Error> {
        let rows = (batch.items.len() + batch.dropped) as u64;
        let counts = RowCounts::new(batch.total, batch.count);
        let long = rows > u64::from(window.limit) && !self.single;
        let whole = long && window.offset == 0 && counts.total.or(counts.count) == Some(rows);
        if long && !whole {
            return Err(self.error(ListError::PageTooLong {
                rows,
                limit: window.limit,
                offset: window.offset,
            }));
        }
        // The service may have a smaller idea of the largest page.
        let used = batch.limit.and_then(|used| u32::try_from(used).ok());
        let used = used.filter(|used| (1..window.limit).contains(used) && rows <= u64::from(*used));
        if let Some(used) = used {
            self.frame.max = used;
            window.limit = used;
            if self.frame.meaning == Offset::PageIndex {
                window.start = window.offset * u64::from(used);
            }
        }
        let full = rows > 0 && rows >= u64::from(window.limit);
        let end = window.start + rows;
        let only = window.start == 0 && !full;
        let bounds = counts.of_page(rows, only, self.source.is_filtered());
        let more = bounds.most.is_some_and(|most| most > end);
        let changed = bounds.all != self.required;
        self.required = bounds.all;
        self.least = self.least.into_iter().chain(bounds.all).min();
        self.largest = self.largest.max(bounds.most.unwrap_or(0));

        if self.search.is_none()
            && self.meaning.is_known()
            && self.again.is_none()
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
        let hashes = self.known.hashes(&keys);
        let unmoved = bounds.all.is_some() && bounds.all == self.order.total();
        if !self.settle_meaning(&window, rows, bounds.most, unmoved, &hashes)? {
            return Ok(None);
        }
        let known = |row| self.known.contains(row);
        self.unordered |= self.again.is_none() && self.order.is_broken_by(&hashes, known);
        let explained = self
            .order
            .explains(&hashes, window.start, bounds.all, known);
        if (self.unordered || self.again.is_some()) && self.known.is_incomplete() {
            // Rows that are not known would come again.
            let missing = self.again.as_ref().and_then(|end| end.missing);
            return Err(self.ended_early(missing));
        }
        // In a search, and where rows are missing in between, nothing is expected.
        let overlap = match self.search {
            None => self.read.checked_sub(window.start),
            Some(_) => None,
        };
        let overlap = overlap.and_then(|overlap| usize::try_from(overlap).ok());
        // After a search the end of what was read may have gone for good.
        let expected = overlap.filter(|overlap| self.searches == 0 || *overlap == 0);
        let split = match self.unordered || self.again.is_some() {
            // Known rows say nothing about the place of the others.
            true => Some(0),
            false => self.known.split(&keys, expected),
        };
        let Some(split) = split else {
            self.lost(&window, rows, full || more)?;
            return Ok(None);
        };
        let searched = self.search.take().is_some();
        let resumed = self.known.is_incomplete();
        let given = self.known.admit(&hashes, if resumed { split } else { 0 });
        let fresh = given.iter().filter(|new| **new).count();
        let further = searched || full || end > self.read || fresh > 0;
        let as_planned = !searched && used.is_none() && end == window.end();
        if as_planned && end >= self.read {
            self.read = end;
        } else {
            self.go_on_from(end);
        }
        if fresh > 0 {
            self.searches = 0;
        }
        self.uncertain |= !explained;
        self.known.confirm(&hashes, changed || fresh > 0);
        self.order.take(hashes, window.start, bounds.all);

        let unique = self.source.is_unique();
        let read = keys.len();
        let mut items = batch.items;
        let mut flags = given.iter();
        items.retain(|_| flags.next() == Some(&true));
        let kept = keys.into_iter().zip(&given).enumerate();
        let kept = kept.filter(|(at, (_, new))| **new || !unique && *at >= split);
        self.known.remember(kept.map(|(_, (key, _))| key));

        self.uncounted += batch.dropped as u64;
        self.total = bounds
            .matching
            .filter(|count| *count > end)
            .or(counts.total);
        self.idle = if further { 0 } else { self.idle + 1 };
        if !full {
            self.done = !more || self.idle > error::PATIENCE;
            if more {
                // Pages are shorter than they say; the overlap must not fill them.
                let half = u32::try_from(rows / 2).unwrap_or(u32::MAX).max(1);
                self.frame.overlap = self.frame.overlap.min(half);
                self.half_page = Some(self.half_page.map_or(half, |least| least.min(half)));
            }
        }
        self.done |= self.single || whole;
        if !self.done && self.again.is_none() {
            self.done = self.goes_in_circles(read, fresh)?;
        }
        self.first = false;
        if (self.unordered || self.uncertain) && self.is_confirmed() {
            self.done = true;
        } else if self.done {
            self.end();
        }
        Ok(Some(Page {
            items,
            total: counts.total,
            dropped: batch.dropped,
            position: self.position(),
            told: batch.told,
        }))
    }

    /// Finds out what the offset counts, where that is disputed. Returns whether the page
    /// is what was asked for.
    fn settle_meaning(
        &mut self,
        window: &Window,
        rows: u64,
        total: Option<u64>,
        unmoved: bool,
        page: &[u64],
    ) -> Result<bool, Error> {
        let tells = window.offset > 0 && window.limit > 1;
        if self.meaning.is_known() || !tells {
            return Ok(true);
        }
        let evidence = Evidence {
            meaning: self.frame.meaning,
            window,
            rows,
            total,
            page,
            previous: self.order.previous(),
            start: self.order.start(),
            unmoved,
        };
        let verdict = evidence.verdict();
        if verdict == Verdict::Confirmed {
            self.meaning = Meaning::Known;
            if let Some(learned) = self.source.learned() {
                learned.set(self.frame.meaning);
            }
            return Ok(true);
        }
        let Some(doubt) = self.meaning.doubt() else {
            return Err(self.error(ListError::OffsetUnclear));
        };
        self.meaning = doubt;
        if verdict == Verdict::Disproved {
            self.frame.meaning = offset_meaning::other(self.frame.meaning);
            self.go_on_from(self.read);
        } else {
            self.go_on_from_start();
        }
        Ok(false)
    }

    /// Returns whether all rows that the service counts were seen since it last said how many there
    /// are, and none of them was new.
    fn is_confirmed(&self) -> bool {
        let confirmed = self.known.confirmed() + self.uncounted;
        self.required.is_some_and(|all| confirmed >= all)
    }

    /// How many of how many rows came, if some are missing. Rows that were inserted before
    /// those that were read do not come, so only as many must come as there ever were.
    fn missing(&self) -> Option<(u64, u64)> {
        let last = self.required.map(|last| (self.read, last));
        let least = self.least.map(|least| (self.given(), least));
        let least = least.filter(|_| !self.known.is_incomplete());
        last.into_iter().chain(least).find(|(came, all)| came < all)
    }

    /// The list has come to its end. If rows are missing, or may be, it is read again; if
    /// that brings nothing, it ends with an error.
    fn end(&mut self) {
        if self.single || self.lenient {
            return;
        }
        let (missing, given) = (self.missing(), self.given());
        let resumed = self.known.is_incomplete();
        let times = self.again.as_ref().map_or(0, |end| end.times);
        let new = self.again.as_ref().is_none_or(|end| end.given < given);
        let uncertain =
            self.uncertain && !resumed && self.required.is_some() && times < error::TIMES_UNCERTAIN;
        let unordered = self.unordered && times < error::TIMES_UNORDERED;
        if missing.is_none() && !self.unordered && !uncertain {
            return;
        }
        if resumed || self.required.is_none() || !(new || unordered || uncertain) {
            self.failed = Some(self.ended_early(missing));
            return;
        }
        if self.again.is_none() {
            self.requests = 0;
        }
        self.again = Some(End {
            position: self.position(),
            times: times + 1,
            given,
            missing,
        });
        self.done = false;
        self.idle = 0;
        self.frame.size = self.frame.max;
        self.go_on_from_start();
    }

    /// Returns whether the same rows come again and again, because the service does not know so
    /// large an offset: more of them in a row than can come of rows that moved in before
    /// what was read, which is as many as were read.
    fn goes_in_circles(&mut self, rows: usize, new: usize) -> Result<bool, Error> {
        self.stale = if new == 0 {
            self.stale + rows as u64
        } else {
            0
        };
        let most = self.known.given() + self.known.len() as u64 + u64::from(self.frame.max);
        if self.stale <= 2 * most {
            return Ok(false);
        }
        match self.total {
            Some(total) if total <= self.given() => Ok(true),
            _ => Err(self.error(ListError::ChangedTooMuch)),
        }
    }

    /// None of the rows is known.
    fn lost(&mut self, window: &Window, rows: u64, more: bool) -> Result<(), Error> {
        let Some(search) = self.search.take() else {
            self.go_on_from(self.read);
            self.searches += 1;
            if self.searches > error::SEARCHES {
                return Err(self.error(ListError::ChangedTooMuch));
            }
            // Earlier by half a window: as much that is known as what is not.
            let half = u64::from(self.frame.max / 2);
            self.search = Some(Relocation::new(window.start.saturating_sub(half)));
            return Ok(());
        };
        // Windows overlap by half, so that what is searched for is whole in one. A window
        // without rows lies behind the end of the list.
        let max = u64::from(self.frame.max);
        let step = if rows == 0 { max } else { rows.min(max) } / 2;
        self.searched = self.searched.max(window.start + rows);
        self.search = search.next(window.start, step, more && rows > 0);
        if self.search.is_none() {
            // Nothing of what was read is there any more. If that is certain, then
            // everything that is there has not been read.
            if !self.known.is_sure() {
                return Err(self.error(ListError::ChangedTooMuch));
            }
            self.known.all_gone();
            self.go_on_from_start();
        }
        Ok(())
    }

    fn position(&self) -> Position {
        if let Some(end) = &self.again {
            return end.position.clone();
        }
        let enough = self.known.overlap(SAVED_KEYS, SAVED_KEYS_IN_RUN);
        let last = self.known.last(enough as usize);
        Position {
            list: self.source.operation().to_owned(),
            read: self.read,
            more: self.known.has_forgotten() || last.len() < self.known.len(),
            last,
            counts: OffsetUnit::of(self.frame.meaning).filter(|_| self.meaning.is_known()),
        }
    }

    fn error(&self, error: ListError) -> Error {
        let text = format!("{}: {error}", self.source.operation());
        let failed = Error::new(ErrorKind::Unexpected, text).with_position(self.position());
        match error {
            ListError::OffsetUnclear | ListError::PageTooLong { .. } => {
                failed.with_retryable(false)
            }
            _ => failed,
        }
    }

    /// The error of a list that took too many requests. `None`: it came to its end before.
    fn too_many_requests(&self) -> Option<Error> {
        match &self.again {
            Some(end) if end.missing.is_none() && !self.unordered => None,
            Some(end) => Some(self.ended_early(end.missing)),
            None => Some(self.error(ListError::TooManyRequests {
                requests: self.requests,
                rows: self.given(),
            })),
        }
    }

    /// The list has ended, and not all rows came, or that is not certain.
    fn ended_early(&self, missing: Option<(u64, u64)>) -> Error {
        let given = self.given();
        self.error(ListError::ended_early(missing, self.unordered, given))
    }
}
