//! Reader of a list: chooses the requests, and the rows of each response that are returned.
//!
//! A list ends when a page brings no row. A stated number ends it one request earlier if it equals
//! the rows received, is not that of a page, and only the last page had fewer rows than requested. A
//! number that does not fit has no effect.

use std::{cmp::Ordering, fmt::Display, mem};

use modelarts_api::{Offset, Pagination};

use crate::{
    error::{Error, ErrorKind},
    list_position::{OffsetUnit, Position},
    pagination::{
        options::ReadOptions,
        pass::{Page, Pass, Previous},
        row_log::RowLog,
        source::{Counts, ListInfo, matching},
        window::{Window, WindowPlan},
    },
};

/// Maximum number of requests for each page of rows, and of additional requests for the list.
const REQUESTS_PER_PAGE: u64 = 3;
const MORE_REQUESTS: u64 = 8;
/// Number of repeated pages after which the reader requests a further page.
const REPEATED_PAGES: u32 = 2;
/// Number of rows with an id by which windows overlap, so that the removal of one row less than
/// these between two requests needs no second pass.
const OVERLAP: u64 = 3;

pub(super) struct Reader {
    info: ListInfo,
    options: ReadOptions,
    is_single_page: bool,
    plan: WindowPlan,
    /// `true` if sources disagree about the unit of offsets, until the second page shows it.
    is_unit_open: bool,
    log: RowLog,
    requests: u64,
    /// Number of rows on the largest page, which the service is known to return.
    largest_page: u64,
    state: State,
}

enum State {
    /// The first page is requested alone: it shows how many rows the service returns at most.
    First(Pass),
    /// Pages are requested one after the other, several at the same time.
    Pass(Pass),
    /// A page had fewer rows than requested. The page behind it shows whether the list ends there.
    Probe(Pass, Option<Box<ShortPage>>),
    /// The list has ended, with an error if rows may be missing.
    Done(Option<Error>),
}

/// Short page in a list whose offsets count pages. If rows follow on the page `behind` it, the
/// service has reduced its pages to `size` rows, and the pass continues as it was `before`.
struct ShortPage {
    behind: Window,
    size: u64,
    before: Pass,
}

/// Result of a response.
pub(super) struct Step {
    /// For each row of a used page, `true` if the row is returned; and the position after the page.
    pub(super) rows: Option<(Vec<bool>, Position)>,
    /// Number of rows that match the conditions, if the service states the number.
    pub(super) matching: Option<u64>,
    /// `true` if the requests in flight must be cancelled, because their windows no longer fit.
    pub(super) cancels: bool,
}

impl Reader {
    pub(super) fn new(info: ListInfo, pagination: Pagination, mut options: ReadOptions) -> Self {
        let mut log = RowLog::new(info.unique);
        let mut pass = Pass::default();
        let mut unit = options.unit.and_then(OffsetUnit::of);
        if let Some(position) = options.resume.take() {
            unit = unit.or(position.counts);
            pass.is_finding = info.unique && position.more;
            // If the position has the ids of all rows before it, the list is read again.
            pass.go_to(if info.unique && !position.more { 0 } else { position.read });
            log.resume(position);
        }
        let unit = unit.or_else(|| info.detected_offset.as_ref()?.get().copied());
        let plan = WindowPlan {
            unit: unit.or_else(|| OffsetUnit::of(pagination.offset)).unwrap_or_default(),
            size: options.size,
            max: pagination.max_limit.unwrap_or(options.size).max(1),
            overlap: if info.unique { OVERLAP } else { 0 },
            limits: pagination.limits,
        };
        Self {
            is_single_page: pagination.offset == Offset::SinglePage,
            is_unit_open: unit.is_none() && pagination.disputed,
            plan,
            log,
            requests: 0,
            largest_page: 0,
            state: State::First(pass),
            info,
            options,
        }
    }

    /// Returns `true` until the first page has been received.
    pub(super) fn is_first(&self) -> bool {
        matches!(self.state, State::First(_))
    }

