//! Reader: the state of a list. The reader chooses windows and determines which rows are returned.

use modelarts_api::{Offset, Pagination};

use crate::{
    error::{Error, ErrorKind},
    list_position::{OffsetUnit, Position},
    pagination::{
        options::ReadOptions,
        pager::{
            history::RowHistory,
            order_check::OrderCheck,
            row_counts::RowCounts,
            window::{Relocation, Window, WindowPlan},
        },
        source::{Counts, ListInfo},
    },
};

/// The number of overlapping rows. For rows with an id, one known row is sufficient; three allow
/// for the removal of the last rows. Rows without an id are distinguished by their neighbours.
const OVERLAP_OF_IDS: u32 = 3;
const OVERLAP_OF_ROWS: u32 = 16;

/// The maximum number of consecutive pages that are short and contain no new rows although the
/// service counts further rows.
const MAX_IDLE_PAGES: u32 = 1;
/// The maximum number of consecutive relocations that end without a new row.
const MAX_RELOCATIONS: u32 = 10;
/// The maximum number of pages that do not determine the unit of offsets. After each such page, the
/// first page is requested, which is the same in both units.
const MAX_DOUBTS: u32 = 6;

/// Error message if none of the known rows can be found again.
const CHANGED_TOO_MUCH: &str = "the list has changed so much while it was read that it cannot be \
                                said where to go on; read it again";
/// The error message if the unit of offsets could not be detected.
const OFFSET_UNCLEAR: &str = "the list has changed so much while it was read that it cannot be \
                              said what its offset counts; say it with `offset_is`, or read the \
                              list again";

/// The state of a list while it is read.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) info: ListInfo,
    pub(super) plan: WindowPlan,
    pub(super) history: RowHistory,
    pub(super) order: OrderCheck,
    /// `true` until the first page is returned.
    pub(super) first: bool,
    /// `true` if a single response contains all rows.
    pub(super) is_single_page: bool,
    /// `true` if the list may end before all rows are returned.
    pub(super) allow_early_end: bool,
    /// The number of pages that did not determine the unit of offsets; `None` if the unit is known.
    pub(super) doubts: Option<u32>,
    /// The number of rows before the end of the last page.
    pub(super) read: u64,
    /// The number of rows before the end of the last window, assuming that all pending responses
    /// are as expected.
    planned: u64,
    /// `true` if the responses to the requests in flight must be discarded, because their windows
    /// no longer fit.
    pub(super) drops_pending: bool,
    /// The number of requests sent since the list was started or restarted.
    pub(super) requests: u64,
    /// The number of rows before the resumed position whose keys are unknown.
    pub(super) unknown_before: u64,
    /// The number of rows that could not be decoded since the list was started or restarted. A row
    /// that occurs on two pages counts twice.
    pub(super) unreadable: u64,
    /// The number of rows of the list, as stated by the service.
    total: Option<u64>,
    /// The number of rows that the list must contain: the count of the last page, and the lowest
    /// count of any page.
    pub(super) required: Option<u64>,
    pub(super) least: Option<u64>,
    /// The largest count that the service stated.
    pub(super) largest: u64,
    /// Half the number of rows of the shortest page, if pages are shorter than requested.
    pub(super) half_page: Option<u32>,
    relocation: Option<Relocation>,
    /// The number of rows before the end of the farthest page that was requested during a
    /// relocation.
    pub(super) farthest: u64,
    /// The number of relocations since the last new row.
    relocations: u32,
    /// The number of consecutive pages that were not full and had no new rows.
    pub(super) idle_pages: u32,
    /// Length of the current run of known rows.
    known_run: u64,
    /// `true` if the service changes the order of the rows.
    pub(super) order_changed: bool,
    /// `true` if the service may have changed the order of the rows.
    pub(super) order_unclear: bool,
    /// The end that the list had reached when it was restarted.
    pub(super) reread: Option<Reread>,
    pub(super) done: bool,
    /// The error of a list that has ended.
    pub(super) failure: Option<Error>,
}

