//! Effects of injected faults on responses.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use serde_json::Value;

use crate::{
    api::{
        error::ApiError,
        response::{ApiResponse, Cut},
    },
    clock::timestamp::Timestamp,
    traffic::faults::Fault,
};

impl Fault {
    /// Returns the response that replaces the operation, if the fault prevents its execution.
    pub(crate) fn replacement(&self, now: Timestamp) -> Option<ApiResponse> {
        match self {
            Self::StatusUntil { status, seconds } => {
                let until = now.plus(Duration::from_secs(u64::from(*seconds))).http();
                Some(error_response(*status, HeaderValue::from_str(&until).ok(), None, None))
            }
            Self::Status { status, retry_after, error_code, error_msg } => {
                let retry_after = retry_after.map(HeaderValue::from);
                let (code, message) = (error_code.as_deref(), error_msg.as_deref());
                Some(error_response(*status, retry_after, code, message))
            }
            Self::Html { status } => {
                let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_GATEWAY);
                let page = format!(
                    "<html>\n<head><title>{status}</title></head>\n<body>\n\
                     <center><h1>{status}</h1></center>\n<hr><center>api-gateway</center>\n\
                     </body>\n</html>\n"
                );
                Some(ApiResponse::html(status, page))
            }
            Self::Reset => Some(ApiResponse::cut(Cut::BeforeAnswer)),
            _ => None,
        }
    }

    /// Applies the fault to the response of an operation that was executed.
    pub(crate) fn alter(&self, mut answer: ApiResponse) -> ApiResponse {
        match self {
            Self::LostAnswer => return ApiResponse::cut(Cut::BeforeAnswer),
            Self::ResetMidBody => answer.cut = Some(Cut::MidBody),
            Self::UnknownPhase { phase } => {
                answer.edit(|body| rename_phases(body, &["phase", "secondary_phase"], phase));
            }
            Self::UnknownSecondaryPhase { phase } => {
                answer.edit(|body| rename_phases(body, &["secondary_phase"], phase));
            }
            Self::ShiftedPage => answer.edit(|body| {
                change_rows(body, |rows| {
                    if let Some(first) = rows.first().cloned() {
                        rows.insert(0, first);
                        rows.pop();
                    }
                });
            }),
            Self::DuplicateRows => answer.edit(|body| {
                change_rows(body, |rows| {
                    let all = std::mem::take(rows).into_iter();
                    *rows = all.flat_map(|row| [row.clone(), row]).collect();
                });
            }),
            Self::NullLists => answer.edit(nullify_lists),
            Self::TotalsAsText => answer.edit(|body| {
                for name in ["total", "count", "limit", "offset"] {
                    if let Some(number) = body.get_mut(name).filter(|value| value.is_number()) {
                        *number = Value::String(number.to_string());
                    }
                }
            }),
            _ => {}
        }
        answer
    }
}

fn error_response(
    status: u16,
    retry_after: Option<HeaderValue>,
    code: Option<&str>,
    message: Option<&str>,
) -> ApiResponse {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let own = format!("Emulator.{:04}", status.as_u16());
    let (usual_code, usual_message) = match status.as_u16() {
        429 => ("ModelArts.2799", "services too many requests"),
        500 => ("ModelArts.2950", "Unknown error."),
        504 => ("APIGW.0201", "Backend timeout."),
        _ => (own.as_str(), status.canonical_reason().unwrap_or("Injected fault")),
    };
    let (code, message) = (code.unwrap_or(usual_code), message.unwrap_or(usual_message));
    let answer = ApiResponse::json(status, ApiError::new(status, code, message).body(""));
    match retry_after {
        Some(value) => answer.header(header::RETRY_AFTER, value),
        None => answer,
    }
}

/// Changes the rows of a list, which the body contains as `items` or `events`.
fn change_rows(body: &mut Value, change: impl FnOnce(&mut Vec<Value>)) {
    for name in ["items", "events"] {
        if let Some(Value::Array(list)) = body.get_mut(name) {
            return change(list);
        }
    }
}

fn nullify_lists(value: &mut Value) {
    match value {
        Value::Array(_) => *value = Value::Null,
        Value::Object(members) => members.values_mut().for_each(nullify_lists),
        _ => {}
    }
}

fn rename_phases(body: &mut Value, fields: &[&str], phase: &str) {
    if let Some(status) = body.get_mut("status").and_then(Value::as_object_mut) {
        for field in fields {
            status.insert((*field).to_owned(), phase.into());
        }
    }
    if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) {
        for item in items {
            rename_phases(item, fields, phase);
        }
    }
}
