//! Handlers of requests about files that users drop on the form.

use axum::{
    Json,
    body::Body,
    extract::{Path, State as Shared},
    http::{HeaderMap, StatusCode, header::CONTENT_LENGTH},
};
use serde_json::{Value, json};

use crate::{problem::Problem, site::State};

/// Stores the body of the request as a file of a draft.
pub(super) async fn receive(
    Shared(state): Shared<State>,
    Path((draft, slot, path)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    let draft = state.drafts.open(&draft)?;
    let declared = headers.get(CONTENT_LENGTH);
    let declared = declared.and_then(|length| length.to_str().ok()?.parse().ok());
    let stream = body.into_data_stream();
    draft.receive(&slot, &path, declared, stream).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn clear(
    Shared(state): Shared<State>,
    Path((draft, slot)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    if let Some(draft) = state.drafts.get(&draft) {
        // The deletion may take long, because there may be many files.
        let cleared = tokio::task::spawn_blocking(move || draft.clear(&slot)).await;
        cleared.map_err(|error| Problem::internal(error.to_string()))??;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the progress of staging; null before the first report and after the end.
pub(super) async fn progress(
    Shared(state): Shared<State>,
    Path(draft): Path<String>,
) -> Json<Value> {
    let draft = state.drafts.get(&draft);
    Json(json!({ "progress": draft.and_then(|draft| draft.progress()) }))
}
