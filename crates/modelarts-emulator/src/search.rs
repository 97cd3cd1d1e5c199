//! ListTrainingJobs: filters, order and pages (api-facts.md 2.3 and 4).

use serde_json::{Value, json};

use crate::body::Field;
use crate::choices::{Choices, JobsCount, JobsOffset};
use crate::clock::Moment;
use crate::error::ApiError;
use crate::lifecycle::PHASES;
use crate::listing::{Key, Selection, Test};
use crate::store::{Job, Store};

/// Rows per page when the request does not say; no document does.
const DEFAULT_LIMIT: i64 = 10;
const MAX_LIMIT: i64 = 50;

/// A checked search request.
#[derive(Debug)]
pub(crate) struct Search {
    selection: Selection,
    workspace_id: String,
    limit: i64,
    /// The number of the page, from 0. Older documents meant a record.
    offset: i64,
    group_by: String,
    count: JobsCount,
}

/// The keys that the documents name. `create_time` is a span of time, the others are texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    CreateTime,
    Text(Key),
}

impl Named {
    fn read(text: &str) -> Option<Self> {
        Some(Self::Text(match text {
            "create_time" => return Some(Self::CreateTime),
            "id" => Key::Id,
            "name" => Key::Name,
            "phase" => Key::Phase,
            "algorithm_name" => Key::AlgorithmName,
            "kind" => Key::Kind,
            "user_id" => Key::UserId,
            "runtime_type" => Key::RuntimeType,
            _ => return None,
        }))
    }
}

impl Search {
    /// Reads a body.
    pub(crate) fn read(body: &Value, choices: &Choices) -> Result<Self, ApiError> {
        let body = Field::root(body);
        let number = |name: &str, default: i64, range: std::ops::RangeInclusive<i64>| {
            let Some(field) = body.get(name)? else {
                return Ok(default);
            };
            let value = field.integer()?;
            if range.contains(&value) {
                Ok(value)
            } else if *range.end() == i64::MAX {
                Err(field.must(format!("be {} or more", range.start())))
            } else {
                Err(field.must(format!("be between {} and {}", range.start(), range.end())))
            }
        };
        if !matches!(body.text_of("sort_by")?, None | Some("create_time")) {
            return Err(ApiError::sorting());
        }
        let ascending = match body.text_of("order")? {
            None | Some("desc") => false,
            Some("asc") => true,
            Some(_) => return Err(body.required("order")?.must("be asc or desc")),
        };
        for name in ["tags", "host_ips"] {
            if !body.items_of(name)?.is_empty() {
                return Err(ApiError::not_modelled(format!("searches by {name}")));
            }
        }
        let limit = number("limit", DEFAULT_LIMIT, 1..=MAX_LIMIT)?;
        let offset = number("offset", 0, 0..=i64::MAX)?;
        let mut selection = Selection {
            ascending,
            skip: match choices.jobs_offset {
                JobsOffset::Page => offset.saturating_mul(limit),
                JobsOffset::Job => offset,
            }
            .unsigned_abs(),
            limit: limit.unsigned_abs(),
            ..Selection::default()
        };
        for filter in body.items_of("filters")? {
            add(&filter, &mut selection)?;
        }
        let workspace_id = body.text_of("workspace_id")?.unwrap_or("0").to_owned();
        let test = Test::In(vec![workspace_id.clone()]);
        selection.tests.push((Key::Workspace, test));
        Ok(Self {
            selection,
            workspace_id,
            limit,
            offset,
            group_by: body.text_of("group_by")?.unwrap_or_default().to_owned(),
            count: choices.jobs_count,
        })
    }

    /// The answer over the jobs of a project.
    pub(crate) fn answer(
        &self,
        store: &Store,
        project: &str,
        render: impl Fn(&Job) -> Value,
    ) -> Result<Value, ApiError> {
        let found = store.list(project, &self.selection)?;
        let items: Vec<Value> = found.jobs.iter().map(render).collect();
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
}

/// Adds one filter, unless all its values are blank: the documented example sends such ones.
fn add(filter: &Field<'_>, selection: &mut Selection) -> Result<(), ApiError> {
    let key_text = filter.required("key")?.text()?;
    let named = Named::read(key_text).ok_or_else(|| ApiError::filter_key(key_text))?;
    // The default is that of the published Swagger file.
    let operator = filter.text_of("operator")?.unwrap_or("in");
    let key = match (named, operator) {
        (Named::CreateTime, "between") => None,
        (Named::Text(key @ (Key::Name | Key::AlgorithmName)), "like" | "not") => Some(key),
        (Named::Text(Key::Name | Key::AlgorithmName), _) => {
            return Err(ApiError::filter_operator(operator));
        }
        (Named::Text(key), "in" | "not") => Some(key),
        _ => return Err(ApiError::filter_operator(operator)),
    };
    let mut values = Vec::new();
    for value in filter.items_of("value")? {
        values.push(value.text()?.to_owned());
    }
    let Some(key) = key else {
        return between(&values, selection);
    };
    values.retain(|value| !value.is_empty());
    if key == Key::Phase
        && let Some(unknown) = values
            .iter()
            .find(|value| !PHASES.contains(&value.as_str()))
    {
        return Err(ApiError::filter_value(unknown));
    }
    if values.is_empty() {
        return Ok(());
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

/// Narrows the span of time.
fn between(values: &[String], selection: &mut Selection) -> Result<(), ApiError> {
    let moment = |text: &String| {
        if text.is_empty() {
            Ok(None)
        } else {
            Moment::parse(text)
                .map(Some)
                .ok_or_else(|| ApiError::filter_value(text))
        }
    };
    match values {
        [] => Ok(()),
        [from, to] => {
            let (from, to) = (moment(from)?, moment(to)?);
            selection.from = selection.from.max(from);
            selection.to = match (selection.to, to) {
                (Some(earlier), Some(to)) => Some(earlier.min(to)),
                (earlier, to) => earlier.or(to),
            };
            Ok(())
        }
        _ => Err(ApiError::filter_value(&values.join(","))),
    }
}
