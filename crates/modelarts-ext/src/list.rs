//! The job search.

use futures::{StreamExt, TryStreamExt, future, stream};
use modelarts_api::{BoxFuture, Operation, types};

use crate::{
    client::Client,
    error::Error,
    filter::Filter,
    job::Job,
    page::{self, Batch, Page, Results, Source},
};

/// The largest page that the service makes.
const MAX_LIMIT: u32 = 50;

/// A search for jobs, the newest first.
#[derive(Clone, Debug)]
#[must_use]
pub struct ListJobs {
    client: Client,
    filters: Vec<Filter>,
    limit: u32,
    oldest_first: bool,
}

impl ListJobs {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            filters: Vec::new(),
            limit: MAX_LIMIT,
            oldest_first: false,
        }
    }

    /// Finds only jobs for which this holds, too.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filters.push(filter);
        self
    }

    /// How many jobs are asked for at a time: 1 to 50, and 50 if nothing is said.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.limit = rows;
        self
    }

    /// Begins with the oldest job.
    pub fn oldest_first(mut self) -> Self {
        self.oldest_first = true;
        self
    }

    /// The jobs, page after page as they are wanted.
    #[must_use]
    pub fn stream(self) -> Results<Job> {
        page::rows(self.pages())
    }

    /// The pages.
    #[must_use]
    pub fn pages(self) -> Results<Page<Job>> {
        match self.source() {
            Ok((source, pagination, limit)) => page::pages(source, pagination, limit),
            Err(error) => stream::once(future::err(error)).boxed(),
        }
    }

    /// The first `most` jobs.
    ///
    /// # Errors
    /// As the stream.
    pub async fn collect(self, most: usize) -> Result<Vec<Job>, Error> {
        self.stream().take(most).try_collect().await
    }

    fn source(self) -> Result<(Search, modelarts_api::Pagination, u32), Error> {
        let pagination = pagination("ListTrainingJobs")?;
        if !(1..=MAX_LIMIT).contains(&self.limit) {
            return Err(Error::invalid(format!(
                "page_size {}: it must be 1 to {MAX_LIMIT}",
                self.limit
            )));
        }
        let mut filters = Vec::new();
        for filter in self.filters {
            filter.check()?;
            filters.push(filter.into_body()?);
        }
        let source = Search {
            client: self.client,
            filters,
            order: if self.oldest_first {
                types::SortOrder::Asc
            } else {
                types::SortOrder::Desc
            },
        };
        Ok((source, pagination, self.limit))
    }
}

struct Search {
    client: Client,
    filters: Vec<types::JobFilter>,
    order: types::SortOrder,
}

impl Source for Search {
    type Item = Job;

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<Batch<Job>, Error>> {
        Box::pin(async move {
            let body = types::ListTrainingJobsRequest::builder()
                .offset(offset)
                .limit(i64::from(limit))
                .sort_by(types::JobSortField::CreateTime)
                .order(self.order)
                .filters(self.filters.clone());
            let answer = self
                .client
                .call(|api| {
                    api.list_training_jobs()
                        .project_id(self.client.project().clone())
                        .body(body)
                        .send()
                })
                .await?;
            let mut dropped = answer.dropped().rows;
            let answer = answer.into_inner();
            let found = answer.items.len();
            let items: Vec<Job> = answer
                .items
                .into_iter()
                .filter_map(|details| Job::from_details(self.client.clone(), details))
                .collect();
            // A job without an id cannot be asked for anything.
            dropped += found - items.len();
            Ok(Batch {
                items,
                total: answer.total,
                limit: answer.limit,
                dropped,
            })
        })
    }

    fn id(item: &Job) -> Option<String> {
        Some(item.id().to_owned())
    }
}

/// How the description says that a list is paged.
pub(crate) fn pagination(operation: &str) -> Result<modelarts_api::Pagination, Error> {
    modelarts_api::OPERATIONS
        .iter()
        .find(|known: &&Operation| known.id == operation)
        .and_then(|operation| operation.pagination)
        .ok_or_else(|| Error::invalid(format!("{operation} is not a list")))
}
