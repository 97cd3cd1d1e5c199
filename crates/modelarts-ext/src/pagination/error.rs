//! How a list can fail, besides its requests, and after how many of them.

use std::fmt;

use crate::pagination::position::Position;

/// How many requests a list may take: so many, and of those that its rows need if each
/// page brings as many as it was asked for, so many times as many.
const REQUESTS: u64 = 64;
const REQUESTS_PER_PAGE: u64 = 4;
/// The number of rows behind what was read that a search may reach, where no total is stated.
const SEARCHED: u64 = 10_000;

/// How often a page that is not full and leads no further is taken for an accident
/// while the service says that there is more.
pub(crate) const PATIENCE: u32 = 1;
/// The number of searches without a new row in between that are enough.
pub(crate) const SEARCHES: u32 = 10;
/// How often a list is read again while its rows change places.
pub(crate) const TIMES_UNORDERED: u32 = 16;
/// The same, because rows were inserted and removed at the same time, which looks alike.
pub(crate) const TIMES_UNCERTAIN: u32 = 2;

/// How many requests a list with so many rows may take. `new`: how many of them a page
/// brings; `searched`: how many lie before the farthest that a search asked for.
pub(crate) fn most_requests(rows: u64, new: u32, searched: u64, largest_page: u32) -> u64 {
    let searched = searched.min(rows.saturating_mul(2).saturating_add(SEARCHED));
    let step = u64::from((largest_page / 2).max(1));
    let pages = rows.div_ceil(u64::from(new.max(1)));
    let pages = pages.saturating_add(searched.div_ceil(step));
    REQUESTS.saturating_add(REQUESTS_PER_PAGE.saturating_mul(pages))
}

/// The end of a list that is read again.
pub(crate) struct End {
    pub(crate) position: Position,
    /// The number of times that it was reached.
    pub(crate) times: u32,
    /// The rows that were given then.
    pub(crate) given: u64,
    /// The rows that came, of those that had to come, if some were missing.
    pub(crate) missing: Option<(u64, u64)>,
}

/// The reason that the rest of a list cannot be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListError {
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
    pub(crate) fn ended_early(missing: Option<(u64, u64)>, unordered: bool, given: u64) -> Self {
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
                 take no more than {REQUESTS} requests and {REQUESTS_PER_PAGE} for each page; read \
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
