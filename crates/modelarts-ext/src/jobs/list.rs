//! Job search: conditions and pages.

use std::{net::IpAddr, sync::Arc};

use futures::{StreamExt, TryStreamExt};
use modelarts_api::{BoxFuture, Offset, types};

use crate::{
    client::Client,
    error::Error,
    jobs::{filter::Filter, job::Job, training_jobs::TrainingJobs},
    pagination::{
        options::{ReadOptions, require_not_blank},
        page::{Page, PageStream},
        position::Position,
        source::{RawPage, Source},
        stream,
    },
};

const OPERATION: &str = "ListTrainingJobs";
/// The largest page of the service.
const MAX_LIMIT: u32 = 50;
/// The maximum number of conditions; see [`Filter`].
const MAX_FILTERS: usize = 20;
/// The maximum number of tags, of values of a tag, and of addresses.
const MAX_TAGS: usize = 10;

/// A search for jobs, newest first.
#[derive(Clone, Debug)]
#[must_use]
pub struct ListJobs {
    client: Client,
    filters: Vec<Filter>,
    workspace: Option<String>,
    tags: Vec<(String, Vec<String>)>,
    host_ips: Vec<IpAddr>,
    sort_by: types::JobSortField,
    oldest_first: bool,
    options: ReadOptions,
}

impl TrainingJobs {
    /// Searches jobs; without a filter, lists all of them, newest first.
    pub fn list(&self) -> ListJobs {
        ListJobs {
            client: self.client().clone(),
            filters: Vec::new(),
            workspace: None,
            tags: Vec::new(),
            host_ips: Vec::new(),
            sort_by: types::JobSortField::CreateTime,
            oldest_first: false,
            options: ReadOptions::new(MAX_LIMIT),
        }
    }
}

