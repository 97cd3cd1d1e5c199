//! Lists of stored documents: algorithms and experiments.

use serde_json::{Value, json};

use crate::{api::error::ApiError, database::documents::Document, handlers::call::ApiCall};

/// Default and maximum page size.
const LIMIT: usize = 50;

pub(super) struct ListQuery {
    limit: usize,
    /// Page number, starting from 0.
    offset: usize,
    pub(super) sort_by: &'static str,
    order: &'static str,
    workspace: Option<String>,
}

impl ListQuery {
    /// Reads the query. Returns an error for the first invalid parameter in the order of checks.
    pub(super) fn read(call: &ApiCall<'_>, sort_keys: &[&'static str]) -> Result<Self, ApiError> {
        let limit = call.number("limit", 1..=LIMIT, LIMIT)?;
        let offset = call.number("offset", 0..=usize::MAX, 0)?;
        let order = call.choice("order", &["asc", "desc"])?.unwrap_or("desc");
        let sort_by = call.choice("sort_by", sort_keys).map_err(|_| ApiError::of(2790, &[]))?;
        let sort_by = sort_by.unwrap_or("create_time");
        Ok(Self { limit, offset, sort_by, order, workspace: call.param("workspace_id")? })
    }

    pub(super) fn is_in_workspace(&self, metadata: &Value) -> bool {
        let own = &metadata["workspace_id"];
        let mut requested = self.workspace.iter();
        requested.all(|workspace| own == workspace)
    }

    /// Returns a page. `total` counts the project's documents; `matching` is in ascending order.
    pub(super) fn response(
        &self,
        total: usize,
        mut matching: Vec<Document>,
        render: impl Fn(Document) -> Result<Value, ApiError>,
    ) -> Result<Value, ApiError> {
        if self.order == "desc" {
            matching.reverse();
        }
        let count = matching.len();
        let page =
            matching.into_iter().skip(self.offset.saturating_mul(self.limit)).take(self.limit);
        let items: Result<Vec<Value>, ApiError> = page.map(render).collect();
        Ok(json!({
            "total": total,
            "count": count,
            "limit": self.limit,
            "offset": self.offset,
            "sort_by": self.sort_by,
            "order": self.order,
            "items": items?,
        }))
    }
}
