//! Sends the requests of a transcript to an emulator.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::{Result, anyhow};
use modelarts_emulator::{Cloud, Emulator, Timing, jobs::RunnerKind, script::Script};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    description::Description,
    differences::{Differences, Party, label, shown},
    shape,
    transcript::{Call, Transcript},
};

const TOKEN: &str = "replay";
const RUNNING: &str = "Running";
/// The final phases of a job.
pub(crate) const FINAL: [&str; 4] = ["Completed", "Failed", "Terminated", "Abnormal"];
/// Maximum time to wait for the end of an emulated job.
const PATIENCE: Duration = Duration::from_secs(10);

/// Replays the calls of a transcript. For each call that cannot be replayed, returns the reason.
pub async fn run(
    description: &Description,
    transcript: &Transcript,
    differences: &mut Differences,
) -> Result<Vec<String>> {
    let mut replay = Replay::start(transcript).await?;
    let mut left_out = replay.prepare(description, transcript).await?;
    for (at, call) in transcript.calls.iter().enumerate() {
        let replayed = replay.call(call).await.unwrap_or_else(|error| {
            Replayed::Not(format!("call {}, {}: {error:#}", at + 1, label(call)))
        });
        match replayed {
            Replayed::Same => {}
            Replayed::Different(found) => {
                for text in found {
                    differences.add(label(call), Party::Emulator, text);
                }
            }
            Replayed::Not(why) => left_out.push(why),
        }
    }
    replay.emulator.shutdown().await;
    Ok(left_out)
}

enum Replayed {
    Same,
    Different(BTreeSet<String>),
    Not(String),
}

pub(crate) struct Replay {
    pub(crate) emulator: Emulator,
    http: reqwest::Client,
    /// Ids in the emulator by id in the transcript.
    ids: BTreeMap<String, String>,
    /// Jobs that the transcript creates.
    pub(crate) created: BTreeSet<String>,
    /// Jobs of the transcript that the emulator could not create in the state that the transcript
    /// shows.
    pub(crate) missing: BTreeSet<String>,
    /// True if the last recorded details show a running job.
    runs: bool,
    /// Jobs that the transcript deletes.
    deleted: BTreeSet<String>,
    /// Flavors, engines and pools that the emulator has, and the one that replaces all others, by
    /// field.
    pub(crate) instead: BTreeMap<&'static str, (BTreeSet<String>, String)>,
}

impl Replay {
    async fn start(transcript: &Transcript) -> Result<Self> {
        let mut builder = Emulator::builder().timing(Timing::instant()).token(TOKEN);
        match transcript.cloud.as_deref() {
            Some("huawei") => builder = builder.cloud(Cloud::Huawei),
            Some("otc") => builder = builder.cloud(Cloud::Otc),
            _ => {}
        }
        // The emulated job ends as the job of the transcript, or runs until the transcript stops
        // it.
        let stopped =
            |call: &Call| is(call, "StopTrainingJob") && call.status.is_some_and(|it| it < 300);
        let created = created(transcript);
        let failed = |call: &Call| {
            phase(call) == Some("Failed") && call.job().is_some_and(|id| created.contains(id))
        };
        let seconds = if transcript.calls.iter().any(stopped) {
            86_400
        } else {
            0
        };
        let exit_code = u8::from(transcript.calls.iter().any(failed));
        let script =
            json!({"default": [{"seconds": seconds, "exit_code": exit_code, "log": ["x"]}]});
        let script = Script::from_json(&script.to_string()).map_err(|error| anyhow!("{error}"))?;
        let emulator = builder
            .runner(RunnerKind::Simulated(script))
            .start()
            .await?;
        let http = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .build()?;
        Ok(Self {
            emulator,
            http,
            ids: BTreeMap::new(),
            created,
            missing: BTreeSet::new(),
            runs: false,
            deleted: BTreeSet::new(),
            instead: BTreeMap::new(),
        })
    }

    async fn call(&mut self, call: &Call) -> Result<Replayed> {
        let not = |why: &str| Ok(Replayed::Not(format!("{}: {why}", label(call))));
        let Some(status) = call.status else {
            return not("it has no answer");
        };
        if call.operation.is_none() {
            return not("the description does not have it");
        }
        if status == 429 || status >= 500 {
            return not("the service was busy or failed");
        }
        if call.job().is_some_and(|job| self.missing.contains(job)) {
            return not("the emulator cannot have its job in that state");
        }
        if let Some(job) = call.job().filter(|job| self.created.contains(*job)) {
            if self.deleted.contains(job) && status < 300 {
                return not("the job was being deleted");
            }
            // A job that is stopped early has a log only if its code has started.
            if status == 204 && is(call, "ShowTrainingJobLogsPreview") {
                return not("the answer depends on the progress of the job");
            }
            match phase(call) {
                Some(shown) if !FINAL.contains(&shown) => {
                    self.runs = shown == RUNNING;
                    return not("the answer depends on the progress of the job");
                }
                None if self.runs && is(call, "StopTrainingJob") => {
                    self.catch_up(job, Some(RUNNING)).await;
                }
                shown => self.catch_up(job, shown).await,
            }
            if is(call, "DeleteTrainingJob") && status < 300 {
                self.deleted.insert(job.to_owned());
            }
        }
        let (got, mut body) = self.repeat(call).await?;
        let mut expected = call.answer.clone().unwrap_or_default();
        // Removes the rows of jobs that the emulator lacks from the comparison.
        for answer in [&mut body, &mut expected] {
            if let Some(rows) = answer.get_mut("items").and_then(Value::as_array_mut) {
                rows.retain(|row| id_of(row).is_none_or(|id| !self.missing.contains(id)));
            }
        }
        self.learn(&expected, &body);
        let mut found = BTreeSet::new();
        if got != status {
            let code = body["error_code"].as_str().unwrap_or_default();
            let said = body["error_msg"].as_str().unwrap_or_default();
            found.insert(
                format!("answers {got} instead of {status} {code} {said}")
                    .trim()
                    .to_owned(),
            );
        } else if status >= 400 && body["error_code"] != expected["error_code"] {
            let (got, expected) = (&body["error_code"], &expected["error_code"]);
            found.insert(format!("has the code {got} instead of {expected}"));
        } else {
            shapes(&expected, &body, &mut found);
        }
        Ok(if found.is_empty() {
            Replayed::Same
        } else {
            Replayed::Different(found)
        })
    }

