//! Page: the rows of one response of a list.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, future, stream, stream::BoxStream};

use crate::{error::Error, pagination::position::Position, transport::call::CallInfo};

/// A stream of results. It is `Unpin`, so it needs no pinning before it is polled.
pub type PageStream<T> = BoxStream<'static, Result<T, Error>>;

/// One page of a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows, without those of earlier pages.
    pub items: Vec<T>,
    /// The number of rows of the whole list, as the service counts. It may include rows that the
    /// filter excludes.
    pub total: Option<u64>,
    /// The number of rows that could not be decoded and were left out. Pages overlap and such rows
    /// cannot be recognised, so a row may count on two pages.
    pub skipped: usize,
    /// The position behind this page, for resuming later.
    pub position: Position,
    pub(crate) call: Arc<CallInfo>,
}

impl<T> Page<T> {
    /// The facts about the call that returned the page: request id, attempts, duration.
    #[must_use]
    pub fn call(&self) -> &CallInfo {
        &self.call
    }

    /// The body of the response as received, including rows of earlier pages and rows left out.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.call.body
    }
}

/// Returns the rows of pages.
pub(crate) fn rows<T: Send + 'static>(pages: PageStream<Page<T>>) -> PageStream<T> {
    pages
        .map_ok(|page| stream::iter(page.items.into_iter().map(Ok)))
        .try_flatten()
        .boxed()
}

/// Returns a stream that fails with this error.
pub(crate) fn error_stream<T: Send + 'static>(error: Error) -> PageStream<T> {
    stream::once(future::err(error)).boxed()
}
