//! `List`, the type of all lists of the service.

use std::{marker::PhantomData, sync::Arc};

use futures::{StreamExt, TryStreamExt};
use modelarts_api::{Offset, Pagination};

use crate::{
    error::Error,
    list_position::{Position, SearchPosition},
    pagination::{
        options::ReadOptions,
        page::{self, Page, PageStream},
        pager, searches,
        source::{Source, pagination_of},
    },
};

/// Default page size of lists without a documented maximum.
const DEFAULT_LIMIT: u32 = 50;
/// Maximum page size of lists without a documented maximum: the largest maximum of all lists.
const LARGEST_LIMIT: u32 = 1000;

/// List of the service. Rows are requested as they are read, by [`stream`](Self::stream),
/// [`pages`](Self::pages) or [`collect`](Self::collect).
///
/// `Q` is the query of a list with conditions, such as [`JobQuery`](crate::jobs::JobQuery). The
/// conditions are checked before the first request, and the stream returns an error for an invalid
/// condition. Lists without conditions are written `List<T>`.
#[derive(Clone, Debug)]
#[must_use]
pub struct List<T, Q: ?Sized = dyn Source<Item = T>> {
    pub(crate) query: Box<Q>,
    pub(crate) options: ReadOptions,
    row: PhantomData<fn() -> T>,
}

