//! Scripted list: the pages of a case in `openapi/vectors/pagination.json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

/// Content of `openapi/vectors/pagination.json`.
#[derive(Deserialize)]
pub(crate) struct ScriptedLists {
    lists: BTreeMap<String, ListForm>,
    pub(crate) cases: Vec<ListCase>,
}

/// Structure of the documents of one operation.
#[derive(Deserialize)]
struct ListForm {
    /// Name of the response field with the rows.
    items: String,
    /// Template of a row, in which `{row}` stands for the row name.
    row: Value,
}

/// Test case: a list that changes while it is read.
#[derive(Deserialize)]
pub(crate) struct ListCase {
    pub(crate) name: String,
    pub(crate) operation: String,
    offset: OffsetUnit,
    pub(crate) limit: u32,
    states: Vec<ListState>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OffsetUnit {
    PageIndex,
    Record,
}

/// State of the list, beginning with a certain request. Requests are counted from 1.
#[derive(Deserialize)]
struct ListState {
    from_request: u64,
    rows: Vec<String>,
    /// The stated total, if it differs from the number of rows.
    total: Option<Value>,
    /// Maximum number of rows on a page, regardless of the limit in the request.
    most: Option<u64>,
    page: Option<PageFault>,
}

/// Page that differs from the requested page.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PageFault {
    Empty,
    Null,
    /// The first page, because the service ignores the offset.
    First,
    /// The whole list, because the service ignores offset and limit.
    Whole,
}

impl ScriptedLists {
    /// Returns the response to a request. Requests are counted from 1.
    pub(crate) fn answer(
        &self,
        case: &ListCase,
        request: u64,
        offset: u64,
        limit: u64,
    ) -> Option<Value> {
        let form = self.lists.get(&case.operation)?;
        let mut states = case.states.iter().rev();
        let state = states.find(|state| state.from_request <= request)?;
        let limit_here = state.most.map_or(limit, |most| most.min(limit));
        let start = match case.offset {
            OffsetUnit::PageIndex => offset * limit_here,
            OffsetUnit::Record => offset,
        };
        let (start, count) = match state.page {
            Some(PageFault::Empty | PageFault::Null) => (0, 0),
            Some(PageFault::First) => (0, limit_here),
            Some(PageFault::Whole) => (0, u64::MAX),
            None => (start, limit_here),
        };
        let rows = (0_u64..).zip(&state.rows);
        let rows = rows.filter(|(number, _)| *number >= start && *number - start < count);
        let rows: Vec<Value> = rows.map(|(_, name)| fill(&form.row, name)).collect();
        let rows = match state.page {
            Some(PageFault::Null) => Value::Null,
            _ => rows.into(),
        };
        let total = state.total.clone();
        let total = total.unwrap_or_else(|| state.rows.len().into());
        Some(json!({ "total": total, form.items.as_str(): rows }))
    }
}

/// Returns the template with `{row}` replaced by `name`.
fn fill(template: &Value, name: &str) -> Value {
    match template {
        Value::String(text) => text.replace("{row}", name).into(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), fill(value, name))).collect()
        }
        other => other.clone(),
    }
}