/// The state of a list that is read again after it reached an end.
pub(super) struct Reread {
    pub(super) position: Position,
    /// The number of times that this end was reached.
    pub(super) times: u32,
    /// The number of rows returned when the list reached this end.
    pub(super) given: u64,
    /// The number of rows returned and the number of rows required, if some were missing.
    pub(super) missing: Option<(u64, u64)>,
}

impl Reader {
    pub(super) fn new(info: ListInfo, pagination: Pagination, options: ReadOptions) -> Self {
        let mut reader = Self {
            history: RowHistory::new(info.unique),
            first: true,
            is_single_page: pagination.offset == Offset::SinglePage,
            allow_early_end: options.allow_early_end,
            ..Self::default()
        };
        let mut meaning = options.meaning.and_then(OffsetUnit::of);
        if let Some(position) = options.resume {
            meaning = meaning.or(position.counts);
            let start = position.read.saturating_sub(position.last.len() as u64);
            let last = reader.history.hashes(&position.last);
            reader.order.take(last, start, None);
            reader.history.resume(position.last, position.more);
            reader.unknown_before = position.read.saturating_sub(reader.history.given);
            reader.read = position.read;
            reader.planned = position.read;
        }
        let detected = info.detected_offset.as_ref();
        let meaning = meaning.or_else(|| detected?.get().copied());
        reader.doubts = (meaning.is_none() && pagination.disputed).then_some(0);
        let documented = || OffsetUnit::of(pagination.offset).unwrap_or_default();
        reader.plan = WindowPlan {
            meaning: meaning.unwrap_or_else(documented),
            size: options.size,
            max: pagination.max_limit.unwrap_or(options.size).max(1),
            overlap: [OVERLAP_OF_ROWS, OVERLAP_OF_IDS][usize::from(info.unique)],
        };
        reader.info = info;
        reader
    }

    /// Returns the next window of the search for known rows; `None` if no search is in progress.
    pub(super) fn search_window(&self) -> Option<Window> {
        let relocation = self.relocation.as_ref()?;
        Some(self.plan.around(relocation.row))
    }

    /// Returns the next window to request, or `None` if the requests in flight reach the end of the
    /// list. `alone` is `true` if no request is in flight.
    pub(super) fn next_window(&mut self, alone: bool) -> Option<Window> {
        let window = match alone {
            true => self.safe_window(self.planned),
            false if self.total.is_some_and(|total| self.planned >= total) => return None,
            false => self.plan.after(self.planned),
        };
        self.planned = window.end().max(self.planned + 1);
        Some(window)
    }

    /// Returns the window after the rows that were read, with an overlap that reveals shifts of the
    /// list.
    fn safe_window(&self, read: u64) -> Window {
        let mut plan = self.plan;
        if self.doubts.is_some_and(|doubts| doubts > 0) {
            // Small pages did not determine the unit of offsets.
            plan.size = plan.max;
        }
        // If pages are shorter than requested, a longer overlap could fill a whole page.
        if plan.overlap < OVERLAP_OF_ROWS {
            return plan.after(read);
        }
        let most = plan.max - plan.max / 4;
        let overlap = self.history.overlap(plan.usual_overlap(), most);
        plan.overlapping(read, overlap)
    }

    /// Returns an error that contains the current position in the list.
    pub(super) fn error(&self, text: impl std::fmt::Display) -> Error {
        let text = format!("{}: {text}", self.info.operation);
        Error::new(ErrorKind::Unexpected, text).with_position(self.position())
    }

    /// Restarts the list.
    pub(super) fn restart(&mut self) {
        self.continue_from(0);
        // Rows that cannot be decoded have no key, so they are counted again after a restart.
        self.unreadable = 0;
        if !self.history.is_incomplete {
            self.unknown_before = 0;
        }
    }

    /// Drops the requests in flight and continues after the first `read` rows.
    fn continue_from(&mut self, read: u64) {
        self.drops_pending = true;
        self.read = read;
        self.planned = read;
    }