    /// Returns the next window to request. Returns `None` if the responses to the requests in
    /// flight are needed first, or if the list has ended.
    pub(super) fn next_window(&mut self, in_flight: usize) -> Result<Option<Window>, Error> {
        let is_alone = in_flight == 0;
        let (pass, is_pass) = match &mut self.state {
            State::Done(error) => return error.take().map_or(Ok(None), Err),
            State::Pass(pass) => (pass, !self.is_unit_open),
            State::First(pass) | State::Probe(pass, _) => (pass, false),
        };
        let rows = self.log.rows();
        let page = self.largest_page.clamp(1, u64::from(self.options.size));
        let most = REQUESTS_PER_PAGE * rows.div_ceil(page).max(1) + MORE_REQUESTS;
        let is_affordable = self.requests < most;
        if is_alone && !is_affordable {
            let pass = mem::take(pass);
            self.state = State::Done(None);
            return Err(self.too_many_requests(&pass));
        }
        let wanted = self.options.rows.unwrap_or(u64::MAX);
        let is_wanted = pass.planned < wanted.min(pass.stated.unwrap_or(u64::MAX));
        let is_ready = is_pass && in_flight < self.options.in_flight && is_affordable && is_wanted;
        if !is_alone && !is_ready {
            return Ok(None);
        }
        let is_second = pass.previous.is_some();
        let after = match self.is_unit_open && !self.plan.is_of_single_rows() {
            true => self.plan.window(u64::from(is_second), self.plan.size),
            false => self.plan.after(pass.planned),
        };
        pass.planned = after.end();
        self.requests += 1;
        Ok(Some(match &self.state {
            State::Probe(_, Some(short)) => short.behind,
            _ => after,
        }))
    }

    /// Processes the response to a window. `keys` are those of the rows, `skipped` is the number of
    /// rows that could not be decoded. An error means that the list cannot be read further.
    pub(super) fn take(
        &mut self,
        window: Window,
        keys: &[String],
        skipped: usize,
        stated: &Counts,
    ) -> Result<Step, Error> {
        let is_first = self.is_first();
        let (mut pass, short) = match mem::replace(&mut self.state, State::Done(None)) {
            State::First(pass) | State::Pass(pass) => (pass, None),
            State::Probe(pass, short) => (pass, short),
            State::Done(error) => return Ok(self.go_on(State::Done(error))),
        };
        let rows = (keys.len() + skipped) as u64;
        let mut page = Page { window, keys, hashes: self.log.hashes(keys), rows, stated };
        if page.is_too_long() && !self.is_single_page {
            return Err(self.too_long(&pass, &window, rows));
        }
        if let Some(limit) = page.smaller_limit() {
            self.limit(limit.into());
            page.window = self.plan.window(window.offset, limit);
        }
        let change = pass.count(stated, rows);
        if let Some(short) = short {
            return Ok(self.probe(pass, *short, rows));
        }
        if !self.detect_unit(&pass, &mut page, change)? {
            self.plan.size = self.plan.max;
            pass.previous = None;
            return Ok(self.go_on(State::First(pass)));
        }
        if page.window.start > pass.read {
            // The limit that the service states has moved the page.
            pass.go_to(pass.read);
            return Ok(self.go_on(State::Pass(pass)));
        }
        let mut before = pass.clone();
        before.go_to(pass.read);
        pass.compare(&page, &self.log, change);
        let cancels = is_first || page.window != window;
        Ok(self.accept(pass, before, page, cancels))
    }

    /// Ends the list if no row is behind a short page.
    fn probe(&mut self, pass: Pass, short: ShortPage, rows: u64) -> Step {
        if rows == 0 {
            let state = self.end(pass);
            return self.go_on(state);
        }
        self.limit(short.size);
        self.go_on(State::Pass(short.before))
    }

