//! Page with the form, and the creation of the job.

use axum::{
    Json,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
};
use modelarts_ext::{Error, Job, api::hex, masking::mask};
use modelarts_obs::{CreateJobExt, staging::StagedPart};
use ring::rand::SystemRandom;
use serde_json::json;

use crate::{
    create::{
        check::Checked,
        finding::Finding,
        form::{DRAFT, FROM, Form},
        input_size,
        plan::Plan,
        prefill::form_of,
        view::{Content, FormPage, engine_value},
    },
    drafts::{Draft, Progress},
    page::{Page, is_script},
    problem::Problem,
    site::{State, UserRequest},
};

/// Engine of a new form.
const DEFAULT_ENGINE: &str = "PyTorch";
/// Maximum length of the original name in the name of a copied job.
const MAX_STEM: usize = 59;

/// Renders the form: empty, with the values of the query, or with the values of the job `from`.
pub(super) async fn show(request: UserRequest) -> Result<Page<FormPage>, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let id = draft_id()?;
    let mut notes = Vec::new();
    let mut form = match fields.get("from") {
        Some(from) => copy(&state, from, &id, &mut notes).await?,
        None => Form::parse(&fields),
    };
    let is_blank = fields.0.is_empty();
    if form.get("name").is_empty() {
        form.set("name", format!("job-{}", &id[..8]));
    }
    if is_blank {
        set_defaults(&state, &mut form).await;
    }
    form.set(DRAFT, id);
    let lists = state.cached.choices.lists(&state.client).await;
    let (_, checked) = Checked::new(&state, &form, &lists);
    let content = Content { form, checked, notes, shows_errors: false, is_blank, problem: None };
    Ok(Page(FormPage::new(&state, &visitor, content, &lists)))
}

/// Sets the newest PyTorch and the flavor of the context, as `modelarts submit` does.
async fn set_defaults(state: &State, form: &mut Form) {
    if let Some(flavor) = &state.settings.flavor {
        form.set("flavor", flavor);
    }
    if let Ok((name, version)) = state.client.newest_engine(DEFAULT_ENGINE).await {
        let lists = state.cached.choices.lists(&state.client).await;
        let mut engines = lists.engines.iter().flatten();
        let engine = engines.find(|engine| {
            engine.engine_name.as_ref() == Some(&name)
                && engine.engine_version.as_ref() == Some(&version)
        });
        form.set("engine", engine.map(engine_value).unwrap_or_default());
    }
}

/// Returns the form of a copy of a job, with a new name.
async fn copy(
    state: &State,
    id: &str,
    draft: &str,
    notes: &mut Vec<String>,
) -> Result<Form, Problem> {
    let job = state.job(id).await?;
    let stem: String = job.name().chars().take(MAX_STEM).collect();
    let copy = job.copy_as(format!("{stem}-{}", &draft[..4])).await?;
    let mut body = copy.body();
    let has_secrets = mask(&mut body) > 0;
    let mut form = form_of(body);
    if has_secrets {
        form.set(FROM, job.id());
    }
    let has_outputs = form.rows("outputs").next().is_some();
    let mut note = format!("This form has the settings of the job {}.", job.name());
    if has_outputs && state.staging.root().is_ok() {
        form.clear_column("outputs", "path");
        note += " Each output gets a new directory, so that the results of that job are kept.";
    } else if has_outputs {
        note += " Its outputs are written to the directories of that job: enter others to keep its \
                 results.";
    }
    notes.push(note);
    Ok(form)
}

/// Returns a form in which the secrets of the copied job replace their masks.
async fn unmask(state: &State, form: &Form) -> Result<Form, Problem> {
    let mut form = form.clone();
    let body = state.job(form.get(FROM)).await?.copy_as("").await?.body();
    let mut masked = body.clone();
    mask(&mut masked);
    form.unmask(&form_of(masked), &form_of(body));
    form.set(FROM, "");
    Ok(form)
}

fn draft_id() -> Result<String, Problem> {
    let random = ring::rand::generate::<[u8; 16]>(&SystemRandom::new());
    let random = random.map_err(|_| Problem::internal("the system has no random numbers"))?;
    let bytes: [u8; 16] = random.expose();
    Ok(hex::encode(&bytes))
}

