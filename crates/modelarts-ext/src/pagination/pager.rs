//! Sender of the requests of a list, and reader of a page by its number.

use std::sync::Arc;

use futures::{
    StreamExt,
    stream::{self, FuturesOrdered},
};
use modelarts_api::{BoxFuture, Offset, Pagination};

use crate::{
    error::Error,
    list_position::{OffsetUnit, Position},
    pagination::{
        options::{MAX_ROWS, ReadOptions},
        page::{Page, PageStream},
        reader::Reader,
        row_log::SAVED_KEYS,
        source::{RawPage, Source, matching},
        window::Window,
    },
};

type FetchedPage<T> = Result<(Window, RawPage<T>), Error>;

/// Returns the pages of a list. Pages are requested while the stream is polled; a dropped stream
/// sends no further requests.
pub(super) fn pages<S: Source + ?Sized>(
    source: Arc<S>,
    pagination: Pagination,
    options: ReadOptions,
) -> PageStream<Page<S::Item>> {
    let pager = Pager {
        pending: FuturesOrdered::new(),
        reader: Reader::new(source.info(), pagination, options),
        source,
    };
    let pages = stream::try_unfold(pager, |mut pager| async move {
        Ok(pager.next().await?.map(|page| (page, pager)))
    });
    pages.boxed()
}

struct Pager<S: Source + ?Sized> {
    source: Arc<S>,
    reader: Reader,
    /// Requests in flight, in the order of their windows.
    pending: FuturesOrdered<BoxFuture<'static, FetchedPage<S::Item>>>,
}

impl<S: Source + ?Sized> Pager<S> {
    /// Returns the first page, or the next page with new or undecodable rows; `None` at the end.
    async fn next(&mut self) -> Result<Option<Page<S::Item>>, Error> {
        loop {
            while let Some(window) = self.reader.next_window(self.pending.len())? {
                let source = Arc::clone(&self.source);
                let offset = i64::try_from(window.offset).unwrap_or(i64::MAX);
                self.pending.push_back(Box::pin(async move {
                    Ok((window, source.fetch(offset, window.limit).await?))
                }));
            }
            let Some(answer) = self.pending.next().await else {
                return Ok(None);
            };
            let (window, page) = answer?;
            let is_first = self.reader.is_first();
            let keys: Vec<String> = page.items.iter().map(|item| self.source.key(item)).collect();
            let step = self.reader.take(window, &keys, page.skipped, &page.counts)?;
            if step.cancels {
                self.pending = FuturesOrdered::new();
            }
            let Some((returned, position)) = step.rows else {
                continue;
            };
            let (mut items, mut returned) = (page.items, returned.into_iter());
            items.retain(|_| returned.next() == Some(true));
            if is_first || !items.is_empty() || page.skipped > 0 {
                return Ok(Some(Page {
                    items,
                    total: page.counts.total,
                    matching: step.matching,
                    skipped: page.skipped,
                    position,
                    call: page.call,
                }));
            }
        }
    }
}

/// Reads the page with this number, counted from 0, with one request.
pub(super) async fn page<S: Source + ?Sized>(
    source: &S,
    pagination: Pagination,
    options: &ReadOptions,
    number: u64,
) -> Result<Page<S::Item>, Error> {
    let (info, size) = (source.info(), u64::from(options.size));
    let start = number.saturating_mul(size);
    let detected = || info.detected_offset.as_ref()?.get().copied();
    let unit = options.unit.and_then(OffsetUnit::of).or_else(detected);
    let problem = if options.resume.is_some() {
        "resume: must not be set for a page with a number".to_owned()
    } else if pagination.offset == Offset::SinglePage && number > 0 {
        format!("page {number}: must be 0, because the list has a single page")
    } else if start > MAX_ROWS {
        format!("page {number}: must be at most {}", MAX_ROWS / size)
    } else if unit.is_none() && pagination.disputed && number > 0 {
        format!(
            "page {number}: sources disagree on the unit of the offsets of {}; set it with \
             offset_is",
            info.operation
        )
    } else {
        String::new()
    };
    if !problem.is_empty() {
        return Err(Error::invalid(problem));
    }
    let unit = unit.or_else(|| OffsetUnit::of(pagination.offset));
    let unit = unit.unwrap_or_default();
    let offset = match unit {
        OffsetUnit::Pages => number,
        OffsetUnit::Records => start,
    };
    let page = source.fetch(offset.cast_signed(), options.size).await?;
    let rows = (page.items.len() + page.skipped) as u64;
    // A page that is not full is the last page, unless the page begins beyond the end of the list.
    let is_last = rows < size && (rows > 0 || number == 0);
    let read = start + rows;
    let stated = matching(&page.counts, rows, read, false, info.filtered);
    let keys = page.items.iter().map(|item| source.key(item));
    let skip = page.items.len().saturating_sub(SAVED_KEYS);
    let last: Vec<String> = keys.skip(skip).collect();
    Ok(Page {
        total: page.counts.total,
        matching: if is_last { Some(read) } else { stated },
        skipped: page.skipped,
        position: Position {
            list: info.operation.to_owned(),
            read,
            more: read > last.len() as u64,
            last,
            counts: Some(unit),
            search: None,
        },
        items: page.items,
        call: page.call,
    })
}
