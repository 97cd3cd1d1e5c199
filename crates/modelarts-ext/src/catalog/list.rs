//! Lists that need no settings of their own.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use modelarts_api::{BoxFuture, Offset, Pagination, types};
use progenitor_client::ResponseValue;
use serde::Serialize;

use crate::{
    client::Client,
    error::Error,
    pagination::{
        offset::DetectedOffset,
        page::{self, Page, PageStream, RawPage, ReadOptions, Source, pagination},
        position::Position,
    },
};

/// The size of a page where no largest one is documented.
const USUAL_LIMIT: u32 = 50;
/// The largest page that is asked for then: the largest that is documented anywhere.
const LARGEST: u32 = 1000;

/// A list of the service, read as it is wanted: see [`items`](Self::items),
/// [`pages`](Self::pages), [`collect`](Self::collect).
#[must_use]
pub struct List<T> {
    rows: Result<(RowSource<T>, Pagination), Error>,
    reading: ReadOptions,
}

impl<T: Serialize + Send + Sync + 'static> List<T> {
    pub(crate) fn new(rows: RowSource<T>) -> Self {
        Self::checked(Ok(rows))
    }

    /// A list that says what is wrong when it is read.
    pub(crate) fn checked(rows: Result<RowSource<T>, Error>) -> Self {
        let rows = rows.and_then(|rows| Ok((pagination(rows.operation)?, rows)));
        let max = rows.as_ref().ok().and_then(|(how, _)| how.max_limit);
        Self {
            reading: ReadOptions::new(max.unwrap_or(USUAL_LIMIT)),
            rows: rows.map(|(how, rows)| (rows, how)),
        }
    }

    /// How many rows are asked for at a time: as many as the service gives, if nothing
    /// is said. It does not matter where all rows come in one answer.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.reading.size = rows;
        self
    }

    /// How many pages are asked for at the same time, after the first one. Default 4.
    pub fn in_flight(mut self, pages: usize) -> Self {
        self.reading.in_flight = pages;
        self
    }

    /// What the service takes offsets for: [`Offset::Record`] or [`Offset::PageIndex`].
    /// If nothing is said, it is what the documents say; where they disagree, the first
    /// two pages tell.
    pub fn offset_is(mut self, meaning: Offset) -> Self {
        self.reading.meaning = Some(meaning);
        self
    }

    /// Goes on behind a page of the same list.
    pub fn resume(mut self, position: Position) -> Self {
        self.reading.resume = Some(position);
        self
    }

    /// The rows, page after page as they are wanted.
    #[must_use]
    pub fn items(self) -> PageStream<T> {
        page::rows(self.pages())
    }

    /// The same as [`items`](Self::items).
    #[must_use]
    pub fn stream(self) -> PageStream<T> {
        self.items()
    }

    /// The first `most` rows, and never more: the number is the bound of what this takes
    /// in memory.
    ///
    /// # Errors
    /// As the stream.
    pub async fn collect(self, most: usize) -> Result<Vec<T>, Error> {
        self.items().take(most).try_collect().await
    }

    /// The pages.
    #[must_use]
    pub fn pages(self) -> PageStream<Page<T>> {
        let reading = self.reading;
        let checked = self.rows.and_then(|(rows, how)| {
            let max = how.max_limit.unwrap_or(LARGEST);
            reading.check(rows.operation, max)?;
            Ok((rows, how))
        });
        match checked {
            Ok((rows, how)) => page::pages(rows, how, reading),
            Err(error) => page::refused(error),
        }
    }
}

/// What an operation answers.
type Answer<'a, R> = BoxFuture<'a, Result<ResponseValue<R>, modelarts_api::Error<types::ApiError>>>;

/// Sends one request for rows.
type Fetch<T> = dyn Fn(i64, u32) -> BoxFuture<'static, Result<RawPage<T>, Error>> + Send + Sync;

/// The rows of an operation.
pub(crate) struct RowSource<T> {
    operation: &'static str,
    fetch: Box<Fetch<T>>,
    /// What tells a row from the others. None: all of it.
    id: fn(&T) -> Option<&str>,
    unique: bool,
    filtered: bool,
    learned: Option<DetectedOffset>,
}

/// What of an answer the pager needs.
pub(crate) struct Part<T> {
    pub(crate) items: Vec<T>,
    pub(crate) total: Option<i64>,
    pub(crate) count: Option<i64>,
    pub(crate) limit: Option<i64>,
}

impl<T> Part<T> {
    pub(crate) fn new(items: Vec<T>, total: Option<i64>) -> Self {
        Self {
            items,
            total,
            count: None,
            limit: None,
        }
    }
}

impl<T: Send + 'static> RowSource<T> {
    /// `ask` sends a request for a page with an offset and a limit, and `part` takes the
    /// answer apart.
    pub(crate) fn new<R: Send + 'static>(
        client: &Client,
        operation: &'static str,
        ask: impl for<'a> Fn(&'a Client, &'a modelarts_api::Client, i64, i64) -> Answer<'a, R>
        + Send
        + Sync
        + 'static,
        part: fn(R) -> Part<T>,
    ) -> Self {
        let client = client.clone();
        let ask = Arc::new(ask);
        let offset = pagination(operation).map(|how| how.offset);
        Self {
            operation,
            unique: !matches!(offset, Ok(Offset::SinglePage)),
            id: |_| None,
            filtered: false,
            learned: None,
            fetch: Box::new(move |offset, limit| {
                let (client, ask) = (client.clone(), Arc::clone(&ask));
                Box::pin(async move {
                    let asking = client.call(|api| ask(&client, api, offset, i64::from(limit)));
                    let answer = asking.await?;
                    let dropped = answer.dropped().rows;
                    let told = answer.call();
                    let part = part(answer.into_inner());
                    Ok(RawPage {
                        items: part.items,
                        total: part.total,
                        count: part.count,
                        limit: part.limit,
                        dropped,
                        told,
                    })
                })
            }),
        }
    }

    /// RowSource have ids.
    pub(crate) fn id(mut self, id: fn(&T) -> Option<&str>) -> Self {
        self.id = id;
        self
    }

    /// True if the caller set conditions.
    pub(crate) fn filtered(mut self, filtered: bool) -> Self {
        self.filtered = filtered;
        self
    }

    /// The documents disagree about the offset, and here is remembered who is right.
    pub(crate) fn learned(mut self, learned: &DetectedOffset) -> Self {
        self.learned = Some(learned.clone());
        self
    }
}

impl<T: Serialize + Send + Sync + 'static> Source for RowSource<T> {
    type Item = T;

    fn operation(&self) -> &'static str {
        self.operation
    }

    fn is_unique(&self) -> bool {
        self.unique
    }

    fn is_filtered(&self) -> bool {
        self.filtered
    }

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<T>, Error>> {
        (self.fetch)(offset, limit)
    }

    fn key(&self, item: &T) -> String {
        let id = (self.id)(item)
            .filter(|id| !id.is_empty())
            .map(str::to_owned);
        id.unwrap_or_else(|| serde_json::to_string(item).unwrap_or_default())
    }

    fn learned(&self) -> Option<&DetectedOffset> {
        self.learned.as_ref()
    }
}
