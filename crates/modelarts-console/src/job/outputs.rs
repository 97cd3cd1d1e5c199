//! Tab with the files in the outputs of a job, their preview and their download.

use std::{collections::BTreeMap, str::FromStr};

use askama::Template;
use axum::{
    Router,
    body::Body,
    extract::Path,
    http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use futures::{
    StreamExt, TryStreamExt,
    future::{join_all, ready},
};
use modelarts_ext::{Job, Timestamp};
use modelarts_obs::{Bucket, ObsPath};

use crate::{
    access::visitor::Fields,
    display,
    job::frame::{JobFrame, Tab},
    live::text::printable,
    page::{Layout, Page, Section, attachment},
    problem::Problem,
    site::{State, UserRequest},
};

/// Maximum number of files of an output that are listed.
const MAX_FILES: usize = 1_000;
/// Maximum number of bytes of a text that are shown, and maximum size of an image.
const MAX_TEXT: usize = 64 << 10;
const MAX_IMAGE: u64 = 10 << 20;
/// Endings of files with text, and of images with their types.
const TEXTS: [&str; 16] = [
    "cfg", "csv", "ini", "json", "jsonl", "log", "md", "py", "sh", "toml", "tsv", "txt", "xml",
    "yaml", "yml", "html",
];
const IMAGES: [(&str, &str); 5] = [
    ("gif", "image/gif"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("png", "image/png"),
    ("webp", "image/webp"),
];

#[derive(Template)]
#[template(path = "job/outputs.html")]
struct OutputsPage {
    layout: Layout,
    frame: JobFrame,
    outputs: Vec<OutputView>,
    preview: Option<Preview>,
    has_ended: bool,
}

struct OutputView {
    name: String,
    /// Address in OBS.
    address: String,
    directories: Vec<Directory>,
    /// Number and size of all listed files.
    summary: String,
    has_more: bool,
    problem: Option<Problem>,
}

/// Files of an output that are in the same directory.
struct Directory {
    /// Path below the output; empty for the output itself.
    path: String,
    /// Number and size of the files.
    summary: String,
    files: Vec<FileRow>,
}

struct FileRow {
    /// Path below the output.
    path: String,
    /// Size in bytes.
    len: u64,
    size: String,
    modified: String,
    can_preview: bool,
}

/// File whose contents are shown.
struct Preview {
    output: String,
    path: String,
    content: Content,
}

enum Content {
    /// Text, and `true` if it is only the beginning.
    Text(String, bool),
    Image,
    /// Reason why the file is not shown.
    None(String),
}

pub(crate) fn routes() -> Router<State> {
    Router::new().route("/jobs/{id}/outputs", get(show)).route("/jobs/{id}/outputs/file", get(file))
}

/// An output of a job, and the directory in OBS to which it is copied.
struct Output {
    name: String,
    address: ObsPath,
}

impl Output {
    fn all(job: &Job) -> Vec<Self> {
        let algorithm = job.details().algorithm.as_deref();
        let outputs = algorithm.map_or(&[][..], |algorithm| &algorithm.outputs).iter();
        let outputs = outputs.filter_map(|output| {
            let address = ObsPath::from_str(&display::target_of_output(output)?).ok()?;
            Some(Self { name: output.name.clone().unwrap_or_default(), address })
        });
        outputs.collect()
    }

    fn bucket(&self, state: &State) -> Result<Bucket, Problem> {
        Ok(state.staging.connect()?.bucket(self.address.bucket())?)
    }

    async fn view(&self, state: &State) -> OutputView {
        let read = self.files(state).await;
        let (mut files, problem) = match read {
            Ok(files) => (files, None),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        let has_more = files.len() > MAX_FILES;
        files.truncate(MAX_FILES);
        let first = if has_more { "the first " } else { "" };
        OutputView {
            name: self.name.clone(),
            address: self.address.to_string(),
            summary: format!("{first}{}", summary(&files)),
            directories: directories(files),
            has_more,
            problem,
        }
    }

    /// Returns the files by path, at most one more than are shown.
    async fn files(&self, state: &State) -> Result<Vec<FileRow>, Problem> {
        let objects = self.bucket(state)?.list(self.address.key());
        // An object whose key ends with a slash stands for an empty directory.
        let objects = objects.try_filter(|object| ready(!object.key().ends_with('/')));
        let objects = objects.take(MAX_FILES + 1);
        let objects: Vec<_> = objects.try_collect().await?;
        let prefix = format!("{}/", self.address.key().trim_end_matches('/'));
        let files = objects.into_iter().map(|object| {
            let path = object.key().strip_prefix(&prefix).unwrap_or(object.key());
            FileRow {
                path: path.to_owned(),
                len: object.size(),
                size: display::bytes(object.size()),
                modified: Timestamp::from(object.modified()).to_string(),
                can_preview: is_text(path) || image_type(path).is_some(),
            }
        });
        let mut files: Vec<_> = files.collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(files)
    }
}

impl FileRow {
    /// Returns the directory and the name of the file.
    fn parts(&self) -> (&str, &str) {
        self.path.rsplit_once('/').unwrap_or(("", &self.path))
    }
}

fn summary(files: &[FileRow]) -> String {
    let noun = if files.len() == 1 { "file" } else { "files" };
    format!("{} {noun}, {}", files.len(), display::bytes(files.iter().map(|file| file.len).sum()))
}

/// Returns the files by directory, those of the output itself first.
fn directories(files: Vec<FileRow>) -> Vec<Directory> {
    let mut found: BTreeMap<String, Vec<FileRow>> = BTreeMap::new();
    for file in files {
        found.entry(file.parts().0.to_owned()).or_default().push(file);
    }
    let found = found.into_iter();
    found.map(|(path, files)| Directory { path, summary: summary(&files), files }).collect()
}

/// Returns the output and the path in it that a request selects; `None` if it selects none.
fn selected<'a>(job: &Job, fields: &'a Fields) -> Result<Option<(Output, &'a str)>, Problem> {
    let Some(path) = fields.get("path") else { return Ok(None) };
    let name = fields.get("output").unwrap_or_default();
    let output = Output::all(job).into_iter().find(|output| output.name == name);
    let output = output.ok_or_else(|| {
        Problem::not_found(format!("the job has no output {name:?} with an address in OBS"))
    })?;
    match path.split('/').any(|part| [".", "..", ""].contains(&part)) {
        true => Err(Problem::invalid(format!("`path` must be a file of the output, not {path:?}"))),
        false => Ok(Some((output, path))),
    }
}

async fn show(Path(id): Path<String>, request: UserRequest) -> Result<Page<OutputsPage>, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let job = state.job(&id).await?;
    let preview = match selected(&job, &fields)? {
        Some((output, path)) => Some(Preview {
            content: preview(&state, &output, path)
                .await
                .unwrap_or_else(|problem| Content::None(problem.sentence())),
            output: output.name,
            path: path.to_owned(),
        }),
        None => None,
    };
    let outputs = Output::all(&job);
    let outputs = join_all(outputs.iter().map(|output| output.view(&state))).await;
    let (layout, frame) = JobFrame::of(&state, &visitor, &job, Tab::Outputs).await?;
    Ok(Page(OutputsPage { layout, frame, outputs, preview, has_ended: job.is_final() }))
}

async fn preview(state: &State, output: &Output, path: &str) -> Result<Content, Problem> {
    let address = output.address.join(path)?;
    let (object, mut parts) = output.bucket(state)?.get_stream(address.key()).await?;
    if image_type(path).is_some() {
        return Ok(match object.size() <= MAX_IMAGE {
            true => Content::Image,
            false => Content::None(format!(
                "Images of more than {} are not shown.",
                display::bytes(MAX_IMAGE)
            )),
        });
    }
    let mut text = Vec::new();
    while text.len() < MAX_TEXT
        && let Some(part) = parts.try_next().await?
    {
        text.extend_from_slice(&part);
    }
    let is_cut = text.len() > MAX_TEXT || object.size() > text.len() as u64;
    text.truncate(MAX_TEXT);
    if text.contains(&0) {
        return Ok(Content::None("This file is not a text.".to_owned()));
    }
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().map(printable).collect();
    Ok(Content::Text(lines.join("\n"), is_cut))
}

/// Returns a file as a download, or an image for its preview.
async fn file(Path(id): Path<String>, request: UserRequest) -> Result<Response, Problem> {
    let UserRequest { state, fields, .. } = request;
    let job = state.job(&id).await?;
    let selected = selected(&job, &fields)?;
    let (output, path) = selected.ok_or_else(|| Problem::invalid("`path` must be given"))?;
    let address = output.address.join(path)?;
    let (object, parts) = output.bucket(&state)?.get_stream(address.key()).await?;
    let name = attachment(path.rsplit('/').next().unwrap_or(path));
    let image = image_type(path).filter(|_| fields.get("view").is_some());
    let (kind, disposition) = match image {
        Some(kind) => (kind, "inline".to_owned()),
        // A browser must not run what a job has written.
        None => ("application/octet-stream", name),
    };
    let headers = [
        (CONTENT_TYPE, kind.to_owned()),
        (CONTENT_DISPOSITION, disposition),
        (CONTENT_LENGTH, object.size().to_string()),
    ];
    Ok((headers, Body::from_stream(parts)).into_response())
}

/// Returns the address of a file, or of its preview without `below`.
pub(crate) fn address(id: &str, below: &str, output: &str, path: &str) -> String {
    let mut fields = url::form_urlencoded::Serializer::new(String::new());
    let fields = fields.append_pair("output", output).append_pair("path", path).finish();
    format!("/jobs/{id}/outputs{below}?{fields}")
}

fn ending(path: &str) -> String {
    path.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default()
}

fn is_text(path: &str) -> bool {
    TEXTS.contains(&&*ending(path))
}

fn image_type(path: &str) -> Option<&'static str> {
    let ending = ending(path);
    IMAGES.iter().find(|(known, _)| *known == ending).map(|(_, kind)| *kind)
}
