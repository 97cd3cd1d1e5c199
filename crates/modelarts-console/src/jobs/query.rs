//! `Query`: a page of a search, and the jobs on it.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures::future::join_all;
use modelarts_ext::{Error, Job, client::CurrentUser, types::Phase};

use crate::{
    access::visitor::Fields,
    display::PHASES,
    jobs::search::{Key, Search},
    problem::Problem,
    site::State,
};

/// Number of jobs per page, which is the maximum of the service.
pub(crate) const PAGE_SIZE: u32 = 50;
/// Start of the name of a column with a value that the code of jobs prints, such as `log:loss`.
pub(crate) const PRINTED: &str = "log:";
/// Maximum number of columns of hyper-parameters.
const MAX_COLUMNS: usize = 8;
/// Maximum time for the service to return a list, including retries.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum number of running jobs of a page whose logs are read, up to 5 MB each, and the time for
/// it.
const MAX_LOGS: usize = 10;
const LOG_TIMEOUT: Duration = Duration::from_secs(1);

/// A page of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) search: Search,
    /// Page number, starting at 1.
    pub(crate) page: u64,
    /// Names of hyper-parameters and, after [`PRINTED`], of printed values that are columns.
    pub(crate) columns: Vec<String>,
}

pub(crate) struct Listing {
    pub(crate) jobs: Vec<Job>,
    /// Problems that the logs of running jobs show, by the ids of the jobs.
    pub(crate) problems: HashMap<String, String>,
    /// Printed values of the jobs, by their ids, if a column shows one.
    pub(crate) printed: HashMap<String, Arc<HashMap<String, String>>>,
    /// Total number of jobs that match the search; `None` if the service does not state it.
    pub(crate) total: Option<u64>,
}

/// Number of jobs in each of [`PHASES`] that meet the other conditions of a search; `None` if the
/// service does not state the number.
pub(crate) type Counts = Vec<Option<u64>>;

impl Default for Query {
    fn default() -> Self {
        Self { search: Search::default(), page: 1, columns: Vec::new() }
    }
}

impl Query {
    /// Parses the fields `search` and `page`. The error contains the wrong part and the rule.
    pub(crate) fn parse(fields: &Fields) -> Result<Self, String> {
        let search = fields.get("search").unwrap_or_default();
        let search = Search::parse(search, SystemTime::now())?;
        let text = fields.get("page").unwrap_or("1");
        let page = text.parse().ok().filter(|page| *page > 0);
        let page = page.ok_or_else(|| {
            format!("page {text:?}: must be a whole number, 1 or more; the first page is at /jobs")
        });
        let columns = fields.get("columns").unwrap_or_default().split(',').map(str::trim);
        let columns = columns.filter(|name| !name.is_empty()).map(str::to_owned);
        Ok(Self { search, page: page?, columns: columns.take(MAX_COLUMNS).collect() })
    }

    pub(crate) fn address(&self) -> String {
        address("/jobs", self, None)
    }

    /// Returns the address of the stream of changes after the position `last`.
    pub(crate) fn stream_address(&self, last: Option<&str>) -> String {
        address("/jobs/stream", self, last)
    }

    pub(crate) async fn read(&self, state: &State) -> Result<Listing, Problem> {
        let read = read(state, &self.search, PAGE_SIZE, self.page - 1);
        let (jobs, total) = read.await.map_err(|problem| self.explain(problem))?;
        let running = jobs.iter().filter(|job| job.phase() == Phase::Running).take(MAX_LOGS);
        let problems = join_all(running.map(async |job| {
            // The task goes on after the time limit, so that a later list has the value.
            let read = tokio::spawn({
                let (state, job) = (state.clone(), job.clone());
                async move { state.cached.facts.running_problem(&job).await }
            });
            let problem = tokio::time::timeout(LOG_TIMEOUT, read).await.ok()?.ok()?;
            Some((job.id().to_owned(), problem?))
        }));
        let problems = problems.await.into_iter().flatten().collect();
        let wanted = self.columns.iter().any(|name| name.starts_with(PRINTED));
        let with_logs = jobs.iter().filter(|job| wanted && job.started_at().is_some());
        let printed = join_all(with_logs.map(async |job| {
            let read = tokio::spawn({
                let (state, job) = (state.clone(), job.clone());
                async move { state.cached.facts.printed(&job).await }
            });
            let values = tokio::time::timeout(LOG_TIMEOUT, read).await.ok()?.ok()?;
            Some((job.id().to_owned(), values))
        }));
        let printed = printed.await.into_iter().flatten().collect();
        Ok(Listing { jobs, problems, printed, total })
    }

    /// Reads the number of jobs in each phase.
    pub(crate) async fn count(&self, state: &State) -> Result<Counts, Problem> {
        let counts = PHASES.iter().map(|phase| count(state, &self.search, phase));
        join_all(counts).await.into_iter().collect()
    }

    /// Adds advice to a problem if the search has a condition that few services support.
    fn explain(&self, problem: Problem) -> Problem {
        match self.search.has(Key::User) && problem.code.is_some() {
            true => problem.with_advice(
                "if the service does not search by the names of users, give the IAM id of the \
                 user, or `mine` for your own jobs",
            ),
            false => problem,
        }
    }
}

/// Returns an address with the search and the page. Default values are omitted.
fn address(path: &str, Query { search, page, columns }: &Query, last: Option<&str>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if !search.is_empty() {
        query.append_pair("search", &search.text());
    }
    if *page > 1 {
        query.append_pair("page", &page.to_string());
    }
    if !columns.is_empty() {
        query.append_pair("columns", &columns.join(","));
    }
    if let Some(last) = last {
        query.append_pair("last", last);
    }
    match query.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// Reads a page of a search, and the total number of matching jobs.
pub(crate) async fn read(
    state: &State,
    search: &Search,
    size: u32,
    page: u64,
) -> Result<(Vec<Job>, Option<u64>), Problem> {
    let client = state.client.with_timeout(TIMEOUT);
    let user = match search.has(Key::Mine) {
        true => Some(current_user(state).await?),
        false => None,
    };
    let list = search.list(&client, user, state.cached.clock.now());
    let list = list.map_err(Problem::invalid)?;
    let page = list.page_size(size).page(page).await?;
    Ok((page.items, page.matching))
}

/// Returns the user of the credentials. The first call looks up the user.
async fn current_user(state: &State) -> Result<&CurrentUser, Error> {
    let client = state.client.with_timeout(TIMEOUT);
    let user = state.cached.user.get_or_try_init(|| client.current_user());
    user.await
}

/// Reads the number of jobs in a phase. The page size is 1, because only the number is needed.
async fn count(state: &State, search: &Search, phase: &Phase) -> Result<Option<u64>, Problem> {
    let search = search.with_only(phase);
    let (jobs, total) = read(state, &search, 1, 0).await?;
    if total.is_some() || jobs.is_empty() {
        return Ok(total);
    }
    // A total of 1 may be the number of jobs on the page, so the second page is read.
    let (second, _) = read(state, &search, 1, 1).await?;
    Ok(second.is_empty().then_some(1))
}
