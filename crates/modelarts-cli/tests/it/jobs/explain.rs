//! `modelarts explain`.

use serde_json::json;

use crate::support::{Fixture, assert, json_of};

#[tokio::test(flavor = "multi_thread")]
async fn the_cause_of_a_failure_is_explained_with_evidence() {
    let fixture = Fixture::start().await;
    let seeds = json!([{
        "name": "leaves", "phase": "Failed", "exit_code": 1,
        "logs": {"worker-0": "Traceback (most recent call last):\n  File \"train.py\", line 1, in \
                              <module>\nModuleNotFoundError: No module named 'apexx'\n"},
    }]);
    fixture.seed(seeds).await;
    let output = fixture.run("explain leaves").await.code(0);
    let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[0].starts_with("leaves  ✗ Failed: "), "{stdout}");
    assert_eq!(lines[1], "Cause     missing_module (certain)", "{stdout}");
    assert!(lines.contains(&"Evidence") && lines.contains(&"Advice"), "{stdout}");
    let output = fixture.run("explain leaves -o json").await.code(0);
    let document = json_of(&output, "diagnosis");
    assert_eq!(document["cause"], "missing_module");
    assert_eq!(document["confidence"], "certain");
    assert_eq!(document["exit_code"], 1);
    let evidence = document["evidence"].as_array().unwrap();
    assert!(
        evidence.iter().any(|fact| fact["source"] == "log"
            && fact["text"] == "ModuleNotFoundError: No module named 'apexx'"),
        "{document:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_without_a_problem_has_an_explanation_too() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{"name": "done"}])).await;
    let output = fixture.run("explain done -o json").await.code(0);
    assert_eq!(json_of(&output, "diagnosis")["cause"], "completed");
    fixture.run("explain nothing").await.code(4);
}

#[tokio::test(flavor = "multi_thread")]
async fn times_are_those_of_the_user() {
    let fixture = Fixture::start().await;
    let seeds = json!([{
        "name": "leaves", "phase": "Failed", "exit_code": 137, "created": "2026-01-15T08:30:00Z",
        "events": [
            {"time": "2026-01-15T08:30:00Z", "message": "Training job created."},
            {"time": "2026-01-15T08:30:09Z", "source": "Task",
             "message": "[worker-0] Training finished. Exit code 137."},
        ],
    }]);
    fixture.seed(seeds).await;
    let in_zone = |arguments| fixture.command(arguments).env("TZ", "Asia/Tokyo");
    let output = assert(in_zone("explain leaves")).await.code(0);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(
        text.contains("\n  2026-01-15 17:30:09 worker-0 exit code 137 (128 + SIGKILL"),
        "{text}"
    );
    assert!(!text.contains("T08:30:09Z"), "{text}");
    // JSON has the same times in every zone.
    let output = assert(in_zone("explain leaves -o json")).await.code(0);
    let document = json_of(&output, "diagnosis");
    let evidence = document["evidence"].as_array().unwrap();
    assert!(evidence.iter().any(|fact| fact["time"] == "2026-01-15T08:30:09Z"), "{document:#}");
}
