//! Reader: the states of a list while it is read. The reader chooses the windows to request, and
//! determines which rows of a response are returned.

use std::mem;

use modelarts_api::{Offset, Pagination};

use crate::{
    error::Error,
    list_position::{OffsetUnit, Position},
    pagination::{
        answer::{Answer, Budget, PassCounts},
        options::ReadOptions,
        overlap_search::{self, OverlapSearch},
        previous_window::{Doubt, PreviousWindow},
        row_history::RowHistory,
        source::{Counts, ListInfo, RowCounts},
        window::{Window, WindowPlan},
    },
};

/// Number of overlapping rows. For rows with an id, one known row is sufficient; three allow for
/// the removal of the last rows. Rows without an id are distinguished by their neighbours.
const OVERLAP_OF_IDS: u32 = 3;
const OVERLAP_OF_ROWS: u32 = 16;
/// Initial value of [`Pass::ahead`] in the first pass.
const FIRST_AHEAD: usize = 4;
/// Maximum number of repeated attempts to detect the unit of offsets while the list changes.
const MAX_UNIT_DOUBTS: u32 = 4;
/// Minimum `limit` to detect the unit of offsets, and minimum number of distinct rows for it.
const MIN_ROWS_OF_UNIT: u32 = 4;

const OFFSET_UNCLEAR: &str = "the list has changed so much while it was read that it cannot be \
                              said what its offset counts; say it with `offset_is`, or read the \
                              list again";

pub(super) struct Reader {
    pub(super) info: ListInfo,
    pub(super) options: ReadOptions,
    pub(super) is_single_page: bool,
    pub(super) plan: WindowPlan,
    /// Number of failed attempts to detect the unit of offsets; `None` if the unit is known.
    pub(super) unit_doubts: Option<u32>,
    pub(super) history: RowHistory,
    /// Number of rows before the resumed position whose keys are unknown.
    pub(super) unknown_before: u64,
    /// Number of rows before the end of the last window that had a new row.
    pub(super) progress: u64,
    pub(super) budget: Budget,
    pub(super) state: State,
}

pub(super) enum State {
    /// The first page is requested alone, because most lists fit on one page.
    FirstPage(Pass),
    /// The unit of offsets is not known. The window at offset 1 shows the unit: it has all rows of
    /// the first page but one if offsets count rows, and none of these rows if offsets count pages.
    Unit(Pass),
    /// Consecutive windows are requested, each with some rows of the previous window.
    Pass(Pass),
    /// A window contained no known row, because the list has shifted. Windows around it are
    /// requested until one of them contains a known row, or the whole list was searched.
    Search(Pass, OverlapSearch),
    /// The list has ended, with an error if rows may be missing.
    Done(Option<Error>),
}

/// Pass through the list, from the beginning of the list or from a position.
#[derive(Default)]
pub(super) struct Pass {
    /// Number of rows before the end of the last received window, and of the last requested window.
    pub(super) read: u64,
    planned: u64,
    /// Number of windows that may be requested before the first of them is received.
    ahead: usize,
    pub(super) previous: Option<PreviousWindow>,
    pub(super) counts: PassCounts,
    pub(super) doubt: Doubt,
    /// Number of rows that could not be decoded. A row on two pages may count twice.
    pub(super) unreadable: u64,
    /// Number of consecutive searches and pages at the presumed end of the list without a new row.
    pub(super) idle: u32,
    /// Number of rows on the last page, if the page was shorter than requested.
    short: Option<u32>,
    /// In a second pass, the end of the first pass, its doubt, and its error.
    pub(super) first_end: Option<(Position, Doubt, Option<Error>)>,
}

impl Pass {
    /// Creates the second pass through a list.
    pub(super) fn second(first_end: (Position, Doubt, Option<Error>)) -> Self {
        Self { ahead: 1, first_end: Some(first_end), ..Self::default() }
    }

