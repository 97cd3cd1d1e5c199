//! From a request to an answer: the table of routes, the gate before them, the seven operations.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{any, get, post};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::answer::Answer;
use crate::body::Field;
use crate::clock::Moment;
use crate::control;
use crate::core::{Core, USER_ID, USER_NAME};
use crate::driver;
use crate::error::ApiError;
use crate::event_query::EventQuery;
use crate::events::EventKind;
use crate::faults::Fault;
use crate::guard;
use crate::lifecycle::{State as JobState, Stop};
use crate::operation::Operation;
use crate::render::{self, UserName};
use crate::request::JobRequest;
use crate::runner::Worker;
use crate::search::Search;
use crate::store::Job;
use crate::verify::{self, Received, Refusal};

/// Bodies above 12 MB are refused (api-facts.md section 6).
const MAX_BODY: usize = 12 * 1024 * 1024;
/// A log preview has at most 5 MB.
const MAX_PREVIEW: u64 = 5 * 1024 * 1024;

/// All routes. What is not in the table is answered with 501.
pub(crate) fn router(core: Arc<Core>) -> Router {
    let does = |operation: Operation| {
        move |State(core): State<Arc<Core>>,
              ids: Result<Path<Ids>, PathRejection>,
              request: Request| {
            serve(
                core,
                Some(operation),
                ids.ok().map(|Path(ids)| ids),
                request,
            )
        }
    };
    let not_modelled =
        |State(core): State<Arc<Core>>, request: Request| serve(core, None, None, request);

    let jobs = "/v2/{project_id}/training-jobs";
    let job = "/v2/{project_id}/training-jobs/{training_job_id}";
    Router::new()
        .route(jobs, post(does(Operation::CreateTrainingJob)))
        .route(
            "/v2/{project_id}/training-job-searches",
            post(does(Operation::ListTrainingJobs)),
        )
        .route(
            job,
            get(does(Operation::ShowTrainingJobDetails)).delete(does(Operation::DeleteTrainingJob)),
        )
        .route(
            &format!("{job}/actions"),
            post(does(Operation::StopTrainingJob)),
        )
        .route(
            &format!("{job}/events"),
            get(does(Operation::ListTrainingJobEvents)),
        )
        .route(
            &format!("{job}/tasks/{{task_id}}/logs/preview"),
            get(does(Operation::ShowTrainingJobLogsPreview)),
        )
        // Words that stand where ids stand (api-facts.md 1b): never taken for one.
        .route(&format!("{jobs}/batch-delete"), any(not_modelled))
        .route(&format!("{jobs}/autosearch"), any(not_modelled))
        .route(&format!("{jobs}/autosearch/{{*rest}}"), any(not_modelled))
        .merge(control::routes())
        .fallback(not_modelled)
        .method_not_allowed_fallback(not_modelled)
        .layer(middleware::from_fn_with_state(
            Arc::clone(&core),
            keep_web_pages_out,
        ))
        .with_state(core)
}

/// What the path names, beside the project.
#[derive(Debug, Deserialize)]
struct Ids {
    #[serde(default)]
    training_job_id: String,
    #[serde(default)]
    task_id: String,
}

async fn keep_web_pages_out(
    State(core): State<Arc<Core>>,
    request: Request,
    next: Next,
) -> Response {
    match guard::check(request.uri(), request.headers(), core.port) {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            tracing::warn!(method = %request.method(), path = request.uri().path(), "refused: not from this machine's programs");
            let request_id = new_request_id();
            Answer::error(&refusal, &request_id).into_response(&request_id)
        }
    }
}

pub(crate) fn new_request_id() -> String {
    Uuid::new_v4().simple().to_string()
}

async fn serve(
    core: Arc<Core>,
    operation: Option<Operation>,
    ids: Option<Ids>,
    request: Request,
) -> Response {
    let request_id = new_request_id();
    let (parts, body) = request.into_parts();
    // Axum answers HEAD where there is a GET; the service's documents know no HEAD.
    let operation = operation.filter(|_| parts.method != Method::HEAD);
    let answer = match respond(&core, operation, ids, &parts, body, &request_id).await {
        Ok(answer) => answer,
        Err(error) => Answer::error(&error, &request_id),
    };
    tracing::info!(
        method = %parts.method,
        path = parts.uri.path(),
        status = answer.status().as_u16(),
        cut = answer.cut.is_some(),
        request_id,
    );
    answer.into_response(&request_id)
}

