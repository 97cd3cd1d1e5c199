//! Lists of stored documents: algorithms and experiments.

use serde_json::{Value, json};

use crate::{api::error::ApiError, database::documents::Document};

/// Default and maximum page size.
pub(super) const LIMIT: usize = 50;

pub(super) struct ListQuery {
    pub(super) limit: usize,
    /// Page number, starting from 0.
    pub(super) offset: usize,
    pub(super) sort_by: &'static str,
    pub(super) order: &'static str,
    pub(super) workspace: Option<String>,
}

impl ListQuery {
    pub(super) fn is_in_workspace(&self, metadata: &Value) -> bool {
        let own = &metadata["workspace_id"];
        let mut requested = self.workspace.iter();
        requested.all(|workspace| own == workspace)
    }

    /// `total` counts the documents of the project; `matching` is in ascending order.
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
