//! Tests of unusual responses, and of the values that the SDK decodes from them.

use std::collections::BTreeMap;

use modelarts_ext::{Client, Error, ErrorKind, RetryPolicy, types};
use serde::Deserialize;
use serde_json::{Value, json};

use super::cases;
use crate::support::{
    clock::TestClock,
    server::{Reply, Server},
};

#[derive(Deserialize)]
struct Case {
    name: String,
    operation: String,
    status: u16,
    headers: BTreeMap<String, String>,
    text: Option<String>,
    #[serde(default, deserialize_with = "any")]
    body: Option<Value>,
    outcome: String,
    expected: Vec<Expected>,
}

#[derive(Deserialize)]
struct Expected {
    path: String,
    values: Vec<Value>,
}

/// Deserializes a body that may be null, as distinct from a missing body.
fn any<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Case {
    fn reply(&self) -> Reply {
        let body = match (&self.text, &self.body) {
            (Some(text), _) => text.clone(),
            (None, Some(body)) => body.to_string(),
            (None, None) => String::new(),
        };
        let mut head = format!("HTTP/1.1 {} -\r\nconnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if self.status != 204 {
            head += &format!("content-length: {}\r\n", body.len());
        }
        Reply::Bytes(format!("{head}\r\n{body}").into_bytes())
    }
}

/// Calls an operation of the generated client; evaluates to the status and the response as JSON.
macro_rules! call {
    ($client:expr, $operation:ident $(, $parameter:ident = $value:expr)*) => {{
        let project = $client.project_id();
        let answer = $client
            .call(|api| api.$operation().project_id(project)$(.$parameter($value))*.send())
            .await?;
        let status = answer.status();
        Ok((status, serde_json::to_value(answer.into_inner()).unwrap()))
    }};
}

async fn call(client: &Client, operation: &str) -> Result<(u16, Value), Error> {
    let job: types::CreateTrainingJobRequest =
        serde_json::from_value(json!({ "kind": "job", "metadata": { "name": "leaves" } })).unwrap();
    match operation {
        "ShowTrainingJobDetails" => call!(client, show_training_job_details, training_job_id = "j"),
        "ListTrainingJobEvents" => call!(client, list_training_job_events, training_job_id = "j"),
        "ListTrainingJobs" => {
            call!(client, list_training_jobs, body = types::ListTrainingJobsRequest::default())
        }
        "ShowTrainingJobEngines" => call!(client, show_training_job_engines),
        "ShowTrainingJobMetrics" => {
            call!(client, show_training_job_metrics, training_job_id = "j", task_id = "worker-0")
        }
        "ShowAutoSearchTrials" => call!(client, show_auto_search_trials, training_job_id = "j"),
        "ShowTrainJobTags" => call!(client, show_train_job_tags, training_job_id = "j"),
        "ShowAlgorithmByUuid" => call!(client, show_algorithm_by_uuid, algorithm_id = "a"),
        "DeleteTrainingJob" => call!(client, delete_training_job, training_job_id = "j"),
        "ChangeTrainingJobDescription" => call!(
            client,
            change_training_job_description,
            training_job_id = "j",
            body = types::ChangeTrainingJobDescriptionRequest::default()
        ),
        "CreateTrainingJob" => call!(client, create_training_job, body = job),
        "ShowTrainingJobLogsPreview" => call!(
            client,
            show_training_job_logs_preview,
            training_job_id = "j",
            task_id = "worker-0"
        ),
        unknown => panic!("{unknown} is not called here"),
    }
}

/// Returns the value at a path such as `events.0.source` or `events.length`; null if the value is
/// missing.
fn value_at(answer: &Value, path: &str) -> Value {
    let mut value = answer;
    for step in path.split('.') {
        value = match (step, value) {
            ("length", Value::Array(rows)) => return json!(rows.len()),
            ("length", Value::Null) => return json!(0),
            (step, Value::Array(rows)) => {
                step.parse().ok().and_then(|row: usize| rows.get(row)).unwrap_or(&Value::Null)
            }
            (step, value) => &value[step],
        };
    }
    value.clone()
}

/// Compares values. -1 equals -1.0.
fn is_same(one: &Value, other: &Value) -> bool {
    one == other
        || (one.is_f64() || other.is_f64())
            && one.as_f64().is_some()
            && one.as_f64() == other.as_f64()
}

#[tokio::test]
async fn every_awkward_answer_is_read_rightly() {
    let cases: Vec<Case> = cases("awkward.json");
    assert_eq!(cases.len(), 51);
    let mut wrong = Vec::new();
    for case in cases {
        let server = Server::start([case.reply()]).await;
        let client = server.client(&TestClock::new()).retry(RetryPolicy::none());
        let client = client.build().unwrap();
        let answer = call(&client, &case.operation).await;
        let name = &case.name;
        let outcome = match &answer {
            Ok(_) => "success",
            Err(error) if error.kind() == ErrorKind::NotReady => "not-ready",
            Err(_) => "error",
        };
        if outcome != case.outcome {
            wrong.push(format!("{name}: {outcome}: {answer:?}"));
            continue;
        }
        for Expected { path, values } in &case.expected {
            let read = match (path.as_str(), &answer) {
                ("$status", Ok((status, _))) => json!(status),
                ("$status", Err(error)) => json!(error.status()),
                ("$code", Err(error)) => json!(error.code()),
                (path, Ok((_, body))) => value_at(body, path),
                (path, Err(error)) => panic!("{name}: {path} of {error}"),
            };
            if !values.iter().any(|value| is_same(value, &read)) {
                wrong.push(format!("{name}: {path} is {read}"));
            }
        }
        assert_eq!(server.left(), 0, "{name}");
    }
    assert_eq!(wrong, [""; 0]);
}
