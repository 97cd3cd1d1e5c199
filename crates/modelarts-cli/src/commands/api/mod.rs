//! `modelarts api`: any operation of the description, by its tables.

mod body;
mod description;

pub(crate) use description::{DOCUMENT, OperationDetails, OperationRow, documented};

use std::collections::BTreeMap;

use clap::Args;
use futures::{StreamExt, stream};
use modelarts_ext::{
    api::{Effect, OPERATIONS, Offset, Operation, Pagination},
    masking::mask,
    operations::OperationCall,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    confirmation::confirm,
    exit_status::ExitStatus,
    failure::Failure,
    job_reference::JobArgument,
    output::{Document, Format},
    session::Session,
    terminal::note_masked,
    wording::near_or,
};

/// Parameter with a job, and the value that stands for the last one of this directory.
const JOB: &str = "training_job_id";
const LAST: &str = "@last";

const LONG_HELP: &str = "\
The formats json, ndjson and yaml print the JSON of the service, which is not covered by the \
schemas of this program and has no schema_version. Values of environment variables, tokens and \
signatures of links are printed as ***, unless --show-secrets is given.

Examples:
  modelarts api                                      all operations
  modelarts api ListTrainingJobs --describe          parameters, fields and an example of the body
  modelarts api ShowTrainingQuotas
  modelarts api ListTrainingJobEvents training_job_id=@last --all -o ndjson
  modelarts api CreateTrainingExperiment -f metadata.name=sweep --dry-run";

#[derive(Debug, Args)]
#[command(after_long_help = LONG_HELP)]
pub(crate) struct Api {
    /// Name of the operation, such as ShowTrainingQuotas; if not given, all operations are listed.
    #[arg(value_name = "OPERATION")]
    operation: Option<String>,
    /// Parameters of the path, the query and the headers. The project of the client is always set.
    #[arg(value_name = "KEY=VALUE")]
    parameters: Vec<String>,
    /// Body: a file with JSON or YAML, - for stdin, or JSON.
    #[arg(long, value_name = "FILE|JSON")]
    body: Option<String>,
    /// Field of the body, such as metadata.name=sweep or spec.volumes[0].nfs={...}; the description
    /// determines its type. May be repeated, also with --body.
    #[arg(short, long = "field", value_name = "PATH=VALUE")]
    fields: Vec<String>,
    /// Reads all pages of a list.
    #[arg(long)]
    all: bool,
    /// Prints parameters, fields and an example of the body.
    #[arg(long, conflicts_with_all = ["all", "dry_run"])]
    describe: bool,
    /// Prints the request without sending it.
    #[arg(long)]
    dry_run: bool,
    /// Prints secrets in responses.
    #[arg(long)]
    show_secrets: bool,
    /// Deletes without a question.
    #[arg(short, long)]
    yes: bool,
}

impl Api {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let Some(name) = &self.operation else {
            let rows = OPERATIONS.iter().map(OperationRow::new).collect();
            session.output.list(stream::iter([Ok(rows)])).await?;
            return Ok(ExitStatus::Success);
        };
        let operation = find(name)?;
        if self.describe {
            session.output.document(&OperationDetails::new(operation))?;
            return Ok(ExitStatus::Success);
        }
        if self.all {
            pagination(operation)?;
        }
        let parameters = self.parameters(operation)?;
        let mut body = body::read(operation, self.body.as_deref(), &self.fields)?;
        let takes_body = operation.parameters().any(|parameter| parameter.name == "body");
        // A search needs a request body even if it has no conditions.
        if body.is_none() && takes_body && operation.effect == Effect::Read {
            body = Some(Value::Object(Map::new()));
        }
        let client = session.client().await?;
        let mut call = client.operation(operation.id)?;
        for (name, value) in parameters {
            if name == JOB && value == LAST {
                let job = JobArgument::new(LAST).find(client).await?;
                call = call.parameter(name, job.id());
            } else {
                call = call.parameter(name, value);
            }
        }
        if let Some(body) = body {
            call = call.body(body);
        }
        if self.dry_run {
            let request = PreparedRequest::new(&call, self.show_secrets)?;
            session.output.document(&request)?;
            return Ok(ExitStatus::Success);
        }
        if destroys(operation) {
            let target: Vec<&str> = self.parameters.iter().map(String::as_str).collect();
            let action = format!("call {} {}", operation.id, target.join(" "));
            confirm(session.terminal, self.yes, action.trim_end())?;
        }
        match self.all {
            true => self.print_all(session, call).await?,
            false => {
                let value = call.send().await?.into_inner();
                // Deletions return no body or an empty text.
                let is_empty = value.is_null() || value == "" && session.output.is_text();
                if !is_empty {
                    self.print(session, value)?;
                }
            }
        }
        Ok(ExitStatus::Success)
    }

    /// Parses the parameters into names and values. The error suggests names that exist.
    fn parameters<'a>(&'a self, operation: &Operation) -> Result<Vec<(&'a str, &'a str)>, Failure> {
        let names = || operation.parameters().map(|parameter| parameter.name);
        let parse = |text: &'a String| {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                Failure::usage(format_args!(
                    "{text:?}: a parameter must be KEY=VALUE, such as training_job_id=ID"
                ))
            })?;
            if name == "body" || !names().any(|known| known == name) {
                let list = || format!("`modelarts api {} --describe` lists them", operation.id);
                let hint = near_or(name, names().filter(|name| *name != "body"), list);
                return Err(Failure::usage(format_args!(
                    "{} has no parameter {name}; {hint}",
                    operation.id
                )));
            }
            Ok((name, value))
        };
        self.parameters.iter().map(parse).collect()
    }

    fn print(&self, session: &Session, mut value: Value) -> Result<(), Failure> {
        if !self.show_secrets {
            note_masked(mask(&mut value));
        }
        match session.output.format {
            Format::Id => session.output.ids(rows(&value).into_iter().map(id)),
            _ => session.output.foreign(value),
        }
    }

    /// Prints the rows of all pages. The formats `ndjson` and `id` print each row as it arrives;
    /// the other formats print one document in the form of a page.
    async fn print_all(&self, session: &Session, call: OperationCall) -> Result<(), Failure> {
        let pagination = pagination(call.operation())?;
        let mut pages = call.list().pages();
        let (mut all, mut masked) = (Vec::new(), 0);
        while let Some(page) = pages.next().await.transpose()? {
            let mut rows = page.items;
            if !self.show_secrets {
                masked += rows.iter_mut().map(mask).sum::<usize>();
            }
            match session.output.format {
                Format::Id => session.output.ids(rows.iter().map(id))?,
                Format::Ndjson => {
                    rows.into_iter().try_for_each(|row| session.output.foreign(row))?;
                }
                _ => all.append(&mut rows),
            }
        }
        note_masked(masked);
        if matches!(session.output.format, Format::Id | Format::Ndjson) {
            return Ok(());
        }
        let names = pagination.items.rsplit('.').filter(|name| !name.is_empty());
        let document = names.fold(Value::Array(all), |value, name| {
            Value::Object(Map::from_iter([(name.to_owned(), value)]))
        });
        session.output.foreign(document)
    }
}