/// Creates the job of a form, or returns the form with the findings. Scripts receive JSON.
pub(super) async fn create(headers: HeaderMap, request: UserRequest) -> Result<Response, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let mut form = Form::parse(&fields);
    if form.get(DRAFT).is_empty() {
        form.set(DRAFT, draft_id()?);
    }
    let lists = state.cached.choices.known_lists(&state.client).await;
    if fields.get("action") == Some("show") && !form.get(FROM).is_empty() {
        form = unmask(&state, &form).await?;
    }
    let (mut plan, mut checked) = Checked::new(&state, &form, &lists);
    // The Enter key in a control, or an unknown button, does not create the job.
    let is_check = fields.get("action") != Some("create");
    let mut problem = None;
    if !is_check && checked.errors.is_empty() && !form.get(FROM).is_empty() {
        // The response must contain the form without the secrets.
        let complete = unmask(&state, &form).await?;
        let (of_complete, found) = Checked::new(&state, &complete, &lists);
        (plan, checked.errors) = (of_complete, found.errors);
    }
    if !is_check && checked.errors.is_empty() {
        checked.errors = input_size::check(&state, &plan, &form, &lists).await;
    }
    if !is_check && checked.errors.is_empty() {
        let draft = form.get(DRAFT).to_owned();
        match submit(&state, plan, &draft).await? {
            Ok(job) => {
                // The files of the draft are deleted in the background, because there may be many.
                let site = state.clone();
                tokio::task::spawn_blocking(move || site.drafts.remove(&draft));
                let location = format!("/jobs/{}", job.id());
                return Ok(match is_script(&headers) {
                    true => Json(json!({ "location": location })).into_response(),
                    false => Redirect::to(&location).into_response(),
                });
            }
            Err((error, plan)) if !error.violations().is_empty() => {
                let violations = error.violations().iter();
                let found = violations.map(|violation| {
                    Finding::of_violation(violation, plan.controls.find(violation.field()))
                });
                checked.errors = found.collect();
            }
            Err((error, _)) => problem = Some(Problem::from(error)),
        }
    }
    if is_script(&headers) {
        return match problem {
            Some(problem) => Err(problem),
            None => Ok(Json(checked).into_response()),
        };
    }
    let status = match &problem {
        Some(problem) => problem.status,
        None if checked.errors.is_empty() || is_check => StatusCode::OK,
        None => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let content =
        Content { form, checked, notes: Vec::new(), shows_errors: true, is_blank: false, problem };
    let page = FormPage::new(&state, &visitor, content, &lists);
    Ok((status, Page(page)).into_response())
}

/// Sends the files of a job, and creates the job. Continues if the browser disconnects, because
/// otherwise the state of the job would be unknown.
async fn submit(
    state: &State,
    plan: Plan,
    draft: &str,
) -> Result<Result<Job, (Error, Plan)>, Problem> {
    let draft = state.drafts.get(draft);
    let lock = draft.as_ref().map(Draft::lock).transpose()?;
    let staging = state.staging.clone();
    let work = tokio::spawn(async move {
        let created = match plan.needs_staging() {
            false => plan.job.clone().submit().await,
            true => {
                let mut stage = plan.job.clone().stage(&staging);
                if let Some((code, boot_file)) = &plan.code {
                    stage = stage.code(&code.root, boot_file.as_deref());
                }
                for (name, data) in &plan.data {
                    stage = stage.data(name, &data.root);
                }
                for name in &plan.outputs {
                    stage = stage.output(name);
                }
                if let Some(draft) = draft {
                    stage = stage.on_progress(move |part, progress| {
                        let part = match part {
                            StagedPart::Data(name) => name.clone(),
                            _ => "code".to_owned(),
                        };
                        let (done, total) = (progress.done.bytes, progress.total.bytes);
                        draft.set_progress(Progress { part, done, total });
                    });
                }
                stage.submit().await
            }
        };
        drop(lock);
        created.map_err(|error| (error, plan))
    });
    work.await.map_err(|error| {
        Problem::internal(format!("the creation of the job ended: {error}"))
            .with_advice("look for the job in the list before you create it again")
    })
}
