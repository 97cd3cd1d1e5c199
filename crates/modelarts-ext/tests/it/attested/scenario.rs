//! Scenario of attested requests, sent in order to a single emulator.

use std::{
    collections::HashMap,
    fs,
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::{
    body::{Body, to_bytes},
    http::{Method, Request},
};
use modelarts_api::OPERATIONS;
use modelarts_emulator::{
    Cloud, Emulator, Timing,
    clock::ManualClock,
    faults::{Fault, FaultRule},
    jobs::RunnerKind,
    pools::PoolKind,
    script::Script,
};
use modelarts_ext::{Client, Credentials, Error};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{
    forms, json_path,
    manifest::{Entry, Parameter, Pool},
};

const TOKEN: &str = "token";
const WORKSPACE: &str = "b2c85d3e9f1047a6a5e3d7c1f0926b48";
/// The number of clock steps after which a state counts as unreachable.
const STEPS: usize = 200;

pub struct Scenario {
    emulator: Emulator,
    datasets: tempfile::TempDir,
    /// Responses by the names of the entries.
    answers: HashMap<String, Value>,
    /// Ids of the objects that placeholders such as `(the job)` refer to.
    current: HashMap<&'static str, Value>,
}

pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Scenario {
    pub async fn start() -> Self {
        let script = json!({"default": [{"seconds": 1800}]}).to_string();
        let datasets = tempfile::tempdir().unwrap();
        let emulator = Emulator::builder()
            .cloud(Cloud::Huawei)
            .token(TOKEN)
            .organization("heron-works")
            .runner(RunnerKind::Simulated(Script::from_json(&script).unwrap()))
            .timing(Timing::documented())
            .clock(Arc::new(ManualClock::at(SystemTime::now())))
            .datasets(datasets.path())
            .pool(modelarts_emulator::pools::Pool::new("pool-heron-3c7e", PoolKind::Cpu, 16))
            .pool(modelarts_emulator::pools::Pool::new("pool-gpu", PoolKind::Gpu, 16))
            .start()
            .await
            .unwrap();
        Self { emulator, datasets, answers: HashMap::new(), current: HashMap::new() }
    }

    /// Creates the state that an entry requires.
    pub async fn set_up(&mut self, entry: &Entry) {
        for object in &entry.set_up.objects {
            let path = self.emulator.obs_root().join(object);
            if object.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
        for id in &entry.set_up.data_sets {
            fs::create_dir_all(self.datasets.path().join(id).join("V001")).unwrap();
        }
        if let Some(name) = &entry.set_up.delete {
            let job = self.text(name, "metadata.id");
            let path = format!("training-jobs/{job}");
            self.ask(Method::DELETE, &path, None).await;
            self.until(&path, |answer| answer.status == 400).await;
        }
        if let Some(phase) = &entry.set_up.phase {
            let job = self.parameter(&entry.path_parameters["training_job_id"]);
            let path = format!("training-jobs/{job}");
            self.until(&path, |answer| answer.body["status"]["phase"] == **phase).await;
        }
    }

    /// Returns the request body, with the values of this emulator.
    pub fn body(&mut self, entry: &Entry) -> Option<Value> {
        let mut body = entry.body()?;
        for substitute in &entry.substitute {
            let value = match substitute.from.as_str() {
                "a workspace" => WORKSPACE.into(),
                "the pool" => match entry.set_up.pool.unwrap() {
                    Pool::Cpu => "pool-heron-3c7e".into(),
                    Pool::Gpu => "pool-gpu".into(),
                },
                // The emulator accepts any value for these placeholders.
                "a key pair" | "a data set" | "a model asset" => continue,
                name => {
                    let value = Value::from(self.text(name, &substitute.take));
                    self.current.insert(kind(name), value.clone());
                    value
                }
            };
            json_path::set(&mut body, &substitute.path, value);
        }
        for (path, value) in &entry.set_up.replace {
            json_path::set(&mut body, path, value.clone());
        }
        Some(body)
    }

    pub async fn send(&mut self, entry: &Entry, body: Option<&Value>) -> Answer {
        let operation = OPERATIONS.iter().find(|known| known.id == entry.operation).unwrap();
        let mut path = operation.path.trim_start_matches("/v2/{project_id}/").to_owned();
        for (name, parameter) in &entry.path_parameters {
            path = path.replace(&format!("{{{name}}}"), &self.parameter(parameter));
        }
        let query = entry.query.iter().map(|(name, value)| match value.as_str() {
            Some("(a workspace)") => format!("{name}={WORKSPACE}"),
            Some("(that of the first flavor)") => {
                format!("{name}={}", self.text("flavors-list", "flavors[0].flavor_type"))
            }
            Some(text) => format!("{name}={text}"),
            None => format!("{name}={value}"),
        });
        path = [path, query.collect::<Vec<_>>().join("&")].join("?");
        let method = Method::from_bytes(operation.method.as_bytes()).unwrap();
        let answer = self.ask(method, &path, body).await;
        if let Some(id) = answer.body["metadata"].get("id") {
            self.current.insert(kind(&entry.name), id.clone());
        }
        self.answers.insert(entry.name.clone(), answer.body.clone());
        answer
    }

    /// Submits a job whose create request is executed, and whose response is lost.
    pub async fn submit_lost(&mut self, entry: &Entry, body: &Value) -> Result<(), Error> {
        let lost = FaultRule::times(1, &*entry.operation, Fault::LostAnswer);
        self.emulator.faults().add(lost).unwrap();
        let client = Client::builder()
            .endpoint(self.emulator.url())
            .project_id(self.emulator.project_id())
            .credentials(Credentials::token(TOKEN))
            .build()?;
        let job = client.training_jobs().from_json(&body.to_string())?;
        let sent = || self.emulator.requests()[&*entry.operation].received;
        let before = sent();
        // Without a token, only the comparison of the details shows that the job is the same.
        let job = job.unchecked().without_look_up().without_token().submit_or_adopt().await?;
        assert_eq!(sent() - before, 1, "{}", entry.name);
        let details: Value = serde_json::to_value(&job).unwrap();
        self.current.insert(kind(&entry.name), details["metadata"]["id"].clone());
        self.answers.insert(entry.name.clone(), details);
        Ok(())
    }

    /// Returns the response that contains the asserted attributes, both as received and decoded.
    pub async fn read(&mut self, entry: &Entry, answer: Answer) -> [(&'static str, Value); 2] {
        let id = |name| match entry.path_parameters.get(name) {
            Some(parameter) => self.parameter(parameter),
            None => self.text(&entry.name, "metadata.id"),
        };
        let (words, _) =
            entry.asserted_in.split_once([' ', ',']).unwrap_or((&entry.asserted_in, ""));
        let (schema, method, path, body) = match words {
            "the" => {
                let schema = match entry.operation.as_str() {
                    "ListTrainingJobs" => "ListTrainingJobsResponse",
                    "ListAlgorithms" => "ListAlgorithmsResponse",
                    "ListTrainingExperiments" => "ListTrainingExperimentsResponse",
                    "ShowTrainingJobEngines" => "ShowTrainingJobEnginesResponse",
                    "ShowTrainingJobFlavors" => "ShowTrainingJobFlavorsResponse",
                    other => panic!("{other} is no list"),
                };
                return forms(schema, answer.body);
            }
            "details" => {
                let path = format!("training-jobs/{}", id("training_job_id"));
                if entry.set_up.end {
                    self.until(&path, |answer| answer.body["status"]["phase"] == "Completed").await;
                }
                ("TrainingJob", Method::GET, path, None)
            }
            "ListTrainingJobs" => {
                let filter =
                    json!({"key": "id", "operator": "in", "value": [id("training_job_id")]});
                let body = json!({"offset": 0, "limit": 50, "filters": [filter]});
                (
                    "ListTrainingJobsResponse",
                    Method::POST,
                    "training-job-searches".into(),
                    Some(body),
                )
            }
            "ShowAlgorithmByUuid" => {
                let path = format!("algorithms/{}", id("algorithm_id"));
                ("Algorithm", Method::GET, path, None)
            }
            "ListAlgorithms" => {
                let name = self.text(&entry.name, "metadata.name");
                let path = format!("algorithms?searches=name:{name}");
                ("ListAlgorithmsResponse", Method::GET, path, None)
            }
            "ShowTrainingExperimentDetails" => {
                let path = format!("training-experiments/{}", id("experiment_id"));
                ("TrainingExperiment", Method::GET, path, None)
            }
            "ListTrainingExperiments" => {
                let path = format!("training-experiments?workspace_id={WORKSPACE}");
                ("ListTrainingExperimentsResponse", Method::GET, path, None)
            }
            "ShowTrainJobTags" => {
                let path = format!("modelarts-training-job/{}/tags", id("training_job_id"));
                ("ShowTrainJobTagsResponse", Method::GET, path, None)
            }
            "ShowSaveImageJob" => {
                let [job, task] = ["training_job_id", "task_id"].map(id);
                let path = format!("training-jobs/{job}/tasks/{task}/save-image-job");
                self.until(&path, |answer| answer.body["status"] == "ACTIVE").await;
                ("SaveImageJob", Method::GET, path, None)
            }
            other => panic!("{}: {other} is not known", entry.name),
        };
        let answer = self.ask(method, &path, body.as_ref()).await;
        assert_eq!(answer.status, 200, "{}: {}", entry.name, answer.body);
        forms(schema, answer.body)
    }

    /// Returns the response to an earlier entry.
    pub fn answer(&self, entry: &str) -> &Value {
        &self.answers[entry]
    }

    /// Returns the expected value of an assertion; `None` for an assertion that only states that
    /// all values are equal.
    pub fn resolve(&self, value: &Value) -> Option<Value> {
        match value.as_str() {
            Some("(the workspace)" | "(the workspace, in every row)") => Some(WORKSPACE.into()),
            Some("(the same in every row)") => None,
            Some(text) if text.starts_with('(') => Some(self.current[text].clone()),
            _ => Some(value.clone()),
        }
    }

    pub fn engine_name(&self) -> &str {
        self.answers["engines-list"]["items"][0]["engine_name"].as_str().unwrap()
    }

    fn parameter(&self, parameter: &Parameter) -> String {
        match parameter {
            Parameter::Fixed(text) => text.clone(),
            Parameter::From { from, take } => self.text(from, take),
        }
    }

    fn text(&self, entry: &str, path: &str) -> String {
        let found = json_path::all(&self.answers[entry], path);
        let text = found.first().and_then(|value| value.as_str());
        text.unwrap_or("none").to_owned()
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let uri = format!("/v2/{}/{path}", self.emulator.project_id());
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("Host", "127.0.0.1")
            .header("X-Auth-Token", TOKEN)
            .header("Content-Type", "application/json")
            .body(body)
            .unwrap();
        let response = self.emulator.router().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Answer { status, body }
    }

    /// Advances the clock until a GET request returns the expected response. If the state is not
    /// reached, the next request fails.
    async fn until(&self, path: &str, reached: impl Fn(&Answer) -> bool) {
        let mut last = self.ask(Method::GET, path, None).await;
        for _ in 0..STEPS {
            if reached(&last) {
                return;
            }
            assert!(self.emulator.advance(Duration::from_secs(10)).await);
            last = self.ask(Method::GET, path, None).await;
        }
        eprintln!("{path} stays {} {}", last.status, last.body);
    }
}

/// Returns the term that assertions use for the object that an entry creates.
fn kind(entry: &str) -> &'static str {
    if entry.starts_with("algorithm") {
        "(the algorithm)"
    } else if entry.starts_with("experiment") {
        "(the experiment)"
    } else {
        "(the job)"
    }
}