    /// Detects from the second page what offsets count, unless this is certain. Returns `false` if
    /// the first page must be larger, because all rows are equal.
    fn detect_unit(
        &mut self,
        pass: &Pass,
        page: &mut Page<'_>,
        change: Option<Ordering>,
    ) -> Result<bool, Error> {
        let may_count_records = self.info.unique && self.plan.unit == OffsetUnit::Pages;
        let Some(Previous { start: 0, rows: first, .. }) = &pass.previous else { return Ok(true) };
        let is_open = self.is_unit_open || may_count_records;
        if page.window.offset != 1 || !is_open || self.plan.is_of_single_rows() {
            return Ok(true);
        }
        let Some(is_record) = page.counts_records(first, self.is_unit_open) else {
            return match self.plan.size < self.plan.max {
                true => Ok(false),
                false => Err(self.error(pass, UNIT_UNCLEAR).with_retryable(false)),
            };
        };
        if page.hashes == *first && change != Some(Ordering::Greater) {
            // The service seems to ignore offsets.
            self.is_unit_open = false;
            return Ok(true);
        }
        self.plan.unit = if is_record { OffsetUnit::Records } else { OffsetUnit::Pages };
        page.window = self.plan.window(page.window.offset, page.window.limit);
        if mem::take(&mut self.is_unit_open)
            && change.is_none_or(Ordering::is_eq)
            && let Some(detected) = &self.info.detected_offset
        {
            // Another list of this client may already have detected the unit.
            let _ = detected.set(self.plan.unit);
        }
        Ok(true)
    }

    /// Accepts a page, and chooses the next state.
    fn accept(&mut self, mut pass: Pass, before: Pass, page: Page<'_>, cancels: bool) -> Step {
        let (window, rows, is_short) = (page.window, page.rows, page.is_short());
        let is_placed = self.is_placed(&pass, &page);
        // The service returns at most as many rows, unless a larger page has come before.
        let is_capped = is_short && rows > 0 && rows >= self.largest_page;
        self.largest_page = self.largest_page.max(rows);
        if is_capped && before.read + window.offset > 0 && !is_placed {
            self.limit(rows);
            return self.go_on(State::First(before));
        }
        let is_known = page.lead(&self.log) as u64 == rows || page.end() <= pass.read;
        let Some(returned) = self.admit(&mut pass, &page) else {
            // The last rows have moved, so the list is read from its beginning up to them.
            self.plan.size = self.plan.max;
            pass.go_to(0);
            return self.go_on(State::First(pass));
        };
        let is_whole = window.start == 0 && is_short;
        let matching = matching(page.stated, rows, page.end(), is_whole, self.info.filtered);
        pass.advance(page, &self.log);
        let is_end = rows == 0
            || is_known && is_short && is_placed && !is_capped
            || is_short && pass.is_counted()
            || self.options.ends_short && is_short && pass.stated <= Some(pass.read);
        pass.was_short |= is_short;
        let cancels = cancels || is_short;
        if cancels {
            pass.go_to(pass.read);
        }
        let position = self.position(&pass);
        self.state = if self.is_single_page || rows > u64::from(window.limit) {
            State::Done(None)
        } else if pass.repeated > REPEATED_PAGES {
            State::Done(Some(self.error(&pass, REPEATS)))
        } else if is_end {
            self.end(pass)
        } else if !is_short {
            State::Pass(pass)
        } else if is_capped || self.plan.unit == OffsetUnit::Records {
            if is_capped {
                self.limit(rows);
            }
            State::Probe(pass, None)
        } else {
            let behind = self.plan.window(window.offset + 1, window.limit);
            State::Probe(pass, Some(Box::new(ShortPage { behind, size: rows, before })))
        };
        Step { rows: Some((returned, position)), matching, cancels }
    }

    /// Returns `true` if the page begins at the row of its window, although the service may count
    /// pages of another size.
    fn is_placed(&self, pass: &Pass, page: &Page<'_>) -> bool {
        let (lead, overlap) = (page.lead(&self.log) as u64, pass.read - page.window.start);
        self.plan.unit == OffsetUnit::Records || self.info.unique && lead > 0 && lead == overlap
    }

