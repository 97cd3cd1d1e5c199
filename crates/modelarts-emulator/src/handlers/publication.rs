//! Publication of algorithms in the gallery. The emulator has no gallery and only stores a record
//! of each publication.

use axum::http::StatusCode;
use serde_json::json;

use crate::{
    api::{error::ApiError, json_field::JsonField, response::ApiResponse},
    database::documents::Document,
    handlers::{
        algorithms,
        call::{ApiCall, ApiResult},
    },
};

/// Publishes a new version of an asset. A request without a `content_id` creates the asset.
pub(super) fn create(call: &ApiCall<'_>) -> ApiResult {
    let body = call.json()?;
    let body = JsonField::root(&body);
    let content_id = body.text_of("content_id")?;
    let (version, description) = match body.get("content_info")? {
        Some(info) => (info.text_of("version_num")?, info.text_of("desc")?),
        None => (None, None),
    };
    let algorithm = match body.get("algorithm")? {
        Some(algorithm) => algorithm.required_text("id")?,
        None => return Err(ApiError::invalid_parameter("algorithm.id is required")),
    };
    algorithms::find(call, algorithm)?;
    let new_id = || call.state.ids.next().to_string();
    let id = new_id();
    let shown = json!({
        "content_id": content_id.map_or_else(new_id, str::to_owned),
        "version_id": id,
        "version_num": version.unwrap_or("1.0.0"),
        "content_uri": "",
    });
    let mut value = shown.clone();
    value["algorithm_id"] = algorithm.into();
    value["desc"] = description.unwrap_or_default().into();
    call.state.records.publications.insert(&Document {
        project: call.user.project_id.clone(),
        name: id.clone(),
        value,
        id,
    })?;
    Ok(ApiResponse::json(StatusCode::ACCEPTED, shown))
}
