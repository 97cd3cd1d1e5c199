//! Whole logs, and whole lines, as files.

use std::collections::VecDeque;

use axum::{
    body::Body,
    extract::{Path, State as Shared},
    http::header::{CONTENT_DISPOSITION, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use modelarts_ext::{JobHandle, LogItem};

use crate::{
    access::visitor::Fields,
    job::{
        followed::{FollowedJob, handle},
        head,
        logs::query::{FollowedLog, LogQuery},
    },
    problem::Problem,
    site::State,
};

/// Maximum number of lines that are sent at once.
const CHUNK: usize = 1024;

/// Returns a text as a file with this name.
fn file(name: &str, body: Body) -> Response {
    // Names of jobs and tasks have letters, digits, `-` and `_`.
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_.".contains(*letter);
    let name: String = name.chars().filter(is_plain).collect();
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ),
    ];
    (headers, body).into_response()
}

/// Returns one line without a limit of its length.
pub(super) async fn line(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    fields: Fields,
) -> Result<Response, Problem> {
    let query = LogQuery::parse(&fields)?;
    let number = query.line.map(std::num::NonZeroU64::get);
    let number = number.ok_or_else(|| Problem::invalid("`line` must be the number of a line"))?;
    let log = FollowedLog::look(&state, &handle(&state, &id)?).await?;
    let view = query.view(&log.spool)?;
    let lines = log.read(move |spool| spool.window(view, number - 1, 1, usize::MAX));
    let line = lines.await?.pop();
    let line = line.ok_or_else(|| Problem::not_found(format!("the log has no line {number}")))?;
    let task = query.task.as_deref().unwrap_or("all");
    Ok(file(
        &format!("{id}-{task}-line-{number}.txt"),
        line.text.into(),
    ))
}

/// Returns the whole log of a task as it is now, or the logs of all tasks one after another.
pub(super) async fn log(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    fields: Fields,
) -> Result<Response, Problem> {
    let followed = FollowedJob::look(&state, &id).await?;
    let known = followed.job.tasks();
    let (name, tasks) = match fields.get("task") {
        Some(task) if known.iter().any(|known| known == task) => (task, vec![task.to_owned()]),
        Some(task) => {
            let message = format!("the job has no task {task:?}");
            return Err(Problem::not_found(message));
        }
        None => ("all", known.to_vec()),
    };
    let has_titles = tasks.len() > 1;
    let handle = JobHandle::from(&followed.job);
    let logs: VecDeque<_> = tasks
        .into_iter()
        .map(|task| (handle.logs(&task).stream(), task))
        .collect();
    let mut parts = stream::iter(logs)
        .flat_map(move |(lines, task)| {
            let title = has_titles.then(|| Ok(Bytes::from(format!("==> {task} <==\n"))));
            let text = lines.ready_chunks(CHUNK).map(move |lines| {
                let mut text = String::new();
                for line in lines {
                    match line {
                        Ok(LogItem::Line(line)) => text.push_str(&line),
                        Ok(LogItem::Gap { .. }) => text.push_str("[lines are missing]"),
                        // A task that has not started has no log.
                        Err(error) if has_titles && error.is_not_ready() => continue,
                        Err(error) => return Err(error),
                        Ok(_) => continue,
                    }
                    text.push('\n');
                }
                Ok(Bytes::from(text))
            });
            stream::iter(title).chain(text)
        })
        .boxed();
    // An error before the first part is a response of its own.
    let first = parts.try_next().await?;
    let parts = stream::iter(first.map(Ok)).chain(parts);
    let name = format!("{}-{name}.log", head::name(&followed.job));
    Ok(file(&name, Body::from_stream(parts)))
}