/// Gate, project, operation, fault, in this order.
async fn respond(
    core: &Arc<Core>,
    operation: Option<Operation>,
    ids: Option<Ids>,
    parts: &Parts,
    body: Body,
    request_id: &str,
) -> Result<Answer, ApiError> {
    let path = parts.uri.path();
    let refused = || ApiError::not_modelled(format!("{} {path}", parts.method));
    let Some(below) = path.strip_prefix("/v2/") else {
        return Err(refused());
    };
    let body = to_bytes(body, MAX_BODY)
        .await
        .map_err(|_| ApiError::body_too_large())?;
    authenticate(core, parts, &body)?;
    let project = below.split('/').next().unwrap_or_default();
    if project != core.identity.project_id {
        return Err(ApiError::wrong_project(project, &core.identity.project_id));
    }
    let (Some(operation), Some(ids)) = (operation, ids) else {
        return Err(refused());
    };

    core.counts.received(operation);
    let fault = core.faults.take(operation);
    if let Some(answer) = fault.as_ref().and_then(Fault::instead) {
        return Ok(answer);
    }
    let executed = match operation {
        Operation::CreateTrainingJob => create(core, &body),
        Operation::ListTrainingJobs => list(core, &body),
        Operation::ShowTrainingJobDetails => show(core, &ids.training_job_id),
        Operation::DeleteTrainingJob => delete(core, &ids.training_job_id),
        Operation::StopTrainingJob => stop(core, &ids.training_job_id, &body),
        Operation::ListTrainingJobEvents => events(
            core,
            &ids.training_job_id,
            parts.uri.query().unwrap_or_default(),
        ),
        Operation::ShowTrainingJobLogsPreview => preview(core, &ids).await,
    };
    if executed.is_ok() {
        core.counts.executed(operation);
    }
    let answer = executed.unwrap_or_else(|error| Answer::error(&error, request_id));
    Ok(match fault {
        None => answer,
        Some(Fault::Delay { ms }) => {
            core.clock.sleep(std::time::Duration::from_millis(ms)).await;
            answer
        }
        Some(fault) => fault.spoil(answer),
    })
}

/// A signature, or one of the configured tokens.
fn authenticate(core: &Core, parts: &Parts, body: &Bytes) -> Result<(), ApiError> {
    let identity = &core.identity;
    if let Some(token) = parts.headers.get("x-auth-token") {
        let known = identity
            .tokens
            .iter()
            .any(|known| known.as_bytes() == token.as_bytes());
        return if known {
            Ok(())
        } else {
            Err(ApiError::not_authenticated("decrypt token fail"))
        };
    }
    let received = Received {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
        body,
    };
    let secret_of =
        |access_key: &str| (access_key == identity.access_key).then(|| identity.secret_key.clone());
    verify::verify(received, core.clock.now(), secret_of)
        .map(|_access_key| ())
        .map_err(|refusal: Refusal| ApiError::not_authenticated(refusal))
}

fn now(core: &Core) -> Moment {
    Moment::now(core.clock.as_ref())
}

fn read_json(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|_| ApiError::invalid_json())
}

fn create(core: &Arc<Core>, body: &[u8]) -> Result<Answer, ApiError> {
    let request = JobRequest::read(&read_json(body)?)?;
    request.check_paths(&core.obs)?;
    let now = now(core);
    let job = Job::new(Uuid::new_v4().to_string(), request, now);
    let id = job.id.clone();
    let shown = render::job(&job, UserName::NotYet, now);
    core.store.insert(job)?;
    core.spawn(driver::drive(Arc::clone(core), id));
    Ok(Answer::json(StatusCode::CREATED, shown))
}