impl<T: Send + 'static, Q: Source<Item = T> + ?Sized> List<T, Q> {
    pub(crate) fn new(query: Box<Q>) -> Self {
        let pagination = pagination_of(query.info().operation).ok();
        let limit = pagination.and_then(|pagination| pagination.max_limit);
        Self { options: ReadOptions::new(limit.unwrap_or(DEFAULT_LIMIT)), query, row: PhantomData }
    }

    /// Sets the number of rows per page, without overlapping rows. The default is the documented
    /// maximum, or 50. Lists that consist of a single response ignore this setting.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.options.size = rows;
        self
    }

    /// Sets the maximum number of requests in flight after the first page. The default is 4.
    pub fn in_flight(mut self, pages: usize) -> Self {
        self.options.in_flight = pages;
        self
    }

    /// Sets the unit of offsets: [`Offset::Record`] or [`Offset::PageIndex`]. The default is the
    /// documented unit. If sources disagree, the client detects the unit by a request.
    pub fn offset_is(mut self, unit: Offset) -> Self {
        self.options.unit = Some(unit);
        self
    }

    /// Resumes the list at a position of the same list with the same conditions.
    ///
    /// ```no_run
    /// # type Result = std::result::Result<(), Box<dyn std::error::Error>>;
    /// # async fn example(client: modelarts_ext::Client) -> Result {
    /// use futures::TryStreamExt;
    ///
    /// let mut list = client.training_jobs().list().oldest_first();
    /// if let Ok(saved) = std::fs::read("position.json") {
    ///     list = list.resume(serde_json::from_slice(&saved)?);
    /// }
    /// let mut pages = list.pages();
    /// while let Some(page) = pages.try_next().await? {
    ///     println!("{} more jobs", page.items.len());
    ///     std::fs::write("position.json", serde_json::to_vec(&page.position)?)?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn resume(mut self, position: Position) -> Self {
        self.options.resume = Some(position);
        self
    }

    /// Ends the list after a short page, without a request for the page behind it, for callers that
    /// read the list again later or need its first rows only.
    pub(crate) fn end_short(mut self) -> Self {
        self.options.ends_short = true;
        self
    }

    /// Allows an end before all rows were returned, for callers that read the list periodically.
    pub(crate) fn allow_early_end(mut self) -> Self {
        self.options.allow_early_end = true;
        self.end_short()
    }

    /// Returns a stream of the rows. Pages are requested when the stream is polled.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # hello(&emulator, &client, "bert")?.submit().await?;
    /// use futures::TryStreamExt;
    ///
    /// let mut jobs = client.training_jobs().list().stream();
    /// while let Some(job) = jobs.try_next().await? {
    ///     println!("{job}");
    /// #   assert_eq!(job.name(), "bert");
    /// }
    /// # Ok(()) }) }
    /// ```
    #[must_use]
    pub fn stream(self) -> PageStream<T> {
        page::rows(self.pages())
    }

    /// Returns the first rows of the list, up to `max`, or the error of [`stream`](Self::stream).
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// // The ten newest jobs.
    /// for job in client.training_jobs().list().collect(10).await? {
    ///     println!("{job}");
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn collect(mut self, max: usize) -> Result<Vec<T>, Error> {
        self.options.rows = Some(max as u64);
        self.stream().take(max).try_collect().await
    }

    /// Returns a stream of the pages.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// use futures::TryStreamExt;
    ///
    /// let mut pages = client.training_jobs().list().page_size(20).pages();
    /// while let Some(page) = pages.try_next().await? {
    ///     println!("{} of {:?} jobs", page.items.len(), page.total);
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn pages(self) -> PageStream<Page<T>> {
        self.checked_pages().unwrap_or_else(page::error_stream)
    }

    /// Reads the page with this number, counted from 0, with one request, for programs that show
    /// one page at a time. A page beyond the end of the list has no rows.
    ///
    /// Use [`pages`](Self::pages) to read all rows: rows move to other pages when the list changes.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # for name in ["a", "b", "c"] { hello(&emulator, &client, name)?.submit().await?; }
    /// let list = client.training_jobs().list().oldest_first().page_size(2);
    /// let page = list.page(1).await?;
    /// println!("{} of {:?} jobs", page.items.len(), page.matching);
    /// # assert_eq!(page.items[0].name(), "c");
    /// # assert_eq!((page.items.len(), page.matching, page.position.rows()), (1, Some(3), 3));
    /// # let page = client.training_jobs().list().page_size(2).page(2).await?;
    /// # assert_eq!((page.items.len(), page.matching), (0, Some(3)));
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the request fails. Returns an error without a request for an invalid
    /// condition, setting or number, for a list of several searches, such as a
    /// [range](crate::jobs::TimeKey::between) of more than 31 days, and for a page after the first
    /// if the unit of offsets is unknown: disputed by sources, and not set by
    /// [`offset_is`](Self::offset_is).
    pub async fn page(self, number: u64) -> Result<Page<T>, Error> {
        let pagination = self.check()?;
        match self.query.searches()?.as_deref() {
            None => pager::page(&*self.query, pagination, &self.options, number).await,
            Some([search]) => {
                let page = pager::page(&*search.source, pagination, &self.options, number);
                let mut page = page.await?;
                page.position.search =
                    Some(SearchPosition { name: search.name.clone(), rows_before: 0 });
                Ok(page)
            }
            Some(searches) => Err(Error::invalid(format!(
                "page {number}: the list consists of {} searches, whose pages have no numbers; use \
                 pages(), or a range of at most 31 days",
                searches.len()
            ))),
        }
    }

    fn checked_pages(self) -> Result<PageStream<Page<T>>, Error> {
        let pagination = self.check()?;
        if let Some(searches) = self.query.searches()? {
            return searches::pages(searches, pagination, self.options);
        }
        let resume = self.options.resume.as_ref();
        if let Some(search) = resume.and_then(|position| position.search.as_ref()) {
            return Err(Error::invalid(format!(
                "resume: the position is in a list with other conditions ({}); its conditions must \
                 be those of the list that returned it",
                search.name
            )));
        }
        let source = Arc::<Q>::from(self.query);
        Ok(pager::pages(source, pagination, self.options))
    }

    /// Checks the options and the query, and returns the pagination of the operation.
    pub(crate) fn check(&self) -> Result<Pagination, Error> {
        let operation = self.query.info().operation;
        let pagination = pagination_of(operation)?;
        let max = pagination.max_limit.unwrap_or(LARGEST_LIMIT);
        self.options.check(operation, max)?;
        self.query.check()?;
        Ok(pagination)
    }
}
