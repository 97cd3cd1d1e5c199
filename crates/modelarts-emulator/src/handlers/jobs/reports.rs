//! Events reported by the code of a task.

use axum::http::StatusCode;

use crate::{
    api::{error::ApiError, json_field::JsonField, response::ApiResponse},
    handlers::{
        call::{ApiCall, ApiResult},
        jobs::logs,
    },
    job::event::{EventKind, Level, Source},
};

/// The only documented kind of report (SOURCES S, P).
const TRAINING_EVENT: &str = "training-event";
/// Maximum number of characters of a type: the emulator's own, without a source (SOURCES S, P).
const MAX_TYPE_LENGTH: usize = 256;

/// Adds a reported event. The text is the emulator's own; the guide has none (SOURCES F1).
pub(crate) fn add(call: &ApiCall<'_>) -> ApiResult {
    let kind = call.id("report_type");
    if kind != TRAINING_EVENT {
        return Err(ApiError::invalid_parameter(format!("report_type must be {TRAINING_EVENT}")));
    }
    let body = call.json()?;
    let event = JsonField::root(&body).get("type")?;
    let event = event.map(|field| field.text_up_to(MAX_TYPE_LENGTH)).transpose()?;
    let event = event.filter(|event| !event.is_empty()).unwrap_or(kind);
    let task = logs::worker(call)?.task();
    let now = call.now();
    let reported = EventKind::Given {
        message: format!("[{task}] {event}"),
        level: Level::Info,
        source: Source::Task,
    };
    call.update(|job| job.note(reported, now))?;
    Ok(ApiResponse::empty(StatusCode::OK))
}
