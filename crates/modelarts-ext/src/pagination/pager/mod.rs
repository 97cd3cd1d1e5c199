//! Pager: reads a list that changes while it is read.
//!
//! Each request includes some rows that were read before, see [`WindowPlan`]. They show whether the
//! list has shifted: rows inserted before push known rows farther into the window, where they are
//! recognised; removed rows pull unread rows out of the window, and then none of its rows is known.
//! In that case the known rows are [searched for](Relocation), and reading continues behind them.
//! So every row that exists for the whole time is returned once.
//!
//! This holds as long as the service keeps the order of the rows. Where a page shows that it does
//! not ([`OrderCheck`]), or fewer rows came than the service counts, the list is read again from
//! its beginning, page by page, and rows that are missing so far are returned. It ends without an
//! error when, since some request, no row was new, the total did not change, and as many rows came
//! as it states.

mod bounds;
mod end;
mod error;
mod history;
mod offset_meaning;
mod order_check;
#[cfg(test)]
mod order_tests;
mod relocate;
mod row_counts;
#[cfg(test)]
mod simulated_list;
#[cfg(test)]
pub(crate) mod tests;
mod window;

use std::sync::Arc;

use futures::{StreamExt, stream::FuturesOrdered};
use modelarts_api::{BoxFuture, Offset, Pagination};

use crate::{
    error::Error,
    pagination::{
        offset::OffsetUnit,
        options::ReadOptions,
        page::Page,
        pager::{
            end::{End, Progress, Reread},
            error::ListError,
            history::RowHistory,
            offset_meaning::{Evidence, Meaning, Verdict},
            order_check::OrderCheck,
            relocate::Relocation,
            row_counts::RowCounts,
            window::{Window, WindowPlan},
        },
        position::Position,
        source::{RawPage, Source},
    },
};

/// Rows of overlap. Where rows have an id, one known row is enough; three allow for the removal of
/// the last ones. Rows without an id are distinguished by their neighbours.
const OVERLAP_OF_IDS: u32 = 3;
const OVERLAP_OF_ROWS: u32 = 16;

/// The keys in a saved position.
const SAVED_KEYS: u32 = 30;
/// The keys in a saved position if the last rows are a run of equal ones.
const SAVED_KEYS_IN_RUN: u32 = 75;

type Answer<T> = Result<(Window, RawPage<T>), Error>;

/// The reader of a list.
pub(crate) struct Pager<S: Source + ?Sized> {
    source: Arc<S>,
    plan: WindowPlan,
    history: RowHistory,
    order: OrderCheck,
    in_flight: usize,
    /// The requests under way, in the order of their windows.
    pending: FuturesOrdered<BoxFuture<'static, Answer<S::Item>>>,
    /// Half of the rows of the shortest page, where pages are shorter than requested.
    half_page: Option<u32>,
    /// The requests sent since the list was started or restarted.
    requests: u64,
    /// The rows before the end of the last page.
    read: u64,
    /// The rows before the end of the last window, assuming that all responses come as expected.
    planned: u64,
    /// The number of rows of the list, as the service counts.
    total: Option<u64>,
    /// The rows that the list must have: the count of the last page, and the lowest count of any
    /// page.
    required: Option<u64>,
    least: Option<u64>,
    /// The largest count that the service stated.
    largest: u64,
    meaning: Meaning,
    relocation: Option<Relocation>,
    /// The rows before the end of the farthest page that a relocation requested.
    farthest: u64,
    /// The relocations since the last new row.
    relocations: u32,
    /// The consecutive pages that were not full and brought nothing new.
    idle_pages: u32,
    /// The rows before the resumed position whose keys are unknown.
    unknown_before: u64,
    /// The rows that could not be decoded since the list was started or restarted. A row on two
    /// pages counts twice.
    unreadable: u64,
    /// The consecutive rows that were known.
    known_run: u64,
    /// The service changes the order of the rows.
    order_changed: bool,
    /// The service may have changed the order of the rows.
    order_unclear: bool,
    /// The end that the list reached before it was read again.
    reread: Option<Reread>,
    first: bool,
    /// `true` if all rows come in one response.
    is_single_page: bool,
    /// `true` if the list may end before all rows came.
    allow_early_end: bool,
    failure: Option<Error>,
    done: bool,
}

