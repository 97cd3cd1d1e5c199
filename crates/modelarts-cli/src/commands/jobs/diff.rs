//! Command `modelarts diff`, which compares two jobs.

use std::{collections::BTreeMap, time::SystemTime};

use clap::Args;
use futures::stream;
use modelarts_ext::Job;
use modelarts_obs::staging::DataAddress;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    commands::jobs::show::JobDocument,
    exit_status::ExitStatus,
    failure::Failure,
    job_reference::JobArgument,
    output::{Column, Row, or_dash},
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// First job, as in other commands.
    #[arg(value_name = "JOB")]
    first: String,
    /// Second job.
    #[arg(value_name = "JOB")]
    second: String,
    #[cfg(unix)]
    #[command(flatten)]
    pub(crate) local: crate::local_jobs::LocalFlag,
}

/// A field that differs between two jobs, and the names of both.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FieldRow {
    /// `settings` for how the jobs were made, `result` for how they went.
    group: String,
    /// Name of the field in the document of `modelarts show -o json`, such as `parameters.lr`.
    field: String,
    /// Value of the first job; null if it has none.
    first: Option<String>,
    /// Value of the second job; null if it has none.
    second: Option<String>,
}

impl Row for FieldRow {
    const LIST: &'static str = "fields";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::wide("GROUP", |row| row.group.clone()),
        Column::new("FIELD", |row| row.field.clone()),
        Column::new("FIRST", |row| or_dash(row.first.clone())),
        Column::new("SECOND", |row| or_dash(row.second.clone())),
    ];
}

impl Diff {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let client = session.client().await?;
        let first = JobArgument::new(self.first).find(client).await?;
        let second = JobArgument::new(self.second).find(client).await?;
        let rows = differences(&first, &second);
        session.output.list(stream::iter([Ok(rows)])).await?;
        Ok(ExitStatus::Success)
    }
}

/// Fields that tell how a job went. The others of its document are its times, or follow from them.
const RESULTS: [&str; 5] = ["phase", "why", "seconds_queued", "seconds_run", "restarts"];

/// Returns the names of two jobs, and the fields that differ: first those of the settings. Data of
/// one address that is not versioned may differ.
fn differences(first: &Job, second: &Job) -> Vec<FieldRow> {
    let documents = [first, second].map(|job| {
        let document = JobDocument::new(job, &[], SystemTime::now().into());
        serde_json::to_value(document).unwrap_or_default()
    });
    let fields = |select: fn(&Value) -> BTreeMap<String, String>| documents.each_ref().map(select);
    let settings = fields(|document| {
        let mut fields = BTreeMap::new();
        flatten("", &document["settings"], &mut fields);
        fields
    });
    let results = fields(|document| {
        let mut fields = BTreeMap::new();
        for name in RESULTS {
            flatten(name, &document[name], &mut fields);
        }
        for task in document["tasks"].as_array().into_iter().flatten() {
            let name = task["name"].as_str().unwrap_or_default();
            flatten(&format!("tasks.{name}.exit_code"), &task["exit_code"], &mut fields);
        }
        fields
    });
    let row =
        |group: &str, field: &str, first: Option<&String>, second: Option<&String>| FieldRow {
            group: group.to_owned(),
            field: field.to_owned(),
            first: first.cloned(),
            second: second.cloned(),
        };
    let names = [first.name().to_owned(), second.name().to_owned()];
    let mut rows = vec![row("settings", "name", Some(&names[0]), Some(&names[1]))];
    for (group, [first, second]) in [("settings", settings), ("result", results)] {
        let mut fields: Vec<&String> = first.keys().chain(second.keys()).collect();
        fields.sort();
        fields.dedup();
        let different = fields.into_iter().filter(|field| first.get(*field) != second.get(*field));
        rows.extend(different.map(|field| row(group, field, first.get(field), second.get(field))));
        if group == "settings" {
            let inputs = first.iter().filter(|(field, _)| field.starts_with("inputs."));
            let same = inputs.filter(|(field, url)| second.get(*field) == Some(*url));
            for (field, url) in same {
                let Some(name) = field.strip_suffix(".source") else { continue };
                let data = DataAddress::parse(url).filter(|data| data.version().is_none());
                let text = data.map(|data| data.to_string());
                let field = format!("{name}.version");
                rows.extend(text.map(|text| row(group, &field, Some(&text), Some(&text))));
            }
        }
    }
    rows
}

/// Adds the texts in a value with their paths. Elements of a list have their names as paths.
fn flatten(path: &str, value: &Value, fields: &mut BTreeMap<String, String>) {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Null => {}
        Value::Object(members) => {
            for (name, member) in members {
                flatten(&below(name), member, fields);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let name = item["name"].as_str().map_or_else(|| index.to_string(), str::to_owned);
                flatten(&below(&name), item, fields);
            }
        }
        Value::String(text) => {
            fields.insert(path.to_owned(), text.clone());
        }
        value => {
            fields.insert(path.to_owned(), value.to_string());
        }
    }
}
