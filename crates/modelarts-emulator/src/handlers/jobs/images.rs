//! Task containers saved as images: records whose status depends on the time since the request.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::{
    api::{
        error::ApiError,
        json_field::JsonField,
        response::{ApiResponse, Reply, ok},
    },
    clock::timestamp::Timestamp,
    handlers::{call::ApiCall, jobs::logs},
    job::{Job, SavedImage, state::JobState},
};

const MAX_NAME: usize = 512;
const MAX_TAG: usize = 64;

/// Status while the container is being saved. In this state, the container cannot be saved again.
const CREATING: &str = "CREATING";

/// Returns the status of an image. Saving fails if the container ends before the image is saved.
fn status(call: &ApiCall<'_>, job: &Job, image: &SavedImage, now: Timestamp) -> &'static str {
    let done = image.created.plus(call.state.settings.timing.saving_image);
    let end = job.history.records.get(image.run).and_then(|run| run.end.as_ref());
    if end.is_some_and(|end| end.at < done.whole_second()) {
        "CREATE_FAILED"
    } else if now < done {
        CREATING
    } else {
        "ACTIVE"
    }
}

fn render(image: &SavedImage, status: &str) -> Value {
    // The message for `ACTIVE` was observed on the service (SOURCES K).
    let message = match status {
        "ACTIVE" => "BuildImage,True,Commit successfully|PushImage,True,Push successfully",
        _ => "",
    };
    json!({
        "name": image.name,
        "namespace": image.namespace,
        "tag": image.tag,
        "description": image.description,
        "status": status,
        "message": message,
        "create_time": image.created.millis(),
    })
}

/// Character class: its name in error messages, and a function that returns `true` for its members.
type Letters = (&'static str, fn(&u8) -> bool);

/// Reads a string member of 1 to `most` characters: `letters`, digits, hyphens, underscores, dots.
fn read_word<'a>(
    body: &JsonField<'a>,
    name: &str,
    most: usize,
    (letters, is_letter): Letters,
) -> Result<&'a str, ApiError> {
    let field = body.required(name)?;
    let text = field.text()?;
    let fits = |byte: u8| is_letter(&byte) || byte.is_ascii_digit() || b"-_.".contains(&byte);
    if !(1..=most).contains(&text.len()) || !text.bytes().all(fits) {
        return Err(field.must(format!("be 1 to {most} {letters}, digits or -_.")));
    }
    Ok(text)
}

/// Saves the container of a running task as an image. `runtime_type` is optional (SOURCES D-116).
pub(crate) fn create(call: &ApiCall<'_>) -> Reply {
    call.read(|_| ())?;
    let body = call.json()?;
    let body = JsonField::root(&body);
    let lower: Letters = ("lower-case letters", u8::is_ascii_lowercase);
    let name = read_word(&body, "name", MAX_NAME, lower)?;
    let namespace = body.required_text("namespace")?;
    let tag = read_word(&body, "tag", MAX_TAG, ("letters", u8::is_ascii_alphabetic))?;
    let description = body.get("description")?;
    let description = description.map(|field| field.text_up_to(512)).transpose()?;
    let task = logs::worker(call)?.task();
    let organizations = &call.state.offer.organizations;
    if !(organizations.is_empty() || organizations.contains(namespace)) {
        return Err(ApiError::of(2885, &[]));
    }
    let now = call.now();
    let shown = call.update(|job| {
        if job.state != JobState::Running {
            return Err(ApiError::of(2883, &[]));
        }
        let last = job.history.images.get(&task);
        if last.is_some_and(|last| status(call, job, last, now) == CREATING) {
            return Err(ApiError::of(2880, &[]));
        }
        let image = SavedImage {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            tag: tag.to_owned(),
            description: description.unwrap_or_default().to_owned(),
            created: now,
            run: job.history.records.len().saturating_sub(1),
        };
        let shown = render(&image, "INIT");
        job.history.images.insert(task, image);
        Ok(shown)
    })??;
    Ok(ApiResponse::json(StatusCode::CREATED, shown))
}

pub(crate) fn show(call: &ApiCall<'_>) -> Reply {
    let now = call.now();
    let shown = call.read(|job| {
        let image = job.history.images.get(call.id("task_id"))?;
        Some(render(image, status(call, job, image, now)))
    })?;
    ok(shown.ok_or_else(|| ApiError::of(2881, &[]))?)
}
