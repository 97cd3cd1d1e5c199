//! Simulated jobs, which follow a script on a manual clock.

mod failures;
mod scheduling;
mod script;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{
    Builder, Timing,
    clock::{Clock, ManualClock},
    jobs::RunnerKind,
    script::Script,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Site;

/// Start of the clock, in seconds since the epoch: 2022-11-26T16:00:00+08:00.
const START: u64 = 1_669_449_600;

struct Simulation {
    site: Site,
    clock: Arc<ManualClock>,
}

impl Simulation {
    async fn of(script: Value) -> Self {
        Self::with(script, |builder| builder).await
    }

    /// Starts an emulator with the service's own delays on a manual clock.
    async fn with(script: Value, set: impl FnOnce(Builder) -> Builder) -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(START);
        let clock = Arc::new(ManualClock::at(start));
        let script = Script::from_json(&script.to_string()).unwrap();
        let site = Site::with(|builder| {
            set(builder
                .runner(RunnerKind::Simulated(script))
                .timing(Timing::documented())
                .clock(Arc::clone(&clock) as _))
        })
        .await;
        Self { site, clock }
    }

    async fn pass(&self, seconds: u64) {
        assert!(self.site.emulator.advance(Duration::from_secs(seconds)).await);
    }

    /// Sends a request that is signed at the time of the emulator's clock.
    async fn ask(&self, method: Method, below_project: &str, body: Value) -> Value {
        let target = format!("/v2/{}{below_project}", self.site.client.project_id);
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = self.site.signed(method, &target, body, self.clock.now());
        let text = request.send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }

    async fn create(&self, job: &Value) -> String {
        let job = self.ask(Method::POST, "/training-jobs", job.clone()).await;
        let id = job["metadata"]["id"].as_str();
        id.unwrap_or_else(|| panic!("{job}")).to_owned()
    }

    async fn get(&self, id: &str, below: &str) -> Value {
        self.ask(Method::GET, &format!("/training-jobs/{id}{below}"), Value::Null).await
    }

    async fn status(&self, id: &str) -> Value {
        self.get(id, "").await["status"].take()
    }

    /// Returns the time and text of each event.
    async fn events(&self, id: &str) -> Vec<(String, String)> {
        let events = self.get(id, "/events?limit=100").await;
        let text = |event: &Value, name: &str| event[name].as_str().unwrap().to_owned();
        let rows = events["events"].as_array().unwrap().iter();
        rows.map(|event| (text(event, "time"), text(event, "message"))).collect()
    }

    async fn log(&self, id: &str, task: &str) -> Value {
        self.get(id, &format!("/tasks/{task}/logs/preview")).await
    }
}

/// Returns a job without files, so that the emulator copies none.
fn job(name: &str) -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": name},
        "algorithm": {
            "engine": {"image_url": "org/image:1"},
            "command": "never run",
            "parameters": [{"name": "lr", "value": "0.1"}],
            "environments": {"MODE": "a b"},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
    })
}

fn with_cards(mut job: Value, annotations: Value) -> Value {
    job["metadata"]["annotations"] = annotations;
    job["spec"]["resource"]["flavor_id"] = "modelarts.p3.large.public".into();
    job
}
