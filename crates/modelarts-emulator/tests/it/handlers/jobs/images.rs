//! Saved images, reported events, publications, and route plans.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{Timing, clock::ManualClock, jobs::RunnerKind, script::Script};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Gate, Reply, Site};

const SEEN: &str = "BuildImage,True,Commit successfully|PushImage,True,Push successfully";

fn image(name: &str) -> Value {
    json!({"name": name, "namespace": "team", "tag": "2026-A", "description": "kept"})
}

fn path(id: &str, task: &str) -> String {
    format!("/training-jobs/{id}/tasks/{task}/save-image-job")
}

fn message(reply: &Reply) -> String {
    reply.json()["error_msg"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_running_job_is_saved_as_an_image_and_an_ended_one_is_not() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let id = site.create(&site.script("model", &(gate.python() + "gate()"))).await;
    let running = gate.reached().await;
    let none = site.get(&path(&id, "worker-0")).await;
    none.refused(404, "ModelArts.2881");

    let begun = site.post(&path(&id, "worker-0"), &image("lab")).await;
    assert_eq!(begun.status, StatusCode::CREATED, "{}", begun.text);
    let begun = begun.json();
    assert!(begun["create_time"].as_i64().unwrap() > 0);
    assert_eq!(
        begun,
        json!({
            "name": "lab", "namespace": "team", "tag": "2026-A", "description": "kept",
            "status": "INIT", "message": "", "create_time": begun["create_time"],
        })
    );
    let saved = site.get(&path(&id, "worker-0")).await.json();
    assert_eq!(
        (&saved["status"], &saved["message"], &saved["create_time"]),
        (&"ACTIVE".into(), &SEEN.into(), &begun["create_time"])
    );
    for (body, sentence) in [
        (
            json!({"name": "Lab", "namespace": "team", "tag": "1"}),
            "name must be 1 to 512 lower-case letters, digits or -_.",
        ),
        (
            json!({"name": "lab", "namespace": "team", "tag": "a/b"}),
            "tag must be 1 to 64 letters, digits or -_.",
        ),
        (json!({"name": "lab", "tag": "1"}), "namespace is required"),
        (json!({"name": "lab", "namespace": "", "tag": "1"}), "namespace is required"),
        (
            json!({"name": "lab", "namespace": "team", "tag": "1", "description": "x".repeat(513)}),
            "description must have at most 512 characters",
        ),
    ] {
        let reply = site.post(&path(&id, "worker-0"), &body).await;
        reply.refused(400, "ModelArts.2788");
        assert_eq!(message(&reply), format!("Invalid parameter({sentence})."));
    }
    let other = site.post(&path(&id, "worker-1"), &image("lab")).await;
    assert_eq!(message(&other), "Invalid parameter(task_id worker-1 is not a task of the job).");
    let nowhere = site.post(&path("none", "worker-0"), &image("lab")).await;
    nowhere.refused(400, "ModelArts.2775");

    running.let_through().await;
    site.emulator.wait_until_settled(&id).await;
    let late = site.post(&path(&id, "worker-0"), &image("late")).await;
    late.refused(400, "ModelArts.2883");
    assert_eq!(message(&late), "training job secondary_phase is not running");
    let saved = site.get(&path(&id, "worker-0")).await.json();
    assert_eq!((&saved["name"], &saved["status"]), (&"lab".into(), &"ACTIVE".into()));
}

#[tokio::test]
async fn an_image_takes_its_time_and_fails_with_its_container() {
    let mut timing = Timing::instant();
    timing.saving_image = Duration::from_secs(3600);
    let (data, obs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let start = || {
        let timing = timing.clone();
        Site::with(|builder| {
            let builder = builder.timing(timing).data_dir(data.path());
            builder.obs_root(obs.path())
        })
    };
    let site = start().await;
    let gate = Gate::new().await;
    let mut job = site.script("model", &(gate.python() + "gate()"));
    job["spec"]["resource"]["node_count"] = 2.into();
    let id = site.create(&job).await;
    let (first, second) = (gate.reached().await, gate.reached().await);
    let begin = async |task: &str| site.post(&path(&id, task), &image("lab")).await;
    let status = async |site: &Site, task: &str| {
        let reply = site.get(&path(&id, task)).await;
        reply.json()["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(begin("worker-0").await.status, StatusCode::CREATED);
    assert_eq!(status(&site, "worker-0").await, "CREATING");
    let again = begin("worker-0").await;
    again.refused(400, "ModelArts.2880");
    assert_eq!(message(&again), "ImageSaveJob is exist");
    assert_eq!(begin("worker-1").await.status, StatusCode::CREATED);
    first.let_through().await;
    second.let_through().await;
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(status(&site, "worker-1").await, "CREATE_FAILED");

    site.emulator.shutdown().await;
    let site = start().await;
    assert_eq!(status(&site, "worker-0").await, "CREATE_FAILED");
}

#[tokio::test]
async fn an_image_is_there_after_a_minute_of_the_emulators_clock() {
    let script = Script::from_json(r#"{"default": [{"seconds": 600}]}"#).unwrap();
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| {
        builder.runner(RunnerKind::Simulated(script)).timing(Timing::documented()).clock(clock)
    })
    .await;
    let id = site.create(&site.script("model", "")).await;
    let path = path(&id, "worker-0");
    let early = site.post(&path, &image("lab")).await;
    early.refused(400, "ModelArts.2883");
    assert!(site.emulator.advance(Duration::from_secs(60)).await);
    let begun = site.post(&path, &image("lab")).await;
    assert_eq!(begun.json()["status"], "INIT");
    for (seconds, status) in [(0, "CREATING"), (59, "CREATING"), (1, "ACTIVE")] {
        let passed = site.emulator.advance(Duration::from_secs(seconds)).await;
        assert!(passed);
        let saved = site.get(&path).await.json();
        assert_eq!(saved["status"], status, "{seconds}");
    }
    let again = site.post(&path, &image("lab-2")).await;
    assert_eq!(again.status, StatusCode::CREATED);
}

/// The request bodies are those that the service accepted and rejected.
#[tokio::test]
async fn an_image_goes_to_an_organization_of_the_user_only() {
    let site = Site::with(|builder| builder.organization("heron-works")).await;
    let gate = Gate::new().await;
    let id = site.create(&site.script("model", &(gate.python() + "gate()"))).await;
    let running = gate.reached().await;
    let attested = |name: &str| -> Value {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/attested/bodies");
        let text = std::fs::read_to_string(format!("{directory}/{name}.json"));
        serde_json::from_str(&text.unwrap()).unwrap()
    };
    let foreign = attested("skill-refused-image-save-namespace");
    let refused = site.post(&path(&id, "worker-0"), &foreign).await;
    refused.refused(400, "ModelArts.2885");
    assert_eq!(message(&refused), "the access of user swr is exception");
    for name in ["image-save", "skill-image-save"] {
        let taken = site.post(&path(&id, "worker-0"), &attested(name)).await;
        assert_eq!(taken.status, StatusCode::CREATED, "{name}: {}", taken.text);
        let saved = site.get(&path(&id, "worker-0")).await.json();
        assert_eq!(saved["status"], "ACTIVE");
        assert_eq!(saved["message"], SEEN);
    }
    running.let_through().await;
}

#[tokio::test]
async fn a_reported_event_is_one_of_the_jobs_events() {
    let site = Site::start().await;
    let id = site.run(&site.script("model", "")).await;
    let path = format!("/training-jobs/{id}/tasks/worker-0/reports");
    let report = json!({"type": "ProfilingRunning"});
    let reply = site.post(&format!("{path}/training-event"), &report).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::OK, ""));
    let messages = site.messages(&id).await;
    assert!(messages.contains(&"[worker-0] ProfilingRunning".to_owned()), "{messages:?}");
    for (path, body, sentence) in [
        (format!("{path}/other"), report.clone(), "report_type must be training-event"),
        (
            format!("/training-jobs/{id}/tasks/worker-7/reports/training-event"),
            report,
            "task_id worker-7 is not a task of the job",
        ),
        (format!("{path}/training-event"), json!({"type": 7}), "type must be a string"),
        (
            format!("{path}/training-event"),
            json!({"type": "x".repeat(257)}),
            "type must have at most 256 characters",
        ),
    ] {
        let reply = site.post(&path, &body).await;
        assert_eq!(message(&reply), format!("Invalid parameter({sentence})."));
    }
}

#[tokio::test]
async fn an_algorithm_is_published() {
    let site = Site::start().await;
    site.put("bucket/code/train.py", "");
    let algorithm = json!({
        "metadata": {"name": "sorter"},
        "job_config": {
            "code_dir": "/bucket/code/", "boot_file": "/bucket/code/train.py",
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
        },
    });
    let algorithm = site.post("/algorithms", &algorithm).await.json();
    let id = algorithm["metadata"]["id"].as_str().unwrap();
    let path = "/gallery-algorithm-publication";
    let body = json!({
        "content_id": "asset", "algorithm": {"id": id},
        "content_info": {"version_num": "1.2.0", "desc": "faster"},
    });
    let reply = site.post(path, &body).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text);
    let shown = reply.json();
    assert!(!shown["version_id"].as_str().unwrap().is_empty());
    assert_eq!(
        shown,
        json!({
            "content_id": "asset", "version_id": shown["version_id"],
            "version_num": "1.2.0", "content_uri": "",
        })
    );
    let reply = site.post(path, &json!({"algorithm": {"id": "none"}})).await;
    reply.refused(400, "ModelArts.2755");
    for body in [json!({}), json!({"algorithm": {"id": ""}})] {
        let reply = site.post(path, &body).await;
        assert_eq!(message(&reply), "Invalid parameter(algorithm.id is required).");
    }
    let invalid = site.send(Method::POST, path, b"{".to_vec()).await;
    invalid.refused(400, "ModelArts.2787");
}

#[tokio::test]
async fn ranks_are_in_the_default_order() {
    let site = Site::start().await;
    let mut job = site.script("model", "");
    job["spec"]["resource"]["node_count"] = 3.into();
    let id = site.run(&job).await;
    let plan = site.get(&format!("/training-jobs/{id}/route_plan")).await;
    assert_eq!(
        plan.json(),
        json!({"job_id": id, "status": "failed", "rank_mapping": "0-0,1-1,2-2"})
    );
}
