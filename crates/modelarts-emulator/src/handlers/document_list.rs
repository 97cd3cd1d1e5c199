//! Lists of stored documents: algorithms and experiments.

use serde_json::{Value, json};

use crate::{
    api::error::ApiError,
    database::documents::{Document, Documents},
    handlers::call::ApiCall,
};

/// Lists the documents that match and are in the requested workspace. `offset` is the number of a
/// page. `sort_by` is a member of the metadata, or the error of a wrong one.
pub(super) fn list(
    call: &ApiCall<'_>,
    documents: &Documents,
    sort_by: Result<&'static str, ApiError>,
    metadata: fn(&Value) -> &Value,
    matches: impl Fn(&Document) -> bool,
    render: impl Fn(Document) -> Result<Value, ApiError>,
) -> Result<Value, ApiError> {
    let limit = call.number("limit", 1..=50, 50)?;
    let offset = call.number("offset", 0..=usize::MAX, 0)?;
    let sort_by = sort_by?;
    let order = call.choice("order", &["asc", "desc"])?.unwrap_or("desc");
    let workspace = call.param("workspace_id")?;
    let mut matching = documents.all(&call.user.project_id)?;
    let total = matching.len();
    matching.retain(|document| {
        let own = &metadata(&document.value)["workspace_id"];
        workspace.as_ref().is_none_or(|workspace| own == workspace) && matches(document)
    });
    matching.sort_by_cached_key(|document| {
        let key = &metadata(&document.value)[sort_by];
        (key.as_str().map(str::to_owned), key.as_i64())
    });
    if order == "desc" {
        matching.reverse();
    }
    let count = matching.len();
    let page = matching
        .into_iter()
        .skip(offset.saturating_mul(limit))
        .take(limit);
    let items: Result<Vec<Value>, ApiError> = page.map(render).collect();
    Ok(json!({
        "total": total,
        "count": count,
        "limit": limit,
        "offset": offset,
        "sort_by": sort_by,
        "order": order,
        "items": items?,
    }))
}
