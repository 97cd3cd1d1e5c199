//! Job search: conditions and pages.

use std::{net::IpAddr, sync::Arc, time::Duration};

use futures::{StreamExt, TryStreamExt, future};
use modelarts_api::{BoxFuture, types};

use crate::{
    client::Client,
    clock::MAX_CLOCK_SKEW,
    error::{Error, ErrorKind},
    jobs::{
        filter::{Filter, MAX_SPAN},
        job::Job,
        training_jobs::TrainingJobs,
    },
    pagination::{
        list::List,
        options::require_not_blank,
        page::PageStream,
        source::{Counts, ListInfo, RawPage, Search, Source},
    },
    timestamp::Timestamp,
};

const MAX_FILTERS: usize = 20;
const MAX_TAGS: usize = 10;

/// Maximum number of searches for a time range, in case its start is far in the past by mistake.
const MAX_SEARCHES: u32 = 120;

const MAX_NAME: usize = 64;

/// Search for jobs, newest first. A page has 1 to 50 jobs, by default 50.
pub type ListJobs = List<Job, JobQuery>;

/// Conditions of a search for jobs, set by the methods of [`ListJobs`].
#[derive(Clone, Debug)]
pub struct JobQuery {
    client: Client,
    filters: Vec<Filter>,
    workspace: Option<String>,
    tags: Vec<(String, Vec<String>)>,
    host_ips: Vec<IpAddr>,
    sort_by: types::JobSortField,
    order: types::SortOrder,
}

impl TrainingJobs {
    /// Searches for jobs, newest first. Without conditions, the list has all jobs. Offsets count
    /// pages; in older releases of the service, they count records (`openapi/SOURCES.md`, D-57).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # hello(&emulator, &client, "bert-1")?.submit().await?;
    /// use modelarts_ext::Filter;
    ///
    /// let jobs = client.training_jobs().list().filter(Filter::name().like("bert"));
    /// for job in jobs.collect(20).await? {
    ///     println!("{job}");
    /// #   assert_eq!(job.name(), "bert-1");
    /// }
    /// # Ok(()) }) }
    /// ```
    pub fn list(&self) -> ListJobs {
        List::new(Box::new(JobQuery {
            client: self.client().clone(),
            filters: Vec::new(),
            workspace: None,
            tags: Vec::new(),
            host_ips: Vec::new(),
            sort_by: types::JobSortField::CreateTime,
            order: types::SortOrder::Desc,
        }))
    }

    /// Returns the job with exactly this name, by a search and a call for the details.
    ///
    /// The service searches workspace `0` (`openapi/SOURCES.md`, D-109), which has all jobs of a
    /// project without other workspaces. [`ListJobs::get_by_name`] searches another workspace.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// match client.training_jobs().get_by_name("bert-base-1").await {
    ///     Ok(job) => println!("{} is {}", job.id(), job.phase()),
    ///     Err(error) if error.is_not_found() => println!("no job has this name"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`ListJobs::get_by_name`].
    pub async fn get_by_name(&self, name: impl AsRef<str>) -> Result<Job, Error> {
        self.list().get_by_name(name).await
    }
}

