//! Page that compares two to ten jobs: settings that differ, ends, and values over each other.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use axum::Json;
use futures::future::{join_all, try_join_all};
use modelarts_ext::{Job, masking::mask};
use serde::Serialize;
use serde_json::Value;

use crate::{
    access::visitor::Fields,
    display,
    job::{
        followed::FollowedJob,
        values::{curves, render_tables},
    },
    live::curves::{CurveChart, charts},
    page::{Layout, Page, Section},
    problem::Problem,
    site::UserRequest,
};

const MOST: usize = 10;

#[derive(Template)]
#[template(path = "jobs/compare.html")]
pub(crate) struct ComparePage {
    layout: Layout,
    jobs: Vec<Column>,
    /// Settings that differ: the name, and the value of each job.
    settings: Vec<(String, Vec<Option<String>>)>,
    /// Query of the address of the data.
    query: String,
}

impl ComparePage {
    fn has_codes(&self) -> bool {
        self.jobs.iter().any(|job| !job.exit_codes.is_empty())
    }

    fn has_reasons(&self) -> bool {
        self.jobs.iter().any(|job| !job.why.is_empty())
    }
}

/// Column of a job.
struct Column {
    id: String,
    name: String,
    phase: String,
    style: &'static str,
    symbol: &'static str,
    ran: String,
    exit_codes: String,
    why: String,
}

#[derive(Serialize)]
pub(crate) struct CompareView {
    charts: Vec<CurveChart>,
    tables: String,
    has_ended: bool,
}

/// Returns the ids of the jobs that an address selects by the fields `id`.
fn ids(fields: &Fields) -> Result<Vec<&str>, Problem> {
    let mut ids: Vec<&str> = Vec::new();
    for id in fields.all("id") {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    match ids.len() {
        2..=MOST => Ok(ids),
        count => Err(Problem::invalid(format!(
            "the number of selected jobs must be 2 to {MOST}, and is {count}"
        ))
        .with_advice("select the jobs in the list")),
    }
}

pub(super) async fn show(request: UserRequest) -> Result<Page<ComparePage>, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let jobs = try_join_all(ids(&fields)?.into_iter().map(|id| state.job(id))).await?;
    let documents = try_join_all(jobs.iter().map(settings)).await?;
    let (plain, masked): (Vec<_>, Vec<_>) = documents.into_iter().unzip();
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(jobs.iter().map(|job| ("id", job.id())));
    Ok(Page(ComparePage {
        layout: Layout::new(&state, &visitor, Section::Jobs, "Compare jobs"),
        settings: differences(&plain, &masked),
        jobs: jobs.iter().map(Column::new).collect(),
        query: query.finish(),
    }))
}

pub(super) async fn data(request: UserRequest) -> Result<Json<CompareView>, Problem> {
    let UserRequest { state, fields, .. } = request;
    let followed = ids(&fields)?.into_iter().map(|id| FollowedJob::follow(&state, id));
    let jobs: Vec<Job> = try_join_all(followed).await?.into_iter().map(|it| it.job).collect();
    let read = join_all(jobs.iter().map(async |job| {
        let task = job.tasks().first().cloned().unwrap_or_default();
        curves(&state, job, &task).await
    }));
    let (mut logs, mut problems, mut has_ended) = (Vec::new(), Vec::new(), true);
    for (job, read) in jobs.iter().zip(read.await) {
        // A log that cannot be read must not hide the others.
        match read {
            Ok((curves, is_complete)) => {
                has_ended &= is_complete;
                logs.push((display::name(job).to_owned(), curves));
            }
            Err(problem) => {
                problems.push(format!("{}: {}", display::name(job), problem.sentence()))
            }
        }
    }
    let charts = charts(&logs);
    let tables = render_tables(&charts, has_ended, problems)?;
    Ok(Json(CompareView { charts, tables, has_ended }))
}

impl Column {
    fn new(job: &Job) -> Self {
        let (style, symbol) = display::phase_style(&job.phase());
        let codes: Vec<_> =
            job.exit_codes().map(|(task, code)| format!("{task}: {code}")).collect();
        Self {
            id: job.id().to_owned(),
            name: display::name(job).to_owned(),
            phase: job.phase().to_string(),
            style,
            symbol,
            ran: job.time_run().map(display::duration).unwrap_or_default(),
            exit_codes: codes.join(", "),
            why: job.status_reason().unwrap_or_default(),
        }
    }
}

type Document = BTreeMap<String, String>;

/// Returns the settings of a job by their names, as they are and with masked secrets.
async fn settings(job: &Job) -> Result<(Document, Document), Problem> {
    let body = job.copy_as(job.name()).await?.body();
    let mut masked = body.clone();
    mask(&mut masked);
    let [plain, masked] = [body, masked].map(|body| {
        let mut settings = Document::new();
        flatten("", &body, &mut settings);
        settings.remove("metadata.name");
        settings
    });
    Ok((plain, masked))
}

/// Adds the texts of a document by their paths. Elements of a list with names have these as paths.
fn flatten(path: &str, value: &Value, into: &mut Document) {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| flatten(&below(name), value, into));
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                let name =
                    element["name"].as_str().map_or_else(|| index.to_string(), str::to_owned);
                match element.get("value") {
                    Some(value) => flatten(&below(&name), value, into),
                    None => flatten(&below(&name), element, into),
                }
            }
        }
        Value::String(text) => drop(into.insert(path.to_owned(), text.clone())),
        value => drop(into.insert(path.to_owned(), value.to_string())),
    }
}

/// Returns the settings that differ, hyper-parameters first, with their masked values.
fn differences(plain: &[Document], masked: &[Document]) -> Vec<(String, Vec<Option<String>>)> {
    const PARAMETERS: &str = "algorithm.parameters.";
    let names = plain.iter().flat_map(Document::keys);
    let names: BTreeSet<(bool, &str)> =
        names.map(|name| (!name.starts_with(PARAMETERS), name.as_str())).collect();
    let differ = |name: &str| {
        let mut values = plain.iter().map(|document| document.get(name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let rows = names.into_iter().filter(|(_, name)| differ(name)).map(|(_, name)| {
        let values = masked.iter().map(|document| document.get(name).cloned()).collect();
        (name.strip_prefix(PARAMETERS).unwrap_or(name).to_owned(), values)
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_that_differ_are_shown_hyper_parameters_first() {
        let document = |rate: &str, nodes: u32, seed: Option<&str>| {
            let mut settings = Document::new();
            let mut body = json!({
                "algorithm": {"code_dir": "/b/code/", "parameters": [{"name": "lr", "value": rate}],
                              "inputs": [{"name": "data", "remote": {"obs": {"obs_url": "/b/d/"}}}]},
                "spec": {"resource": {"node_count": nodes}},
            });
            if let Some(seed) = seed {
                body["algorithm"]["parameters"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({"name": "seed", "value": seed}));
            }
            flatten("", &body, &mut settings);
            settings
        };
        let documents = [document("0.1", 1, None), document("0.2", 2, Some("7"))];
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            differences(&documents, &documents),
            [
                ("lr".to_owned(), vec![text("0.1"), text("0.2")]),
                ("seed".to_owned(), vec![None, text("7")]),
                ("spec.resource.node_count".to_owned(), vec![text("1"), text("2")]),
            ]
        );
        assert!(documents[0].contains_key("algorithm.inputs.data.remote.obs.obs_url"));
    }
}