    /// Determines which rows of a page are returned. Returns `None` if the last rows before the
    /// resumed position are not where they were.
    fn admit(&mut self, pass: &mut Pass, page: &Page<'_>) -> Option<Vec<bool>> {
        let all = page.hashes.len();
        let mut first = if self.info.unique { 0 } else { (pass.read - page.window.start) as usize };
        if !self.info.unique
            && pass.repeated > 0
            && page.hashes.iter().any(|row| *row != page.hashes[0])
        {
            first = all;
        }
        if pass.is_finding {
            let found = page.hashes.iter().rposition(|row| self.log.has_seen(*row));
            if found.is_none() && pass.previous.is_none() && page.window.start > 0 {
                return None;
            }
            first = found.map_or(all, |last| last + 1);
            pass.is_finding = first == all;
            if pass.is_finding {
                return Some(vec![false; all]);
            }
        }
        Some(self.log.admit(&page.hashes, page.keys, first))
    }

    /// Limits pages to this number of rows, which the service returns at most.
    fn limit(&mut self, rows: u64) {
        self.plan.max = u32::try_from(rows).unwrap_or(u32::MAX);
        self.plan.size = self.plan.size.min(self.plan.max);
    }

    fn go_on(&mut self, state: State) -> Step {
        self.state = state;
        Step { rows: None, matching: None, cancels: true }
    }

    /// Ends a pass. The list then ends, or is read a second time if rows may be missing.
    fn end(&mut self, pass: Pass) -> State {
        let last = pass.previous.as_ref().and_then(|page| page.rows.last());
        let is_found = !pass.is_finding || last.is_some_and(|row| self.log.has_seen(*row));
        // Whatever has moved, as many rows came as the service states each time.
        let is_all = pass.stated == Some(self.log.seen) && !pass.is_unsteady;
        let is_confirmed = self.info.unique && is_all;
        let is_known = self.info.unique && !self.log.is_incomplete;
        let is_last = !is_known || pass.first_end.is_some();
        let is_complete = is_found && (!pass.is_disturbed || is_confirmed);
        if self.options.allow_early_end || is_complete {
            return State::Done(None);
        }
        if is_last {
            let error = match is_found {
                true => self.error(&pass, HAS_CHANGED),
                false => self.error(&pass, CHANGED_TOO_MUCH),
            };
            return State::Done(Some(error));
        }
        self.plan.size = self.plan.max;
        let first_end = Some(self.position(&pass));
        self.log.begin_pass();
        State::First(Pass { first_end, ..Pass::default() })
    }

    fn too_many_requests(&self, pass: &Pass) -> Error {
        let (requests, rows) = (self.requests, self.log.rows());
        let text = format_args!(
            "the list has changed so much while it was read that {requests} requests brought \
             {rows} rows and not its end; read on from the position of this error, or read it again"
        );
        self.error(pass, text)
    }

    /// Returns the error for a page that is longer than requested.
    fn too_long(&self, pass: &Pass, window: &Window, rows: u64) -> Error {
        let text = format_args!(
            "the service answered {rows} rows where at most {} were asked for (offset {}), and a \
             page must not be longer than its limit; it seems to ignore the limit, so the list \
             cannot be read in pages: call the operation itself",
            window.limit, window.offset
        );
        self.error(pass, text).with_retryable(false)
    }

    /// Returns an error that contains the position after the rows that were read.
    fn error(&self, pass: &Pass, text: impl Display) -> Error {
        let text = format!("{}: {text}", self.info.operation);
        Error::new(ErrorKind::Unexpected, text).with_position(self.position(pass))
    }

    /// Returns the position after the rows that were read in the first pass.
    fn position(&self, pass: &Pass) -> Position {
        if let Some(position) = &pass.first_end {
            return position.clone();
        }
        let (last, more) = self.log.saved();
        let is_certain = !self.is_unit_open && !self.is_single_page;
        Position {
            list: self.info.operation.to_owned(),
            read: pass.read,
            last,
            more,
            counts: is_certain.then_some(self.plan.unit),
            search: None,
        }
    }
}

const HAS_CHANGED: &str = "the list has changed while it was read, so rows may be missing among \
                           those that came; read it again";
const CHANGED_TOO_MUCH: &str = "the list has changed so much while it was read that it cannot be \
                                said where to go on; read it again";
const UNIT_UNCLEAR: &str = "all rows of the first pages are equal, so it cannot be said what its \
                            offset counts; say it with `offset_is`";
const REPEATS: &str = "the service answers the same page to different offsets, so the list cannot \
                       be read further; call the operation itself";
