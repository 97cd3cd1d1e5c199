//! Scripts of simulated jobs: times, logs, metrics and exit codes of each run and task.

use serde_json::json;

use super::{START, Simulation, job};

#[tokio::test]
async fn everything_happens_at_its_own_time_in_any_move_of_the_clock() {
    let log = json!([
        "lr={parameter.lr} mode={environment.MODE} {other}",
        {"at": 600, "every": 1200, "line": "{task} run {run} step {n}"},
        {"at": 4000, "line": "never written"},
    ]);
    let script =
        json!({"default": [{"seconds": 3600, "log": log, "metrics": {"gpuUtil": [1, 2, 3, 4]}}]});
    let simulation = Simulation::of(script).await;
    let id = simulation.create(&job("hour")).await;
    // The clock is now in the middle of the run: 13.4 s before the start of the code, and 1800 s of
    // the run, have passed.
    simulation.pass(1814).await;
    assert_eq!(simulation.status(&id).await["phase"], "Running");
    let first = "lr=0.1 mode=a b {other}\nworker-0 run 1 step 0\nworker-0 run 1 step 1\n";
    assert_eq!(
        simulation.log(&id, "worker-0").await,
        json!({"content": first, "current_size": first.len(), "full_size": first.len()})
    );
    simulation.pass(24 * 3600).await;
    let status = simulation.status(&id).await;
    assert_eq!(status["phase"], "Completed");
    // The job is Running after 12.4 s. The following steps take 1 s, an hour, 1 s and 25 s. Times
    // are in whole seconds.
    let (start, end) = (START + 12, START + 12 + 3600 + 27);
    assert_eq!(status["start_time"], start * 1000);
    assert_eq!(
        status["running_records"],
        json!([{"start_at": start, "end_at": end, "start_type": "init_or_rescheduled",
            "end_reason": "job completed"}])
    );
    let pod = format!("modelarts-job-{id}-worker-0");
    let expected = [
        ("16:00:00", "Training job created.".to_owned()),
        ("16:00:02", "The training job is queuing and awaiting resource allocation.".to_owned()),
        ("16:00:09", format!("[Pod: {pod}] Pulled: Successfully pulled image \"org/image:1\"")),
        ("16:00:09", format!("[Pod: {pod}] SuccessfulCreate: Created container")),
        ("16:00:09", format!("[Pod: {pod}] Started: Started container")),
        ("16:00:12", "Training job is running.".to_owned()),
        ("16:00:13", "[worker-0] training started.".to_owned()),
        ("17:00:13", "[worker-0] Training finished. Exit code 0.".to_owned()),
        ("17:00:39", "Training job executed.".to_owned()),
        ("17:00:44", "Billing information synchronized.".to_owned()),
    ];
    let expected = expected.map(|(time, text)| (format!("2022-11-26T{time}+08:00"), text));
    assert_eq!(simulation.events(&id).await, expected);
    let whole = format!("{first}worker-0 run 1 step 2\n");
    assert_eq!(simulation.log(&id, "worker-0").await["content"], whole);
    let metrics = simulation.get(&id, "/metrics/worker-0").await;
    let mut values = vec![4.0; 60];
    values[..4].copy_from_slice(&[-1.0, -1.0, 3.0, 4.0]);
    assert_eq!(metrics["metrics"][2], json!({"metric": "gpuUtil", "value": values}));
    assert_eq!(metrics["metrics"][0], json!({"metric": "cpuUsage", "value": vec![-1.0; 60]}));
}

#[tokio::test]
async fn each_run_of_each_task_has_its_part_of_the_script() {
    let script = json!({"jobs": [
        {"name": "other-*", "runs": [{"exit_code": 9}]},
        {"name": "flaky-*", "environments": {"MODE": "a*"}, "runs": [
            {"seconds": 10, "log": ["first"], "tasks": {"worker-1": {"seconds": 5,
             "exit_code": 3}}},
            {"seconds": 10, "log": ["second"]},
        ]},
    ]});
    let simulation = Simulation::of(script).await;
    let mut flaky = job("flaky-1");
    flaky["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "1"});
    flaky["spec"]["resource"]["node_count"] = 2.into();
    let id = simulation.create(&flaky).await;
    let other = simulation.create(&job("other-1")).await;
    simulation.pass(3600).await;
    let status = simulation.status(&id).await;
    assert_eq!(status["phase"], "Completed");
    let records = &status["running_records"];
    assert_eq!(records[0]["end_reason"], "exit with 3");
    assert_eq!(records[0]["end_recover"], "job_reschedule");
    assert_eq!(records[1]["end_reason"], "job completed");
    // The failure of one worker ends the other worker. The second run continues the log.
    assert_eq!(simulation.log(&id, "worker-0").await["content"], "first\nsecond\n");
    let events = simulation.events(&id).await;
    let finished: Vec<&str> = events
        .iter()
        .map(|(_, text)| text.as_str())
        .filter(|text| text.contains("finished"))
        .collect();
    assert_eq!(
        finished,
        [
            "[worker-1] Training finished. Exit code 3.",
            "[worker-0] Training finished. Exit code 143.",
            "[worker-0] Training finished. Exit code 0.",
            "[worker-1] Training finished. Exit code 0.",
        ]
    );
    let status = simulation.status(&other).await;
    assert_eq!(status["phase"], "Failed");
    assert_eq!(status["task_statuses"][0]["exit_code"], 9);
}

/// The first worker to end terminates the other worker, even if the end of that worker is due at
/// the same time.
#[tokio::test]
async fn one_worker_ends_the_other_that_is_due_at_the_same_time() {
    let mut ends = Vec::new();
    for run in [
        json!({"seconds": 10, "exit_code": 1}),
        json!({"seconds": 60, "fault": {"node_fault": 10}}),
    ] {
        let simulation = Simulation::of(json!({"default": [run]})).await;
        let mut pair = job("pair");
        pair["spec"]["resource"]["node_count"] = 2.into();
        let id = simulation.create(&pair).await;
        simulation.pass(600).await;
        let mut events = simulation.events(&id).await;
        events.retain(|(_, text)| text.contains("finished"));
        ends.push(events.into_iter().map(|(_, text)| text).collect::<Vec<_>>());
    }
    let terminated = "[worker-1] Training finished. Exit code 143.";
    assert_eq!(
        ends,
        [vec!["[worker-0] Training finished. Exit code 1.", terminated], vec![terminated],]
    );
}

#[tokio::test]
async fn a_simulated_log_has_a_cap_and_is_exported_while_the_job_runs() {
    let script = json!({"default": [{
        "seconds": 600, "log": [{"at": 0, "every": 1, "line": "line {n}"}],
    }]});
    let simulation = Simulation::with(script, |builder| builder.log_cap(20)).await;
    let site = &simulation.site;
    let mut job = site.script("talks", "");
    job["spec"]["log_export_path"] = json!({"obs_url": "/bucket/logs/"});
    let id = simulation.create(&job).await;
    simulation.pass(60).await;
    let below = "/tasks/worker-0/logs/preview";
    let early = simulation.get(&id, below).await;
    let kept = "line 0\nline 1\nline 2";
    let log = early["content"].as_str().unwrap();
    assert!(
        log.starts_with(&format!("{kept}\nmodelarts-pope: log length overflow(max:20;")),
        "{log}"
    );
    simulation.pass(600).await;
    // The log contains the message about its size limit only once.
    assert_eq!(simulation.get(&id, below).await["content"], early["content"]);
    let exported = site.read(&format!("bucket/logs/modelarts-job-{id}-worker-0.log"));
    assert_eq!(exported, log);
}
