//! Control routes under `/_emulator`, for tests. Requests require no credentials.

use std::{io, ops::Range, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CONTENT_LENGTH, CONTENT_RANGE, RANGE},
    },
    response::Response,
    routing::{get, post},
};
use futures::stream;
use serde_json::{Value, json};

use crate::{
    api::{
        error::ApiError,
        response::{ApiResponse, Reply, new_request_id, ok},
    },
    clock::timestamp::Timestamp,
    execution::{
        finish,
        seeds::{SeedError, Seeds},
    },
    job::{
        Job,
        state::{JobState, StopReason},
        worker::Worker,
    },
    logs::LOG_CHUNK,
    server::request_body::RequestBody,
    state::EmulatorState,
    traffic::faults::FaultRule,
    validation::fields::ignored,
};

pub(crate) fn routes() -> Router<Arc<EmulatorState>> {
    Router::new()
        .route("/_emulator/health", get(health))
        .route("/_emulator/faults", get(list_faults).post(add_fault).delete(clear_faults))
        .route("/_emulator/requests", get(show_counts))
        .route("/_emulator/requests/last", get(last_requests))
        .route("/_emulator/seeds", post(create_seeds))
        .route("/_emulator/clock", get(show_time).post(move_clock))
        .route("/_emulator/reset", post(reset))
        .route("/_emulator/jobs/{id}/ignored", get(show_ignored))
        .route("/_emulator/logs/{token}/{name}", get(follow_link))
}

async fn health(State(state): State<Arc<EmulatorState>>) -> Reply {
    let jobs = state.store.count_all()?;
    let mut health = json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "jobs": jobs});
    if let Some(failure) = state.store.database.failure() {
        health["status"] = json!("not stored");
        health["problem"] = json!(*failure);
    }
    ok(health)
}

async fn list_faults(State(state): State<Arc<EmulatorState>>) -> Reply {
    ok(json!(state.traffic.faults.list()))
}

async fn add_fault(
    State(state): State<Arc<EmulatorState>>,
    RequestBody(body): RequestBody,
) -> Reply {
    let rule = serde_json::from_slice::<Value>(&body)
        .map_err(|error| error.to_string())
        .and_then(|json| FaultRule::from_json(&json))
        .and_then(|rule| {
            let added = state.traffic.faults.add(rule.clone());
            added.map(|()| rule).map_err(|error| error.to_string())
        })
        .map_err(ApiError::bad_control_request)?;
    Ok(ApiResponse::json(StatusCode::CREATED, json!(rule)))
}

async fn clear_faults(State(state): State<Arc<EmulatorState>>) -> Reply {
    state.traffic.faults.clear();
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}

async fn show_counts(State(state): State<Arc<EmulatorState>>) -> Reply {
    ok(json!(state.traffic.request_counts.all()))
}

async fn last_requests(State(state): State<Arc<EmulatorState>>) -> Reply {
    ok(json!(state.traffic.request_log.all()))
}

async fn create_seeds(
    State(state): State<Arc<EmulatorState>>,
    RequestBody(body): RequestBody,
) -> Reply {
    let seed_error = |error: SeedError| ApiError::bad_control_request(error.to_string());
    let seeds = Seeds::from_json(&String::from_utf8_lossy(&body)).map_err(seed_error)?;
    let ids = seeds.create_jobs(&state, false).await.map_err(seed_error)?;
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"ids": ids})))
}

/// Returns the paths of the fields that have no effect in the job's create request and its changes.
async fn show_ignored(State(state): State<Arc<EmulatorState>>, Path(id): Path<String>) -> Reply {
    let look = |job: &Job| ignored::ignored_paths(&job.body());
    let paths = state.store.read(&id, look);
    ok(json!(paths.ok_or_else(|| ApiError::no_such_job(&id))?))
}

/// Returns the time of the clock. `manual` is `true` if the clock stands still until it is moved.
async fn show_time(State(state): State<Arc<EmulatorState>>) -> Reply {
    let now = Timestamp::now(state.clock.as_ref());
    let is_manual = state.clock.leap(Duration::ZERO);
    ok(json!({"now": now.utc_micros(), "millis": now.millis(), "manual": is_manual}))
}

/// Maximum number of seconds by which a request moves the clock (ten years).
const MAX_ADVANCE: f64 = 315_360_000.0;