/// Returns the operation whose name, in upper or lower case, or whose method name is `name`.
fn find(name: &str) -> Result<&'static Operation, Failure> {
    let is_named = |operation: &&Operation| {
        operation.id.eq_ignore_ascii_case(name) || operation.method_name == name
    };
    OPERATIONS.iter().find(is_named).ok_or_else(|| {
        let ids = OPERATIONS.iter().map(|operation| operation.id);
        let hint = near_or(name, ids, || "`modelarts api` lists all".to_owned());
        Failure::usage(format_args!("no operation is called {name}; {hint}"))
    })
}

/// Returns the pagination of a list. Returns an error if `--all` cannot read the list.
fn pagination(operation: &'static Operation) -> Result<Pagination, Failure> {
    let reason = match operation.pagination {
        Some(pagination) if pagination.offset != Offset::LineCursor => return Ok(pagination),
        Some(_) => "reads parts of a log, for which `modelarts logs` exists",
        None => "does not return a list",
    };
    Err(Failure::usage(format_args!(
        "--all: {} {reason}; the argument must be left out",
        operation.id
    )))
}

fn destroys(operation: &Operation) -> bool {
    operation.method == "DELETE" || operation.method_name.contains("delete")
}

/// Returns the rows of a response: its first list of objects, or the response itself.
fn rows(value: &Value) -> Vec<&Value> {
    let list = match value {
        Value::Array(rows) => Some(rows),
        Value::Object(fields) if id(value).is_none() => {
            let mut lists = fields.values().filter_map(Value::as_array);
            lists.find(|rows| rows.iter().any(Value::is_object))
        }
        _ => None,
    };
    list.map_or_else(|| vec![value], |rows| rows.iter().collect())
}

fn id(row: &Value) -> Option<&str> {
    let id = row.get("id").or_else(|| row.pointer("/metadata/id"));
    id.and_then(Value::as_str)
}

/// A request without its signature.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PreparedRequest {
    /// Operation.
    operation: &'static str,
    /// HTTP method.
    method: String,
    /// Address with the query.
    url: String,
    /// Headers, without those of the signature.
    headers: BTreeMap<String, String>,
    /// JSON body; null if there is none.
    body: Option<Value>,
}

impl PreparedRequest {
    /// Builds the request of a call. Secrets in the body are masked unless `show_secrets` is set.
    pub(crate) fn new(call: &OperationCall, show_secrets: bool) -> Result<Self, Failure> {
        let request = call.request()?;
        let headers = request.headers().iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.to_string(), value.into_owned())
        });
        let bytes = request.body().and_then(|body| body.as_bytes());
        let body = bytes.map(serde_json::from_slice).transpose();
        let mut body: Option<Value> = body.map_err(Failure::local)?;
        if let Some(body) = &mut body
            && !show_secrets
        {
            mask(body);
        }
        Ok(Self {
            operation: call.operation().id,
            method: request.method().to_string(),
            url: request.url().to_string(),
            headers: headers.collect(),
            body,
        })
    }
}

impl Document for PreparedRequest {
    fn folds(&self) -> bool {
        false
    }

    fn text(&self, _wide: bool, _width: Option<u16>) -> String {
        let mut text = format!("{} {}", self.method, self.url);
        for (name, value) in &self.headers {
            text += &format!("\n{name}: {value}");
        }
        if let Some(body) = &self.body {
            text += &format!("\n\n{body:#}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_that_delete_are_found() {
        let destroy = OPERATIONS.iter().filter(|operation| destroys(operation));
        let names: Vec<&str> = destroy.map(|operation| operation.id).collect();
        assert_eq!(
            names,
            [
                "BatchDeleteTrainingJob",
                "DeleteAlgorithm",
                "DeleteTrainJobTags",
                "DeleteTrainingExperiment",
                "DeleteTrainingJob",
            ]
        );
    }

    #[test]
    fn operations_are_found_by_id_and_by_method() {
        for name in ["ShowTrainingQuotas", "showtrainingquotas", "show_training_quotas"] {
            assert_eq!(find(name).unwrap().id, "ShowTrainingQuotas");
        }
        assert_eq!(
            find("ShowTrainingQuota").unwrap_err().to_string(),
            "no operation is called ShowTrainingQuota; did you mean ShowTrainingQuotas?"
        );
    }
}
