//! Handlers of jobs: creation, lists, changes, stops, deletions, tasks and stages.

pub(crate) mod events;
pub(crate) mod images;
pub(crate) mod logs;
pub(crate) mod search;
pub(crate) mod tags;
pub(crate) mod trials;

use std::{collections::BTreeSet, sync::Arc};

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::{
    api::{
        error::ApiError,
        json_field::JsonField,
        response::{ApiResponse, Reply, ok},
    },
    catalog::quirks::{DeleteActive, RepeatedStop, UnknownAction},
    execution::{finish, lifecycle},
    handlers::{
        algorithms,
        call::{ApiCall, bad_param, with_ignored_fields},
        jobs::{events::EventQuery, search::JobSearch},
    },
    job::{
        Job,
        event::{Event, EventKind},
        request::JobRequest,
        stages,
        state::{JobState, StopReason},
        view,
    },
    validation::{
        body_shape,
        fields::{CHANGE, ignored},
        names::is_name,
    },
};

const MAX_BATCH: usize = 100;

pub(crate) fn create(call: &ApiCall<'_>) -> Reply {
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
    job.owner.project.clone_from(&call.user.project_id);
    job.owner.user_id.clone_from(&call.user.id);
    job.owner.user_name.clone_from(&call.user.name);
    let ignored = ignored::ignored_header(&job.request.body);
    let mut shown = view::job(&job, now);
    // Only later responses contain the name of the user.
    shown["metadata"]["user_name"] = "".into();
    let quota = call.state.records.quotas.jobs(&call.user.project_id)?;
    lifecycle::submit(call.state, job, quota)?;
    with_ignored_fields(StatusCode::CREATED, shown, ignored)
}

pub(crate) fn list(call: &ApiCall<'_>) -> Reply {
    let now = call.now();
    let search = JobSearch::read(&call.json()?, &call.state.settings.quirks, now)?;
    let render = |job: &Job| view::job(job, now);
    ok(search.response(&call.state.store, &call.user.project_id, render)?)
}

pub(crate) fn show(call: &ApiCall<'_>) -> Reply {
    let now = call.now();
    ok(call.read(|job| view::job(job, now))?)
}

/// Changes the description, and priority and preemptibility of a queued job. Stores other members.
pub(crate) fn change(call: &ApiCall<'_>) -> Reply {
    let body = call.json()?;
    body_shape::check_against(&CHANGE, &body)?;
    let ignored = ignored::ignored_header_of(&CHANGE, &body, call.state.offer.strict)?;
    let description = body["description"].as_str();
    let policy = &body["spec"]["schedule_policy"];
    let priority = policy["priority"].as_i64();
    let preemptible = policy["preemptible"].as_bool();
    if priority == Some(3) && !call.user.may_set_high_priority {
        return Err(ApiError::no_permission("modelarts:trainJob:setHighPriority"));
    }
    let changed = json!({
        "spec": {
            "notification": body["spec"]["notification"],
            "schedule_policy": {"priority": priority, "preemptible": preemptible},
        },
        "endpoints": body["endpoints"],
        "metadata": {"annotations": body["metadata"]["annotation"]},
    });
    let rescheduled = priority.is_some() || preemptible.is_some();
    let moved = call.update(|job| {
        if rescheduled && job.state != JobState::Queuing {
            let why = "the priority can be changed only while the job is pending";
            return Err(ApiError::of(2858, &[why]));
        }
        if priority.is_some() && job.request.pool_id.is_none() {
            let why = "only jobs in a dedicated pool have a priority";
            return Err(ApiError::of(2858, &[why]));
        }
        if let Some(description) = description {
            description.clone_into(&mut job.settings.description);
        }
        if let Value::Object(changed) = &changed {
            job.change(changed);
        }
        job.settings.priority = priority.unwrap_or(job.settings.priority);
        job.settings.preemptible = preemptible.unwrap_or(job.settings.preemptible);
        Ok(job.settings.priority)
    })??;
    if rescheduled {
        let scheduler = &call.state.work.scheduler;
        scheduler.set_priority(call.job_id(), moved, preemptible);
    }
    with_ignored_fields(StatusCode::OK, Value::Null, ignored)
}

/// Deletes a job asynchronously. Stops an active job first, or rejects the request (SOURCES D-156).
pub(crate) fn delete(call: &ApiCall<'_>) -> Reply {
    let active = call.read(|job| !job.state.is_final())?;
    if active && call.state.settings.quirks.delete_active == DeleteActive::Refuses {
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
        if job.lifecycle.deleted {
            return false;
        }
        job.lifecycle.deleted = true;
        job.note(EventKind::Deleted, now);
        job.advance(JobState::Terminating, now);
        job.ask_to_stop(StopReason::Deleted);
        true
    });
    if first == Some(true) {
        let state = Arc::clone(call.state);
        call.state.spawn(finish::remove_deleted(state, id.to_owned()));
    }
}

