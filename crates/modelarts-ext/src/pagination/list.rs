//! List: the type of the lists that have no settings of their own.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use modelarts_api::{Offset, Pagination};

use crate::{
    error::Error,
    pagination::{
        options::ReadOptions,
        page::{Page, PageStream},
        position::Position,
        source::{Source, pagination_of},
        stream,
    },
};

/// Default size of a page where the documents state no maximum.
const DEFAULT_LIMIT: u32 = 50;
/// Largest size of a page where the documents state no maximum: the largest that is documented for
/// any list.
const LARGEST_LIMIT: u32 = 1000;

/// A list of the service. Rows are requested as they are read: see [`items`](Self::items),
/// [`pages`](Self::pages), [`collect`](Self::collect).
#[must_use]
pub struct List<T> {
    source: Result<(Arc<dyn Source<Item = T>>, Pagination), Error>,
    options: ReadOptions,
}

impl<T: Send + 'static> List<T> {
    pub(crate) fn new(source: impl Source<Item = T>) -> Self {
        Self::checked(Ok(source))
    }

    /// Creates a list from a source; reading it fails with the error of `source`, if there is one.
    pub(crate) fn checked(source: Result<impl Source<Item = T>, Error>) -> Self {
        let source = source.and_then(|source| {
            let pagination = pagination_of(source.operation())?;
            Ok((Arc::new(source) as Arc<dyn Source<Item = T>>, pagination))
        });
        let limit = source.as_ref().ok().and_then(|(_, how)| how.max_limit);
        Self {
            options: ReadOptions::new(limit.unwrap_or(DEFAULT_LIMIT)),
            source,
        }
    }

    /// Sets the number of rows of each request. Default: the largest that the service admits. Has
    /// no effect on lists that the service returns in one response.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.options.size = rows;
        self
    }

    /// Sets the number of pages that are requested concurrently after the first one. Default 4.
    pub fn in_flight(mut self, pages: usize) -> Self {
        self.options.in_flight = pages;
        self
    }

    /// Sets the unit of offsets: [`Offset::Record`] or [`Offset::PageIndex`]. Default: the
    /// documented one; where sources disagree, the client detects it from the first two pages.
    pub fn offset_is(mut self, meaning: Offset) -> Self {
        self.options.meaning = Some(meaning);
        self
    }

    /// Continues behind a page of the same list.
    pub fn resume(mut self, position: Position) -> Self {
        self.options.resume = Some(position);
        self
    }

    /// Returns a stream of the rows; pages are requested as it is polled.
    #[must_use]
    pub fn items(self) -> PageStream<T> {
        stream::rows(self.pages())
    }

    /// The same as [`items`](Self::items).
    #[must_use]
    pub fn stream(self) -> PageStream<T> {
        self.items()
    }

    /// Returns the first `max` rows at most, which bounds the memory that the list takes.
    ///
    /// # Errors
    /// Those of the stream.
    pub async fn collect(self, max: usize) -> Result<Vec<T>, Error> {
        self.items().take(max).try_collect().await
    }

    /// Returns a stream of the pages.
    #[must_use]
    pub fn pages(self) -> PageStream<Page<T>> {
        let options = self.options;
        let checked = self.source.and_then(|(source, pagination)| {
            let most = pagination.max_limit.unwrap_or(LARGEST_LIMIT);
            options.check(source.operation(), most)?;
            Ok((source, pagination))
        });
        match checked {
            Ok((source, pagination)) => stream::pages_by(source, pagination, options),
            Err(error) => stream::error_stream(error),
        }
    }
}