impl ListJobs {
    /// Adds a condition. A job must meet all conditions.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.query.filters.push(filter);
        self
    }

    /// Limits the list to a workspace. The default is workspace `0` (`openapi/SOURCES.md`, D-109).
    pub fn workspace(mut self, id: impl Into<String>) -> Self {
        self.query.workspace = Some(id.into());
        self
    }

    /// Returns a stream of the jobs that were created before `time`, oldest first. Unlike
    /// [`Filter::create_time`], the range has no start, and the list ends at the first newer job.
    /// Jobs without a creation time are left out.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "old")?.submit().await?;
    /// use std::time::{Duration, SystemTime};
    ///
    /// use futures::TryStreamExt;
    /// use modelarts_ext::{Filter, Job};
    ///
    /// // Ended jobs whose names contain `sweep`, and which are older than 30 days.
    /// let age = Duration::from_secs(30 * 24 * 3600);
    /// let list = client.training_jobs().list().filter(Filter::name().like("sweep"));
    /// let jobs: Vec<Job> = list.created_before(SystemTime::now() - age).try_collect().await?;
    /// for job in jobs.iter().filter(|job| job.is_final()) {
    ///     job.delete().await?;
    /// }
    /// # assert_eq!(jobs.len(), 0);
    /// # let all = client.training_jobs().list().created_before(SystemTime::now() + age);
    /// # assert_eq!(all.try_collect::<Vec<_>>().await?[0].id(), job.id());
    /// # Ok(()) }) }
    /// ```
    #[must_use]
    pub fn created_before(self, time: impl Into<Timestamp>) -> PageStream<Job> {
        let time = time.into();
        let is_older = move |job: &Job| job.created_at().is_none_or(|created| created < time);
        let jobs = self.sort_by(types::JobSortField::CreateTime).oldest_first().stream();
        let jobs = jobs.try_take_while(move |job| future::ready(Ok(is_older(job))));
        jobs.try_filter(|job| future::ready(job.created_at().is_some())).boxed()
    }

    /// Returns the job of this search with exactly this name, such as a job of another workspace.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// let search = client.training_jobs().list();
    /// let job = search.workspace("0c1f3b6a2d9e4f588a7b6c5d4e3f2a1b").get_by_name("bert").await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error with [`Error::is_not_found`] if no job has the name, an error without a
    /// request for an invalid name, and an error with the ids if several jobs have the name.
    pub async fn get_by_name(self, name: impl AsRef<str>) -> Result<Job, Error> {
        let name = name.as_ref();
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !(1..=MAX_NAME).contains(&name.len()) || !name.bytes().all(is_allowed) {
            return Err(Error::invalid(format!(
                "the job name {name:?} is wrong; it must be 1 to {MAX_NAME} letters, digits, _ \
                 and -"
            )));
        }
        let workspace = match &self.query.workspace {
            Some(id) => format!("in workspace {id} "),
            None => String::new(),
        };
        // The search also returns jobs whose names contain the searched name.
        let jobs = self.filter(Filter::name().like(name)).stream();
        let jobs = jobs.try_filter(|job| future::ready(job.name() == name));
        let jobs: Vec<Job> = jobs.try_collect().await?;
        match jobs.as_slice() {
            [job] => job.get().await,
            [] => {
                let message = format!("no job {workspace}is named {name:?}");
                let error = Error::new(ErrorKind::NotFound, message);
                Err(match workspace.is_empty() {
                    true => error.with_hint(
                        "the search had no workspace id; a job of another workspace than 0 is \
                         found by list().workspace(id).get_by_name(name)",
                    ),
                    false => error,
                })
            }
            jobs => {
                let ids: Vec<_> = jobs.iter().map(|job| job.id()).collect();
                Err(Error::new(
                    ErrorKind::Unexpected,
                    format!(
                        "{} jobs are named {name:?}: {}; use `get` with one of these ids",
                        ids.len(),
                        ids.join(", ")
                    ),
                ))
            }
        }
    }

    /// Limits the list to jobs that have this tag with one of the values, or with any value if
    /// `values` is empty. A search may have up to 10 tags with up to 10 values each.
    ///
    /// With tags, the service searches the last 31 days, or the range of [`Filter::create_time`].
    pub fn tag(
        mut self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.query.tags.push((key.into(), values));
        self
    }

    /// Limits the list to jobs on up to 10 hosts, in the same time range as [`tag`](Self::tag).
    pub fn host_ips(mut self, addresses: impl IntoIterator<Item = impl Into<IpAddr>>) -> Self {
        let addresses = addresses.into_iter().map(Into::into);
        self.query.host_ips.extend(addresses);
        self
    }

    /// Sets the sort field. The default is the creation time, the only documented field.
    pub fn sort_by(mut self, field: impl Into<types::JobSortField>) -> Self {
        self.query.sort_by = field.into();
        self
    }

    pub(super) fn client(&self) -> &Client {
        &self.query.client
    }

    pub(super) fn with_client(mut self, client: Client) -> Self {
        self.query.client = client;
        self
    }

    /// Returns `true` if a job can begin or cease to meet a condition.
    pub(super) fn has_changing_condition(&self) -> bool {
        !self.query.host_ips.is_empty() || self.query.filters.iter().any(Filter::is_on_phase)
    }

    pub(super) fn without_position(mut self) -> Self {
        self.options.resume = None;
        self
    }

    pub(super) fn newest_first(mut self) -> Self {
        self.query.order = types::SortOrder::Desc;
        self.sort_by(types::JobSortField::CreateTime)
    }

    /// Sorts the jobs in ascending order, oldest first.
    pub fn oldest_first(mut self) -> Self {
        self.query.order = types::SortOrder::Asc;
        self
    }
}

fn check_count(what: &str, count: usize, max: usize, unit: &str) -> Result<(), Error> {
    if count <= max {
        return Ok(());
    }
    Err(Error::invalid(format!("{what}: {count} {unit}; must be at most {max}")))
}

