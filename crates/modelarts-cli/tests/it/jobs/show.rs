//! `modelarts show`.

use serde_json::json;

use crate::support::{Fixture, json_of};

async fn with_settings() -> (Fixture, String) {
    let fixture = Fixture::start().await;
    for path in ["bucket/in/a.csv", "bucket/out/old.txt"] {
        fixture.emulator.put(path, "").unwrap();
    }
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
                "outputs": [{"name": "train_url",
                "remote": {"obs": {"obs_url": "obs://bucket/out/"}}}],
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
    // The time zone is that of the machine, and the age depends on the date of the test.
    output.stderr_eq("").stdout_eq(format!(
        "\
leaves  ✗ Failed  worker-0 exit code 137: likely out of memory
Id           {id}
Description  first try
User         emulator
Created      2026-01-1[..] ([..]d ago)
Queued       9s
Ran          2m0s

Settings
Flavor       modelarts.vm.cpu.8u × 1
Image        seeds/image:1
Command      python train.py
Input        data  obs://bucket/in/ → /home/ma-user/modelarts/inputs/data_0
Output       train_url  obs://bucket/out/ ← /home/ma-user/modelarts/outputs/train_url_0
Parameter    epochs=20
Environment  DB_PASSWORD=***
Environment  MODE=fast

Phases
2026-01-1[..]:00  Creating  0s
2026-01-1[..]:00  Pending   9s
2026-01-1[..]:09  Running   2m0s
2026-01-1[..]:09  Failed

Tasks
worker-0     failed     exit code 137  exit with 137
"
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_has_no_secrets() {
    let (fixture, id) = with_settings().await;
    for format in ["json", "yaml", "wide", "ndjson"] {
        let output = fixture.run(&format!("show leaves -o {format}")).await.code(0);
        let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(!stdout.contains("hunter2"), "{stdout}");
    }
    let output = fixture.run("show leaves -o json").await.code(0);
    let document = json_of(&output, "job");
    assert_eq!(document["id"], id);
    assert_eq!(document["phase"], "Failed");
    assert_eq!(document["why"], "worker-0 exit code 137: likely out of memory");
    assert_eq!(document["seconds_queued"], 9);
    assert_eq!(document["seconds_run"], 120);
    assert_eq!(document["settings"]["environment"], json!({"DB_PASSWORD": "***", "MODE": "fast"}));
    assert_eq!(document["settings"]["parameters"], json!({"epochs": "20"}));
    assert_eq!(document["tasks"][0]["exit_code"], 137);
    let phases = document["phases"].as_array().unwrap();
    let last = phases.last().unwrap();
    assert_eq!(last["phase"], "Failed");
    assert_eq!(last["seconds"], json!(null));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_jobs_are_compared() {
    let fixture = Fixture::start().await;
    let job = |epochs: &str, nodes: u32| {
        json!({
            "kind": "job", "metadata": {"name": "a"},
            "algorithm": {
                "engine": {"image_url": "seeds/image:1"}, "command": "true",
                "parameters": [{"name": "epochs", "value": epochs}, {"name": "lr", "value": "0.1"}],
                "outputs": [{"name": "train_url", "remote": {"obs": {"obs_url": "/bucket/out/"}}}],
            },
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": nodes}},
        })
    };
    let times = ["2026-01-15T08:00:00Z", "2026-01-15T08:00:10Z", "2026-01-15T08:01:10Z"];
    let seed = |name: &str, phase: &str, job: serde_json::Value| {
        json!({
            "name": name, "phase": phase, "job": job,
            "created": times[0], "started": times[1], "ended": times[2],
        })
    };
    let mut failed = seed("second", "Failed", job("20", 2));
    failed["exit_code"] = 3.into();
    fixture.seed(json!([seed("first", "Completed", job("10", 1)), failed])).await;
    let output = fixture.run("diff first second").await.code(0);
    output.stdout_eq(
        "\
FIELD                     FIRST      SECOND
name                      first      second
nodes                     1          2
parameters.epochs         10         20
phase                     Completed  Failed
tasks.worker-0.exit_code  -          3
why                       -          worker-0 exit code 3
",
    );
    let output = fixture.run("diff first second -o json").await.code(0);
    let fields = json_of(&output, "fields");
    assert_eq!(
        fields["fields"][2],
        json!({"group": "settings", "field": "parameters.epochs", "first": "10", "second": "20"})
    );
    let output = fixture.run("diff first first").await.code(0);
    output.stdout_eq("FIELD  FIRST  SECOND\nname   first  first\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn mounts_and_the_directories_of_a_command_are_shown() {
    let fixture = Fixture::start().await;
    fixture
        .seed(json!([{"name": "mounted", "job": {
            "kind": "job", "metadata": {},
            "algorithm": {
                "engine": {"image_url": "org/image:1", "run_user": "1102"}, "command": "true",
                "working_dir": "/home/ma-user/work",
            },
            "spec": {
                "resource": {"flavor_id": "modelarts.pool.visual.xlarge", "pool_id": "pool-gpu",
                    "node_count": 1},
                "volumes": [{"nfs": {"nfs_server_path": "10.0.0.5:/share", "local_path": "/mnt/x",
                    "read_only": true}}],
                "notification": {"topic_urn": "urn:smn:eu-de:p:t", "events": ["JobFailed"]},
            },
        }}]))
        .await;
    let output = fixture.run("show mounted").await.code(0);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    for line in [
        "Directory    /home/ma-user/work\n",
        "User in job  1102\n",
        "Volume       10.0.0.5:/share → /mnt/x\n",
        "Notification urn:smn:eu-de:p:t: JobFailed\n",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}
