//! Handlers of the operations on jobs: creation, lists, changes, stops and deletions.
//!
//! `search` and `events` read the queries of lists, `trial_table` renders trials; the other modules
//! have the operations below one job.

pub(crate) mod events;
pub(crate) mod images;
pub(crate) mod logs;
pub(crate) mod reports;
pub(crate) mod route_plan;
pub(crate) mod search;
pub(crate) mod tags;
pub(crate) mod trial_table;
pub(crate) mod trials;

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::{
    api::{error::ApiError, json_field::JsonField, response::ApiResponse},
    catalog::quirks::{DeleteActive, RepeatedStop, UnknownAction},
    execution::{finish, lifecycle},
    handlers::{
        algorithms,
        call::{ApiCall, ApiResult, bad_param, ok, with_ignored_fields},
        jobs::{events::EventQuery, search::JobSearch},
    },
    job::{
        Job,
        event::{Event, EventKind},
        request::JobRequest,
        state::{JobState, StopReason},
        view::{self, UserName},
    },
    validation::{
        body_shape,
        fields::{
            field_spec::{
                Handling::{Acted, Stored},
                Need::{Optional, Required},
                Type::{self, Bool, List, Number, Object, Text, Texts, UpTo},
            },
            ignored,
        },
        names::is_name,
    },
};

/// Maximum number of jobs of one batch deletion.
const MAX_BATCH: usize = 100;

pub(crate) fn create(call: &ApiCall<'_>) -> ApiResult {
    if !call.user.authorized {
        return Err(ApiError::of(2785, &[]));
    }
    if call.user.frozen {
        return Err(ApiError::of(2837, &[]));
    }
    let body = call.json()?;
    let request = JobRequest::read(algorithms::checked_body(call, body)?)?;
    let now = call.now();
    let mut job = Job::new(call.state.ids.next().to_string(), request, now);
    job.project.clone_from(&call.user.project_id);
    job.user_id.clone_from(&call.user.id);
    job.user_name.clone_from(&call.user.name);
    let ignored = ignored::ignored_header(&job.request.body);
    let shown = view::job(&job, UserName::NotYet, now);
    let quota = call.state.quotas.jobs(&call.user.project_id)?;
    lifecycle::submit(call.state, job, quota)?;
    Ok(with_ignored_fields(
        ApiResponse::json(StatusCode::CREATED, shown),
        ignored,
    ))
}

pub(crate) fn list(call: &ApiCall<'_>) -> ApiResult {
    let now = call.now();
    let search = JobSearch::read(&call.json()?, &call.state.quirks, now)?;
    let render = |job: &Job| view::job(job, UserName::Known(&job.user_name), now);
    ok(search.response(&call.state.store, &call.user.project_id, render)?)
}

pub(crate) fn show(call: &ApiCall<'_>) -> ApiResult {
    let now = call.now();
    ok(call.read(|job| view::job(job, UserName::Known(&job.user_name), now))?)
}

/// The members of a job that can be changed.
#[rustfmt::skip]
const CHANGES: Type = Object(&[
    (&["description"], Optional, Acted, UpTo(256)),
    (&["spec"], Optional, Acted, Object(&[
        (&["notification"], Optional, Stored, Object(&[
            (&["topic_urn"], Required, Stored, Text),
            (&["events"], Required, Stored, List(&Text)),
        ])),
        (&["schedule_policy"], Optional, Acted, Object(&[
            (&["priority"], Optional, Acted, Number(1, 3)),
            (&["preemptible"], Optional, Acted, Bool),
        ])),
    ])),
    (&["endpoints"], Optional, Stored, Object(&[
        (&["ssh"], Optional, Stored, Object(&[
            (&["key_pair_names"], Required, Stored, List(&Text)),
        ])),
    ])),
    (&["metadata"], Optional, Acted, Object(&[
        (&["annotation"], Optional, Stored, Texts(usize::MAX, usize::MAX, usize::MAX, &[])),
    ])),
]);

