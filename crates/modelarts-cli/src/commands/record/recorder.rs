//! `Recorder`: calls what reads, and keeps requests and responses.

use std::collections::{BTreeMap, BTreeSet};

use modelarts_ext::{
    Client, Error, ErrorKind,
    api::{self, Effect, OPERATIONS, Offset, Operation, ParameterLocation},
    config::Cloud,
};
use serde_json::{Value, json};

use crate::{commands::api::documented, failure::Failure, job_reference::JobArguments};

/// Number of rows of a page. It is small, so that most lists have a second page.
const ROWS: usize = 10;
pub(super) const JOB: &str = "training_job_id";
/// Parameters that need no value.
const GIVEN: [&str; 2] = ["project_id", "body"];

/// Values of parameters by their names.
pub(super) type Values = BTreeMap<&'static str, String>;

/// Calls of a client. Each is an object with `operation`, `parameters`, `request`, `status` and
/// `response`.
pub(super) struct Recorder<'a> {
    pub(super) client: &'a Client,
    pub(super) calls: Vec<Value>,
}

impl Recorder<'_> {
    /// Calls the operations that read. Fails if all further calls would fail.
    pub(super) async fn read(&mut self, jobs: &[String]) -> Result<(), Failure> {
        self.read_with(&Values::new()).await?;
        let (mut phases, mut rows) = (BTreeSet::new(), self.rows("ListTrainingJobs"));
        rows.retain(|row| phases.insert(row["status"]["phase"].to_string()));
        let mut ids: Vec<String> = rows.iter().filter_map(id).collect();
        if !jobs.is_empty() {
            let jobs = JobArguments::new(jobs.to_vec()).find(self.client).await?;
            ids = jobs.iter().map(|job| job.id().to_owned()).collect();
        }
        for id in ids {
            self.read_job(id).await?;
        }
        Ok(())
    }

    /// Calls the operations that read a job, and its first task.
    pub(super) async fn read_job(&mut self, id: String) -> Result<(), Failure> {
        let mut values = Values::from([(JOB, id)]);
        self.read_with(&values).await?;
        let of_job = |call: &&Value| call["parameters"] == json!(values);
        let mut details = self.calls.iter().filter(of_job);
        let task = details.find_map(|call| call["response"]["status"]["tasks"][0].as_str());
        if let Some(task) = task.map(str::to_owned) {
            values.insert("task_id", task);
            self.read_with(&values).await?;
        }
        Ok(())
    }

    /// Calls the operations that read, and whose required parameters are these.
    async fn read_with(&mut self, values: &Values) -> Result<(), Failure> {
        let cloud = match self.client.cloud() {
            Cloud::Otc => "otc",
            _ => "huawei",
        };
        for operation in OPERATIONS {
            let required = operation.parameters().filter(|it| it.required);
            let required = required.map(|it| it.name);
            let required: BTreeSet<&str> = required.filter(|it| !GIVEN.contains(it)).collect();
            let clouds = documented(operation)["x-clouds"].to_string();
            let is_read = operation.effect == Effect::Read && clouds.contains(cloud);
            if is_read && required.iter().eq(values.keys()) {
                self.read_pages(operation, values).await?;
            }
        }
        Ok(())
    }

    /// Calls an operation; for a list, its first two pages, which show the unit of the offset.
    async fn read_pages(
        &mut self,
        operation: &'static Operation,
        values: &Values,
    ) -> Result<(), Failure> {
        let list = operation.pagination.filter(|it| it.offset_name.is_some());
        let second = list.map(|it| {
            if it.offset == Offset::PageIndex {
                1
            } else {
                ROWS
            }
        });
        for offset in std::iter::once(0).chain(second) {
            let takes_body = operation.parameters().any(|it| it.name == "body");
            let (mut values, mut body) = (values.clone(), takes_body.then(|| json!({})));
            if let Some(list) = list {
                let in_body = list.location == ParameterLocation::Body;
                for (name, number) in [(list.offset_name, offset), (list.limit_name, ROWS)] {
                    match (name, body.as_mut().filter(|_| in_body)) {
                        (Some(name), Some(body)) => body[name] = number.into(),
                        (Some(name), None) => drop(values.insert(name, number.to_string())),
                        (None, _) => {}
                    }
                }
            }
            // An error of one operation is part of the recording.
            if let Err(error) = self.call(operation.id, values, body).await
                && self.is_hopeless(&error)
            {
                return Err(error.into());
            }
            if self.calls.last().is_none_or(|it| rows(it).len() < ROWS) {
                break;
            }
        }
        Ok(())
    }

    /// Returns `true` if further calls would fail, too. Five rejected signatures in a row lock the
    /// access key.
    fn is_hopeless(&self, error: &Error) -> bool {
        let is_first = self.calls.len() <= 1;
        let is_of_service = error.code().is_some_and(|it| it.starts_with("ModelArts."));
        match error.status() {
            None => is_first || error.kind() != ErrorKind::Timeout,
            Some(status) => status == 401 || is_first && status == 403 && !is_of_service,
        }
    }

    /// Calls an operation, and returns the body of its response.
    pub(super) async fn call(
        &mut self,
        operation: &str,
        values: Values,
        body: Option<Value>,
    ) -> Result<Value, Error> {
        let mut call = self.client.operation(operation)?;
        let operation = call.operation();
        let mut record = json!({"operation": operation.id, "parameters": values});
        for (name, value) in values {
            call = call.parameter(name, value);
        }
        if let Some(body) = body {
            record["request"] = body.clone();
            call = call.body(body);
        }
        let request = call.request()?;
        let sent = self.client.call(async |client| {
            let sent = api::send(client, request, operation).await;
            let response = match &sent {
                Ok(response) | Err(api::Error::Unexpected(response)) => response,
                Err(api::Error::Service(error)) => error.raw(),
                Err(_) => return sent.map(api::empty_response),
            };
            let text = || String::from_utf8_lossy(&response.body).into();
            record["status"] = response.status.as_u16().into();
            record["response"] = serde_json::from_slice(&response.body).unwrap_or_else(|_| text());
            sent.map(api::empty_response)
        });
        let sent = sent.await;
        match &sent {
            Ok(response) => note!("  {} {}", operation.id, response.status()),
            Err(error) => note!("  {} {}", operation.id, error.code().unwrap_or("failed")),
        }
        let response = record["response"].clone();
        self.calls.push(record);
        sent.map(|_| response)
    }

    /// Returns the rows of a list.
    fn rows(&self, list: &str) -> Vec<Value> {
        let pages = self.calls.iter().filter(|call| call["operation"] == list);
        pages.flat_map(rows).cloned().collect()
    }
}

/// Returns the rows of a page of a list.
fn rows(call: &Value) -> &[Value] {
    let operation = OPERATIONS.iter().find(|it| call["operation"] == it.id);
    let path = operation
        .and_then(|it| it.pagination)
        .map_or("", |list| list.items);
    let names = path.split('.').filter(|name| !name.is_empty());
    let rows = names.fold(&call["response"], |value, name| &value[name]);
    rows.as_array().map_or(&[], Vec::as_slice)
}

fn id(row: &Value) -> Option<String> {
    row["metadata"]["id"].as_str().map(str::to_owned)
}
