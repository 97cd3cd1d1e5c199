//! The source of a list: the operation that its rows are requested from.

use std::sync::Arc;

use modelarts_api::{BoxFuture, Operation, Pagination};

use crate::{error::Error, pagination::offset::DetectedOffset, transport::call::CallInfo};

/// The rows of one response.
pub(crate) struct RawPage<T> {
    pub(crate) items: Vec<T>,
    pub(crate) total: Option<i64>,
    /// The number of rows that match the conditions, or are on this page (SOURCES D-157).
    pub(crate) count: Option<i64>,
    /// The limit that the service applied, if it states one.
    pub(crate) limit: Option<i64>,
    pub(crate) skipped: usize,
    pub(crate) call: Arc<CallInfo>,
}

/// A source of rows, which requests a window of a list.
pub(crate) trait Source: Send + Sync + 'static {
    type Item: Send + 'static;

    /// The operation that returns the list.
    fn operation(&self) -> &'static str;

    /// Returns `true` if no two rows have the same key.
    fn is_unique(&self) -> bool;

    /// Returns `true` if the caller set conditions. Where the service states two numbers, the total
    /// may then include rows that they exclude.
    fn is_filtered(&self) -> bool {
        false
    }

    /// Requests `limit` rows at `offset`, in the unit that the service uses.
    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<Self::Item>, Error>>;

    /// The key by which a row is compared with others.
    fn key(&self, item: &Self::Item) -> String;

    /// The slot in which the client stores the detected unit of offsets.
    fn detected_offset(&self) -> Option<&DetectedOffset> {
        None
    }
}

/// The pagination of an operation, as the description states it.
pub(crate) fn pagination_of(operation: &str) -> Result<Pagination, Error> {
    modelarts_api::OPERATIONS
        .iter()
        .find(|known: &&Operation| known.id == operation)
        .and_then(|operation| operation.pagination)
        .ok_or_else(|| Error::invalid(format!("{operation} is not a list")))
}