/// Changes the description at any time, the priority while the job waits. The other members are
/// stored and shown only.
pub(crate) fn change(call: &ApiCall<'_>) -> ApiResult {
    let body = call.json()?;
    body_shape::check_against(&CHANGES, &body)?;
    let ignored = ignored::ignored_header_of(&CHANGES, &body, call.state.offer.strict)?;
    let description = body["description"].as_str();
    let policy = &body["spec"]["schedule_policy"];
    let priority = policy["priority"].as_i64();
    let preemptible = policy["preemptible"].as_bool();
    if priority == Some(3) && !call.user.may_set_high_priority {
        return Err(ApiError::no_permission(
            "modelarts:trainJob:setHighPriority",
        ));
    }
    let mut changed = Value::Object(Map::new());
    for (place, value) in [
        (&["spec", "notification"][..], &body["spec"]["notification"]),
        (
            &["spec", "schedule_policy", "priority"],
            &policy["priority"],
        ),
        (
            &["spec", "schedule_policy", "preemptible"],
            &policy["preemptible"],
        ),
        (&["endpoints"], &body["endpoints"]),
        (
            &["metadata", "annotations"],
            &body["metadata"]["annotation"],
        ),
    ] {
        if !value.is_null() {
            *place.iter().fold(&mut changed, |at, name| &mut at[*name]) = value.clone();
        }
    }
    let moved = call.update(|job| {
        if (priority.is_some() || preemptible.is_some()) && job.state != JobState::Queuing {
            let why = "the priority can be changed only while the job is pending";
            return Err(ApiError::of(2858, &[why]));
        }
        if priority.is_some() && job.request.pool_id.is_none() {
            let why = "only jobs in a dedicated pool have a priority";
            return Err(ApiError::of(2858, &[why]));
        }
        if let Some(description) = description {
            description.clone_into(&mut job.description);
        }
        if let Value::Object(changed) = &changed {
            job.change(changed);
        }
        job.priority = priority.unwrap_or(job.priority);
        job.preemptible = preemptible.unwrap_or(job.preemptible);
        Ok(job.priority)
    })??;
    if priority.is_some() || preemptible.is_some() {
        call.state
            .scheduler
            .set_priority(call.job_id(), moved, preemptible);
    }
    Ok(with_ignored_fields(
        ApiResponse::json(StatusCode::OK, Value::Null),
        ignored,
    ))
}

/// Deletes a job asynchronously. An active job is stopped first (SOURCES D-156).
pub(crate) fn delete(call: &ApiCall<'_>) -> ApiResult {
    let active = call.read(|job| !job.state.is_final())?;
    if active && call.state.quirks.delete_active == DeleteActive::Refuses {
        return Err(ApiError::invalid_parameter(
            "the job has not ended: stop it before it is deleted",
        ));
    }
    delete_job(call, call.job_id());
    Ok(ApiResponse::json(StatusCode::ACCEPTED, json!("")))
}

fn delete_job(call: &ApiCall<'_>, id: &str) {
    let now = call.now();
    let first = call.state.store.update(id, |job| {
        let first = !job.deleted;
        if first {
            job.deleted = true;
            job.note(EventKind::Deleted, now);
            job.advance(JobState::Terminating, now);
            job.ask_to_stop(StopReason::Deleted);
        }
        first
    });
    if first == Some(true) {
        call.state.spawn(finish::remove_deleted(
            Arc::clone(call.state),
            id.to_owned(),
        ));
    }
}

/// Deletes jobs, all or none: the first job that does not exist, or is in another workspace, causes
/// the error.
pub(crate) fn batch_delete(call: &ApiCall<'_>) -> ApiResult {
    let body = call.json()?;
    let jobs = JsonField::root(&body).required("jobs")?;
    let items = jobs.items()?;
    if items.is_empty() || items.len() > MAX_BATCH {
        return Err(jobs.must(format!("have 1 to {MAX_BATCH} elements")));
    }
    let mut ids = Vec::new();
    let mut workspace: Option<String> = None;
    for item in items {
        item.required("kind")?.text()?;
        let id = item
            .required("metadata")?
            .required("id")?
            .text()?
            .to_owned();
        let found = call.state.store.read(&id, |job| {
            let own = job.project == call.user.project_id;
            own.then(|| job.request.workspace_id.clone())
        });
        let found = found
            .flatten()
            .ok_or_else(|| ApiError::job_not_found(&id))?;
        if workspace
            .as_ref()
            .is_some_and(|workspace| *workspace != found)
        {
            return Err(jobs.must("be of one workspace"));
        }
        workspace = Some(found);
        ids.push(id);
    }
    for id in ids {
        delete_job(call, &id);
    }
    Ok(ApiResponse::empty(StatusCode::ACCEPTED))
}

