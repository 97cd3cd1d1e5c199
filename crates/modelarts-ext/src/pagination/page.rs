//! Page of a list: the rows of one response.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, future, stream, stream::BoxStream};

use crate::{error::Error, list_position::Position, transport::call::CallInfo};

/// A stream of results. It is `Unpin`, so callers need not pin it before they poll it.
pub type PageStream<T> = BoxStream<'static, Result<T, Error>>;

/// One page of a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows of the page, excluding rows that an earlier page returned.
    pub items: Vec<T>,
    /// The total number of rows of the list, as stated by the service. It may include rows that the
    /// filter excludes. `None` for a list that consists of several searches, such as that of a
    /// [long range](crate::jobs::TimeKey::between) of times, because each search states a number of
    /// its own.
    pub total: Option<u64>,
    /// The number of rows of the list that meet its conditions; `None` if it is not certain, such
    /// as for a service that states the number of rows on the page instead.
    pub matching: Option<u64>,
    /// The number of rows that could not be decoded and are missing from `items`. Pages overlap and
    /// such rows cannot be recognised, so the same row may be counted on two pages.
    pub skipped: usize,
    /// The position after this page, from which the list can be resumed later.
    pub position: Position,
    pub(crate) call: Arc<CallInfo>,
}

impl<T> Page<T> {
    /// Returns the facts about the call: request id, number of attempts, duration.
    #[must_use]
    pub fn call(&self) -> &CallInfo {
        &self.call
    }

    /// Returns the body of the response as received. It includes rows of earlier pages and rows
    /// that could not be decoded.
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
