//! Tests of the diagnosis on facts that no call has read, and their fixtures.

mod rules;
mod texts;

use std::sync::{Arc, LazyLock};

use modelarts_api::{Cause, diagnosis::Confidence};
use serde_json::{Value, json};

use crate::{
    client::Client,
    credentials::Credentials,
    jobs::{
        diagnosis::{
            Diagnosis,
            facts::{Facts, TaskLog},
        },
        events::event::Event,
        job::Job,
        logs::tail::LogTail,
    },
};

const FAILED: &str = "Training job failed.";

/// Client without a service. All tests share it, because its creation is slow.
static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    let client = Client::builder()
        .endpoint("https://modelarts.test")
        .project_id("0123456789abcdef0123456789abcdef")
        .credentials(Credentials::token("t"));
    client.build().unwrap()
});

pub(super) fn job(status: Value) -> Job {
    let details = json!({
        "metadata": {"id": "j", "name": "leaves", "create_time": 1_768_464_000_000_i64},
        "status": status,
        "spec": {"auto_stop": {"time_unit": "HOURS", "duration": 2},
                 "resource": {"flavor_id": "modelarts.vm.cpu.8u", "pool_id": "pool-gpu",
                              "flavor_detail": {"flavor_info": {
                                  "memory": {"size": 32, "unit": "GB"}}}}},
        "algorithm": {"code_dir": "/bucket/leaves/code/", "inputs": [{"name": "data_url",
                                  "local_dir": "/home/ma-user/inputs/data_url_0",
                                  "remote": {"obs": {"obs_url": "/bucket/data/"}}}]},
    });
    let details = serde_json::from_value(details).unwrap();
    Job::from_details(CLIENT.clone(), Box::new(details), Arc::default()).unwrap()
}

/// Returns the status of a job whose task ended with this code.
pub(super) fn exit(code: i64) -> Value {
    json!({"phase": "Failed", "start_time": 1_768_464_600_000_i64, "tasks": ["worker-0"],
           "task_statuses": [{"task": "worker-0", "exit_code": code,
                              "message": format!("exit with {code}")}]})
}

/// Returns the events with these messages, which are oldest first, in the order of the facts.
fn events(messages: &[&str]) -> Vec<Event> {
    let events = messages.iter().enumerate().map(|(second, message)| {
        let time = format!("2026-01-15T16:30:{second:02}+08:00");
        let level = match message.to_ascii_lowercase().contains("fail") {
            true => "Error",
            false => "Info",
        };
        let row = json!({"time": time, "level": level, "message": message});
        Event::new(serde_json::from_value(row).unwrap())
    });
    events.rev().collect()
}

fn log(text: &str) -> TaskLog {
    TaskLog {
        task: "worker-0".to_owned(),
        tail: LogTail { first: Some(1), lines: text.lines().map(str::to_owned).collect() },
    }
}

/// Returns the diagnosis of a job with this status, these events and this log.
pub(super) fn diagnosis(status: Value, messages: &[&str], text: &str) -> Diagnosis {
    let job = job(status);
    let mut facts = Facts::of(&job);
    facts.events = events(messages);
    if !text.is_empty() {
        facts.logs.push(log(text));
    }
    Diagnosis::of(&job, &facts)
}

pub(super) fn conclusion(diagnosis: &Diagnosis) -> (Cause, Confidence) {
    (diagnosis.cause, diagnosis.confidence)
}
