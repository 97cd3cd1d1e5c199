//! The type of lists that need no settings of their own.

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

/// The size of a page where the documents state no largest one.
const DEFAULT_LIMIT: u32 = 50;
/// The largest page that is requested then: the largest that is documented for any list.
const LARGEST_LIMIT: u32 = 1000;

/// A list of the service, read as it is wanted: see [`items`](Self::items),
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

    /// A list that fails with the error of `source` when it is read.
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

    /// Sets the rows that each request asks for; by default as many as the service gives. It
    /// does not matter where all rows come in one answer.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.options.size = rows;
        self
    }

    /// Sets the pages that are requested at the same time, after the first one. Default 4.
    pub fn in_flight(mut self, pages: usize) -> Self {
        self.options.in_flight = pages;
        self
    }

    /// Sets the unit of offsets: [`Offset::Record`] or [`Offset::PageIndex`]. By default it is
    /// that of the documents; where they disagree, the first two pages show it.
    pub fn offset_is(mut self, meaning: Offset) -> Self {
        self.options.meaning = Some(meaning);
        self
    }

    /// Goes on behind a page of the same list.
    pub fn resume(mut self, position: Position) -> Self {
        self.options.resume = Some(position);
        self
    }

    /// The rows, page after page as they are wanted.
    #[must_use]
    pub fn items(self) -> PageStream<T> {
        stream::rows(self.pages())
    }

    /// The same as [`items`](Self::items).
    #[must_use]
    pub fn stream(self) -> PageStream<T> {
        self.items()
    }

    /// The first `max` rows, and never more: the number is the bound of what this takes
    /// in memory.
    ///
    /// # Errors
    /// As the stream.
    pub async fn collect(self, max: usize) -> Result<Vec<T>, Error> {
        self.items().take(max).try_collect().await
    }

    /// The pages.
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
