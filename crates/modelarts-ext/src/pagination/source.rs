//! Source of a list: the operation from which its rows are requested.

use std::sync::Arc;

use modelarts_api::{BoxFuture, Pagination};

use crate::{error::Error, list_position::DetectedOffset, transport::call::CallInfo};

/// Decoded rows of one response.
pub struct RawPage<T> {
    pub(crate) items: Vec<T>,
    pub(crate) counts: Counts,
    /// Number of rows that could not be decoded.
    pub(crate) skipped: usize,
    pub(crate) call: Arc<CallInfo>,
}

/// Paging counts that a response states. Negative counts are ignored.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Number of rows of the list.
    pub(crate) total: Option<u64>,
    /// Number of rows that match the conditions, or of rows on this page (SOURCES D-157).
    pub(crate) count: Option<u64>,
    /// Limit that the service applied.
    pub(crate) limit: Option<u32>,
}

impl Counts {
    pub(crate) fn new(total: Option<i64>, count: Option<i64>, limit: Option<i64>) -> Self {
        let [total, count] = [total, count].map(|number| u64::try_from(number?).ok());
        let limit = limit.and_then(|limit| u32::try_from(limit).ok());
        Self { total, count, limit }
    }

    /// Returns the counts of a response that contains only the total.
    pub(crate) fn of_total(total: Option<i64>) -> Self {
        Self::new(total, None, None)
    }
}

/// Returns the number of rows that match the conditions, from the counts of a page with `rows` rows
/// up to row `end` of the list. `None` if the number is unknown, ambiguous, or contradicts the rows.
/// If `is_whole`, a `count` equal to `rows` is the number of rows of the list, not of the page.
pub(super) fn matching(
    counts: &Counts,
    rows: u64,
    end: u64,
    is_whole: bool,
    filtered: bool,
) -> Option<u64> {
    let Counts { total, count, .. } = *counts;
    // If the total is not the number of rows, the count may not be that number either.
    let is_whole = is_whole && total.is_none_or(|total| total >= rows);
    let matching = count.filter(|count| *count > rows || *count == rows && is_whole);
    // The total may include rows that the conditions exclude.
    let total = total.filter(|_| count.is_none() || !filtered);
    // A page beyond the end of the list contradicts no count.
    matching.or(total).filter(|number| rows == 0 || *number >= end)
}

/// Properties of a list that the pager needs.
#[derive(Default)]
pub struct ListInfo {
    /// Operation that returns the list.
    pub(crate) operation: &'static str,
    /// `true` if no two rows have the same key.
    pub(crate) unique: bool,
    /// `true` if the caller set conditions. If the service states two counts, the total may then
    /// include rows that the conditions exclude.
    pub(crate) filtered: bool,
    /// Slot in which the client stores the detected unit of offsets.
    pub(crate) detected_offset: Option<DetectedOffset>,
}

/// One of the searches that a list consists of.
pub struct Search<T> {
    /// Name of the search in positions. The name must be the same when the list is resumed.
    pub(crate) name: String,
    pub(crate) source: Arc<dyn Source<Item = T>>,
    /// Returns `true` if the row belongs to this search. A row at the border of two searches is in
    /// the responses to both, and belongs to only one of them.
    pub(crate) includes: Box<dyn Fn(&T) -> bool + Send + Sync>,
}

/// Source of rows: the operation and the conditions of a list.
pub trait Source: Send + Sync + 'static {
    /// Type of a row.
    type Item: Send + 'static;

    /// Returns the properties of the list.
    fn info(&self) -> ListInfo;

    /// Checks the conditions of the list before the first request.
    ///
    /// # Errors
    /// Returns an error for the first invalid condition.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the searches of the list, in order, or `None` if the list needs no division.
    ///
    /// # Errors
    /// Returns an error if the conditions would need too many searches.
    fn searches(&self) -> Result<Option<Vec<Search<Self::Item>>>, Error> {
        Ok(None)
    }

    /// Requests `limit` rows at `offset`, in the unit that the service uses.
    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<Self::Item>, Error>>;

    /// Returns the key by which rows are compared.
    fn key(&self, item: &Self::Item) -> String;
}

/// Returns the pagination of an operation from the OpenAPI description, or an error for no list.
pub(crate) fn pagination_of(operation: &str) -> Result<Pagination, Error> {
    let mut operations = modelarts_api::OPERATIONS.iter();
    operations
        .find(|known| known.id == operation)
        .and_then(|operation| operation.pagination)
        .ok_or_else(|| Error::invalid(format!("{operation} is not a list")))
}
