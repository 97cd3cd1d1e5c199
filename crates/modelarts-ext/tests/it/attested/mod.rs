//! Tests with the requests in `openapi/attested`, most of which were run on the live service.
//!
//! `openapi/attested/manifest.json` lists the requests with their sources and expected results. The
//! tests send them to the emulator and compare its responses, and validate the bodies that the
//! service accepted.

mod assertion;
mod json_path;
mod manifest;
mod scenario;
#[path = "../../../../modelarts-api/tests/answers/types.rs"]
mod types;

use manifest::Manifest;
use modelarts_ext::{Client, Credentials, config::Cloud};
use scenario::Scenario;
use serde_json::Value;

/// Rejected entries for which the source does not determine the cause of the rejection.
const CAUSE_UNKNOWN: [&str; 1] = ["qt-refused-image-with-registry"];

#[tokio::test]
async fn the_emulator_answers_as_the_service_did() {
    let manifest = Manifest::read();
    let mut scenario = Scenario::start().await;
    let mut wrong = Vec::new();
    let mut asserted = 0;
    for entry in &manifest.entries {
        scenario.set_up(entry).await;
        let body = scenario.body(entry);
        let answer = scenario.send(entry, body.as_ref()).await;
        let name = &entry.name;
        if CAUSE_UNKNOWN.contains(&name.as_str()) && (400..500).contains(&answer.status) {
            continue;
        }
        if answer.status != entry.expected_status {
            wrong.push(format!("{name}: {} {}", answer.status, answer.body));
            continue;
        }
        if let Some(error) = &entry.expected_error {
            wrong.extend(error.differences(&answer.body).map(|text| format!("{name}: {text}")));
        }
        if entry.asserts.is_empty() {
            continue;
        }
        for (form, read) in scenario.read(entry, answer).await {
            for assert in &entry.asserts {
                asserted += 1;
                if let Err(text) = assert.holds(&read, &scenario) {
                    wrong.push(format!("{name}: {} ({form}): {text}", assert.path));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert_eq!((manifest.entries.len(), asserted), (72, 2 * 407));
}

/// No response of the service contradicts the request that created its job, so a lost create is
/// found.
#[tokio::test]
async fn no_echo_of_the_service_denies_its_own_job() {
    let mut scenario = Scenario::start().await;
    let (mut found, mut wrong) = (0, Vec::new());
    for entry in &Manifest::read().entries {
        scenario.set_up(entry).await;
        let body = scenario.body(entry);
        if entry.operation != "CreateTrainingJob" || entry.expected_status != 201 {
            scenario.send(entry, body.as_ref()).await;
            continue;
        }
        found += 1;
        let lost = scenario.submit_lost(entry, &body.unwrap()).await;
        wrong.extend(lost.err().map(|error| format!("{}: {error}", entry.name)));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert_eq!(found, 21);
}

/// Returns a client for Huawei Cloud that is used without sending requests.
fn client() -> Client {
    Client::builder()
        .endpoint("http://127.0.0.1:9/")
        .cloud(Cloud::Huawei)
        .project_id("p")
        .credentials(Credentials::keys("A", "S"))
        .build()
        .unwrap()
}

#[test]
fn jobs_that_the_service_took_pass_the_check_and_lose_nothing() {
    let client = client();
    let mut jobs = 0;
    let mut wrong = Vec::new();
    for entry in &Manifest::read().entries {
        if entry.operation != "CreateTrainingJob" || entry.expected_status != 201 {
            continue;
        }
        jobs += 1;
        let body = entry.body().unwrap();
        match client.training_jobs().from_json(&body.to_string()) {
            Ok(job) => {
                let report = job.check();
                wrong.extend(report.violations.iter().map(|v| format!("{}: {v}", entry.name)));
                // A warning names each field that only the service may set.
                let named = |path: &String| report.warnings.iter().any(|w| w.field() == path);
                let lost = json_path::missing(&json_path::without_nulls(&body), &job.body());
                wrong.extend(
                    lost.iter()
                        .filter(|path| !named(path))
                        .map(|path| format!("{}: {path} is lost", entry.name)),
                );
            }
            Err(error) => wrong.push(format!("{}: {error}", entry.name)),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert_eq!(jobs, 21);
}

/// Returns a response in two forms: as received, and after decoding into the generated types.
fn forms(schema: &str, answer: Value) -> [(&'static str, Value); 2] {
    let (kept, _) = types::find(schema).unwrap()(answer.to_string().as_bytes()).unwrap();
    [("on the wire", answer), ("in the types", kept)]
}
