//! ListTrainingJobs: filters, sort order and pages.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::{
    api::{error::ApiError, json_field::JsonField},
    catalog::quirks::{JobsCount, JobsOffset, Quirks},
    clock::timestamp::Timestamp,
    handlers::jobs::tags::tag_filters,
    job::{
        Job,
        address::{Host, address},
        state::PHASES,
        view,
    },
    store::{
        JobStore,
        selection::{Key, Selection, Test},
    },
};

/// Default page size, chosen by the emulator because the documents define none (SOURCES O, S, W).
const DEFAULT_LIMIT: i64 = 10;
const MAX_LIMIT: i64 = 50;
const MAX_HOSTS: usize = 10;
/// Maximum time span of a search by tags or hosts, in milliseconds: 31 days.
const MAX_SPAN_MILLIS: i64 = 31 * 24 * 3600 * 1000;

#[derive(Debug)]
pub(super) struct JobSearch {
    selection: Selection,
    addresses: Vec<IpAddr>,
    workspace_id: String,
    limit: i64,
    /// The parameter as received. [`JobsOffset`] selects its unit (SOURCES D-57).
    offset: i64,
    group_by: String,
    count: JobsCount,
}

/// Returns the filter key named `text` (SOURCES O), or `None` for `create_time` and unknown names.
fn text_key(text: &str) -> Option<Key> {
    Some(match text {
        "id" => Key::Id,
        "name" => Key::Name,
        "phase" => Key::Phase,
        "algorithm_name" => Key::AlgorithmName,
        "kind" => Key::Kind,
        "user_id" => Key::UserId,
        "runtime_type" => Key::RuntimeType,
        _ => return None,
    })
}

impl JobSearch {
    pub(crate) fn read(body: &Value, quirks: &Quirks, now: Timestamp) -> Result<Self, ApiError> {
        let body = JsonField::root(body);
        refuse_nulls(&body)?;
        let number = |name: &str, default: i64, range: std::ops::RangeInclusive<i64>| {
            let Some(field) = body.get(name)? else {
                return Ok(default);
            };
            let value = field.integer()?;
            if range.contains(&value) {
                Ok(value)
            } else {
                Err(field.must(format!("be between {} and {}", range.start(), range.end())))
            }
        };
        if !matches!(body.text_of("sort_by")?, None | Some("create_time")) {
            return Err(ApiError::of(2790, &[]));
        }
        let ascending = match body.text_of("order")? {
            None | Some("desc") => false,
            Some("asc") => true,
            Some(_) => return Err(body.required("order")?.must("be asc or desc")),
        };
        let limit = number("limit", DEFAULT_LIMIT, 1..=MAX_LIMIT)?;
        let offset = number("offset", 0, 0..=i64::from(i32::MAX))?;
        let mut selection = Selection {
            ascending,
            skip: match quirks.jobs_offset {
                JobsOffset::Page => offset.saturating_mul(limit),
                JobsOffset::Job => offset,
            }
            .unsigned_abs(),
            limit: limit.unsigned_abs(),
            ..Selection::default()
        };
        for filter in body.items_of("filters")? {
            add_filter(&filter, &mut selection)?;
        }
        selection.tags = tags(&body)?;
        let addresses = addresses(&body)?;
        if !addresses.is_empty() {
            let hosts = addresses.iter().copied().flat_map(Host::all_at);
            selection.hosts = Some(hosts.collect());
        }
        if !selection.tags.is_empty() || !addresses.is_empty() {
            limit_span(&mut selection, now)?;
        }
        let workspace_id = body.text_of("workspace_id")?.unwrap_or("0").to_owned();
        let test = Test::In(vec![workspace_id.clone()]);
        selection.tests.push((Key::Workspace, test));
        Ok(Self {
            selection,
            addresses,
            workspace_id,
            limit,
            offset,
            group_by: body.text_of("group_by")?.unwrap_or_default().to_owned(),
            count: quirks.jobs_count,
        })
    }

    pub(crate) fn response(
        &self,
        store: &JobStore,
        project: &str,
        render: impl Fn(&Job) -> Value,
    ) -> Result<Value, ApiError> {
        let found = store.list(project, &self.selection)?;
        let shown = |job| {
            let mut shown = render(job);
            if !self.addresses.is_empty() {
                shown["status"]["task_ips"] = self.matching_tasks(job);
            }
            shown
        };
        let items: Vec<Value> = found.jobs.iter().map(shown).collect();
        Ok(json!({
            "total": found.total,
            "count": match self.count {
                JobsCount::Fitting => found.count,
                JobsCount::Page => items.len() as u64,
            },
            "limit": self.limit,
            "offset": self.offset,
            "sort_by": "create_time",
            "order": if self.selection.ascending { "asc" } else { "desc" },
            "group_by": self.group_by,
            "workspace_id": self.workspace_id,
            "ai_project": "default-ai-project",
            "items": items,
        }))
    }

    /// Returns the tasks of a job whose addresses are in `host_ips`.
    fn matching_tasks(&self, job: &Job) -> Value {
        let requested = |(_, rank): &(String, u32)| {
            let own = address(&job.id, *rank).parse();
            own.is_ok_and(|own: IpAddr| self.addresses.contains(&own))
        };
        let tasks = job.tasks().zip(0..).filter(requested);
        tasks.map(|task| view::task(job, task, job.history.schedule_count)).collect()
    }
}