    /// Processes a response. Returns for each row whether it is new; `None` if another request is
    /// needed first.
    pub(super) fn take(
        &mut self,
        mut window: Window,
        keys: Vec<String>,
        skipped: usize,
        counts: &Counts,
    ) -> Result<Option<Vec<bool>>, Error> {
        let rows = (keys.len() + skipped) as u64;
        // The actual maximum page size of the service may be smaller than the documented one.
        let used = counts.limit;
        let used = used.filter(|used| (1..window.limit).contains(used) && rows <= u64::from(*used));
        // A count may be that of the page, while the total is larger. The service then either counts
        // others' rows in the total, or gives shorter pages than requested; the next page shows
        // which. With conditions, a larger total is documented (SOURCES D-157).
        let is_open = self.first
            && !self.info.filtered
            && counts.count == Some(rows)
            && counts.total > counts.count;
        let short = u32::try_from(rows).ok().filter(|_| is_open);
        let short = short.filter(|rows| (1..window.limit).contains(rows));
        let used = used.or(short);
        if let Some(used) = used {
            self.plan.max = used;
            window = self.plan.window(window.offset, used);
        }
        let full = rows > 0 && rows >= u64::from(window.limit);
        let end = window.start + rows;
        let Counts { total, count, .. } = *counts;
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
        let counts = RowCounts::new(counts, rows, only, self.info.filtered);
        let more = counts.most.is_some_and(|most| most > end);
        let changed = counts.required != self.required;
        self.required = counts.required;
        self.least = self.least.into_iter().chain(counts.required).min();
        self.largest = self.largest.max(counts.most.unwrap_or(0));
        let (read, rereading) = (self.read, self.reread.is_some());

        if self.relocation.is_none()
            && self.doubts.is_none()
            && !rereading
            && read > 0
            && self.safe_window(read).start < window.start
        {
            self.continue_from(read);
            return Ok(None);
        }

        let hashes = self.history.hashes(&keys);
        if self.doubts.is_some() && window.offset > 0 && window.limit > 1 {
            let verdict = self.verdict(&window, rows, &counts, &hashes);
            self.settle_meaning(verdict)?;
            if verdict != Some(true) {
                return Ok(None);
            }
        }
        let is_known = |row| self.history.contains(row);
        let change = self
            .order
            .compare(&hashes, window.start, counts.required, is_known);
        self.order_changed |= !rereading && change.is_certain;
        // When the order has changed, known rows do not show the positions of other rows.
        let no_order = self.order_changed || rereading;
        if no_order && self.history.is_incomplete {
            // Rows that the history lacks would be returned twice.
            let missing = self.reread.as_ref();
            let missing = missing.and_then(|reread| reread.missing);
            return Err(self.ended_early(missing));
        }
        // During a search, or if rows before the window are missing, no overlap is expected. After
        // a search, the last rows that were read may have been removed.
        let overlap = read.checked_sub(window.start).map(|rows| rows as usize);
        let overlap = overlap.filter(|overlap| {
            self.relocation.is_none() && (self.relocations == 0 || *overlap == 0)
        });
        let split = match no_order {
            true => Some(0),
            false => self.history.split(&keys, overlap),
        };
        let Some(split) = split else {
            self.relocate(&window, rows, full || more)?;
            return Ok(None);
        };
        let relocated = self.relocation.take().is_some();
        let resumed = self.history.is_incomplete;
        let first = if resumed { split } else { 0 };
        let given = self.history.admit(&hashes, first);
        let fresh = given.iter().filter(|new| **new).count();
        let further = relocated || full || end > read || fresh > 0;
        if fresh > 0 {
            self.relocations = 0;
        }
        self.order_unclear |= change.is_possible;
        self.history.confirm(&hashes, changed || fresh > 0);
        self.order.take(hashes, window.start, counts.required);

        let came = keys.len();
        let kept = keys.into_iter().zip(&given).enumerate();
        let kept = kept.filter(|(at, (_, new))| **new || !self.info.unique && *at >= split);
        let kept = kept.map(|(_, (key, _))| key);
        self.history.remember(kept);

        self.unreadable += skipped as u64;
        self.total = counts.matching.filter(|count| *count > end).or(total);
        self.idle_pages = if further { 0 } else { self.idle_pages + 1 };
        if !full {
            self.done = !more || self.idle_pages > MAX_IDLE_PAGES;
            if more {
                // Pages are shorter than requested; the overlap must not fill a whole page.
                let half = u32::try_from(rows / 2).unwrap_or(u32::MAX).max(1);
                self.plan.overlap = self.plan.overlap.min(half);
                self.half_page = Some(half.min(self.half_page.unwrap_or(half)));
            }
        }
        if relocated || used.is_some() || end != window.end() || end < read {
            self.continue_from(end);
        } else {
            self.read = end;
        }
        self.done |= self.is_single_page || long;
        if !self.done && !rereading {
            self.done = self.goes_in_circles(came, fresh)?;
        }
        self.first = false;
        if self.is_confirmed() {
            self.done = true;
        } else if self.done {
            self.finish();
        }
        Ok(Some(given))
    }