    /// Waits until an emulated job has reached the phase of the transcript. After a timeout, the
    /// comparison of the responses reports the difference.
    async fn catch_up(&self, job: &str, shown: Option<&str>) {
        let Some(id) = self.ids.get(job) else {
            return;
        };
        let work = async {
            if let Some(shown) = shown {
                let _ = self.emulator.wait_for(id, shown).await;
                if shown != RUNNING {
                    self.emulator.wait_until_settled(id).await;
                }
            } else if self.deleted.contains(job) {
                self.emulator.wait_until_gone(id).await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, work).await;
    }

    /// Sends a request of the transcript to the emulator.
    async fn repeat(&self, call: &Call) -> Result<(u16, Value)> {
        let mut call = call.clone();
        for value in call.path_parameters.values_mut() {
            if let Some(id) = self.ids.get(value) {
                id.clone_into(value);
            }
        }
        let project = self.emulator.project_id().to_owned();
        call.path_parameters.insert("project_id".into(), project);
        if let Some(body) = &mut call.request {
            self.translate(body, "");
        }
        let method: Method = call.method.parse()?;
        self.send(
            &method,
            &call.full_path(),
            &call.query,
            call.request.as_ref(),
        )
        .await
    }

    /// Records the mapping between ids at the same position of both responses.
    fn learn(&mut self, expected: &Value, got: &Value) {
        match (expected, got) {
            (Value::String(expected), Value::String(got)) if self.created.contains(expected) => {
                self.ids.insert(expected.clone(), got.clone());
            }
            (Value::Object(expected), Value::Object(got)) => {
                for (name, value) in expected {
                    if let Some(got) = got.get(name) {
                        self.learn(value, got);
                    }
                }
            }
            _ => {}
        }
    }

    /// Replaces ids, flavors, engines and pools in a request by those of the emulator.
    pub(crate) fn translate(&self, body: &mut Value, key: &str) {
        match body {
            Value::String(text) => {
                if let Some(id) = self.ids.get(text.as_str()) {
                    id.clone_into(text);
                }
                if let Some((known, first)) = self.instead.get(key)
                    && !text.is_empty()
                    && !known.contains(text.as_str())
                {
                    first.clone_into(text);
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|it| self.translate(it, key)),
            Value::Object(members) => {
                for (name, value) in members {
                    self.translate(value, name);
                }
            }
            _ => {}
        }
    }

    pub(crate) async fn send(
        &self,
        method: &Method,
        path: &str,
        query: &BTreeMap<String, String>,
        body: Option<&Value>,
    ) -> Result<(u16, Value)> {
        let mut url = reqwest::Url::parse(self.emulator.url())?;
        url.set_path(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self
            .http
            .request(method.clone(), url)
            .header("X-Auth-Token", TOKEN);
        if let Some(body) = body {
            request = request
                .header("Content-Type", "application/json")
                .body(body.to_string());
        }
        let answer = request.send().await?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await?;
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }
}

/// Returns the ids of the jobs that a transcript creates.
fn created(transcript: &Transcript) -> BTreeSet<String> {
    let calls = transcript
        .calls
        .iter()
        .filter(|it| is(it, "CreateTrainingJob"));
    let ids = calls.filter_map(|it| id_of(it.answer.as_ref()?));
    ids.map(str::to_owned).collect()
}

pub(crate) fn id_of(job: &Value) -> Option<&str> {
    job["metadata"]["id"].as_str()
}

pub(crate) fn is(call: &Call, operation: &str) -> bool {
    call.operation.as_deref() == Some(operation)
}

/// Returns the phase of the job in the response to a call for its details.
fn phase(call: &Call) -> Option<&str> {
    let details = call
        .answer
        .as_ref()
        .filter(|_| is(call, "ShowTrainingJobDetails"));
    details?["status"]["phase"].as_str()
}

/// Adds a message for each member that exists in only one of two responses, or whose types differ.
/// The elements of a list are not compared if the list is empty in one response.
fn shapes(expected: &Value, got: &Value, found: &mut BTreeSet<String>) {
    let (expected, got) = (shape::of(expected), shape::of(got));
    let comparable = |place: &str, other: &shape::Shape| {
        place
            .match_indices("/*")
            .all(|(at, it)| other.contains_key(&place[..at + it.len()]))
    };
    for (place, described) in &expected {
        match got.get(place) {
            Some(it) if it == described => {}
            Some(it) => {
                found.insert(format!("{} is {it} instead of {described}", shown(place)));
            }
            None if comparable(place, &got) => {
                found.insert(format!("{} is missing", shown(place)));
            }
            None => {}
        }
    }
    for place in got.keys().filter(|place| !expected.contains_key(*place)) {
        if comparable(place, &expected) {
            found.insert(format!(
                "{} is there, and the service has none",
                shown(place)
            ));
        }
    }
}
