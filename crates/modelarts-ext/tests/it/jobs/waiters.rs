//! Comparison of `x-waiters` in the description with `openapi/vectors/waiters.json`, and of the
//! SDK's waits with both.

use std::collections::BTreeSet;

use modelarts_ext::{Job, Outcome, RetryPolicy, types::Phase};
use serde_json::{Value, json};

use super::fixtures::details_of;
use crate::support::{
    clock::TestClock,
    server::{Reply, Server, json_answer},
};

/// Job id that all cases use.
const JOB: &str = "c1b7e5de-0f43-4a57-9d0e-6a2f1f8f2b11";

fn waiters() -> Vec<Value> {
    let description: Value = serde_json::from_str(modelarts_api::DESCRIPTION).unwrap();
    description["x-waiters"].as_array().unwrap().clone()
}

fn cases() -> Vec<Value> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/vectors/waiters.json");
    let vectors: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    vectors["cases"].as_array().unwrap().clone()
}

/// Returns the outcome that follows from the description alone, for a client in any language.
fn outcome<'a>(waiter: &'a Value, status: u64, body: &Value) -> &'a str {
    let is_error = status >= 400;
    let (key, found) = if is_error {
        ("error", &body["error_code"])
    } else {
        let path = waiter["field"].as_str().unwrap().split('.');
        ("value", path.fold(body, |value, name| &value[name]))
    };
    let mut outcomes = waiter["outcomes"].as_array().unwrap().iter();
    let outcome = outcomes.find(|outcome| outcome[key].is_string() && outcome[key] == *found);
    let none = if is_error { "error" } else { "wait" };
    outcome.map_or(none, |outcome| outcome["outcome"].as_str().unwrap())
}

#[test]
fn the_description_gives_the_outcome_of_each_case() {
    let waiters = waiters();
    let mut tested = BTreeSet::new();
    for case in cases() {
        let name = case["waiter"].as_str().unwrap();
        let waiter = waiters.iter().find(|waiter| waiter["name"] == name).unwrap();
        let status = case["status"].as_u64().unwrap();
        let outcome = outcome(waiter, status, &case["body"]);
        assert_eq!(outcome, case["outcome"], "{name}: {}", case["name"]);
        let value = case["body"]["status"]["phase"].as_str().unwrap_or_default();
        tested.insert((name.to_owned(), value.to_owned()));
    }
    // Every phase in the description must have a case.
    for waiter in waiters.iter().filter(|waiter| waiter["field"] == "status.phase") {
        for phase in Phase::KNOWN {
            let name = waiter["name"].as_str().unwrap().to_owned();
            assert!(tested.contains(&(name, (*phase).to_owned())), "{waiter}: {phase}");
        }
    }
    let tested: BTreeSet<_> = tested.iter().map(|(waiter, _)| waiter.as_str()).collect();
    let names = waiters.iter().map(|waiter| waiter["name"].as_str().unwrap());
    assert_eq!(tested, names.collect());
}

/// Returns the response of a case.
fn answer(case: &Value) -> Reply {
    let body = match &case["text"] {
        Value::String(text) => text.clone(),
        _ => case["body"].to_string(),
    };
    json_answer(&format!("{} -", case["status"]), "", &body)
}

#[tokio::test]
async fn waits_end_with_the_outcome_of_each_case() {
    for waiter in ["TrainingJobEnded", "TrainingJobRunning"] {
        for case in cases().iter().filter(|case| case["waiter"] == waiter) {
            let gone = json!({"error_code": "ModelArts.2775"});
            let gone = json_answer("400 Bad Request", "", &gone.to_string());
            let server = Server::start([details_of(JOB, "Pending"), answer(case), gone]).await;
            let clock = TestClock::new();
            let client = server.client(&clock).retry(RetryPolicy::none());
            let job = client.build().unwrap().training_jobs().get(JOB).await;
            let mut wait = job.unwrap().wait();
            if waiter == "TrainingJobRunning" {
                wait = wait.until(|job: &Job| job.phase() == Phase::Running);
            }
            let end = wait.await;
            let outcome = match &end {
                // The next response reports that the job was deleted, so the wait continued.
                Ok(end) if server.left() == 0 && *end.outcome() == Outcome::Vanished => {
                    if end.errors() == 0 { "wait" } else { "error" }
                }
                Ok(end) => match end.outcome() {
                    Outcome::Completed | Outcome::Reached => "success",
                    Outcome::Failed { .. } | Outcome::Abnormal { .. } => "failure",
                    Outcome::Terminated { .. } => "terminated",
                    Outcome::Vanished => "gone",
                    other => panic!("{other:?}"),
                },
                Err(_) => "error",
            };
            assert_eq!(outcome, case["outcome"], "{waiter}: {}: {end:?}", case["name"]);
        }
    }
}
