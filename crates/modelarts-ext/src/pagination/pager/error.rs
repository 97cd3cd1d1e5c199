//! The errors of a list, besides those of its requests.

use std::fmt;

use crate::{
    error::{Error, ErrorKind},
    pagination::{
        pager::bounds::{BASE_REQUESTS, REQUESTS_PER_PAGE},
        position::Position,
    },
};

/// The reason why the rest of a list cannot be read.
#[derive(Clone, Copy, Debug)]
pub(super) enum ListError {
    /// None of the rows that were read can be found again.
    ChangedTooMuch,
    /// The unit of offsets could not be detected.
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
    /// Fewer rows came than the service states.
    Ended {
        came: u64,
        all: u64,
    },
    /// The order changed, so rows may be missing.
    OrderChanged {
        came: u64,
    },
}

impl ListError {
    /// Converts it into the error of this operation, at this position.
    pub(super) fn at(self, operation: &str, position: Position) -> Error {
        let text = format!("{operation}: {self}");
        let error = Error::new(ErrorKind::Unexpected, text).with_position(position);
        match self {
            Self::OffsetUnclear | Self::PageTooLong { .. } => error.with_retryable(false),
            _ => error,
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
