//! Failures of simulated jobs: before, during and after the run of their code.

use std::{sync::Arc, time::SystemTime};

use modelarts_emulator::{clock::ManualClock, jobs::RunnerKind, script::Script};
use reqwest::Method;
use serde_json::{Value, json};

use super::{START, Simulation, job, with_cards};
use crate::support::Site;

#[tokio::test]
async fn a_node_fault_uses_a_retry_or_fails_the_job() {
    let fault = json!({"seconds": 60, "fault": {"node_fault": 20}});
    let script = json!({"default": [fault, {"seconds": 60}]});
    // An exit code would not restart the job, but a node fault does.
    let simulation = Simulation::with(script, |builder| {
        builder.restart_on(modelarts_emulator::jobs::RestartOn::Fault)
    })
    .await;
    let retry = json!({"fault-tolerance/job-retry-num": "1"});
    let again = simulation.create(&with_cards(job("again"), retry)).await;
    let once = simulation.create(&job("once")).await;
    simulation.pass(600).await;
    let status = simulation.status(&again).await;
    assert_eq!(status["phase"], "Completed");
    assert_eq!(
        status["running_records"][0],
        json!({
            "start_at": START + 12, "end_at": START + 34, "start_type": "init_or_rescheduled",
            "end_reason": "node fault", "end_related_task": "worker-0",
            "end_recover": "job_reschedule_with_taint",
        })
    );
    let tasks = simulation.get(&again, "/tasks").await;
    let counts: Vec<&Value> =
        tasks.as_array().unwrap().iter().map(|task| &task["schedule_count"]).collect();
    assert_eq!(counts, [1, 2]);
    let status = simulation.status(&once).await;
    assert_eq!(status["phase"], "Failed");
    assert_eq!(status["running_records"][0]["end_reason"], "node fault");
}

#[tokio::test]
async fn an_evicted_pod_fails_the_job_or_uses_a_retry() {
    let script = json!({"default": [{"seconds": 60, "fault": {"evicted": 20}}, {"seconds": 60}]});
    let simulation = Simulation::of(script).await;
    let retry = json!({"fault-tolerance/job-retry-num": "1"});
    let again = simulation.create(&with_cards(job("again"), retry)).await;
    let once = simulation.create(&job("once")).await;
    simulation.pass(600).await;
    assert_eq!(simulation.status(&again).await["phase"], "Completed");
    let status = simulation.status(&once).await;
    assert_eq!(status["phase"], "Failed");
    assert_eq!(status["running_records"][0]["end_reason"], "evicted");
    assert_eq!(status["task_statuses"], Value::Null);
    let start = format!(
        "[Pod: modelarts-job-{once}-worker-0] Evicted: The node was low on resource: \
         ephemeral-storage. Threshold quantity: 107374182400, available: 104333312Ki."
    );
    let events = simulation.events(&once).await;
    assert_eq!(events.iter().filter(|(_, text)| text.starts_with(&start)).count(), 1);
}

#[tokio::test]
async fn a_job_that_hangs_is_reported_and_restarted_in_place() {
    let script = json!({"default": [
        {"seconds": 7200, "log": ["{run}"], "fault": {"hang": 600}},
        {"seconds": 7200, "log": ["{run}"]},
    ]});
    let simulation = Simulation::of(script).await;
    let annotations =
        json!({"fault-tolerance/job-retry-num": "1", "fault-tolerance/hang-retry": "true"});
    let again = simulation.create(&with_cards(job("again"), annotations)).await;
    let id = simulation.create(&with_cards(job("reported"), json!({}))).await;
    simulation.pass(6 * 3600).await;
    let hint = "The system detects that your training job may be suspended. Go to the job details \
         page to view the cause and handle the issue.";
    let at = |events: &[(String, String)]| {
        let event = events.iter().find(|(_, text)| text == hint);
        event.map(|(time, _)| time.clone())
    };
    // The emulator checks the job every half hour: it is active in the first half hour, and not in
    // the second.
    let hour = Some("2022-11-26T17:00:13+08:00".to_owned());
    assert_eq!(at(&simulation.events(&again).await), hour);
    assert_eq!(at(&simulation.events(&id).await), hour);
    let status = simulation.status(&again).await;
    assert_eq!(status["phase"], "Completed");
    assert_eq!(status["running_records"][1]["start_type"], "restarted");
    assert_eq!(simulation.log(&again, "worker-0").await["content"], "1\n2\n");
    // Without an intervention, the job would hang indefinitely.
    assert_eq!(simulation.status(&id).await["phase"], "Running");
    let stop = json!({"action_type": "terminate"});
    simulation.ask(Method::POST, &format!("/training-jobs/{id}/actions"), stop).await;
    simulation.pass(60).await;
    let status = simulation.status(&id).await;
    assert_eq!(status["phase"], "Terminated");
    assert_eq!(status["running_records"][0]["end_reason"], "exit with 143");
}