/// Deletes all jobs or none. Rejects unknown jobs, and jobs of different workspaces.
pub(crate) fn batch_delete(call: &ApiCall<'_>) -> Reply {
    let body = call.json()?;
    let jobs = JsonField::root(&body).required("jobs")?;
    let items = jobs.items()?;
    if items.is_empty() || items.len() > MAX_BATCH {
        return Err(jobs.must(format!("have 1 to {MAX_BATCH} elements")));
    }
    let mut ids = Vec::new();
    let mut workspaces = BTreeSet::new();
    for item in items {
        item.required("kind")?.text()?;
        let id = item.required("metadata")?.required("id")?.text()?;
        workspaces.insert(call.read_job(id, |job| job.request.workspace_id.clone())?);
        if workspaces.len() > 1 {
            return Err(jobs.must("be of one workspace"));
        }
        ids.push(id);
    }
    for id in ids {
        delete_job(call, id);
    }
    Ok(ApiResponse::empty(StatusCode::ACCEPTED))
}

pub(crate) fn stop(call: &ApiCall<'_>) -> Reply {
    let body = call.json()?;
    let action = JsonField::root(&body).required("action_type")?.text()?;
    call.read(|_| ())?;
    match action {
        "terminate" => {}
        "restart" => {
            return Err(ApiError::not_modelled("the action restart, which no document describes"));
        }
        _ => {
            return Err(match call.state.settings.quirks.unknown_action {
                UnknownAction::Documented => ApiError::of(2812, &[action]),
                // This error message was observed on the service (SOURCES K 15).
                UnknownAction::Seen => {
                    ApiError::invalid_parameter("action_type must be one of [terminate restart]")
                }
            });
        }
    }
    let now = call.now();
    let accepts_again = call.state.settings.quirks.stop_again == RepeatedStop::Accepts;
    let shown = call.update(|job| {
        if !(accepts_again && job.state == JobState::Terminating) {
            if !job.state.may_be_terminated() {
                return Err(ApiError::of(2796, &[]));
            }
            job.advance(JobState::Terminating, now);
            job.ask_to_stop(StopReason::ByUser);
        }
        Ok(view::job(job, now))
    })??;
    Ok(ApiResponse::json(StatusCode::ACCEPTED, shown))
}

pub(crate) fn events(call: &ApiCall<'_>) -> Reply {
    let query = EventQuery::read(call.query, call.state.settings.quirks.events_offset)?;
    call.read(|_| ())?;
    let events = call.state.store.events(call.job_id())?;
    let text = |event: &Event| event.kind.text(call.state.settings.wording, call.language);
    ok(query.response(&events, text))
}

/// Lists the tasks of a job, as a JSON array that is not wrapped in an object.
pub(crate) fn tasks(call: &ApiCall<'_>) -> Reply {
    let asked = call.number("schedule_count", 1..=usize::MAX, 0)?;
    let rows: Vec<Value> = call.read(|job| {
        (1..=job.history.schedule_count)
            .filter(|count| asked == 0 || *count as usize == asked)
            .flat_map(|count| job.tasks().zip(0..).map(move |task| (count, task)))
            .map(|(count, task)| view::task(job, task, count))
            .collect()
    })?;
    ok(Value::Array(rows))
}

pub(crate) fn list_stages(call: &ApiCall<'_>) -> Reply {
    let id = call.job_id();
    call.read(|_| ())?;
    ok(stages::render(id, &call.state.store.events(id)?))
}

/// Returns the planned ranks of the workers: the default order with the status `failed`, because
/// only pools of Ascend 910 nodes, which the emulator does not have, are planned.
pub(crate) fn route_plan(call: &ApiCall<'_>) -> Reply {
    let ranks: Vec<String> = call.read(|job| {
        let workers = job.tasks().zip(0..);
        workers.map(|(_, rank)| format!("{rank}-{rank}")).collect()
    })?;
    ok(json!({
        "job_id": call.job_id(),
        "status": "failed",
        "rank_mapping": ranks.join(","),
    }))
}

pub(crate) fn check_name(call: &ApiCall<'_>) -> Reply {
    let name = call.param("job_name")?.unwrap_or_default();
    if !is_name(&name) {
        return Err(bad_param("job_name"));
    }
    let taken = call.state.store.is_taken(&call.user.project_id, &name)?;
    ok(json!({"is_duplicate": taken}))
}
