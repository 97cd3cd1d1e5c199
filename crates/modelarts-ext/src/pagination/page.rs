//! Lists, page by page or row by row.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, future, stream, stream::BoxStream};
use modelarts_api::{BoxFuture, Offset, Operation, Pagination};

use crate::{
    error::Error,
    pagination::{offset::DetectedOffset, pager::Pager, position::Position},
    transport::call::{CallInfo, call_accessors},
};

/// A stream of results that can be polled as it is.
pub type PageStream<T> = BoxStream<'static, Result<T, Error>>;

/// How many pages are asked for at a time, if nothing is said.
const IN_FLIGHT: usize = 4;

/// One page of a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows, without those that came before.
    pub items: Vec<T>,
    /// How many rows there are in all, as the service counts. It may count more
    /// than the filter admits.
    pub total: Option<u64>,
    /// How many rows could not be understood and were left out. Pages overlap, and such a
    /// row cannot be recognised, so it may count on two of them.
    pub dropped: usize,
    /// The position behind this page, to go on from another time.
    pub position: Position,
    pub(crate) told: Arc<CallInfo>,
}

impl<T> Page<T> {
    call_accessors!(told);

    /// The answer as it came, with the rows that came before and those that were left out.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        self.told.raw()
    }
}

/// Rows as one request brings them.
pub(crate) struct RawPage<T> {
    pub(crate) items: Vec<T>,
    pub(crate) total: Option<i64>,
    /// How many rows match the conditions, or are on this page: the documents admit
    /// both.
    pub(crate) count: Option<i64>,
    /// The limit that the service says it used.
    pub(crate) limit: Option<i64>,
    pub(crate) dropped: usize,
    pub(crate) told: Arc<CallInfo>,
}

/// What a list needs to be paged.
pub(crate) trait Source: Send + Sync + 'static {
    type Item: Send + 'static;

    /// The operation that makes the list.
    fn operation(&self) -> &'static str;

    /// Whether no two rows have the same key.
    fn is_unique(&self) -> bool;

    /// Returns whether the caller set conditions. Where the service tells two numbers, the total
    /// may then count rows that they exclude.
    fn is_filtered(&self) -> bool {
        false
    }

    /// Asks for `limit` rows at `offset`, in the service's meaning of offset.
    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<Self::Item>, Error>>;

    /// What rows are compared by.
    fn key(&self, item: &Self::Item) -> String;

    /// Where the client remembers what the offset turned out to count.
    fn learned(&self) -> Option<&DetectedOffset> {
        None
    }
}

/// How a caller wants a list to be read.
#[derive(Clone, Debug)]
pub(crate) struct ReadOptions {
    pub(crate) size: u32,
    pub(crate) in_flight: usize,
    pub(crate) meaning: Option<Offset>,
    pub(crate) resume: Option<Position>,
    /// A list may end before all rows came that the service counts, because it is
    /// read again and again.
    pub(crate) lenient: bool,
}

impl ReadOptions {
    pub(crate) fn new(size: u32) -> Self {
        Self {
            size,
            in_flight: IN_FLIGHT,
            meaning: None,
            resume: None,
            lenient: false,
        }
    }

    pub(crate) fn check(&self, list: &str, max: u32) -> Result<(), Error> {
        if !(1..=max).contains(&self.size) {
            return Err(Error::invalid(format!(
                "page_size {}: it must be 1 to {max}",
                self.size
            )));
        }
        if self.in_flight == 0 {
            return Err(Error::invalid("in_flight 0: it must be 1 at the least"));
        }
        if let Some(meaning) = self.meaning
            && !matches!(meaning, Offset::PageIndex | Offset::Record)
        {
            return Err(Error::invalid(format!(
                "offset_is {meaning:?}: the offset of {list} counts pages or records"
            )));
        }
        self.resume.as_ref().map_or(Ok(()), |at| at.check(list))
    }
}

/// The pages of a list.
///
/// The first page is asked for alone, because most lists end there. Then up to
/// [`ReadOptions::in_flight`] are asked for at the same time while the stream is polled;
/// when it is dropped, nothing more is. The pages overlap, so that rows that shift
/// between two requests are neither lost nor doubled. A list that ends before all rows
/// came that the service counts is read again, and ends with an error if they do not come.
pub(crate) fn pages<S: Source>(
    source: S,
    pagination: Pagination,
    reading: ReadOptions,
) -> PageStream<Page<S::Item>> {
    let pager = Pager::new(Arc::new(source), pagination, reading);
    stream::try_unfold(pager, |mut pager| async move {
        Ok(pager.next().await?.map(|page| (page, pager)))
    })
    .boxed()
}

/// The rows of pages.
pub(crate) fn rows<T: Send + 'static>(pages: PageStream<Page<T>>) -> PageStream<T> {
    pages
        .map_ok(|page| stream::iter(page.items.into_iter().map(Ok)))
        .try_flatten()
        .boxed()
}

/// A stream that says what is wrong.
pub(crate) fn refused<T: Send + 'static>(error: Error) -> PageStream<T> {
    stream::once(future::err(error)).boxed()
}

/// How the description says that a list is paged.
pub(crate) fn pagination(operation: &str) -> Result<Pagination, Error> {
    modelarts_api::OPERATIONS
        .iter()
        .find(|known: &&Operation| known.id == operation)
        .and_then(|operation| operation.pagination)
        .ok_or_else(|| Error::invalid(format!("{operation} is not a list")))
}
