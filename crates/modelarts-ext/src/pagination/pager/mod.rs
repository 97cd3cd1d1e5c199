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

mod history;
mod offset_meaning;
mod order_check;
mod progress;
#[cfg(test)]
pub(crate) mod tests;
mod window;

use std::sync::Arc;

use futures::{
    StreamExt,
    stream::{self, FuturesOrdered},
};
use modelarts_api::{BoxFuture, Offset, Pagination};

use crate::{
    error::{Error, ErrorKind},
    pagination::{
        options::ReadOptions,
        page::{Page, PageStream},
        pager::{
            history::RowHistory,
            offset_meaning::{Evidence, other_meaning},
            order_check::OrderCheck,
            progress::{End, Progress, Reread, RowCounts},
            window::{Relocation, Window, WindowPlan},
        },
        position::{OffsetUnit, Position},
        source::{Counts, ListInfo, RawPage, Source},
    },
};

/// Rows of overlap. Where rows have an id, one known row is enough; three allow for the removal of
/// the last ones. Rows without an id are distinguished by their neighbours.
const OVERLAP_OF_IDS: u32 = 3;
const OVERLAP_OF_ROWS: u32 = 16;

/// The consecutive pages that may be short and bring nothing new while the service states that
/// there are more rows.
const MAX_IDLE_PAGES: u32 = 1;
/// The consecutive relocations that may end without a new row.
const MAX_RELOCATIONS: u32 = 10;
/// The pages that may leave the unit of offsets undecided. Each is followed by a request for the
/// first page, which is the same in both units.
const MAX_DOUBTS: u32 = 6;

/// The error if none of the rows that were read can be found again.
const CHANGED_TOO_MUCH: &str = "the list has changed so much while it was read that it cannot be \
                                said where to go on; read it again";
/// The error if the unit of offsets could not be detected.
const OFFSET_UNCLEAR: &str = "the list has changed so much while it was read that it cannot be \
                              said what its offset counts; say it with `offset_is`, or read the \
                              list again";

type Answer<T> = Result<(Window, RawPage<T>), Error>;

/// Returns the pages of a list.
///
/// The first page is requested alone, because most lists end there. Then up to
/// [`ReadOptions::in_flight`] are requested concurrently while the stream is polled; a dropped
/// stream sends no further requests.
pub(super) fn pages<S: Source + ?Sized>(
    source: Arc<S>,
    pagination: Pagination,
    options: ReadOptions,
) -> PageStream<Page<S::Item>> {
    let pager = Pager::new(source, pagination, options);
    let pages = stream::try_unfold(pager, |mut pager| async move {
        Ok(pager.next().await?.map(|page| (page, pager)))
    });
    pages.boxed()
}

/// The reader of a list.
struct Pager<S: Source + ?Sized> {
    source: Arc<S>,
    info: ListInfo,
    options: ReadOptions,
    plan: WindowPlan,
    order: OrderCheck,
    progress: Progress,
    /// The requests under way, in the order of their windows.
    pending: FuturesOrdered<BoxFuture<'static, Answer<S::Item>>>,
    /// The number of pages that did not settle the unit of offsets; `None` if it is known.
    doubts: Option<u32>,
    relocation: Option<Relocation>,
    first: bool,
    /// `true` if all rows come in one response.
    is_single_page: bool,
    failure: Option<Error>,
    done: bool,
}

impl<S: Source + ?Sized> Pager<S> {
    fn new(source: Arc<S>, pagination: Pagination, mut options: ReadOptions) -> Self {
        let info = source.info();
        let mut meaning = options.meaning;
        let mut order = OrderCheck::default();
        let mut history = RowHistory::new(info.unique);
        let (mut read, mut unknown_before) = (0, 0);
        if let Some(position) = options.resume.take() {
            meaning = meaning.or(position.counts.map(OffsetUnit::offset));
            let start = position.read.saturating_sub(position.last.len() as u64);
            order.take(history.hashes(&position.last), start, None);
            history.resume(position.last, position.more);
            read = position.read;
            unknown_before = read.saturating_sub(history.given);
        }
        let meaning = meaning.or_else(|| info.detected_offset.as_ref()?.get().copied());
        Self {
            plan: WindowPlan {
                meaning: meaning.unwrap_or(pagination.offset),
                size: options.size,
                max: pagination.max_limit.unwrap_or(options.size).max(1),
                overlap: [OVERLAP_OF_ROWS, OVERLAP_OF_IDS][usize::from(info.unique)],
            },
            doubts: (meaning.is_none() && pagination.disputed).then_some(0),
            is_single_page: pagination.offset == Offset::SinglePage,
            source,
            info,
            options,
            order,
            progress: Progress {
                history,
                read,
                planned: read,
                unknown_before,
                ..Progress::default()
            },
            pending: FuturesOrdered::new(),
            relocation: None,
            first: true,
            failure: None,
            done: false,
        }
    }