fn list(core: &Core, body: &[u8]) -> Result<Answer, ApiError> {
    let search = Search::read(&read_json(body)?)?;
    let now = now(core);
    let shown = core.store.all(|jobs| {
        search.answer(jobs, USER_ID, |job| {
            render::job(job, UserName::Known(USER_NAME), now)
        })
    });
    Ok(Answer::json(StatusCode::OK, shown))
}

fn show(core: &Core, id: &str) -> Result<Answer, ApiError> {
    let now = now(core);
    let shown = core
        .store
        .read(id, |job| render::job(job, UserName::Known(USER_NAME), now));
    let shown = shown.ok_or_else(|| ApiError::job_not_found(id))?;
    Ok(Answer::json(StatusCode::OK, shown))
}

/// Asynchronous, and silent about phases in all documents: a job that still runs is ended first.
fn delete(core: &Arc<Core>, id: &str) -> Result<Answer, ApiError> {
    let now = now(core);
    let first = core.store.update(id, |job| {
        let first = job.stop_reason() != Some(Stop::Deleted);
        if first {
            job.note(EventKind::Deleted, now);
            job.advance(JobState::Terminating, now);
            job.ask_to_stop(Stop::Deleted);
        }
        first
    });
    if first.ok_or_else(|| ApiError::job_not_found(id))? {
        core.spawn(driver::remove(Arc::clone(core), id.to_owned()));
    }
    Ok(Answer::json(StatusCode::ACCEPTED, json!("")))
}

fn stop(core: &Core, id: &str, body: &[u8]) -> Result<Answer, ApiError> {
    let body = read_json(body)?;
    let body = Field::root(&body);
    let action = body.required("action_type")?.text()?;
    if core.store.read(id, |_| ()).is_none() {
        return Err(ApiError::job_not_found(id));
    }
    if action != "terminate" {
        return Err(ApiError::action_type(action));
    }
    let now = now(core);
    let shown = core.store.update(id, |job| {
        if !job.state.may_be_terminated() {
            return Err(ApiError::not_terminable());
        }
        job.advance(JobState::Terminating, now);
        job.ask_to_stop(Stop::ByUser);
        Ok(render::job(job, UserName::Known(USER_NAME), now))
    });
    let shown = shown.ok_or_else(|| ApiError::job_not_found(id))??;
    Ok(Answer::json(StatusCode::ACCEPTED, shown))
}

fn events(core: &Core, id: &str, query: &str) -> Result<Answer, ApiError> {
    let query = EventQuery::read(query)?;
    let shown = core
        .store
        .read(id, |job| query.answer(&job.events, core.wording));
    let shown = shown.ok_or_else(|| ApiError::job_not_found(id))?;
    Ok(Answer::json(StatusCode::OK, shown))
}

async fn preview(core: &Core, ids: &Ids) -> Result<Answer, ApiError> {
    let id = &ids.training_job_id;
    let job = core
        .store
        .read(id, |job| (Arc::clone(&job.request), job.tasks()));
    let (request, tasks) = job.ok_or_else(|| ApiError::job_not_found(id))?;
    let index = tasks.zip(0..).find(|(task, _)| *task == ids.task_id);
    let Some((_, index)) = index else {
        return Err(ApiError::invalid_parameter(format!(
            "task_id {} is not a task of the job",
            ids.task_id
        )));
    };
    let worker = Worker {
        job_id: id.clone(),
        request,
        index,
    };
    let tail = core.runner.log_tail(worker, MAX_PREVIEW).await;
    let tail =
        tail.map_err(|error| ApiError::internal(format!("The log cannot be read: {error}.")))?;
    let Some(tail) = tail else {
        // ModelArts.2776, "not ready for fetch log": a 204 has no body to say so.
        return Ok(Answer::empty(StatusCode::NO_CONTENT));
    };
    let mut content = tail.content.as_slice();
    if tail.full_size > content.len() as u64 {
        // Cut in the middle of a character: its rest goes too.
        while let [0x80..=0xbf, rest @ ..] = content {
            content = rest;
        }
    }
    Ok(Answer::json(
        StatusCode::OK,
        json!({
            "content": String::from_utf8_lossy(content),
            "current_size": content.len(),
            "full_size": tail.full_size,
        }),
    ))
}