/// Moves the clock. The body is `{"advance_seconds": 60}`. Responds when all due work is complete.
async fn move_clock(
    State(state): State<Arc<EmulatorState>>,
    RequestBody(body): RequestBody,
) -> Reply {
    let seconds = serde_json::from_slice::<Value>(&body)
        .ok()
        .and_then(|body| body.get("advance_seconds")?.as_f64())
        .filter(|seconds| (0.0..=MAX_ADVANCE).contains(seconds));
    let Some(seconds) = seconds else {
        return Err(ApiError::bad_control_request(
            "The body must be like {\"advance_seconds\": 60}.",
        ));
    };
    let duration = Duration::from_secs_f64(seconds);
    let moving = Arc::clone(&state);
    // The move runs as a separate task, so that it completes even if the client disconnects.
    let moved = tokio::spawn(async move { moving.advance(duration).await });
    if moved.await.is_ok_and(|moved| moved) {
        return show_time(State(state)).await;
    }
    Err(ApiError::bad_control_request(
        "This emulator runs on the system clock; start it with --clock manual.",
    ))
}

/// Deletes jobs, algorithms, experiments, quotas, faults, counts and logged requests.
async fn reset(State(state): State<Arc<EmulatorState>>) -> Reply {
    state.traffic.faults.clear();
    state.traffic.request_counts.clear();
    state.traffic.request_log.clear();
    reset_stored(&state).await?;
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}

async fn reset_stored(state: &EmulatorState) -> rusqlite::Result<()> {
    state.records.algorithms.clear()?;
    state.records.experiments.clear()?;
    state.records.publications.clear()?;
    state.records.quotas.clear()?;
    let live = state.store.live_ids();
    for id in &live {
        let now = Timestamp::now(state.clock.as_ref());
        state.store.update(id, |job| {
            job.advance(JobState::Terminating, now);
            job.ask_to_stop(StopReason::Reset);
        });
    }
    for id in live {
        let settled = |job: Option<&Job>| job.is_none_or(|job| job.lifecycle.settled).then_some(());
        state.store.wait(&id, settled).await;
    }
    let mut last = 0;
    loop {
        let some = state.store.settled_ids_after(&mut last, PURGE_BATCH)?;
        if some.is_empty() {
            return Ok(());
        }
        for id in some {
            finish::purge(state, &id).await;
        }
    }
}

/// Number of jobs deleted in one batch, which limits the number of ids in memory.
const PURGE_BATCH: u32 = 500;

/// Returns the log to which a link refers, or a range of it, as plain text. OBS supports ranges
/// (<https://support.huaweicloud.com/intl/en-us/api-obs/obs_04_0083.html>).
async fn follow_link(
    State(state): State<Arc<EmulatorState>>,
    Path((token, _)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let text = |status, text: &str| {
        ApiResponse::text(status, text.into()).with_request_id(&new_request_id())
    };
    let now = Timestamp::now(state.clock.as_ref());
    let Some(worker) = state.work.log_links.resolve(&token, now) else {
        return text(StatusCode::FORBIDDEN, "Request has expired");
    };
    // Lines that are added later are not included.
    let Ok(Some(tail)) = state.work.runner.log_tail(worker.clone(), 0).await else {
        return text(StatusCode::NOT_FOUND, "");
    };
    let length = tail.full_size;
    let range = headers.get(RANGE).and_then(|range| parse_range(range.to_str().ok()?));
    let (status, part, range) = match range {
        None => (StatusCode::OK, 0..length, None),
        Some(range) if range.start < length => {
            let part = range.start..range.end.min(length);
            let range = format!("bytes {}-{}/{length}", part.start, part.end - 1);
            (StatusCode::PARTIAL_CONTENT, part, Some(range))
        }
        Some(_) => {
            let range = format!("bytes */{length}");
            (StatusCode::RANGE_NOT_SATISFIABLE, 0..0, Some(range))
        }
    };
    let mut response = text(status, "");
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(part.end - part.start));
    if let Some(range) = range.and_then(|range| HeaderValue::try_from(range).ok()) {
        headers.insert(CONTENT_RANGE, range);
    }
    *response.body_mut() = log_part(state, worker, part);
    response
}

/// Parses a byte range such as `bytes=7-` or `bytes=7-12`. Returns `None` for other ranges.
fn parse_range(text: &str) -> Option<Range<u64>> {
    let (start, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let start = start.parse().ok()?;
    let end = match last {
        "" => u64::MAX,
        last => last.parse::<u64>().ok()?.checked_add(1)?,
    };
    (start < end).then_some(start..end)
}

fn log_part(state: Arc<EmulatorState>, worker: Worker, part: Range<u64>) -> Body {
    let start = (state, worker, part.start);
    let pieces = stream::try_unfold(start, move |(state, worker, at)| async move {
        if at == part.end {
            return Ok(None);
        }
        let most = LOG_CHUNK.min(part.end - at);
        let piece = state.work.runner.log_part(worker.clone(), at, most).await?;
        if piece.is_empty() {
            // The log ends early if the job has been deleted.
            return Err::<_, io::Error>(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let next = at + piece.len() as u64;
        Ok(Some((Bytes::from(piece), (state, worker, next))))
    });
    Body::from_stream(pieces)
}
