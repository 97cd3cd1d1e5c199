//! `ListView`: view of a job list with its rows.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::SystemTime,
};

use askama::Template;
use modelarts_ext::{Job, Timestamp, masking::mask};

use crate::{
    action::can_stop,
    display::{self, PHASES, phase_style},
    jobs::{
        query::{Counts, Listing, PAGE_SIZE, PRINTED, Query},
        search::Key,
    },
    live::lists::{RenderedPart, RenderedRows},
    page::fragment,
    problem::Problem,
    site::State,
};

#[derive(Hash)]
pub(crate) struct JobRow {
    pub(crate) id: String,
    /// Name of the job; the id if the job has no name.
    pub(crate) name: String,
    pub(crate) phase: String,
    /// Style class of the phase, and its symbol.
    pub(crate) style: &'static str,
    pub(crate) symbol: &'static str,
    pub(crate) can_stop: bool,
    /// Reason of the phase, from the details in the list or from the log of a running job.
    pub(crate) why: String,
    /// Time of the creation, RFC 3339; empty if it is not known.
    pub(crate) created: String,
    /// Running time of a job that has ended.
    pub(crate) ran: String,
    /// Start of the run of a running job, RFC 3339.
    pub(crate) since: String,
    pub(crate) nodes: String,
    pub(crate) flavor: String,
    pub(crate) user: String,
    pub(crate) priority: String,
    /// Values of the chosen hyper-parameters.
    pub(crate) parameters: Vec<String>,
}

impl JobRow {
    fn new(job: &Job, listing: &Listing, columns: &[String]) -> Self {
        let details = job.details();
        let problem = listing.problems.get(job.id()).cloned();
        let resource = details.spec.as_deref().and_then(|spec| spec.resource.as_deref());
        let metadata = details.metadata.as_deref();
        let policy = details.spec.as_deref().and_then(|spec| spec.schedule_policy.as_deref());
        let algorithm = details.algorithm.as_deref();
        let parameters = algorithm.map_or(&[][..], |algorithm| &algorithm.parameters);
        let printed = listing.printed.get(job.id());
        let parameter = |name: &String| {
            if let Some(name) = name.strip_prefix(PRINTED) {
                return printed.and_then(|values| values.get(name).cloned()).unwrap_or_default();
            }
            let found = parameters.iter().find(|one| one.name.as_ref() == Some(name));
            let mut value = serde_json::to_value(found).unwrap_or_default();
            mask(&mut value);
            value["value"].as_str().unwrap_or_default().to_owned()
        };
        let phase = job.phase();
        let (style, symbol) = phase_style(&phase);
        let (created, since) = (job.created_at(), display::running_since(job));
        let place = resource
            .and_then(|resource| resource.pool_id.clone().or_else(|| resource.flavor_id.clone()));
        Self {
            id: job.id().to_owned(),
            name: display::name(job).to_owned(),
            can_stop: can_stop(job),
            phase: phase.to_string(),
            style,
            symbol,
            why: problem.or_else(|| job.status_reason()).unwrap_or_default(),
            created: created.map(|time| time.to_string()).unwrap_or_default(),
            ran: job
                .time_run()
                .filter(|_| since.is_none())
                .map(display::duration)
                .unwrap_or_default(),
            since: since.map(|time| time.to_string()).unwrap_or_default(),
            nodes: resource
                .and_then(|resource| resource.node_count)
                .map(|nodes| nodes.to_string())
                .unwrap_or_default(),
            flavor: place.unwrap_or_default(),
            user: metadata.and_then(|metadata| metadata.user_name.clone()).unwrap_or_default(),
            // Older versions of the API return the default priority as 0.
            priority: policy
                .and_then(|policy| policy.priority)
                .filter(|priority| *priority > 0)
                .map(|priority| priority.to_string())
                .unwrap_or_default(),
            parameters: columns.iter().map(parameter).collect(),
        }
    }
}

/// A link that adds a condition to the search, or removes it.
#[derive(Hash)]
pub(crate) struct Chip {
    pub(crate) label: String,
    /// Style class of the link, and its symbol.
    pub(crate) style: &'static str,
    pub(crate) symbol: &'static str,
    pub(crate) count: Option<String>,
    pub(crate) address: String,
    pub(crate) is_selected: bool,
}

/// View of the phases and of the links to other pages.
#[derive(Hash)]
pub(crate) struct Summary {
    /// Total number of jobs that match the search.
    pub(crate) total: Option<String>,
    pub(crate) chips: Vec<Chip>,
    pub(crate) mine: Chip,
    pub(crate) pages: Option<Pages>,
}

/// Links to other pages of the list.
#[derive(Hash)]
pub(crate) struct Pages {
    pub(crate) page: String,
    pub(crate) last_page: Option<String>,
    pub(crate) first: Option<String>,
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
    pub(crate) last: Option<String>,
}

/// Times of a row that change even if the job does not. Scripts continue them.
#[derive(Default)]
pub(crate) struct Times {
    pub(crate) age: String,
    /// Running time of a running job.
    pub(crate) ran: String,
}

impl Times {
    fn new(job: &Job, now: SystemTime) -> Self {
        let span = |start: Option<Timestamp>| {
            let span = start.map(|start| Timestamp::from(now).duration_since(start));
            span.map(display::duration).unwrap_or_default()
        };
        Self { age: span(job.created_at()), ran: span(display::running_since(job)) }
    }
}

pub(crate) struct ListView {
    pub(crate) rows: Vec<(JobRow, Times)>,
    pub(crate) summary: Summary,
    pub(crate) columns: Vec<String>,
    pub(crate) is_read_only: bool,
}

#[derive(Template)]
#[template(path = "jobs/row.html")]
struct RowPart<'a> {
    view: &'a ListView,
    row: &'a JobRow,
    times: &'a Times,
}