pub(crate) fn stop(call: &ApiCall<'_>) -> ApiResult {
    let body = call.json()?;
    let body = JsonField::root(&body);
    let action = body.required("action_type")?.text()?;
    call.read(|_| ())?;
    if action == "restart" {
        return Err(ApiError::not_modelled(
            "the action restart, which no document describes",
        ));
    }
    if action != "terminate" {
        return Err(match call.state.quirks.unknown_action {
            UnknownAction::Documented => ApiError::action_type(action),
            // The text is that of the service (SOURCES K 15).
            UnknownAction::Seen => {
                ApiError::invalid_parameter("action_type must be one of [terminate restart]")
            }
        });
    }
    let now = call.now();
    let accepts_again = call.state.quirks.stop_again == RepeatedStop::Accepts;
    let shown = call.update(|job| {
        if accepts_again && job.state == JobState::Terminating {
            return Ok(view::job(job, UserName::Known(&job.user_name), now));
        }
        if !job.state.may_be_terminated() {
            return Err(ApiError::not_terminable());
        }
        job.advance(JobState::Terminating, now);
        job.ask_to_stop(StopReason::ByUser);
        Ok(view::job(job, UserName::Known(&job.user_name), now))
    })??;
    Ok(ApiResponse::json(StatusCode::ACCEPTED, shown))
}

pub(crate) fn events(call: &ApiCall<'_>) -> ApiResult {
    let query = EventQuery::read(call.query, call.state.quirks.events_offset)?;
    call.read(|_| ())?;
    let events = call.state.store.events(call.job_id())?;
    let text = |event: &Event| event.kind.text(call.state.wording, call.language);
    ok(query.response(&events, text))
}

/// The tasks, as a list without an envelope.
pub(crate) fn tasks(call: &ApiCall<'_>) -> ApiResult {
    let asked = call.number("schedule_count", 1..=usize::MAX, 0)?;
    let rows: Vec<Value> = call.read(|job| {
        (1..=job.schedule_count)
            .filter(|count| asked == 0 || *count as usize == asked)
            .flat_map(|count| job.tasks().zip(0..).map(move |task| (count, task)))
            .map(|(count, task)| view::task(job, task, count))
            .collect()
    })?;
    ok(Value::Array(rows))
}

/// The stages, derived from events: the steps between the queue and the end, once for each
/// scheduling.
pub(crate) fn stages(call: &ApiCall<'_>) -> ApiResult {
    let id = call.job_id();
    call.read(|_| ())?;
    let mut records: Vec<Vec<(&str, (&str, &str), _)>> = Vec::new();
    for event in call.state.store.events(id)? {
        let (name, message) = match &event.kind {
            EventKind::Queuing => ("scheduling", ("Waiting for resources", "等待资源")),
            EventKind::PodStarted { .. } => {
                ("preparing", ("Preparing the environment", "准备环境"))
            }
            EventKind::Running => ("running", ("Running", "运行中")),
            kind if kind.is_final() => ("end", ("Ended", "已结束")),
            _ => continue,
        };
        if name == "scheduling" || records.is_empty() {
            records.push(Vec::new());
        }
        if let Some(record) = records.last_mut()
            && record.last().is_none_or(|(last, ..)| *last != name)
        {
            record.push((name, message, event.time));
        }
    }
    let orders = ["scheduling", "preparing", "running", "end"];
    let records: Vec<Value> = records
        .iter()
        .enumerate()
        .map(|(at, stages)| {
            let shown = stages.iter().enumerate().map(|(at, (name, (english, chinese), start))| {
                let end = stages.get(at + 1).map(|(_, _, next)| next);
                let end = end.or((*name == "end").then_some(start));
                json!({
                    "job_id": id,
                    "name": name,
                    "en_message": english,
                    "zh_message": chinese,
                    "start_time": start.rfc3339(),
                    "end_time": end.map(|end| end.rfc3339()).unwrap_or_default(),
                    "stage_order": orders.iter().position(|order| order == name).unwrap_or(0) + 1,
                    "sub_stages": [],
                })
            });
            json!({"record_order": at + 1, "stages": shown.collect::<Vec<_>>()})
        })
        .collect();
    ok(json!({"total_count": records.len(), "running_records": records}))
}

pub(crate) fn check_name(call: &ApiCall<'_>) -> ApiResult {
    let name = call.param("job_name")?.unwrap_or_default();
    if !is_name(&name) {
        return Err(bad_param("job_name"));
    }
    let taken = call.state.store.is_taken(&call.user.project_id, &name)?;
    ok(json!({"is_duplicate": taken}))
}