impl JobQuery {
    fn range(&self) -> Result<Option<(Timestamp, Timestamp)>, Error> {
        let ranges = self.filters.iter().filter_map(Filter::range);
        let range = ranges.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)));
        match range {
            Some((start, end)) if end < start => Err(Error::invalid(format!(
                "filter create_time: the ranges have no common time; the latest start, {start}, \
                 must not be after the earliest end, {end}"
            ))),
            range => Ok(range),
        }
    }

    /// Returns the searches for a range: one for every 31 days, in the order of the list.
    fn cut(&self, start: Timestamp, mut end: Timestamp) -> Result<Vec<Search<Job>>, Error> {
        if end.duration_since(start) > MAX_SPAN {
            // The service has no jobs that are newer than the clock of the service.
            let now = self.client.clock().now();
            let now = Timestamp::from(self.client.transport().service_time(now));
            end = end.min(start.max(now + MAX_CLOCK_SKEW));
        }
        let span = end.duration_since(start);
        let max = MAX_SPAN * MAX_SEARCHES;
        if span > max {
            let days = |span: Duration| span.as_secs().div_ceil(24 * 3600);
            return Err(Error::invalid(format!(
                "filter create_time: {} days; must be at most {} days, which are {MAX_SEARCHES} \
                 searches",
                days(span),
                days(max)
            )));
        }
        // Borders are whole seconds, so that a service that compares whole seconds omits no job.
        let mut borders = vec![start];
        let mut border = start.floor_to_second() + MAX_SPAN;
        while border < end {
            borders.push(border);
            border = border + MAX_SPAN;
        }
        borders.push(end);
        let last = borders.len() - 2;
        if last > 0 && self.sort_by != types::JobSortField::CreateTime {
            return Err(Error::invalid(format!(
                "sort_by {}: must be create_time for a range of more than 31 days, which takes \
                 several searches",
                self.sort_by
            )));
        }
        let ranges = borders.windows(2).enumerate();
        let searches = ranges.map(|(index, range)| {
            let (from, to) = (range[0], range[1]);
            Search {
                name: from.to_string(),
                source: Arc::new(self.within(from, to)),
                // Conditions include both ends, so a job at a border is in two searches.
                includes: Box::new(move |job: &Job| {
                    job.created_at().is_none_or(|time| {
                        (index == 0 || time >= from) && (index == last || time < to)
                    })
                }),
            }
        });
        let mut searches: Vec<_> = searches.collect();
        if self.order == types::SortOrder::Desc {
            searches.reverse();
        }
        Ok(searches)
    }

    fn within(&self, from: Timestamp, to: Timestamp) -> Self {
        let mut query = self.clone();
        query.filters.retain(|filter| filter.range().is_none());
        query.filters.push(Filter::create_time().between(from, to));
        query
    }

    fn body(&self) -> Result<types::builder::ListTrainingJobsRequest, Error> {
        check_count("filter", self.filters.len(), MAX_FILTERS, "conditions")?;
        check_count("tag", self.tags.len(), MAX_TAGS, "tags")?;
        check_count("host_ips", self.host_ips.len(), MAX_TAGS, "addresses")?;
        let filters = self.filters.iter().map(Filter::body);
        let filters: Vec<types::JobFilter> = filters.collect::<Result<_, Error>>()?;
        let mut tags: Vec<types::TagFilterRequest> = Vec::new();
        for (key, values) in &self.tags {
            check_count(&format!("tag {key}"), values.len(), MAX_TAGS, "values")?;
            if tags.iter().any(|tag| tag.key == *key) {
                return Err(Error::invalid(format!(
                    "tag {key}: it is there twice; give its values together"
                )));
            }
            let tag = types::TagFilterRequest::builder().key(key).values(values.clone());
            let tag = tag.try_into();
            tags.push(tag.map_err(|error| Error::invalid(format!("tag: {error}")))?);
        }
        let addresses = self.host_ips.iter().map(IpAddr::to_string);
        if let Some(workspace) = &self.workspace {
            require_not_blank("workspace", workspace)?;
        }
        Ok(types::ListTrainingJobsRequest::builder()
            .sort_by(self.sort_by.clone())
            .order(self.order)
            .filters(filters)
            .tags(tags)
            .host_ips(addresses.collect::<Vec<_>>())
            .workspace_id(self.workspace.clone()))
    }
}

impl Source for JobQuery {
    type Item = Job;

    fn info(&self) -> ListInfo {
        let conditions = [self.filters.len(), self.tags.len(), self.host_ips.len()];
        ListInfo {
            operation: "ListTrainingJobs",
            unique: true,
            filtered: self.workspace.is_some() || conditions != [0; 3],
            detected_offset: None,
        }
    }

    fn check(&self) -> Result<(), Error> {
        self.body()?;
        self.range().map(|_| ())
    }

    fn searches(&self) -> Result<Option<Vec<Search<Job>>>, Error> {
        let Some((start, end)) = self.range()? else {
            return Ok(None);
        };
        let is_long = end.duration_since(start) > MAX_SPAN;
        let ranges = self.filters.iter().filter_map(Filter::range);
        if !is_long && ranges.count() == 1 {
            return Ok(None);
        }
        self.cut(start, end).map(Some)
    }

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<Job>, Error>> {
        Box::pin(async move {
            let body = self.body()?.offset(offset).limit(i64::from(limit));
            let answer = self
                .client
                .call(|api| {
                    api.list_training_jobs()
                        .project_id(self.client.project().clone())
                        .body(body)
                        .send()
                })
                .await?;
            let row_call = Arc::new(answer.call().without_body());
            let mut without_id = 0;
            let mut page = answer.into_page(|answer| {
                let jobs = answer.items.into_iter().filter_map(|details| {
                    let (client, call) = (self.client.clone(), Arc::clone(&row_call));
                    let job = Job::from_details(client, Box::new(details), call);
                    without_id += usize::from(job.is_none());
                    job
                });
                let counts = Counts::new(answer.total, answer.count, answer.limit);
                (jobs.collect(), counts)
            })?;
            // Jobs without an id are skipped, because they support no calls.
            page.skipped += without_id;
            Ok(page)
        })
    }

    fn key(&self, item: &Job) -> String {
        item.id().to_owned()
    }
}