    /// Returns the next page that has new rows. The first page is always returned.
    async fn next(&mut self) -> Result<Option<Page<S::Item>>, Error> {
        while self.failure.is_none() && !self.done {
            if self.progress.requests > self.progress.max_requests(&self.plan) {
                let text = self.progress.too_many_requests();
                return text.map_or(Ok(None), |text| Err(self.error(text)));
            }
            let (window, page) = match &self.relocation {
                Some(relocation) => {
                    let window = self.plan.around(relocation.row);
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
        self.progress.requests += 1;
        let source = Arc::clone(&self.source);
        let offset = i64::try_from(window.offset).unwrap_or(i64::MAX);
        Box::pin(async move { Ok((window, source.fetch(offset, window.limit).await?)) })
    }

    /// Sends the requests for the next windows.
    fn request_ahead(&mut self) {
        // The first page shows whether there are more, and the unit of offsets.
        let most = match self.first || self.doubts.is_some() {
            true => 1,
            false => self.options.in_flight,
        };
        while self.pending.len() < most {
            let total = self.progress.total;
            let beyond = total.is_some_and(|total| self.progress.planned >= total);
            if beyond && !self.pending.is_empty() {
                break;
            }
            let window = match self.pending.is_empty() {
                true => self.safe_window(self.progress.planned),
                false => self.plan.after(self.progress.planned),
            };
            self.progress.planned = window.end().max(self.progress.planned + 1);
            let request = self.request(window);
            self.pending.push_back(request);
        }
    }

    /// The window behind the rows that were read, with an overlap that reveals a shift.
    fn safe_window(&self, read: u64) -> Window {
        let mut plan = self.plan;
        if self.doubts > Some(0) {
            // Small pages did not settle the unit of offsets.
            plan.size = plan.max;
        }
        // Where pages are shorter than requested, a longer overlap could fill them.
        if plan.overlap < OVERLAP_OF_ROWS {
            return plan.after(read);
        }
        let most = plan.max - plan.max / 4;
        let overlap = self.progress.history.overlap(plan.usual_overlap(), most);
        plan.overlapping(read, overlap)
    }

    /// Ends the list, or restarts it.
    fn finish(&mut self) {
        if self.is_single_page || self.options.allow_early_end {
            return;
        }
        match self.progress.end() {
            End::Complete => {}
            End::Failed(text) => self.failure = Some(self.error(text)),
            End::Reread { times, missing } => {
                if self.progress.reread.is_none() {
                    self.progress.requests = 0;
                }
                self.progress.reread = Some(Reread {
                    position: self.position(),
                    times,
                    given: self.progress.given(),
                    missing,
                });
                self.done = false;
                self.progress.idle_pages = 0;
                self.plan.size = self.plan.max;
                self.restart();
            }
        }
    }

    /// The error of this list, at its present position.
    fn error(&self, text: impl std::fmt::Display) -> Error {
        let text = format!("{}: {text}", self.info.operation);
        Error::new(ErrorKind::Unexpected, text).with_position(self.position())
    }

    /// Restarts the list.
    fn restart(&mut self) {
        self.continue_from(0);
        // Rows that cannot be decoded have no key, so they are counted again.
        self.progress.unreadable = 0;
        if !self.progress.history.is_incomplete {
            self.progress.unknown_before = 0;
        }
    }

    /// Drops the requests in flight and continues behind the first `read` rows.
    fn continue_from(&mut self, read: u64) {
        self.pending = FuturesOrdered::new();
        self.progress.read = read;
        self.progress.planned = read;
    }

    /// Processes a response. `None`: another request is needed first.
    fn take(
        &mut self,
        mut window: Window,
        page: RawPage<S::Item>,
    ) -> Result<Option<Page<S::Item>>, Error> {
        let rows = (page.items.len() + page.skipped) as u64;
        // The largest page of the service may be smaller than documented.
        let used = page.counts.limit;
        let used = used.filter(|used| (1..window.limit).contains(used) && rows <= u64::from(*used));
        if let Some(used) = used {
            self.plan.max = used;
            window = self.plan.window(window.offset, used);
        }
        let full = rows > 0 && rows >= u64::from(window.limit);
        let end = window.start + rows;
        let Counts { total, count, .. } = page.counts;
        let whole = window.offset == 0 && total.or(count) == Some(rows);
        let long = rows > u64::from(window.limit) && !self.is_single_page;
        if long && !whole {
            let error = self.error(format!(
                "the service answered {rows} rows where at most {} were asked for (offset {}), and \
                 a page must not be longer than its limit; it seems to ignore the limit, so the \
                 list cannot be read in pages: call the operation itself",
                window.limit, window.offset
            ));
            return Err(error.with_retryable(false));
        }
        let only = window.start == 0 && !full;
        let counts = RowCounts::new(&page.counts, rows, only, self.info.filtered);
        let more = counts.most.is_some_and(|most| most > end);
        let progress = &mut self.progress;
        let changed = counts.required != progress.required;
        progress.required = counts.required;
        progress.least = progress.least.into_iter().chain(counts.required).min();
        progress.largest = progress.largest.max(counts.most.unwrap_or(0));
        let (read, rereading) = (progress.read, progress.reread.is_some());

        if self.relocation.is_none()
            && self.doubts.is_none()
            && !rereading
            && read > 0
            && self.safe_window(read).start < window.start
        {
            self.continue_from(read);
            return Ok(None);
        }

        let keys = page.items.iter().map(|item| self.source.key(item));
        let keys: Vec<String> = keys.collect();
        let hashes = self.progress.history.hashes(&keys);
        if self.doubts.is_some() && window.offset > 0 && window.limit > 1 {
            let evidence = Evidence {
                meaning: self.plan.meaning,
                window: &window,
                rows,
                total: counts.most,
                page: &hashes,
                previous: &self.order,
                unmoved: counts.required.is_some() && counts.required == self.order.total,
            };
            let verdict = evidence.verdict();
            self.settle_meaning(verdict)?;
            if verdict != Some(true) {
                return Ok(None);
            }
        }
        let progress = &mut self.progress;
        let is_known = |row| progress.history.contains(row);
        let change = self
            .order
            .compare(&hashes, window.start, counts.required, is_known);
        progress.order_changed |= !rereading && change.is_certain;
        // Known rows do not show the place of the others.
        let no_order = progress.order_changed || rereading;
        if no_order && progress.history.is_incomplete {
            // Unknown rows would be returned twice.
            let missing = progress.reread.as_ref();
            let missing = missing.and_then(|reread| reread.missing);
            let text = progress.ended_early(missing);
            return Err(self.error(text));
        }
        // In a search, and where rows are missing in between, no overlap is expected. After a
        // search, the last rows that were read may have been removed.
        let overlap = read.checked_sub(window.start).map(|rows| rows as usize);
        let overlap = overlap.filter(|overlap| {
            self.relocation.is_none() && (progress.relocations == 0 || *overlap == 0)
        });
        let split = match no_order {
            true => Some(0),
            false => progress.history.split(&keys, overlap),
        };
        let Some(split) = split else {
            self.relocate(&window, rows, full || more)?;
            return Ok(None);
        };
        let relocated = self.relocation.take().is_some();
        let resumed = progress.history.is_incomplete;
        let first = if resumed { split } else { 0 };
        let given = progress.history.admit(&hashes, first);
        let fresh = given.iter().filter(|new| **new).count();
        let further = relocated || full || end > read || fresh > 0;
        if fresh > 0 {
            progress.relocations = 0;
        }
        progress.order_unclear |= change.is_possible;
        progress.history.confirm(&hashes, changed || fresh > 0);
        self.order.take(hashes, window.start, counts.required);

        let came = keys.len();
        let kept = keys.into_iter().zip(&given).enumerate();
        let kept = kept.filter(|(at, (_, new))| **new || !self.info.unique && *at >= split);
        let kept = kept.map(|(_, (key, _))| key);
        progress.history.remember(kept);
        let (mut items, mut given) = (page.items, given.iter());
        items.retain(|_| given.next() == Some(&true));

        progress.unreadable += page.skipped as u64;
        progress.total = counts.matching.filter(|count| *count > end).or(total);
        progress.idle_pages = if further { 0 } else { progress.idle_pages + 1 };
        if !full {
            self.done = !more || progress.idle_pages > MAX_IDLE_PAGES;
            if more {
                // Pages are shorter than requested; the overlap must not fill them.
                let half = u32::try_from(rows / 2).unwrap_or(u32::MAX).max(1);
                self.plan.overlap = self.plan.overlap.min(half);
                progress.half_page = Some(half.min(progress.half_page.unwrap_or(half)));
            }
        }
        if relocated || used.is_some() || end != window.end() || end < read {
            self.continue_from(end);
        } else {
            progress.read = end;
        }
        self.done |= self.is_single_page || long;
        if !self.done && !rereading {
            self.done = self.goes_in_circles(came, fresh)?;
        }
        self.first = false;
        if self.progress.is_confirmed() {
            self.done = true;
        } else if self.done {
            self.finish();
        }
        Ok(Some(Page {
            items,
            total,
            skipped: page.skipped,
            position: self.position(),
            call: page.call,
        }))
    }

    /// Applies the verdict of a page on the unit of offsets. The next request is for the first
    /// page, or in the other unit, unless the unit is right.
    fn settle_meaning(&mut self, verdict: Option<bool>) -> Result<(), Error> {
        if verdict == Some(true) {
            self.doubts = None;
            if let Some(detected) = &self.info.detected_offset {
                // Another list of this client may have been first.
                let _ = detected.set(self.plan.meaning);
            }
            return Ok(());
        }
        let doubts = self.doubts.filter(|doubts| *doubts < MAX_DOUBTS);
        let Some(doubts) = doubts else {
            return Err(self.error(OFFSET_UNCLEAR).with_retryable(false));
        };
        self.doubts = Some(doubts + 1);
        if verdict.is_none() {
            self.restart();
        } else {
            self.plan.meaning = other_meaning(self.plan.meaning);
            self.continue_from(self.progress.read);
        }
        Ok(())
    }

    /// Returns `true` if the same rows come repeatedly, because the service does not support so
    /// large an offset: more consecutive ones than rows inserted before the position can explain,
    /// which are as many as were read.
    fn goes_in_circles(&mut self, rows: usize, new: usize) -> Result<bool, Error> {
        self.progress.known_run = match new {
            0 => self.progress.known_run + rows as u64,
            _ => 0,
        };
        let most = self.progress.history.given
            + self.progress.history.len() as u64
            + u64::from(self.plan.max);
        if self.progress.known_run <= 2 * most {
            return Ok(false);
        }
        match self.progress.total {
            Some(total) if total <= self.progress.given() => Ok(true),
            _ => Err(self.error(CHANGED_TOO_MUCH)),
        }
    }

    /// Starts or continues a search after a window without known rows.
    fn relocate(&mut self, window: &Window, rows: u64, more: bool) -> Result<(), Error> {
        let Some(relocation) = self.relocation.take() else {
            self.continue_from(self.progress.read);
            self.progress.relocations += 1;
            if self.progress.relocations > MAX_RELOCATIONS {
                return Err(self.error(CHANGED_TOO_MUCH));
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
        self.progress.farthest = self.progress.farthest.max(window.start + rows);
        self.relocation = relocation.next(window.start, step, more && rows > 0);
        if self.relocation.is_none() {
            // None of the rows that were read exists any more. If that is certain, every row of the
            // list is unread.
            if !self.progress.history.is_sure() {
                return Err(self.error(CHANGED_TOO_MUCH));
            }
            self.progress.history.forget_all();
            self.restart();
        }
        Ok(())
    }

    fn position(&self) -> Position {
        if let Some(reread) = &self.progress.reread {
            return reread.position.clone();
        }
        let (last, more) = self.progress.history.saved();
        Position {
            list: self.info.operation.to_owned(),
            read: self.progress.read,
            last,
            more,
            counts: OffsetUnit::of(self.plan.meaning).filter(|_| self.doubts.is_none()),
        }
    }
}