impl ListJobs {
    /// Adds a condition. All conditions must hold.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filters.push(filter);
        self
    }

    /// Lists only jobs of this workspace. Default: workspace `0`.
    pub fn workspace(mut self, id: impl Into<String>) -> Self {
        self.workspace = Some(id.into());
        self
    }

    /// Lists only jobs that have this tag with any of these values, or with every value if there
    /// are none. Up to 10 tags with up to 10 values each.
    ///
    /// With tags, the service searches a range of 31 days: the last ones, or those of
    /// [`Filter::create_time`].
    pub fn tag(
        mut self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.tags.push((key.into(), values));
        self
    }

    /// Lists only jobs that ran on one of these hosts, at most 10. Restricts the time range like
    /// [`tag`](Self::tag).
    pub fn host_ips(mut self, addresses: impl IntoIterator<Item = impl Into<IpAddr>>) -> Self {
        self.host_ips.extend(addresses.into_iter().map(Into::into));
        self
    }

    /// Sets the sort field. Default: the creation time. No other field is documented
    /// (`openapi/SOURCES.md`, O, S, W).
    pub fn sort_by(mut self, field: impl Into<types::JobSortField>) -> Self {
        self.sort_by = field.into();
        self
    }

    /// Sorts in ascending order: oldest job first.
    pub fn oldest_first(mut self) -> Self {
        self.oldest_first = true;
        self
    }

    /// Sets the number of jobs of each request, 1 to 50. Default 50.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.options.size = rows;
        self
    }

    /// Sets the number of pages that are requested concurrently after the first one. Default 4.
    pub fn in_flight(mut self, pages: usize) -> Self {
        self.options.in_flight = pages;
        self
    }

    /// Sets the unit of offsets. Default: [`Offset::PageIndex`]; older releases use
    /// [`Offset::Record`] (`openapi/SOURCES.md`, D-57).
    pub fn offset_is(mut self, meaning: Offset) -> Self {
        self.options.meaning = Some(meaning);
        self
    }

    /// Continues behind a page of the same search.
    pub fn resume(mut self, position: Position) -> Self {
        self.options.resume = Some(position);
        self
    }

    /// Admits an end before all jobs came. For readers that read the list periodically.
    pub(super) fn allow_early_end(mut self) -> Self {
        self.options.allow_early_end = true;
        self
    }

    /// Returns a stream of the jobs; pages are requested as it is polled.
    #[must_use]
    pub fn stream(self) -> PageStream<Job> {
        stream::rows(self.pages())
    }

    /// The same as [`stream`](Self::stream).
    #[must_use]
    pub fn items(self) -> PageStream<Job> {
        self.stream()
    }

    /// Returns a stream of the pages.
    #[must_use]
    pub fn pages(self) -> PageStream<Page<Job>> {
        let options = self.options.clone();
        match self.into_job_pages() {
            Ok(source) => stream::pages(Arc::new(source), options),
            Err(error) => stream::error_stream(error),
        }
    }

    /// Returns the first `max` jobs at most, which bounds the memory that the list takes.
    ///
    /// # Errors
    /// Those of the stream.
    pub async fn collect(self, max: usize) -> Result<Vec<Job>, Error> {
        self.stream().take(max).try_collect().await
    }

    fn into_job_pages(self) -> Result<JobPages, Error> {
        self.options.check(OPERATION, MAX_LIMIT)?;
        check_count("filter", self.filters.len(), MAX_FILTERS, "conditions")?;
        check_count("tag", self.tags.len(), MAX_TAGS, "tags")?;
        check_count("host_ips", self.host_ips.len(), MAX_TAGS, "addresses")?;
        let filtered = self.workspace.is_some()
            || !(self.filters.is_empty() && self.tags.is_empty() && self.host_ips.is_empty());
        let mut filters = Vec::new();
        for filter in self.filters {
            filter.check()?;
            filters.push(filter.into_body()?);
        }
        let mut tags: Vec<types::TagFilterRequest> = Vec::new();
        for (key, values) in self.tags {
            check_count(&format!("tag {key}"), values.len(), MAX_TAGS, "values")?;
            if tags.iter().any(|tag| tag.key == key) {
                return Err(Error::invalid(format!(
                    "tag {key}: it is there twice; give its values together"
                )));
            }
            let tag = types::TagFilterRequest::builder().key(key).values(values);
            let tag = tag.try_into();
            tags.push(tag.map_err(|error| Error::invalid(format!("tag: {error}")))?);
        }
        let mut body = types::ListTrainingJobsRequest::builder()
            .sort_by(self.sort_by)
            .order(if self.oldest_first {
                types::SortOrder::Asc
            } else {
                types::SortOrder::Desc
            })
            .filters(filters)
            .tags(tags);
        if let Some(workspace) = self.workspace {
            require_not_blank("workspace", &workspace)?;
            body = body.workspace_id(workspace);
        }
        let addresses = self.host_ips.iter().map(IpAddr::to_string);
        Ok(JobPages {
            client: self.client,
            body: body.host_ips(addresses.collect::<Vec<_>>()),
            filtered,
        })
    }
}

fn check_count(what: &str, count: usize, max: usize, unit: &str) -> Result<(), Error> {
    if count <= max {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{what}: {count} {unit}; it must be {max} at the most"
    )))
}

struct JobPages {
    client: Client,
    body: types::builder::ListTrainingJobsRequest,
    filtered: bool,
}

impl Source for JobPages {
    type Item = Job;

    fn operation(&self) -> &'static str {
        OPERATION
    }

    fn is_unique(&self) -> bool {
        true
    }

    fn is_filtered(&self) -> bool {
        self.filtered
    }

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<Job>, Error>> {
        Box::pin(async move {
            let body = self.body.clone().offset(offset).limit(i64::from(limit));
            let answer = self
                .client
                .call(|api| {
                    api.list_training_jobs()
                        .project_id(self.client.project().clone())
                        .body(body)
                        .send()
                })
                .await?;
            let (answer, call) = answer.into_parts();
            let mut skipped = call.skipped.rows;
            let row_call = Arc::new(call.without_body());
            let row_count = answer.items.len();
            let items: Vec<Job> = answer
                .items
                .into_iter()
                .filter_map(|details| {
                    let row_call = Arc::clone(&row_call);
                    Job::from_details(self.client.clone(), Box::new(details), row_call)
                })
                .collect();
            // A job without an id supports no calls.
            skipped += row_count - items.len();
            Ok(RawPage {
                items,
                total: answer.total,
                count: answer.count,
                limit: answer.limit,
                skipped,
                call,
            })
        })
    }

    fn key(&self, item: &Job) -> String {
        item.id().to_owned()
    }
}
