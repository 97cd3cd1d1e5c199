//! ListTrainingJobs: filters, order and pages (api-facts.md 2.3 and 4).

use serde_json::{Value, json};

use crate::body::Field;
use crate::clock::Moment;
use crate::error::ApiError;
use crate::lifecycle::PHASES;
use crate::store::Job;

/// Rows per page when the request does not say; no document does.
const DEFAULT_LIMIT: i64 = 10;
const MAX_LIMIT: i64 = 50;

/// A checked search request.
#[derive(Debug)]
pub(crate) struct Search {
    conditions: Vec<Condition>,
    workspace_id: Option<String>,
    limit: i64,
    /// The number of the page, from 0. Older documents meant a record.
    offset: i64,
    ascending: bool,
    group_by: String,
}

#[derive(Debug)]
enum Condition {
    Like(Key, String),
    Between(Option<Moment>, Option<Moment>),
    In(Key, Vec<String>),
    Not(Key, Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Id,
    Name,
    CreateTime,
    Phase,
    AlgorithmName,
    Kind,
    UserId,
    RuntimeType,
}

impl Key {
    fn named(text: &str) -> Option<Self> {
        Some(match text {
            "id" => Self::Id,
            "name" => Self::Name,
            "create_time" => Self::CreateTime,
            "phase" => Self::Phase,
            "algorithm_name" => Self::AlgorithmName,
            "kind" => Self::Kind,
            "user_id" => Self::UserId,
            "runtime_type" => Self::RuntimeType,
            _ => return None,
        })
    }

    fn of(self, job: &Job) -> &str {
        match self {
            Self::Id => &job.id,
            Self::Name => &job.request.name,
            Self::CreateTime => "",
            Self::Phase => job.state.phase(),
            Self::AlgorithmName => &job.request.algorithm_name,
            Self::Kind => "job",
            Self::UserId => &job.user_id,
            Self::RuntimeType => job.request.text("/spec/runtime_type"),
        }
    }
}

impl Search {
    /// Reads a body.
    pub(crate) fn read(body: &Value) -> Result<Self, ApiError> {
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
        let mut conditions = Vec::new();
        for filter in body.items_of("filters")? {
            conditions.extend(condition(&filter)?);
        }
        Ok(Self {
            conditions,
            workspace_id: body.text_of("workspace_id")?.map(str::to_owned),
            limit: number("limit", DEFAULT_LIMIT, 1..=MAX_LIMIT)?,
            offset: number("offset", 0, 0..=i64::MAX)?,
            ascending,
            group_by: body.text_of("group_by")?.unwrap_or_default().to_owned(),
        })
    }

    /// The answer over `jobs`, which come in the order of creation.
    pub(crate) fn answer(
        &self,
        jobs: &mut dyn DoubleEndedIterator<Item = &Job>,
        render: impl Fn(&Job) -> Value,
    ) -> Value {
        let (mut total, mut count) = (0, 0);
        let mut matching: Vec<&Job> = Vec::new();
        for job in jobs {
            total += 1;
            if self.matches(job) {
                count += 1;
                matching.push(job);
            }
        }
        // Jobs of the same millisecond keep their order of creation.
        if !self.ascending {
            matching.reverse();
        }
        let skip = usize::try_from(self.offset.saturating_mul(self.limit)).unwrap_or(usize::MAX);
        let take = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let items: Vec<Value> = matching
            .into_iter()
            .skip(skip)
            .take(take)
            .map(render)
            .collect();
        json!({
            "total": total,
            "count": count,
            "limit": self.limit,
            "offset": self.offset,
            "sort_by": "create_time",
            "order": if self.ascending { "asc" } else { "desc" },
            "group_by": self.group_by,
            "workspace_id": self.workspace_id.as_deref().unwrap_or("0"),
            "ai_project": "default-ai-project",
            "items": items,
        })
    }

    fn matches(&self, job: &Job) -> bool {
        let workspace = self.workspace_id.as_ref();
        workspace.is_none_or(|workspace| *workspace == job.request.workspace_id)
            && self.conditions.iter().all(|condition| match condition {
                Condition::Like(key, part) => key.of(job).contains(part.as_str()),
                Condition::Between(from, to) => {
                    from.is_none_or(|from| from <= job.created)
                        && to.is_none_or(|to| job.created <= to)
                }
                Condition::In(key, values) => values.iter().any(|value| value == key.of(job)),
                Condition::Not(key, values) => values.iter().all(|value| value != key.of(job)),
            })
    }
}

/// One filter, or none if all its values are blank: the documented example sends such ones.
fn condition(filter: &Field<'_>) -> Result<Option<Condition>, ApiError> {
    let key_text = filter.required("key")?.text()?;
    let key = Key::named(key_text).ok_or_else(|| ApiError::filter_key(key_text))?;
    // The default is that of the published Swagger file.
    let operator = filter.text_of("operator")?.unwrap_or("in");
    let fits = match operator {
        "like" => matches!(key, Key::Name | Key::AlgorithmName),
        "between" => key == Key::CreateTime,
        "in" => !matches!(key, Key::Name | Key::AlgorithmName | Key::CreateTime),
        "not" => key != Key::CreateTime,
        _ => false,
    };
    if !fits {
        return Err(ApiError::filter_operator(operator));
    }
    let mut values = Vec::new();
    for value in filter.items_of("value")? {
        values.push(value.text()?.to_owned());
    }
    if operator == "between" {
        return between(&values);
    }
    values.retain(|value| !value.is_empty());
    if key == Key::Phase
        && let Some(unknown) = values
            .iter()
            .find(|value| !PHASES.contains(&value.as_str()))
    {
        return Err(ApiError::filter_value(unknown));
    }
    if values.is_empty() {
        return Ok(None);
    }
    Ok(Some(match (operator, values.as_slice()) {
        ("not", _) => Condition::Not(key, values),
        ("like", [part]) => Condition::Like(key, part.clone()),
        ("like", _) => return Err(ApiError::filter_value(&values.join(","))),
        _ => Condition::In(key, values),
    }))
}

fn between(values: &[String]) -> Result<Option<Condition>, ApiError> {
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
        [] => Ok(None),
        [from, to] => match (moment(from)?, moment(to)?) {
            (None, None) => Ok(None),
            (from, to) => Ok(Some(Condition::Between(from, to))),
        },
        _ => Err(ApiError::filter_value(&values.join(","))),
    }
}