impl<S: Source + ?Sized> Pager<S> {
    pub(crate) fn new(source: Arc<S>, pagination: Pagination, options: ReadOptions) -> Self {
        let position = options.resume;
        let meaning = options
            .meaning
            .or_else(|| position.as_ref()?.counts.map(OffsetUnit::offset))
            .or_else(|| source.detected_offset()?.get());
        let unique = source.is_unique();
        let mut history = RowHistory::new(unique);
        let (mut read, mut unknown_before) = (0, 0);
        let mut order = OrderCheck::default();
        if let Some(position) = position {
            read = position.read;
            let start = read.saturating_sub(position.last.len() as u64);
            order.take(history.hashes(&position.last), start, None);
            history.resume(position.last, position.more);
            unknown_before = read.saturating_sub(history.given());
        }
        Self {
            source,
            plan: WindowPlan {
                meaning: meaning.unwrap_or(pagination.offset),
                size: options.size,
                max: pagination.max_limit.unwrap_or(options.size).max(1),
                overlap: [OVERLAP_OF_ROWS, OVERLAP_OF_IDS][usize::from(unique)],
            },
            history,
            order,
            in_flight: options.in_flight,
            pending: FuturesOrdered::new(),
            half_page: None,
            requests: 0,
            read,
            planned: read,
            total: None,
            required: None,
            least: None,
            largest: 0,
            meaning: if meaning.is_some() || !pagination.disputed {
                Meaning::Known
            } else {
                Meaning::Disputed(0)
            },
            relocation: None,
            farthest: 0,
            relocations: 0,
            idle_pages: 0,
            unknown_before,
            unreadable: 0,
            known_run: 0,
            order_changed: false,
            order_unclear: false,
            reread: None,
            first: true,
            is_single_page: pagination.offset == Offset::SinglePage,
            allow_early_end: options.allow_early_end,
            failure: None,
            done: false,
        }
    }

    /// Returns the next page that has new rows. The first page is always returned.
    pub(crate) async fn next(&mut self) -> Result<Option<Page<S::Item>>, Error> {
        while self.failure.is_none() && !self.done {
            if self.requests > self.max_requests() {
                let error = self.progress().too_many_requests(self.requests);
                return error.map_or(Ok(None), |error| Err(self.error(error)));
            }
            let (window, page) = match &self.relocation {
                Some(relocation) => {
                    let window = relocation.window(&self.plan);
                    self.request(window).await?
                }
                None => {
                    self.request_ahead();
                    match self.pending.next().await {
                        Some(answer) => answer?,
                        None => break,
                    }
                }
            };
            let first = self.first;
            if let Some(page) = self.take(window, page)?
                && (first || !page.items.is_empty() || page.skipped > 0)
            {
                return Ok(Some(page));
            }
        }
        self.failure.take().map_or(Ok(None), Err)
    }

