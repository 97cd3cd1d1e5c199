//! `modelarts show`.

use serde_json::json;

use crate::support::{Fixture, json_of};

async fn with_settings() -> (Fixture, String) {
    let fixture = Fixture::start().await;
    let seeds = json!([{
        "name": "leaves", "phase": "Failed", "exit_code": 137,
        "created": "2026-01-15T08:30:00Z", "started": "2026-01-15T08:30:09Z",
        "ended": "2026-01-15T08:32:09Z",
        "job": {
            "kind": "job", "metadata": {"description": "first try"},
            "algorithm": {
                "engine": {"image_url": "seeds/image:1"},
                "command": "python train.py",
                "parameters": [{"name": "epochs", "value": "20"}],
                "environments": {"DB_PASSWORD": "hunter2", "MODE": "fast"},
                "inputs": [{"name": "data", "remote": {"obs": {"obs_url": "obs://bucket/in/"}}}],
                "outputs": [{"name": "train_url", "remote": {"obs": {"obs_url": "obs://bucket/out/"}}}],
            },
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
        },
    }]);
    let id = fixture.seed(seeds).await.remove(0);
    (fixture, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_shown_with_its_settings_phases_and_tasks() {
    let (fixture, id) = with_settings().await;
    let output = fixture.run("show leaves").await.code(0);
    let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert_eq!(stdout, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_has_no_secrets() {
    let (fixture, id) = with_settings().await;
    for format in ["json", "yaml", "wide", "ndjson"] {
        let output = fixture
            .run(&format!("show leaves -o {format}"))
            .await
            .code(0);
        let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(!stdout.contains("hunter2"), "{stdout}");
    }
    let output = fixture.run("show leaves -o json").await.code(0);
    let document = json_of(&output, "job");
    assert_eq!(document["id"], id);
    assert_eq!(document["phase"], "Failed");
    assert_eq!(
        document["why"],
        "worker-0 exit code 137: likely out of memory"
    );
    assert_eq!(document["seconds_queued"], 9);
    assert_eq!(document["seconds_run"], 120);
    assert_eq!(
        document["settings"]["environment"],
        json!({"DB_PASSWORD": "***", "MODE": "fast"})
    );
    assert_eq!(document["settings"]["parameters"], json!({"epochs": "20"}));
    assert_eq!(document["tasks"][0]["exit_code"], 137);
    let phases = document["phases"].as_array().unwrap();
    let last = phases.last().unwrap();
    assert_eq!(last["phase"], "Failed");
    assert_eq!(last["seconds"], json!(null));
}
