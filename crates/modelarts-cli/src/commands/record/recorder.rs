//! `Recorder`: calls the operations that only read, and keeps requests and responses.

use std::collections::{BTreeMap, BTreeSet};

use modelarts_ext::{
    Client, Error, ErrorKind,
    api::{self, Effect, OPERATIONS, Offset, Operation, ParameterLocation},
    config::Cloud,
};
use serde_json::{Value, json};

use crate::{
    commands::api::documented,
    failure::Failure,
    job_reference::{JobArguments, Prefixes},
};

/// Number of rows per page. The number is small, so that most lists have a second page.
const ROWS: usize = 10;
pub(super) const JOB: &str = "training_job_id";
/// Operation that lists jobs.
const LIST: &str = "ListTrainingJobs";
/// Required parameters that `values` lacks: the client sets the project, `read_pages` the body.
const GIVEN: [&str; 2] = ["project_id", "body"];

pub(super) type Values = BTreeMap<&'static str, String>;

/// Recorder of the calls of a client. A call is an object with `operation`, `parameters`,
/// `request`, `status` and `response`.
pub(super) struct Recorder<'a> {
    pub(super) client: &'a Client,
    pub(super) calls: Vec<Value>,
}

impl Recorder<'_> {
    /// Calls the operations that read. Returns an error if all further calls would fail.
    pub(super) async fn read(&mut self, jobs: &[String]) -> Result<(), Failure> {
        self.read_with(&Values::new()).await?;
        let mut phases = BTreeSet::new();
        let calls = self.calls.iter().filter(|it| it["operation"] == LIST);
        let rows = calls.filter_map(|it| it["response"]["items"].as_array());
        let is_first = |row: &&Value| phases.insert(row["status"]["phase"].to_string());
        let newest = rows.flatten().filter(is_first);
        let ids = newest.filter_map(|it| it["metadata"]["id"].as_str());
        let mut ids: Vec<String> = ids.map(str::to_owned).collect();
        if !jobs.is_empty() {
            let jobs = JobArguments::new(jobs.to_vec()).find(self.client, Prefixes::Any).await?;
            ids = jobs.iter().map(|job| job.id().to_owned()).collect();
        }
        for id in ids {
            self.read_job(id).await?;
        }
        Ok(())
    }

    /// Calls the operations that read a job, and the operations that read its first task.
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

    /// Calls the operations that read and whose required parameters are those of `values`.
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

    /// Calls an operation; for a list, reads two pages, which show the unit of the offset.
    async fn read_pages(
        &mut self,
        operation: &'static Operation,
        values: &Values,
    ) -> Result<(), Failure> {
        let list = operation.pagination.filter(|it| it.offset_name.is_some());
        let second = list.map(|it| match it.offset {
            Offset::PageIndex => 1,
            _ => ROWS,
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
            // Other errors are recorded. Five consecutive rejected signatures lock a key.
            if let Err(error) = self.call(operation.id, values, body).await
                && error.status().map_or(error.kind() != ErrorKind::Timeout, |it| it == 401)
            {
                return Err(error.into());
            }
            let path = format!("/{}", list.map_or("", |list| list.items).replace('.', "/"));
            let page = self.calls.last().map(|it| &it["response"]);
            let rows = page.and_then(|page| page.pointer(&path)?.as_array());
            if rows.is_none_or(|rows| rows.len() < ROWS) {
                break;
            }
        }
        Ok(())
    }

    /// Calls an operation, records the call, and returns the body of the response.
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
}
