//! Downloads of complete logs and of complete lines.

use std::{collections::VecDeque, io, num::NonZeroU64};

use axum::{
    body::Body,
    extract::Path,
    http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use futures::stream;
use modelarts_ext::JobHandle;
use tokio::{fs::File, io::AsyncReadExt};

use crate::{
    display,
    job::{
        followed::FollowedJob,
        logs::query::{FollowedLog, LogQuery},
    },
    live::{log::storage_problem, text::plain},
    page::attachment,
    problem::Problem,
    site::UserRequest,
    temporary,
};

/// Maximum size of a chunk of a response, in bytes.
const PART: usize = 256 << 10;

/// Returns a response that downloads a text as a file with this name and size.
fn file(name: &str, len: u64, body: Body) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, attachment(name)),
        (CONTENT_LENGTH, len.to_string()),
    ];
    (headers, body).into_response()
}

/// Returns the complete text of one line, without a limit of its length.
pub(super) async fn line(
    Path(id): Path<String>,
    request: UserRequest,
) -> Result<Response, Problem> {
    let UserRequest { state, fields, .. } = request;
    let query = LogQuery::parse(&fields)?;
    let number = query.line.map(NonZeroU64::get);
    let number = number.ok_or_else(|| Problem::invalid("`line` must be the number of a line"))?;
    let log = FollowedLog::follow(&state, &state.handle(&id)?).await?;
    let view = query.view(&log.spool)?;
    let lines = log.read(move |spool| spool.window(view, number - 1, 1, usize::MAX));
    let line = lines.await?.pop();
    let line = line.ok_or_else(|| Problem::not_found(format!("the log has no line {number}")))?;
    let task = query.task.as_deref().unwrap_or("all");
    let name = format!("{id}-{task}-line-{number}.txt");
    let text = plain(&line.text).into_owned();
    Ok(file(&name, text.len() as u64, text.into()))
}

/// Content of a response: a text, or a file to read.
enum Content {
    Text(Bytes),
    File(std::path::PathBuf),
    Open(File),
}

/// Returns the current log of a task, or the logs of all tasks one after another. Reads the logs
/// completely before the first byte is sent, so that an error does not truncate the file.
pub(super) async fn log(Path(id): Path<String>, request: UserRequest) -> Result<Response, Problem> {
    let UserRequest { state, fields, .. } = request;
    let followed = FollowedJob::follow(&state, &id).await?;
    let known = followed.job.tasks();
    let (name, tasks) = match fields.get("task") {
        Some(task) if known.iter().any(|known| known == task) => (task, vec![task.to_owned()]),
        Some(task) => {
            let message = format!("the job has no task {task:?}");
            return Err(Problem::not_found(message));
        }
        None => ("all", known.to_vec()),
    };
    let dir = temporary::directory("modelarts-logs-").map_err(|error| storage_problem(&error))?;
    let handle = JobHandle::from(&followed.job);
    let has_titles = tasks.len() > 1;
    let (mut contents, mut len) = (VecDeque::new(), 0);
    for (number, task) in tasks.into_iter().enumerate() {
        if has_titles {
            let title = Bytes::from(format!("==> {task} <==\n"));
            len += title.len() as u64;
            contents.push_back(Content::Text(title));
        }
        let path = dir.path().join(number.to_string());
        match handle.logs(task).download(&path).await {
            Ok(log) => {
                len += log.bytes;
                contents.push_back(Content::File(path));
            }
            // A task that has not started has no log.
            Err(error) if has_titles && error.is_not_ready() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let name = format!("{}-{name}.log", display::name(&followed.job));
    let parts = stream::try_unfold((dir, contents), |(dir, mut contents)| async move {
        let part = next_part(&mut contents).await?;
        Ok::<_, io::Error>(part.map(|part| (part, (dir, contents))))
    });
    Ok(file(&name, len, Body::from_stream(parts)))
}

/// Returns the next chunk of a response; `None` at the end.
async fn next_part(contents: &mut VecDeque<Content>) -> io::Result<Option<Bytes>> {
    while let Some(content) = contents.pop_front() {
        let mut file = match content {
            Content::Text(text) => return Ok(Some(text)),
            Content::File(path) => File::open(path).await?,
            Content::Open(file) => file,
        };
        let mut part = BytesMut::with_capacity(PART);
        if file.read_buf(&mut part).await? > 0 {
            contents.push_front(Content::Open(file));
            return Ok(Some(part.freeze()));
        }
    }
    Ok(None)
}
