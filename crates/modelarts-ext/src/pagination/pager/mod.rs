//! Pager: reader of a list that changes while it is read.
//!
//! The window of each request includes some known rows, which were read before. Their position
//! shows whether the list has shifted:
//!
//! - If rows were inserted before the window, the known rows are farther back in the window.
//! - If rows were removed, the window may contain no known row, and unread rows may precede it. The
//!   pager searches for the known rows, and continues after them.
//!
//! A row that exists for the whole time is therefore returned once.
//!
//! This requires that the service keeps the order of the rows. If a page shows that the order
//! changed, or if fewer rows were read than the service counts, the pager reads the list again from
//! its beginning, page by page. It returns only rows that it has not returned before. The list then
//! ends without an error if, over a sequence of pages, the total did not change, the number of rows
//! reached the total, and no row was new.

// `Reader` holds the state of a list: it chooses windows and determines which rows are returned.
// `Pager` sends the requests.

mod end;
mod history;
mod numbered;
mod offset_meaning;
mod order_check;
mod reader;
mod row_counts;
#[cfg(test)]
pub(crate) mod tests;
mod window;

use std::sync::Arc;

use futures::{
    StreamExt,
    stream::{self, FuturesOrdered},
};
use modelarts_api::{BoxFuture, Pagination};

use crate::{
    error::Error,
    pagination::{
        options::ReadOptions,
        page::{Page, PageStream},
        pager::{reader::Reader, window::Window},
        source::{RawPage, Source},
    },
};

pub(super) use numbered::page;

type Answer<T> = Result<(Window, RawPage<T>), Error>;

/// Returns the pages of a list.
///
/// The first page is requested alone, because most lists fit on one page. Then up to
/// [`ReadOptions::in_flight`] pages are requested concurrently while the stream is polled; a
/// dropped stream sends no further requests.
pub(super) fn pages<S: Source + ?Sized>(
    source: Arc<S>,
    pagination: Pagination,
    options: ReadOptions,
) -> PageStream<Page<S::Item>> {
    let pager = Pager {
        in_flight: options.in_flight,
        pending: FuturesOrdered::new(),
        reader: Reader::new(source.info(), pagination, options),
        source,
    };
    let pages = stream::try_unfold(pager, |mut pager| async move {
        Ok(pager.next().await?.map(|page| (page, pager)))
    });
    pages.boxed()
}

/// The sender of the requests of a list.
struct Pager<S: Source + ?Sized> {
    source: Arc<S>,
    reader: Reader,
    in_flight: usize,
    /// The requests in flight, in the order of their windows.
    pending: FuturesOrdered<BoxFuture<'static, Answer<S::Item>>>,
}

impl<S: Source + ?Sized> Pager<S> {
    /// Returns the next page that contains new rows. The first page is always returned.
    async fn next(&mut self) -> Result<Option<Page<S::Item>>, Error> {
        while !self.reader.done {
            if self.reader.requests > self.reader.max_requests() {
                return self.reader.too_many_requests().map_or(Ok(None), Err);
            }
            let (window, page) = match self.reader.search_window() {
                Some(window) => self.request(window).await?,
                None => {
                    self.request_ahead();
                    match self.pending.next().await {
                        Some(answer) => answer?,
                        None => break,
                    }
                }
            };
            let first = self.reader.first;
            let keys = page.items.iter().map(|item| self.source.key(item));
            let given = self
                .reader
                .take(window, keys.collect(), page.skipped, &page.counts)?;
            if std::mem::take(&mut self.reader.drops_pending) {
                self.pending = FuturesOrdered::new();
            }
            let Some(given) = given else {
                continue;
            };
            let (mut items, mut given) = (page.items, given.iter());
            items.retain(|_| given.next() == Some(&true));
            if first || !items.is_empty() || page.skipped > 0 {
                return Ok(Some(Page {
                    items,
                    total: page.counts.total,
                    matching: self.reader.required,
                    skipped: page.skipped,
                    position: self.reader.position(),
                    call: page.call,
                }));
            }
        }
        self.reader.failure.take().map_or(Ok(None), Err)
    }

    fn request(&mut self, window: Window) -> BoxFuture<'static, Answer<S::Item>> {
        self.reader.requests += 1;
        let source = Arc::clone(&self.source);
        let offset = i64::try_from(window.offset).unwrap_or(i64::MAX);
        Box::pin(async move { Ok((window, source.fetch(offset, window.limit).await?)) })
    }

    /// Sends the requests for the next windows.
    fn request_ahead(&mut self) {
        // Requests are sent one at a time until the first page has been received and the unit of
        // offsets is known.
        let alone = self.reader.first || self.reader.doubts.is_some();
        let most = if alone { 1 } else { self.in_flight };
        while self.pending.len() < most {
            let Some(window) = self.reader.next_window(self.pending.is_empty()) else {
                break;
            };
            let request = self.request(window);
            self.pending.push_back(request);
        }
    }
}
