//! Deviations of the service: responses that differ from those of the emulator.

use std::sync::Mutex;

use bytes::Bytes;
use fastrand::Rng;
use serde_json::Value;

use crate::{
    calls::Op,
    conditions::{Conditions, EMPTY_BODIES},
    service::{Answer, Service},
};

/// Page size that is sufficient for all results of a search.
const WHOLE_PAGE: usize = 50;

/// Alters the response to a request. Returns `None` if the service is restarted meanwhile.
pub(crate) async fn alter(
    service: &Service,
    conditions: &Conditions,
    rng: &Mutex<Rng>,
    (op, head, body): (Op, &http::Request<()>, &Bytes),
    mut answer: Answer,
) -> Option<Answer> {
    if !answer.status.is_success() {
        return Some(answer);
    }
    match op {
        Op::Search => return page(service, conditions, rng, (head, body), answer).await,
        Op::Delete | Op::Change if conditions.answers_null => {
            // The first of these bodies has content.
            let text = EMPTY_BODIES[rng.lock().unwrap().usize(1..EMPTY_BODIES.len())];
            answer.body = text.into();
            answer.headers.remove(http::header::CONTENT_LENGTH);
        }
        Op::Show if conditions.late_logs => {
            let mut job: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            if let Some(status) = job["status"].as_object_mut() {
                status.remove("start_time");
            }
            replace(&mut answer, &job);
        }
        _ => {}
    }
    Some(answer)
}

fn replace(answer: &mut Answer, body: &Value) {
    answer.body = body.to_string().into();
    answer.headers.remove(http::header::CONTENT_LENGTH);
}

/// Returns the response to a search by a service that gives fewer rows than requested, counts the
/// rows of the page, or changes the order of jobs with equal creation times with each response.
async fn page(
    service: &Service,
    conditions: &Conditions,
    rng: &Mutex<Rng>,
    (head, body): (&http::Request<()>, &Bytes),
    mut answer: Answer,
) -> Option<Answer> {
    let Ok(asked) = serde_json::from_slice::<Value>(body) else {
        return Some(answer);
    };
    let Ok(mut page) = serde_json::from_slice::<Value>(&answer.body) else {
        return Some(answer);
    };
    let number = |name: &str| asked[name].as_u64().and_then(|n| usize::try_from(n).ok());
    let limit = number("limit").unwrap_or(WHOLE_PAGE);
    let cap = conditions
        .page_cap
        .and_then(|cap| usize::try_from(cap).ok());
    let most = limit.min(cap.unwrap_or(limit));
    if conditions.unordered || most < limit {
        let mut rows = all(service, head, &asked).await?;
        if conditions.unordered {
            let time = |row: &Value| row["metadata"]["create_time"].as_i64();
            let mut rng = rng.lock().unwrap();
            for same in rows.chunk_by_mut(|a, b| time(a) == time(b)) {
                rng.shuffle(same);
            }
        }
        let before = number("offset").unwrap_or(0) * most;
        page["items"] = rows.into_iter().skip(before).take(most).collect();
    }
    // With conditions, a count that is smaller than the total is documented (SOURCES D-157), so a
    // service that also gives short pages could not be read.
    let has_conditions = ["filters", "tags", "host_ips"]
        .iter()
        .any(|name| asked[*name].as_array().is_some_and(|list| !list.is_empty()))
        || asked["workspace_id"].is_string();
    if conditions.counts_page && (!has_conditions || conditions.page_cap.is_none()) {
        // The total counts the rows of all workspaces.
        page["total"] = page["count"].take();
        page["count"] = page["items"].as_array().map_or(0, Vec::len).into();
    }
    if most < limit
        && let Some(page) = page.as_object_mut()
    {
        page.remove("limit");
    }
    replace(&mut answer, &page);
    Some(answer)
}

/// Returns all rows of a search.
async fn all(service: &Service, head: &http::Request<()>, asked: &Value) -> Option<Vec<Value>> {
    let mut rows: Vec<Value> = Vec::new();
    for offset in 0.. {
        let mut search = asked.clone();
        search["limit"] = WHOLE_PAGE.into();
        search["offset"] = offset.into();
        let part = service.call(head, search.to_string().into()).await?;
        let mut part: Value = serde_json::from_slice(&part.body).unwrap_or_default();
        let Some(part) = part["items"].as_array_mut() else {
            break;
        };
        rows.append(part);
        if rows.len() < (offset + 1) * WHOLE_PAGE {
            break;
        }
    }
    Some(rows)
}