#[derive(Template)]
#[template(path = "jobs/summary.html")]
struct SummaryPart<'a> {
    view: &'a ListView,
}

impl ListView {
    /// Creates the view. `listing` is `None` if the service did not return the list.
    pub(crate) fn new(
        state: &State,
        query: &Query,
        listing: Option<&Listing>,
        counts: Option<&Counts>,
    ) -> Self {
        let now = state.cached.clock.now();
        let rows = listing.into_iter().flat_map(|listing| {
            let jobs = listing.jobs.iter();
            jobs.map(|job| (JobRow::new(job, listing, &query.columns), Times::new(job, now)))
        });
        Self {
            rows: rows.collect(),
            summary: Summary::new(query, listing, counts),
            columns: query.columns.clone(),
            is_read_only: state.settings.is_read_only,
        }
    }

    pub(crate) fn stream_address(&self, query: &Query) -> String {
        query.stream_address(Some(&position(self.rows_version(), version(&self.summary))))
    }

    /// Renders the rows. Their hashes do not include the [`Times`].
    pub(crate) fn rows_part(&self) -> Result<RenderedRows, Problem> {
        let rows = self.rows.iter().map(|(row, times)| {
            let html = fragment(&RowPart { view: self, row, times })?;
            Ok((row.id.clone(), RenderedPart { html, version: version(row) }))
        });
        Ok(RenderedRows {
            rows: rows.collect::<Result<_, Problem>>()?,
            version: self.rows_version(),
        })
    }

    fn rows_version(&self) -> u64 {
        let rows: Vec<&JobRow> = self.rows.iter().map(|(row, _)| row).collect();
        version(&rows)
    }

    /// Renders the phases and the links to other pages.
    pub(crate) fn summary_part(&self) -> Result<RenderedPart, Problem> {
        Ok(RenderedPart {
            html: fragment(&SummaryPart { view: self })?,
            version: version(&self.summary),
        })
    }
}

impl Summary {
    fn new(query: &Query, listing: Option<&Listing>, counts: Option<&Counts>) -> Self {
        let total = listing.and_then(|listing| listing.total);
        let search = &query.search;
        let count_of =
            |index: usize| counts.and_then(|counts| counts.get(index).copied().flatten());
        let sum = || (0..PHASES.len()).map(count_of).sum::<Option<u64>>();
        let all = match search.has(Key::Phase) {
            true => sum(),
            false => total,
        };
        let address = |search| Query { search, page: 1, ..query.clone() }.address();
        let mut chips = vec![Chip {
            label: "All".to_owned(),
            style: "",
            symbol: "",
            count: all.map(grouped),
            address: address(search.without(Key::Phase)),
            is_selected: !search.has(Key::Phase),
        }];
        chips.extend(PHASES.iter().enumerate().map(|(index, phase)| {
            let (style, symbol) = phase_style(phase);
            Chip {
                label: phase.to_string(),
                style,
                symbol,
                count: count_of(index).map(grouped),
                address: address(search.toggle_phase(phase)),
                is_selected: search.has_phase(phase),
            }
        }));
        Self {
            total: total.map(grouped),
            chips,
            mine: Chip {
                label: "Only mine".to_owned(),
                style: "",
                symbol: "",
                count: None,
                address: address(search.toggle_mine()),
                is_selected: search.has(Key::Mine),
            },
            pages: listing.and_then(|listing| Pages::new(query, listing)),
        }
    }
}

impl Pages {
    /// Returns the links; `None` if the list has only one page.
    fn new(query: &Query, listing: &Listing) -> Option<Self> {
        let page = query.page;
        let size = u64::from(PAGE_SIZE);
        let count = listing.total.map(|total| total.div_ceil(size).max(1));
        let is_full = listing.jobs.len() as u64 == size;
        let has_next = count.map_or(is_full, |count| page < count);
        if page == 1 && !has_next {
            return None;
        }
        let address = |page| Query { page, ..query.clone() }.address();
        let previous = count.map_or(page, |count| page.min(count + 1)).saturating_sub(1);
        Some(Self {
            page: grouped(page),
            last_page: count.map(grouped),
            first: (page > 1).then(|| address(1)),
            previous: (page > 1).then(|| address(previous.max(1))),
            next: has_next.then(|| address(page + 1)),
            last: count.filter(|count| *count != page).map(address),
        })
    }
}

/// Returns a number with commas, such as `10,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the position in a stream, from the hashes of its parts.
pub(crate) fn position(rows: u64, summary: u64) -> String {
    format!("{rows:x}.{summary:x}")
}

/// Returns a hash of a value, which is stable across restarts of the same program version.
fn version(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn numbers_have_commas() {
        let expected = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in expected {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_page_behind_the_end_links_to_the_last_one() {
        let query = |page| Query { page, ..Query::default() };
        let listing = |total| Listing {
            jobs: Vec::new(),
            problems: HashMap::new(),
            printed: HashMap::new(),
            total,
        };
        let pages = Pages::new(&query(9), &listing(Some(101))).unwrap();
        assert_eq!(pages.previous.as_deref(), Some("/jobs?page=3"));
        assert_eq!(pages.last.as_deref(), Some("/jobs?page=3"));
        assert_eq!((pages.first.as_deref(), pages.next), (Some("/jobs"), None));
        assert!(Pages::new(&query(1), &listing(Some(50))).is_none());
        assert!(Pages::new(&query(1), &listing(None)).is_none());
        let pages = Pages::new(&query(2), &listing(Some(10_000))).unwrap();
        assert_eq!(pages.next.as_deref(), Some("/jobs?page=3"));
        assert_eq!(pages.last_page.as_deref(), Some("200"));
    }
}