    /// Continues after the first `read` rows, with one request in flight.
    pub(super) fn go_to(&mut self, read: u64) {
        (self.read, self.planned, self.ahead) = (read, read, 1);
    }
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
        let mut history = RowHistory::new(info.unique);
        let mut pass = Pass { ahead: FIRST_AHEAD, ..Pass::default() };
        let mut unit = options.unit.and_then(OffsetUnit::of);
        let mut unknown_before = 0;
        if let Some(position) = options.resume.take() {
            unit = unit.or(position.counts);
            let start = position.read.saturating_sub(position.last.len() as u64);
            let last = history.hashes(&position.last);
            pass.previous = Some(PreviousWindow::new(last, start, None));
            history.resume(position.last, position.more);
            unknown_before = position.read.saturating_sub(history.returned);
            (pass.read, pass.planned) = (position.read, position.read);
        }
        let detected = info.detected_offset.as_ref();
        let unit = unit.or_else(|| detected?.get().copied());
        let progress = pass.read;
        let is_unclear = unit.is_none() && pagination.disputed;
        if is_unclear {
            // The position is that after the first page, which is requested again.
            (pass.read, pass.planned, pass.previous) = (0, 0, None);
        }
        let documented = || OffsetUnit::of(pagination.offset).unwrap_or_default();
        let mut plan = WindowPlan {
            unit: unit.unwrap_or_else(documented),
            size: options.size.max(if is_unclear { MIN_ROWS_OF_UNIT } else { 1 }),
            max: u32::MAX,
            overlap: [OVERLAP_OF_ROWS, OVERLAP_OF_IDS][usize::from(info.unique)],
            divisor: [2, 3][usize::from(info.unique)],
            limits: pagination.limits,
        };
        plan.limit(pagination.max_limit.unwrap_or(options.size).max(1));
        Self {
            is_single_page: pagination.offset == Offset::SinglePage,
            plan,
            unit_doubts: is_unclear.then_some(0),
            history,
            unknown_before,
            progress,
            budget: Budget::default(),
            state: State::FirstPage(pass),
            info,
            options,
        }
    }

    /// Returns `true` until the first page has been received.
    pub(super) fn is_first(&self) -> bool {
        matches!(self.state, State::FirstPage(_))
    }

    /// Returns the next window to request. Returns `None` if the responses to the requests in
    /// flight are needed first, or if the list has ended.
    pub(super) fn next_window(&mut self, in_flight: usize) -> Result<Option<Window>, Error> {
        let is_alone = in_flight == 0;
        let window = match mem::replace(&mut self.state, State::Done(None)) {
            State::Done(error) => return error.map_or(Ok(None), Err),
            State::FirstPage(pass)
            | State::Unit(pass)
            | State::Pass(pass)
            | State::Search(pass, _)
                if is_alone && !self.is_affordable(&pass) =>
            {
                return self.too_many_requests(pass);
            }
            State::Search(pass, search) => {
                let window = is_alone.then(|| self.plan.around(search.row));
                self.state = State::Search(pass, search);
                window
            }
            State::FirstPage(mut pass) => {
                let window = is_alone.then(|| self.plan_window(&mut pass));
                self.state = State::FirstPage(pass);
                window
            }
            State::Unit(pass) => {
                self.state = State::Unit(pass);
                let limit = self.plan.accepted(self.plan.size.min(self.plan.max));
                is_alone.then(|| self.plan.window(1, limit))
            }
            State::Pass(mut pass) => {
                let is_behind = pass.counts.most.is_some_and(|most| pass.planned >= most);
                let is_ready = in_flight < pass.ahead.min(self.options.in_flight)
                    && self.unit_doubts.is_none()
                    && !is_behind
                    && self.is_affordable(&pass);
                let window = (is_alone || is_ready).then(|| self.plan_window(&mut pass));
                self.state = State::Pass(pass);
                window
            }
        };
        self.budget.requests += u64::from(window.is_some());
        Ok(window)
    }

    /// Processes a response. An error means that the list cannot be read further.
    pub(super) fn take(
        &mut self,
        window: Window,
        keys: Vec<String>,
        skipped: usize,
        stated: &Counts,
    ) -> Result<Step, Error> {
        let is_first = self.is_first();
        let (mut pass, search) = match mem::replace(&mut self.state, State::Done(None)) {
            State::FirstPage(pass) | State::Pass(pass) => (pass, None),
            State::Search(pass, search) => (pass, Some(search)),
            State::Unit(pass) => return self.detect_unit(pass, &keys, skipped),
            State::Done(error) => return Ok(self.again(State::Done(error))),
        };
        let mut answer = self.answer(&pass, window, (keys, skipped), stated)?;
        answer.is_first_page = is_first && window.start == 0;
        let is_expected = search.is_none() && pass.read > 0;
        if is_expected && self.safe_window(&pass, pass.read).start < answer.window.start {
            // The rows that were read since this request need a longer overlap.
            pass.go_to(pass.read);
            return Ok(self.again(State::Pass(pass)));
        }
        let is_moved = self.plan.unit == OffsetUnit::Pages && answer.window.offset > 0;
        if is_first && answer.is_reduced() && (is_moved || answer.end() <= pass.read) {
            // A smaller window is not reduced, so it begins and ends as expected.
            self.plan.limit(answer.rows() as u32);
            pass.go_to(pass.read);
            return Ok(self.again(State::Pass(pass)));
        }
        let now = PreviousWindow::of(&answer);
        let previous = pass.previous.as_ref();
        let follows = is_expected && answer.window.start >= pass.read;
        if self.history.is_reordered(&answer.hashes, follows) {
            pass.doubt = Doubt::Reordered;
        } else if previous.is_some_and(|old| old.is_moved(&now, |row| self.history.has_seen(row))) {
            pass.doubt = pass.doubt.max(Doubt::Moved);
        }
        // After a search, the last rows that were read may have been removed. After a change of the
        // order, known rows do not show the positions of other rows.
        let overlap = pass.read.checked_sub(answer.window.start);
        let overlap = overlap.map(|rows| rows as usize);
        let overlap = overlap.filter(|rows| search.is_none() && (pass.idle == 0 || *rows == 0));
        let split = match pass.doubt == Doubt::Reordered && !self.history.is_incomplete {
            true => Some(0),
            false => self.history.split(&answer.keys, overlap),
        };
        let Some(split) = split else {
            return self.search_overlap(pass, search, &answer);
        };
        pass.previous = Some(now);
        pass.counts.add(&answer);
        if overlap == Some(0) && answer.window.start > 0 && pass.counts.is_unsteady {
            // Without an overlap, removed rows are not detected.
            pass.doubt = pass.doubt.max(Doubt::Moved);
        }
        Ok(self.accept(pass, search.is_some(), answer, split))
    }

    fn answer(
        &mut self,
        pass: &Pass,
        mut window: Window,
        (keys, skipped): (Vec<String>, usize),
        stated: &Counts,
    ) -> Result<Answer, Error> {
        let rows = (keys.len() + skipped) as u64;
        // A service that states the requested limit could have returned as many rows.
        let has_limit = stated.limit.is_some_and(|limit| limit >= window.limit);
        let page = if has_limit { u64::from(window.limit) } else { rows };
        self.budget.largest_page = self.budget.largest_page.max(page);
        let is_whole = window.offset == 0 && stated.total.or(stated.count) == Some(rows);
        let is_long = rows > u64::from(window.limit);
        if is_long && !is_whole && !self.is_single_page {
            return Err(self.too_long(pass, &window, rows));
        }
        let requested_end = window.end();
        // The actual maximum page size of the service may be smaller than the documented one.
        let limit = stated.limit.filter(|limit| rows <= u64::from(*limit));
        if let Some(limit) = limit.filter(|limit| (1..window.limit).contains(limit)) {
            self.plan.limit(limit);
            window = self.plan.window(window.offset, limit);
        }
        let hashes = self.history.hashes(&keys);
        // A service that ignores offsets returns the same first rows again. They contradict no
        // count of at least these rows.
        let is_known = skipped == 0 && hashes.iter().all(|row| self.history.has_seen(*row));
        let is_same = |old: &PreviousWindow| old.rows.iter().zip(&hashes).all(|(a, b)| a == b);
        let is_again = is_known && pass.previous.as_ref().is_some_and(is_same);
        let end = if is_again { rows } else { window.start + rows };
        let is_whole = window.start == 0 && rows < u64::from(window.limit);
        Ok(Answer {
            counts: RowCounts::new(stated, rows, end, is_whole, self.info.filtered),
            total: stated.total,
            has_limit,
            is_single: self.is_single_page || is_long,
            is_first_page: false,
            window,
            requested_end,
            keys,
            hashes,
            skipped,
        })
    }

    /// Accepts a page with the result `split` of [`RowHistory::split`], and chooses the next state.
    fn accept(&mut self, mut pass: Pass, is_found: bool, answer: Answer, split: usize) -> Step {
        let (rows, end, unit) = (answer.rows(), answer.end(), self.plan.unit);
        let (is_full, is_capped) = (answer.is_full(unit), answer.is_capped(unit));
        let (is_short, is_last) = (answer.is_short(), answer.is_last() || rows == 0);
        let first = if self.history.is_incomplete { split } else { 0 };
        let seen = self.history.seen;
        let returned = self.history.admit(&answer.hashes, first);
        let is_known = self.info.unique || split == answer.keys.len() || end <= pass.read;
        let is_idle = self.history.seen == seen && is_known;
        let is_frontier = answer.hashes.last().is_none_or(|row| self.history.is_frontier(*row));
        let kept = answer.keys.into_iter().zip(&returned).enumerate();
        let kept = kept.filter(|(at, (_, new))| **new || !self.info.unique && *at >= split);
        self.history.remember(kept.map(|(_, (key, _))| key));
        pass.unreadable += (answer.skipped as u64).min(end.saturating_sub(pass.read));

        // A short page without a new row is the last one if another page was longer, and if no row
        // that was read follows. Otherwise the list may have changed.
        let is_shorter = rows < self.budget.largest_page;
        let is_unread = is_idle && !is_found && !is_full;
        let is_end = is_unread
            && (pass.idle > u32::from(self.info.unique)
                || is_frontier && end >= pass.read && is_shorter);
        if is_end && !is_frontier {
            pass.doubt = pass.doubt.max(Doubt::Moved);
        }
        let is_back = is_unread && end <= pass.read;
        let is_repeated = is_idle && self.is_confirmed(&pass);
        let is_end = is_end || is_last || answer.is_single || is_repeated && pass.idle > 0;
        match is_idle {
            false => pass.idle = 0,
            true => pass.idle += u32::from(is_back || is_repeated),
        }
        pass.short = is_short.then_some(rows as u32);
        if is_capped {
            let largest = self.budget.largest_page.min(u64::from(self.plan.max));
            self.plan.limit(largest as u32);
        }
        if is_back && !is_shorter {
            // The overlap must not fill a page that is shorter than requested.
            self.plan.overlap = self.plan.overlap.min(self.plan.share(rows as u32));
        }
        if is_idle && is_full {
            // Rows are inserted as fast as rows are read.
            self.plan.size = self.plan.max;
        }
        let read = if is_back { pass.read } else { end };
        let cancels = is_found || is_idle || read != answer.requested_end;
        if cancels {
            pass.go_to(read);
        } else {
            (pass.read, pass.ahead) = (read, pass.ahead.saturating_mul(2));
        }
        if !is_idle {
            self.progress = pass.read;
        }
        let position = self.position(&pass);
        self.state = match is_end || pass.idle > overlap_search::MAX_SEARCHES {
            true => self.end(pass),
            false if self.unit_doubts.is_some() && self.plan.max > 1 => State::Unit(pass),
            false => State::Pass(pass),
        };
        Step { rows: Some((returned, position)), matching: answer.counts.required, cancels }
    }

    pub(super) fn again(&mut self, state: State) -> Step {
        self.state = state;
        Step { rows: None, matching: None, cancels: true }
    }

    /// Determines the unit of offsets from the rows of the window at offset 1.
    fn detect_unit(
        &mut self,
        mut pass: Pass,
        keys: &[String],
        skipped: usize,
    ) -> Result<Step, Error> {
        let hashes = self.history.hashes(keys);
        // Equal rows count once, because a run of them may continue on the next page.
        let (rows, known) = pass.previous.as_ref().map_or((0, 0), |first| first.distinct(&hashes));
        let is_certain = rows >= MIN_ROWS_OF_UNIT as usize;
        // A row that could not be decoded may be known or not.
        let unit = match rows {
            _ if !is_certain && self.plan.size < self.plan.max => return self.doubt_unit(pass),
            rows if 4 * (known + skipped) <= rows => OffsetUnit::Pages,
            rows if 4 * (known + 1) > 3 * rows => OffsetUnit::Records,
            _ => return self.doubt_unit(pass),
        };
        (self.plan.unit, self.plan.size, self.unit_doubts) = (unit, self.options.size, None);
        // Among very few rows, a change of the list can be mistaken for the other unit.
        if let Some(detected) = self.info.detected_offset.as_ref().filter(|_| is_certain) {
            // Another list of this client may already have detected the unit.
            let _ = detected.set(unit);
        }
        pass.go_to(pass.read);
        Ok(self.again(State::Pass(pass)))
    }

    fn doubt_unit(&mut self, mut pass: Pass) -> Result<Step, Error> {
        let doubts = self.unit_doubts.unwrap_or(0) + 1;
        if doubts > MAX_UNIT_DOUBTS {
            return Err(self.error(&pass, OFFSET_UNCLEAR).with_retryable(false));
        }
        self.unit_doubts = Some(doubts);
        self.plan.size = self.plan.max;
        pass.unreadable = 0;
        pass.go_to(0);
        Ok(self.again(State::Pass(pass)))
    }

    fn plan_window(&self, pass: &mut Pass) -> Window {
        let window = self.safe_window(pass, pass.planned);
        pass.planned = window.end().max(pass.planned + 1);
        window
    }

    /// Returns the window after `read` rows, with an overlap that reveals shifts of the list.
    fn safe_window(&self, pass: &Pass, read: u64) -> Window {
        let plan = self.plan;
        let usual = plan.overlap.min(plan.max / 2);
        // If pages are shorter than requested, a longer overlap could fill a whole page.
        let overlap = match pass.short {
            Some(rows) => usual.min(plan.share(rows).max(1)),
            None if plan.overlap < OVERLAP_OF_ROWS => self.history.overlap(usual, plan.max / 2),
            None => self.history.overlap(usual, plan.max - plan.max / 4),
        };
        plan.overlapping(read, overlap)
    }
}