#[tokio::test]
async fn a_job_that_ignores_signals_ends_after_the_grace() {
    let script = json!({"default": [{"seconds": 7200, "ignores_sigterm": true}]});
    let simulation = Simulation::of(script).await;
    let mut limited = job("limited");
    limited["spec"]["auto_stop"] = json!({"time_unit": "HOURS", "duration": 1});
    let id = simulation.create(&limited).await;
    simulation.pass(2 * 3600).await;
    let status = simulation.status(&id).await;
    assert_eq!(status["phase"], "Terminated");
    assert_eq!(status["running_records"][0]["end_reason"], "exit with 137");
    let events = simulation.events(&id).await;
    let killed = "[worker-0] Training finished. Exit code 137.";
    let killed = events.iter().find(|(_, text)| text == killed);
    // The job is Running from 16:00:12 on, for an hour and a grace period of 30 s.
    assert_eq!(killed.unwrap().0, "2022-11-26T17:00:42+08:00");
}

#[tokio::test]
async fn a_failed_code_download_fails_the_job() {
    let script = json!({"default": [{"download_seconds": 5, "download_error": "no such key"}]});
    let simulation = Simulation::of(script).await;
    let mut coded = job("coded");
    coded["algorithm"]["code_dir"] = "obs://bucket/code/".into();
    simulation.site.put("bucket/code/train.py", "");
    let id = simulation.create(&coded).await;
    simulation.pass(60).await;
    let status = simulation.status(&id).await;
    assert_eq!(
        (&status["phase"], &status["secondary_phase"]),
        (&json!("Abnormal"), &json!("CreateFailed"))
    );
    let events = simulation.events(&id).await;
    let failed = "[worker-0] [Duration: 5.000] Failed to download the training code. Failure \
         cause: no such key";
    assert_eq!(
        events[events.len() - 2],
        ("2022-11-26T16:00:14+08:00".to_owned(), failed.to_owned())
    );
}

#[tokio::test]
async fn a_download_that_ends_at_the_time_limit_has_timed_out() {
    let script = json!({"default": [{"download_seconds": 3600}]});
    let simulation = Simulation::of(script).await;
    let mut coded = job("coded");
    coded["algorithm"]["code_dir"] = "obs://bucket/code/".into();
    simulation.site.put("bucket/code/train.py", "");
    let id = simulation.create(&coded).await;
    simulation.pass(2 * 3600).await;
    let events = simulation.events(&id).await;
    let texts: Vec<&str> = events.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(
        texts[texts.len() - 2..],
        [
            "[worker-0] The training code is being downloaded.",
            "Preparations timed out. The possible cause is that the cross-region algorithm \
             synchronization or creating shared storage timed out."
        ]
    );
}

/// Each kind of failure before the start of the code has a specific event, and the job becomes
/// Abnormal.
#[tokio::test]
async fn jobs_fail_before_they_run() {
    for (failure, event) in [
        (json!({"prepare_timeout": true}), "Preparations timed out."),
        (
            json!({"pre_check_error": "no route to pod-1"}),
            "[worker-0] [Duration: 0.000] Pre-check failed. Error: no route to pod-1",
        ),
        (json!({"input_error": "the bucket is not there"}), "the bucket is not there"),
    ] {
        let script = json!({"default": [failure]}).to_string();
        let script = Script::from_json(&script).unwrap();
        let clock = Arc::new(ManualClock::at(SystemTime::now()));
        let site = Site::with(|builder| {
            builder.runner(RunnerKind::Simulated(script)).clock(Arc::clone(&clock) as _)
        })
        .await;
        site.put("bucket/in/x", "");
        let mut job = site.script("broken", "");
        job["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "1"});
        job["algorithm"]["inputs"] =
            json!([{"name": "data_url", "remote": {"obs": {"obs_url": "/bucket/in/"}}}]);
        let id = site.run(&job).await;
        let status = site.details(&id).await["status"].clone();
        assert_eq!(status["phase"], "Abnormal", "{failure}");
        assert_eq!(status["secondary_phase"], "CreateFailed", "{failure}");
        assert_eq!(status["start_time"], 0, "{failure}");
        let messages = site.messages(&id).await;
        let mut matching = messages.iter().filter(|message| message.contains(event));
        assert!(matching.next().is_some(), "{failure}: {messages:?}");
        let queued = messages.iter().any(|message| message.contains("queuing"));
        assert_eq!(queued, failure.get("prepare_timeout").is_none(), "{messages:?}");
    }
}