/// Rejects null members of the body and of its tags, which the OpenAPI description does not permit.
fn refuse_nulls(body: &JsonField<'_>) -> Result<(), ApiError> {
    let mut members = body.members()?;
    for tag in body.items_of("tags")? {
        members.extend(tag.members()?);
    }
    match members.iter().find(|(_, field)| field.value().is_null()) {
        Some((_, field)) => Err(field.must("not be null: leave it out")),
        None => Ok(()),
    }
}

/// Reads tag filters. A tag without values, or with a single empty value, matches any value.
fn tags(body: &JsonField<'_>) -> Result<Vec<(String, Vec<String>)>, ApiError> {
    let mut read: Vec<(String, Vec<String>)> = Vec::new();
    for (key, values) in tag_filters(body)? {
        if read.iter().any(|(known, _)| known == key) {
            return Err(ApiError::invalid_parameter("tags must have different keys"));
        }
        let mut values: Vec<String> = values.into_iter().map(str::to_owned).collect();
        if matches!(values.as_slice(), [only] if only.is_empty()) {
            values.clear();
        }
        read.push((key.to_owned(), values));
    }
    Ok(read)
}

fn addresses(body: &JsonField<'_>) -> Result<Vec<IpAddr>, ApiError> {
    let given = body.items_of("host_ips")?;
    if given.len() > MAX_HOSTS {
        return Err(body.required("host_ips")?.must(format!("have at most {MAX_HOSTS} elements")));
    }
    let read = |field: &JsonField<'_>| {
        let address = field.text()?.parse();
        address.map_err(|_| field.must("be an IPv4 or IPv6 address"))
    };
    given.iter().map(read).collect()
}

/// Limits a search by tags or hosts to 31 days, also if a bound is missing. Rejects longer spans.
fn limit_span(selection: &mut Selection, now: Timestamp) -> Result<(), ApiError> {
    match (selection.from, selection.to) {
        (None, to) => {
            let end = to.unwrap_or(now).millis();
            let from = Timestamp::from_millis(end.saturating_sub(MAX_SPAN_MILLIS));
            selection.from = Some(from);
        }
        (Some(from), None) => {
            let to = from.millis().saturating_add(MAX_SPAN_MILLIS);
            selection.to = Some(Timestamp::from_millis(to));
        }
        (Some(from), Some(to)) if to.millis().saturating_sub(from.millis()) > MAX_SPAN_MILLIS => {
            let span = format!("{},{}", from.rfc3339(), to.rfc3339());
            return Err(ApiError::filter_value(&span));
        }
        (Some(_), Some(_)) => {}
    }
    Ok(())
}

/// Adds a filter. A filter with only empty values, as in an example, has no effect (SOURCES X).
fn add_filter(filter: &JsonField<'_>, selection: &mut Selection) -> Result<(), ApiError> {
    let name = filter.required("key")?.text()?;
    if UNDOCUMENTED_KEYS.contains(&name) {
        return check_undocumented(filter, name);
    }
    let key = text_key(name);
    if key.is_none() && name != "create_time" {
        return Err(ApiError::of(2807, &[name]));
    }
    // The default is from the Swagger file (SOURCES W).
    let operator = filter.text_of("operator")?.unwrap_or("in");
    let known = match key {
        Some(Key::Name | Key::AlgorithmName) => matches!(operator, "like" | "not"),
        Some(_) => matches!(operator, "in" | "not"),
        None => operator == "between",
    };
    if !known {
        return Err(ApiError::of(2808, &[operator]));
    }
    let values = filter.items_of("value")?;
    let values = values.iter().map(|value| value.text().map(str::to_owned));
    let mut values = values.collect::<Result<Vec<_>, _>>()?;
    let Some(key) = key else {
        return narrow_span(&values, selection);
    };
    values.retain(|value| !value.is_empty());
    if values.is_empty() {
        return Ok(());
    }
    let mut unknown = values.iter().filter(|value| !PHASES.contains(&value.as_str()));
    if key == Key::Phase
        && let Some(unknown) = unknown.next()
    {
        return Err(ApiError::filter_value(unknown));
    }
    let test = match (operator, values.as_slice()) {
        ("not", _) => Test::NotIn(values),
        ("like", [part]) => Test::Contains(part.clone()),
        ("like", _) => return Err(ApiError::filter_value(&values.join(","))),
        _ => Test::In(values),
    };
    selection.tests.push((key, test));
    Ok(())
}

/// Filter keys that only the vendor's Terraform provider uses (SOURCES T). Their operators are not
/// known, so only empty values are accepted.
const UNDOCUMENTED_KEYS: [&str; 4] =
    ["algorithm_id", "pool_id", "priority", "training_experiment_id"];

fn check_undocumented(filter: &JsonField<'_>, key: &str) -> Result<(), ApiError> {
    for value in filter.items_of("value")? {
        if !value.text()?.is_empty() {
            return Err(ApiError::not_modelled(format!("searches by {key}")));
        }
    }
    Ok(())
}

fn narrow_span(values: &[String], selection: &mut Selection) -> Result<(), ApiError> {
    let moment = |text: &String| match text.as_str() {
        "" => Ok(None),
        text => match Timestamp::parse(text) {
            None => Err(ApiError::filter_value(text)),
            moment => Ok(moment),
        },
    };
    match values {
        [] => {}
        [from, to] => {
            let (from, to) = (moment(from)?, moment(to)?);
            selection.from = selection.from.max(from);
            let earlier = selection.to.zip(to).map(|(a, b)| a.min(b));
            selection.to = earlier.or(selection.to).or(to);
        }
        _ => return Err(ApiError::filter_value(&values.join(","))),
    }
    Ok(())
}
