//! `modelarts record`.

use std::{fs, time::Duration};

use modelarts_emulator::{
    Timing,
    faults::{Fault, FaultRule},
};
use serde_json::{Value, json};

use crate::support::{Fixture, assert, json_of};

/// Names, paths and secrets in `record.json`.
const NAMES: &str = "walrus turnstone lapwing kittiwake puffins fulmar gannetry GANNET quartz \
    c2VjcmV0 20261122 10.11.12.13 Otterson dotterel.example AKIA teal-budget bittern 4711";

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_has_no_names_and_is_compared() {
    let fixture = Fixture::start().await;
    for file in ["20261122/x", "kittiwake/puffins.py"] {
        let url = format!("obs://lapwing/{file}");
        fixture.emulator.put(&url, "").unwrap();
    }
    let jobs: Value = serde_json::from_str(include_str!("record.json")).unwrap();
    let mut names = fixture.seed(jobs).await;
    let output = fixture.run("record session.json --create --yes").await;
    output.code(0);
    let file = fixture.path().join("session.json");
    let text = fs::read_to_string(&file).unwrap();
    names.push(fixture.client().project_id().to_owned());
    names.extend(NAMES.split_whitespace().map(str::to_owned));
    for name in names {
        assert!(!text.contains(&name), "{name} is in the recording");
    }
    let mut transcript: Value = serde_json::from_str(&text).unwrap();
    let calls = transcript["calls"].as_array_mut().unwrap();
    let phases = calls.iter().map(|call| &call["response"]["status"]["phase"]);
    let phases: Vec<&str> = phases.filter_map(Value::as_str).collect();
    assert_eq!(phases, ["Running", "Failed", "Completed", "Creating", "Completed"]);
    // The emulator does not have these operations.
    calls.retain(|call| call["status"] != 501);
    fs::write(&file, transcript.to_string()).unwrap();
    let output = fixture.run("record --compare session.json").await;
    output.code(0).stdout_eq("");
    let calls = transcript["calls"].as_array_mut().unwrap();
    let is_details = |call: &&mut Value| call["operation"] == "ShowTrainingJobDetails";
    let response = &mut calls.iter_mut().find(is_details).unwrap()["response"];
    response["metadata"]["nome"] = response["metadata"]["name"].take();
    response["metadata"]["id"] = json!([1]);
    response["status"]["phase"] = "Nesting".into();
    response.as_object_mut().unwrap().remove("kind");
    fs::write(&file, transcript.to_string()).unwrap();
    let output = fixture.run("record --compare session.json -o json").await;
    let rows = json_of(&output.code(1), "differences")["differences"].take();
    let row = |row: &Value| format!("{} {}", row["path"], row["difference"]).replace('"', "");
    let rows: Vec<String> = rows.as_array().unwrap().iter().map(row).collect();
    let expected = "/response/kind is missing, but required
/response/metadata/id is array, described as string
/response/metadata/name is null, described as string
/response/metadata/nome is string, not described
/response/status/phase \\Nesting\\ is no known value";
    assert_eq!(rows.join("\n"), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_created_job_is_deleted_in_any_case() {
    let mut timing = Timing::instant();
    timing.creating = Duration::from_secs(600);
    let fixture = Fixture::with(|builder| builder.timing(timing)).await;
    let emulator = &fixture.emulator;
    let count = |name: &str| emulator.requests().get(name).map_or(0, |it| it.executed);
    fixture.run("record session.json --create").await.code(2);
    let conflict = Fault::error(409, "ModelArts.2770", "Busy");
    let conflict = FaultRule::once("DeleteTrainingJob", conflict);
    emulator.faults().add(conflict).unwrap();
    let late = fixture.run("record session.json --create -y --timeout 1s");
    late.await.code(124);
    assert_eq!([count("StopTrainingJob"), count("DeleteTrainingJob")], [1, 1]);
    let running = fixture.spawn("record session.json --create --yes");
    while count("CreateTrainingJob") < 2 {
        tokio::task::yield_now().await;
    }
    running.signal("INT");
    assert_eq!(running.end().0, Some(130));
    assert_eq!(count("DeleteTrainingJob"), 2);

    // A refused key ends the recording at its first call.
    let command = fixture.command("record other.json");
    let output = assert(command.env("HUAWEICLOUD_SDK_SK", "another")).await;
    let stderr = output.code(1).get_output().stderr.clone();
    let lines = String::from_utf8(stderr).unwrap();
    assert!(lines.contains("nothing was recorded; other.json was not written"));
    assert_eq!(lines.lines().count(), 3, "{lines}");
}
