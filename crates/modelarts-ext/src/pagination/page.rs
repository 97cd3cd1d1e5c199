//! Page of a list: the rows of one response.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, future, stream, stream::BoxStream};

use crate::{error::Error, list_position::Position, transport::call::CallInfo};

/// Stream of results. The stream is `Unpin`, so callers need not pin it before they poll it.
pub type PageStream<T> = BoxStream<'static, Result<T, Error>>;

/// Page of a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<T> {
    /// Rows of the page, excluding rows that an earlier page returned.
    pub items: Vec<T>,
    /// Total number of rows of the list, which may include rows that the conditions exclude. `None`
    /// if the service does not state it, or for a list of several searches, such as a [long
    /// range](crate::jobs::TimeKey::between) of times, because each search has its own total.
    pub total: Option<u64>,
    /// Number of rows that meet the conditions. `None` if the number is unknown or ambiguous, or if
    /// the list consists of several searches.
    pub matching: Option<u64>,
    /// Number of rows that could not be decoded and are missing from `items`. Pages overlap and
    /// such rows cannot be recognised, so the same row may be counted on two pages.
    pub skipped: usize,
    /// Position after this page, from which the list can be resumed later.
    pub position: Position,
    pub(crate) call: Arc<CallInfo>,
}

impl<T> Page<T> {
    /// Returns information about the call: request id, number of attempts, duration.
    #[must_use]
    pub fn call(&self) -> &CallInfo {
        &self.call
    }

    /// Returns the body of the response as received. The body includes rows of earlier pages and
    /// rows that could not be decoded.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.call.body
    }
}

/// Flattens a stream of pages into a stream of their rows.
pub(crate) fn rows<T: Send + 'static>(pages: PageStream<Page<T>>) -> PageStream<T> {
    pages.map_ok(|page| stream::iter(page.items.into_iter().map(Ok))).try_flatten().boxed()
}

/// Returns a stream that fails with this error.
pub(crate) fn error_stream<T: Send + 'static>(error: Error) -> PageStream<T> {
    stream::once(future::err(error)).boxed()
}