    /// Applies the result of the unit detection for a page. Unless the unit is right, the next
    /// request is for the first page or uses the other unit.
    fn settle_meaning(&mut self, verdict: Option<bool>) -> Result<(), Error> {
        if verdict == Some(true) {
            self.doubts = None;
            if let Some(detected) = &self.info.detected_offset {
                // Another list of this client may already have detected the unit.
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
            self.plan.meaning = self.plan.meaning.other();
            self.continue_from(self.read);
        }
        Ok(())
    }

    /// Returns `true` if the service returns the same rows repeatedly, because it does not support
    /// such a large offset. Rows inserted before the position also cause known rows to be returned,
    /// but never more of them than were read; a longer run of known rows proves the repetition.
    fn goes_in_circles(&mut self, rows: usize, new: usize) -> Result<bool, Error> {
        self.known_run = match new {
            0 => self.known_run + rows as u64,
            _ => 0,
        };
        let most = self.history.given + self.history.len() as u64 + u64::from(self.plan.max);
        if self.known_run <= 2 * most {
            return Ok(false);
        }
        match self.total {
            Some(total) if total <= self.given() => Ok(true),
            _ => Err(self.error(CHANGED_TOO_MUCH)),
        }
    }

    /// Starts or continues a search after a window without known rows.
    fn relocate(&mut self, window: &Window, rows: u64, more: bool) -> Result<(), Error> {
        let Some(relocation) = self.relocation.take() else {
            self.continue_from(self.read);
            self.relocations += 1;
            if self.relocations > MAX_RELOCATIONS {
                return Err(self.error(CHANGED_TOO_MUCH));
            }
            // The first window of the search begins half a window before `window`, so that about
            // half of its rows are known if the list has not shifted.
            let half = u64::from(self.plan.max / 2);
            self.relocation = Some(Relocation::new(window.start.saturating_sub(half)));
            return Ok(());
        };
        // Windows of a search overlap by half, so that one of them contains all the rows searched
        // for. A window without rows is beyond the end of the list.
        let max = u64::from(self.plan.max);
        let step = if rows == 0 { max } else { rows.min(max) } / 2;
        self.farthest = self.farthest.max(window.start + rows);
        self.relocation = relocation.next(window.start, step, more && rows > 0);
        if self.relocation.is_none() {
            // All rows that were read may have been removed. If this is certain, every remaining
            // row is unread.
            if !self.history.is_sure() {
                return Err(self.error(CHANGED_TOO_MUCH));
            }
            self.history.forget_all();
            self.restart();
        }
        Ok(())
    }

    pub(super) fn position(&self) -> Position {
        if let Some(reread) = &self.reread {
            return reread.position.clone();
        }
        let (last, more) = self.history.saved();
        let known = self.doubts.is_none() && !self.is_single_page;
        Position {
            list: self.info.operation.to_owned(),
            read: self.read,
            last,
            more,
            counts: known.then_some(self.plan.meaning),
            search: None,
        }
    }
}