    fn request(&mut self, window: Window) -> BoxFuture<'static, Answer<S::Item>> {
        self.requests += 1;
        let source = Arc::clone(&self.source);
        let offset = i64::try_from(window.offset).unwrap_or(i64::MAX);
        Box::pin(async move { Ok((window, source.fetch(offset, window.limit).await?)) })
    }

    fn max_requests(&self) -> u64 {
        let overlap = self.plan.overlap.min(self.plan.max / 2);
        let new = self.plan.size.min(self.plan.max - overlap);
        let new = new.min(self.half_page.unwrap_or(new));
        let rows = self.largest.max(self.given_rows()).max(self.read);
        bounds::max_requests(rows, new, self.farthest, self.plan.max)
    }

    /// The number of rows returned, including those before a resumed position.
    fn given_rows(&self) -> u64 {
        self.unknown_before + self.history.given() + self.unreadable
    }

    /// Sends the requests for the next windows.
    fn request_ahead(&mut self) {
        // The first page shows whether there are more, and the unit of offsets.
        let most = if self.first || !self.meaning.is_known() {
            1
        } else {
            self.in_flight
        };
        while self.pending.len() < most {
            let beyond = self.total.is_some_and(|total| self.planned >= total);
            if beyond && !self.pending.is_empty() {
                break;
            }
            let window = match self.pending.is_empty() {
                true => self.safe_window(self.planned),
                false => self.plan.after(self.planned),
            };
            self.planned = window.end().max(self.planned + 1);
            let request = self.request(window);
            self.pending.push_back(request);
        }
    }

    /// The window behind the rows that were read, with an overlap that reveals a shift.
    fn safe_window(&self, read: u64) -> Window {
        let usual = self.plan.overlap.min(self.plan.max / 2);
        let mut plan = self.plan;
        if self.meaning.is_in_doubt() {
            // Small pages did not settle the unit of offsets.
            plan.size = plan.max;
        }
        // Where pages are shorter than requested, a longer overlap could fill them.
        if plan.overlap < OVERLAP_OF_ROWS {
            return plan.after(read);
        }
        let most = plan.max - plan.max / 4;
        let overlap = self.history.overlap(usual, most);
        plan.overlapping(read, overlap)
    }

    /// Returns `true` if all the rows that the service counts came since the last change of the
    /// total, and none of them was new.
    fn is_confirmed(&self) -> bool {
        let confirmed = self.history.confirmed() + self.unreadable;
        self.required.is_some_and(|all| confirmed >= all)
    }

    fn progress(&self) -> Progress<'_> {
        Progress {
            read: self.read,
            given: self.given_rows(),
            required: self.required,
            least: self.least,
            is_incomplete: self.history.is_incomplete(),
            order_changed: self.order_changed,
            order_unclear: self.order_unclear,
            reread: self.reread.as_ref(),
        }
    }

    /// Ends the list, or restarts it.
    fn finish(&mut self) {
        if self.is_single_page || self.allow_early_end {
            return;
        }
        match self.progress().end() {
            End::Complete => {}
            End::Failed(error) => self.failure = Some(self.error(error)),
            End::Reread { times, missing } => {
                if self.reread.is_none() {
                    self.requests = 0;
                }
                self.reread = Some(Reread {
                    position: self.position(),
                    times,
                    given: self.given_rows(),
                    missing,
                });
                self.done = false;
                self.idle_pages = 0;
                self.plan.size = self.plan.max;
                self.restart();
            }
        }
    }

    fn error(&self, error: ListError) -> Error {
        error.at(self.source.operation(), self.position())
    }

    /// Restarts the list.
    fn restart(&mut self) {
        self.continue_from(0);
        // Rows that cannot be decoded have no key, so they are counted again.
        self.unreadable = 0;
        if !self.history.is_incomplete() {
            self.unknown_before = 0;
        }
    }

    /// Drops the requests in flight and continues behind the first `read` rows.
    fn continue_from(&mut self, read: u64) {
        self.pending = FuturesOrdered::new();
        self.read = read;
        self.planned = read;
    }

    /// Processes a response. `None`: another request is needed first.
    fn take(
        &mut self,
        mut window: Window,
        page: RawPage<S::Item>,
    ) -> Result<Option<Page<S::Item>>, Error> {
        let rows = (page.items.len() + page.skipped) as u64;
        let counts = RowCounts::new(page.total, page.count);
        let long = rows > u64::from(window.limit) && !self.is_single_page;
        let whole = long && window.offset == 0 && counts.total.or(counts.count) == Some(rows);
        if long && !whole {
            return Err(self.error(ListError::PageTooLong {
                rows,
                limit: window.limit,
                offset: window.offset,
            }));
        }
        // The largest page of the service may be smaller than documented.
        let used = page.limit.and_then(|used| u32::try_from(used).ok());
        let used = used.filter(|used| (1..window.limit).contains(used) && rows <= u64::from(*used));
        if let Some(used) = used {
            self.plan.max = used;
            window.limit = used;
            if self.plan.meaning == Offset::PageIndex {
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

        if self.relocation.is_none()
            && self.meaning.is_known()
            && self.reread.is_none()
            && self.read > 0
            && self.safe_window(self.read).start < window.start
        {
            self.continue_from(self.read);
            return Ok(None);
        }

        let keys: Vec<String> = page
            .items
            .iter()
            .map(|item| self.source.key(item))
            .collect();
        let hashes = self.history.hashes(&keys);
        let unmoved = bounds.all.is_some() && bounds.all == self.order.total();
        if !self.settle_meaning(&window, rows, bounds.most, unmoved, &hashes)? {
            return Ok(None);
        }
        let known = |row| self.history.contains(row);
        self.order_changed |= self.reread.is_none() && self.order.is_broken_by(&hashes, known);
        let explained = self
            .order
            .explains(&hashes, window.start, bounds.all, known);
        if (self.order_changed || self.reread.is_some()) && self.history.is_incomplete() {
            // Unknown rows would be returned twice.
            return Err(self.error(self.progress().cannot_reread()));
        }
        // In a search, and where rows are missing in between, no overlap is expected.
        let overlap = match self.relocation {
            None => self.read.checked_sub(window.start),
            Some(_) => None,
        };
        let overlap = overlap.and_then(|overlap| usize::try_from(overlap).ok());
        // After a search, the last rows that were read may have been removed.
        let expected = overlap.filter(|overlap| self.relocations == 0 || *overlap == 0);
        let split = match self.order_changed || self.reread.is_some() {
            // Known rows do not show the place of the others.
            true => Some(0),
            false => self.history.split(&keys, expected),
        };
        let Some(split) = split else {
            self.relocate(&window, rows, full || more)?;
            return Ok(None);
        };
        let relocated = self.relocation.take().is_some();
        let resumed = self.history.is_incomplete();
        let given = self.history.admit(&hashes, if resumed { split } else { 0 });
        let fresh = given.iter().filter(|new| **new).count();
        let further = relocated || full || end > self.read || fresh > 0;
        let as_planned = !relocated && used.is_none() && end == window.end();
        if as_planned && end >= self.read {
            self.read = end;
        } else {
            self.continue_from(end);
        }
        if fresh > 0 {
            self.relocations = 0;
        }
        self.order_unclear |= !explained;
        self.history.confirm(&hashes, changed || fresh > 0);
        self.order.take(hashes, window.start, bounds.all);

        let unique = self.source.is_unique();
        let read = keys.len();
        let mut items = page.items;
        let mut flags = given.iter();
        items.retain(|_| flags.next() == Some(&true));
        let kept = keys.into_iter().zip(&given).enumerate();
        let kept = kept.filter(|(at, (_, new))| **new || !unique && *at >= split);
        self.history.remember(kept.map(|(_, (key, _))| key));

        self.unreadable += page.skipped as u64;
        self.total = bounds
            .matching
            .filter(|count| *count > end)
            .or(counts.total);
        self.idle_pages = if further { 0 } else { self.idle_pages + 1 };
        if !full {
            self.done = !more || self.idle_pages > bounds::MAX_IDLE_PAGES;
            if more {
                // Pages are shorter than requested; the overlap must not fill them.
                let half = u32::try_from(rows / 2).unwrap_or(u32::MAX).max(1);
                self.plan.overlap = self.plan.overlap.min(half);
                self.half_page = Some(self.half_page.map_or(half, |least| least.min(half)));
            }
        }
        self.done |= self.is_single_page || whole;
        if !self.done && self.reread.is_none() {
            self.done = self.goes_in_circles(read, fresh)?;
        }
        self.first = false;
        if (self.order_changed || self.order_unclear) && self.is_confirmed() {
            self.done = true;
        } else if self.done {
            self.finish();
        }
        Ok(Some(Page {
            items,
            total: counts.total,
            skipped: page.skipped,
            position: self.position(),
            call: page.call,
        }))
    }

    /// Detects the unit of offsets where it is disputed. Returns `true` if the page is the
    /// requested one.
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
            meaning: self.plan.meaning,
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
            if let Some(detected) = self.source.detected_offset() {
                detected.set(self.plan.meaning);
            }
            return Ok(true);
        }
        let Some(doubt) = self.meaning.with_doubt() else {
            return Err(self.error(ListError::OffsetUnclear));
        };
        self.meaning = doubt;
        if verdict == Verdict::Disproved {
            self.plan.meaning = offset_meaning::other_meaning(self.plan.meaning);
            self.continue_from(self.read);
        } else {
            self.restart();
        }
        Ok(false)
    }

    /// Returns `true` if the same rows come repeatedly, because the service does not support so
    /// large an offset: more consecutive ones than rows inserted before the position can explain,
    /// which are as many as were read.
    fn goes_in_circles(&mut self, rows: usize, new: usize) -> Result<bool, Error> {
        self.known_run = if new == 0 {
            self.known_run + rows as u64
        } else {
            0
        };
        let most = self.history.given() + self.history.len() as u64 + u64::from(self.plan.max);
        if self.known_run <= 2 * most {
            return Ok(false);
        }
        match self.total {
            Some(total) if total <= self.given_rows() => Ok(true),
            _ => Err(self.error(ListError::ChangedTooMuch)),
        }
    }

    /// Starts or continues a search after a window without known rows.
    fn relocate(&mut self, window: &Window, rows: u64, more: bool) -> Result<(), Error> {
        let Some(relocation) = self.relocation.take() else {
            self.continue_from(self.read);
            self.relocations += 1;
            if self.relocations > bounds::MAX_RELOCATIONS {
                return Err(self.error(ListError::ChangedTooMuch));
            }
            // Earlier by half a window: half of its rows are known ones, if nothing has shifted.
            let half = u64::from(self.plan.max / 2);
            self.relocation = Some(Relocation::new(window.start.saturating_sub(half)));
            return Ok(());
        };
        // Windows overlap by half, so that one of them has all the rows searched for. A window
        // without rows lies behind the end of the list.
        let max = u64::from(self.plan.max);
        let step = if rows == 0 { max } else { rows.min(max) } / 2;
        self.farthest = self.farthest.max(window.start + rows);
        self.relocation = relocation.next(window.start, step, more && rows > 0);
        if self.relocation.is_none() {
            // None of the rows that were read exists any more. If that is certain, every row of the
            // list is unread.
            if !self.history.is_sure() {
                return Err(self.error(ListError::ChangedTooMuch));
            }
            self.history.forget_all();
            self.restart();
        }
        Ok(())
    }

    fn position(&self) -> Position {
        if let Some(reread) = &self.reread {
            return reread.position.clone();
        }
        let enough = self.history.overlap(SAVED_KEYS, SAVED_KEYS_IN_RUN);
        let last = self.history.last(enough as usize);
        Position {
            list: self.source.operation().to_owned(),
            read: self.read,
            more: self.history.has_forgotten() || last.len() < self.history.len(),
            last,
            counts: OffsetUnit::of(self.plan.meaning).filter(|_| self.meaning.is_known()),
        }
    }
}
