//! Deviations of the service: responses that differ from those of the emulator.

use crate::{network::Network, prelude::*, service::PAGE};

/// Alters the response to a request.
pub(crate) async fn alter(
    network: &Network,
    (op, path): (Op, &str),
    asked: &[u8],
    mut answer: Answer,
) -> Answer {
    if !answer.status.is_success() {
        return answer;
    }
    let body = match op {
        Op::Search => page(network, asked, &answer.body).await,
        // The first of these bodies has content.
        Op::Delete | Op::Change if network.conditions.answers_null => {
            Some(one(&mut network.rng.lock().unwrap(), &EMPTY_BODIES[1..]).to_owned())
        }
        Op::Show if network.conditions.late_logs => {
            let mut job: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            if let Some(status) = job["status"].as_object_mut() {
                status.remove("start_time");
            }
            Some(job.to_string())
        }
        // A followed list whose total is too high never becomes complete.
        Op::Events if network.conditions.stated_total.is_low() => {
            let mut page: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            network.conditions.stated_total.set(&mut page, PAGE);
            Some(page.to_string())
        }
        Op::Logs => open_line(network, path, &answer.body).await,
        _ => None,
    };
    if let Some(body) = body {
        answer.body = body.into();
        answer.headers.remove(header::CONTENT_LENGTH);
    }
    answer
}

/// Returns the body of a response with lines, without the end of the newest line of the log.
async fn open_line(network: &Network, path: &str, answer: &[u8]) -> Option<String> {
    let mut answer: Value = serde_json::from_slice(answer).ok()?;
    let words: Vec<&str> = path.split('/').collect();
    let task = words.get(6)?.strip_prefix("worker-")?.parse().ok()?;
    let log = network.service.log(words.get(4)?, task).await?;
    let text = answer["content"].as_str().filter(|text| log.ends_with(text))?;
    let is_open = network.conditions.answers_null && answer["end_line"].is_string();
    answer["content"] = text.strip_suffix('\n').filter(|_| is_open)?.into();
    Some(answer.to_string())
}

/// Returns the body of the response to a search by a service that gives fewer rows than requested,
/// counts the rows of the page, or changes the order of jobs with equal creation times with each
/// response.
async fn page(network: &Network, asked: &[u8], page: &[u8]) -> Option<String> {
    let conditions = &network.conditions;
    let asked: Value = serde_json::from_slice(asked).ok()?;
    let mut page: Value = serde_json::from_slice(page).ok()?;
    let number = |name: &str| asked[name].as_u64().and_then(|n| usize::try_from(n).ok());
    let limit = number("limit").unwrap_or(PAGE);
    let most = limit.min(conditions.page_cap.unwrap_or(limit));
    if conditions.unordered || most < limit {
        let mut rows = network.service.search(asked.clone()).await;
        if conditions.unordered {
            let time = |row: &Value| row["metadata"]["create_time"].as_i64();
            let mut rng = network.rng.lock().unwrap();
            for same in rows.chunk_by_mut(|a, b| time(a) == time(b)) {
                rng.shuffle(same);
            }
        }
        let before = number("offset").unwrap_or(0) * most;
        page["items"] = rows.into_iter().skip(before).take(most).collect();
    }
    // With conditions, a count that is smaller than the total is documented (SOURCES D-157), so a
    // service that also gives short pages could not be read.
    let is_list = |name: &&str| asked[*name].as_array().is_some_and(|list| !list.is_empty());
    let has_conditions = ["filters", "tags", "host_ips"].iter().any(is_list);
    let has_conditions = has_conditions || asked["workspace_id"].is_string();
    if conditions.counts_page && (!has_conditions || conditions.page_cap.is_none()) {
        // The total counts the rows of all workspaces.
        page["total"] = page["count"].take();
        page["count"] = page["items"].as_array().map_or(0, Vec::len).into();
    }
    if most < limit {
        page.as_object_mut()?.remove("limit");
    }
    conditions.stated_total.set(&mut page, most);
    Some(page.to_string())
}
