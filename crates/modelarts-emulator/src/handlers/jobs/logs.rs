//! Handlers of the logs and metrics of tasks.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::json;

use crate::{
    api::{
        error::ApiError,
        response::{ApiResponse, Reply, ok},
    },
    handlers::call::{ApiCall, bad_param},
    job::{request::LogExport, worker::Worker},
    logs::{index::page, lines::LineQuery},
    runner::worker_files::LogTail,
};

/// Maximum size of a log preview, in bytes: 5 MiB.
const MAX_PREVIEW: u64 = 5 * 1024 * 1024;
/// Retention of a log that is not exported: 30 days.
const RETENTION: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);

pub(super) fn worker(call: &ApiCall<'_>) -> Result<Worker, ApiError> {
    let task = call.id("task_id");
    let request = call.read(|job| Arc::clone(&job.request))?;
    let worker = Worker::all(call.job_id(), &request).find(|worker| worker.task() == task);
    worker.ok_or_else(|| {
        ApiError::invalid_parameter(format!("task_id {task} is not a task of the job"))
    })
}

fn check_retention(call: &ApiCall<'_>, worker: &Worker) -> Result<(), ApiError> {
    let exported = matches!(worker.request.log_export, LogExport::To(_));
    match call.read(|job| job.history.ended)? {
        Some(ended) if !exported && call.now().since(ended) >= RETENTION => {
            Err(ApiError::of(2819, &[]))
        }
        _ => Ok(()),
    }
}

async fn log_tail(
    call: &ApiCall<'_>,
    worker: Worker,
    limit: u64,
) -> Result<Option<LogTail>, ApiError> {
    check_retention(call, &worker)?;
    let tail = call.state.work.runner.log_tail(worker, limit).await;
    tail.map_err(log_error)
}

fn log_error(error: std::io::Error) -> ApiError {
    ApiError::internal(format!("The log cannot be read: {error}."))
}

/// Returns the response for ModelArts.2776 and 2777: status 204 without a body.
fn not_ready() -> Reply {
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}

pub(crate) async fn preview(call: &ApiCall<'_>) -> Reply {
    let Some(tail) = log_tail(call, worker(call)?, MAX_PREVIEW).await? else {
        return not_ready();
    };
    let mut content = tail.content.as_slice();
    if tail.full_size > content.len() as u64 {
        // Drops the remaining bytes of a character that was split at the size limit.
        while let [0x80..=0xbf, rest @ ..] = content {
            content = rest;
        }
    }
    ok(json!({
        "content": String::from_utf8_lossy(content),
        "current_size": content.len(),
        "full_size": tail.full_size,
    }))
}

/// Returns a link to the log. The link requires no signature and is valid for five minutes.
pub(crate) async fn link(call: &ApiCall<'_>) -> Reply {
    let worker = worker(call)?;
    if log_tail(call, worker.clone(), 0).await?.is_none() {
        return Err(ApiError::of(2818, &[]));
    }
    let name = format!("{}.log", worker.pod());
    let token = call.state.work.log_links.create(worker, call.now());
    let address = call.state.address;
    ok(json!({"obs_url": format!("http://{address}/_emulator/logs/{token}/{name}")}))
}

/// Returns lines before or after a base line. No source states a limit in bytes (SOURCES S). The
/// limit of previews applies, so a response may have fewer lines than requested.
pub(crate) async fn lines(call: &ApiCall<'_>) -> Reply {
    let worker = worker(call)?;
    let count = call.number("lines", 1..=500, 50)?;
    let ascending = call.choice("order", &["asc", "desc"])? == Some("asc");
    let base = call.param("base_line")?.map(|text| text.parse::<usize>());
    let base = base.transpose().map_err(|_| bad_param("base_line"))?;
    check_retention(call, &worker)?;
    let query = LineQuery { count, ascending, base };
    let part = |from, most| call.state.work.runner.log_part(worker.clone(), from, most);
    let index = call.state.work.log_indexes.of(&worker.log_name());
    let page = page(&index, query, MAX_PREVIEW, part).await.map_err(log_error)?;
    if page.is_none() && part(0, 1).await.map_err(log_error)?.is_empty() {
        return not_ready();
    }
    let (first, last, lines, content) = match page {
        Some(page) => (page.first, page.first + page.lines - 1, page.lines, page.content),
        None => (base.unwrap_or(0), base.unwrap_or(0), 0, Vec::new()),
    };
    ok(json!({
        "start_line": first.to_string(),
        "end_line": last.to_string(),
        "lines": lines,
        "content": String::from_utf8_lossy(&content),
    }))
}

pub(crate) fn metrics(call: &ApiCall<'_>) -> Reply {
    let worker = worker(call)?;
    match call.state.work.metrics.show(&worker.pod(), call.now())? {
        Some(metrics) => ok(metrics),
        None => not_ready(),
    }
}
