//! How a list can fail, besides its requests, and after how many of them.

use std::fmt;

/// How many requests a list may take: so many, and of those that its rows need if each
/// page brings as many as it was asked for, so many times as many.
const REQUESTS: u64 = 64;
const REQUESTS_PER_PAGE: u64 = 4;
/// How far behind what was read a search may look, in rows, where no total is stated.
const SEARCHED: u64 = 10_000;

/// How often a list is read again while its rows change places.
pub(crate) const TIMES_UNORDERED: u32 = 16;
/// The same, because rows were inserted and removed at the same time, which looks alike.
pub(crate) const TIMES_UNCERTAIN: u32 = 2;

/// How many requests a list with so many rows may take. `new`: how many of them a page
/// brings; `searched`: how many lie before the farthest that a search looked at.
pub(crate) fn most_requests(rows: u64, new: u32, searched: u64, largest_page: u32) -> u64 {
    let searched = searched.min(2 * rows + SEARCHED);
    let step = u64::from((largest_page / 2).max(1));
    let pages = rows.div_ceil(u64::from(new.max(1))) + searched.div_ceil(step);
    REQUESTS + REQUESTS_PER_PAGE * pages
}

/// Why the rest of a list cannot be read.
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
