//! Streams of pages and rows.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, future, stream};
use modelarts_api::Pagination;

use crate::{
    error::Error,
    pagination::{
        options::ReadOptions,
        page::{Page, PageStream},
        pager::Pager,
        source::{Source, pagination_of},
    },
};

/// Returns the pages of a list, with the pagination that the description states for its operation.
/// See [`pages_by`].
pub(crate) fn pages<S: Source + ?Sized>(
    source: Arc<S>,
    options: ReadOptions,
) -> PageStream<Page<S::Item>> {
    match pagination_of(source.operation()) {
        Ok(pagination) => pages_by(source, pagination, options),
        Err(error) => error_stream(error),
    }
}

/// Returns the pages of a list.
///
/// The first page is requested alone, because most lists end there. Then up to
/// [`ReadOptions::in_flight`] are requested concurrently while the stream is polled; a dropped
/// stream sends no further requests. The pages overlap, so that rows that shift between two
/// requests are neither lost nor duplicated. A list that ends before all the rows came that the
/// service counts is read again, and ends with an error if they do not come.
pub(super) fn pages_by<S: Source + ?Sized>(
    source: Arc<S>,
    pagination: Pagination,
    options: ReadOptions,
) -> PageStream<Page<S::Item>> {
    let pager = Pager::new(source, pagination, options);
    stream::try_unfold(pager, |mut pager| async move {
        Ok(pager.next().await?.map(|page| (page, pager)))
    })
    .boxed()
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
