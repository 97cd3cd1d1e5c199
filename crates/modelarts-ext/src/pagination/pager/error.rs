//! How a list can fail, besides its requests, and after how many of them.

use std::fmt;

use crate::pagination::position::Position;

/// The requests that any list may take, and those that it may take for each page that its rows
/// fill.
const BASE_REQUESTS: u64 = 64;
const REQUESTS_PER_PAGE: u64 = 4;
/// The rows behind those that were read that a relocation may reach, where no total is stated.
const MAX_ROWS_AHEAD: u64 = 10_000;

/// The pages in a row that may be short and lead no further while the service says that there
/// is more.
pub(super) const MAX_IDLE_PAGES: u32 = 1;
/// The relocations in a row that may end without a new row.
pub(super) const MAX_RELOCATIONS: u32 = 10;
/// The times that a list is read again while its rows change places.
pub(super) const MAX_REREADS_UNORDERED: u32 = 16;
/// The same where rows were inserted and removed at the same time, which looks alike.
pub(super) const MAX_REREADS_UNCLEAR: u32 = 2;

/// The requests that a list with so many rows may take. `new`: the rows that a page brings;
/// `farthest`: the rows before the farthest one that a relocation asked for.
pub(super) fn max_requests(rows: u64, new: u32, farthest: u64, largest_page: u32) -> u64 {
    let farthest = farthest.min(rows.saturating_mul(2).saturating_add(MAX_ROWS_AHEAD));
    let step = u64::from((largest_page / 2).max(1));
    let pages = rows.div_ceil(u64::from(new.max(1)));
    let pages = pages.saturating_add(farthest.div_ceil(step));
    BASE_REQUESTS.saturating_add(REQUESTS_PER_PAGE.saturating_mul(pages))
}

/// A list that is read again from its beginning, since it came to this end.
pub(super) struct Reread {
    pub(super) position: Position,
    /// The number of times that it was reached.
    pub(super) times: u32,
    /// The rows that were given then.
    pub(super) given: u64,
    /// The rows that came, of those that had to come, if some were missing.
    pub(super) missing: Option<(u64, u64)>,
}

/// The reason that the rest of a list cannot be read.
#[derive(Clone, Copy, Debug)]
pub(super) enum ListError {
    /// Nothing of what was read can be found again.
    ChangedTooMuch,
    /// It could not be found out what the offset counts.
    OffsetUnclear,
    TooManyRequests {
        requests: u64,
        rows: u64,
    },
    PageTooLong {
        rows: u64,
        limit: u32,
        offset: u64,
    },
    /// Fewer rows came than the service stated.
    Ended {
        came: u64,
        all: u64,
    },
    /// It cannot be said whether all rows came.
    OrderChanged {
        came: u64,
    },
}

impl ListError {
    /// The error of a list that ended before all of its rows came, or perhaps before that.
    pub(super) fn ended_early(missing: Option<(u64, u64)>, unordered: bool, given: u64) -> Self {
        match missing {
            Some((came, all)) if !unordered => Self::Ended { came, all },
            _ => Self::OrderChanged { came: given },
        }
    }
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChangedTooMuch => f.write_str(
                "the list has changed so much while it was read that it cannot be said where to \
                 go on; read it again",
            ),
            Self::OffsetUnclear => f.write_str(
                "the list has changed so much while it was read that it cannot be said what its \
                 offset counts; say it with `offset_is`, or read the list again",
            ),
            Self::TooManyRequests { requests, rows } => write!(
                f,
                "{requests} requests brought {rows} rows, and the list has not ended; a list must \
                 take no more than {BASE_REQUESTS} requests and {REQUESTS_PER_PAGE} for each page; read \
                 it again"
            ),
            Self::PageTooLong {
                rows,
                limit,
                offset,
            } => write!(
                f,
                "the service answered {rows} rows where at most {limit} were asked for (offset \
                 {offset}), and a page must not be longer than its limit; it seems to ignore the \
                 limit, so the list cannot be read in pages: call the operation itself"
            ),
            Self::Ended { came, all } => write!(
                f,
                "the list ended after {came} of the {all} rows that the service stated; read on \
                 from the position of this error, or read it again"
            ),
            Self::OrderChanged { came } => write!(
                f,
                "rows changed places while the list was read, or were inserted and removed at the \
                 same time, so some may be missing among the {came} that came; read it again, or \
                 sort it by what is different in each row"
            ),
        }
    }
}
