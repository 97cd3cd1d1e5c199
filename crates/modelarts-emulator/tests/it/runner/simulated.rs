//! Simulated jobs, which follow a script on a manual clock.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{
    Builder, Timing,
    clock::{Clock, ManualClock},
    jobs::RunnerKind,
    pools::{Pool, PoolKind},
    script::Script,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Site;

/// Start of the clock, in seconds since the epoch: 2022-11-26T16:00:00+08:00.
const START: u64 = 1_669_449_600;

struct Simulation {
    site: Site,
    clock: Arc<ManualClock>,
}

impl Simulation {
    async fn of(script: Value) -> Self {
        Self::with(script, |builder| builder).await
    }

    /// Starts an emulator with the service's own delays on a manual clock.
    async fn with(script: Value, set: impl FnOnce(Builder) -> Builder) -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(START);
        let clock = Arc::new(ManualClock::at(start));
        let script = Script::from_json(&script.to_string()).unwrap();
        let site = Site::with(|builder| {
            set(builder
                .runner(RunnerKind::Simulated(script))
                .timing(Timing::documented())
                .clock(Arc::clone(&clock) as _))
        })
        .await;
        Self { site, clock }
    }

    async fn pass(&self, seconds: u64) {
        assert!(
            self.site
                .emulator
                .advance(Duration::from_secs(seconds))
                .await
        );
    }

    /// Sends a request that is signed at the time of the emulator's clock.
    async fn ask(&self, method: Method, below_project: &str, body: Value) -> Value {
        let target = format!("/v2/{}{below_project}", self.site.client.project_id);
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = self
            .site
            .client
            .signed(method, &target, body, self.clock.now());
        let text = request.send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }

    async fn create(&self, job: &Value) -> String {
        let job = self.ask(Method::POST, "/training-jobs", job.clone()).await;
        let id = job["metadata"]["id"].as_str();
        id.unwrap_or_else(|| panic!("{job}")).to_owned()
    }

    async fn get(&self, id: &str, below: &str) -> Value {
        self.ask(
            Method::GET,
            &format!("/training-jobs/{id}{below}"),
            Value::Null,
        )
        .await
    }

    async fn status(&self, id: &str) -> Value {
        self.get(id, "").await["status"].take()
    }

    /// Returns the time and text of each event.
    async fn events(&self, id: &str) -> Vec<(String, String)> {
        let events = self.get(id, "/events?limit=100").await;
        let text = |event: &Value, name: &str| event[name].as_str().unwrap().to_owned();
        let rows = events["events"].as_array().unwrap().iter();
        rows.map(|event| (text(event, "time"), text(event, "message")))
            .collect()
    }

    async fn log(&self, id: &str, task: &str) -> Value {
        self.get(id, &format!("/tasks/{task}/logs/preview")).await
    }
}

/// Returns a job without files, so that the emulator copies none.
fn job(name: &str) -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": name},
        "algorithm": {
            "engine": {"image_url": "org/image:1"},
            "command": "never run",
            "parameters": [{"name": "lr", "value": "0.1"}],
            "environments": {"MODE": "a b"},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
    })
}

fn with_cards(mut job: Value, annotations: Value) -> Value {
    job["metadata"]["annotations"] = annotations;
    job["spec"]["resource"]["flavor_id"] = "modelarts.p3.large.public".into();
    job
}

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
        json!([{"start_at": start, "end_at": end, "start_type": "init_or_rescheduled", "end_reason": "job completed"}])
    );
    let pod = format!("modelarts-job-{id}-worker-0");
    let expected = [
        ("16:00:00", "Training job created.".to_owned()),
        (
            "16:00:02",
            "The training job is queuing and awaiting resource allocation.".to_owned(),
        ),
        (
            "16:00:09",
            format!("[Pod: {pod}] Pulled: Successfully pulled image \"org/image:1\""),
        ),
        (
            "16:00:09",
            format!("[Pod: {pod}] SuccessfulCreate: Created container"),
        ),
        (
            "16:00:09",
            format!("[Pod: {pod}] Started: Started container"),
        ),
        ("16:00:12", "Training job is running.".to_owned()),
        ("16:00:13", "[worker-0] training started.".to_owned()),
        (
            "17:00:13",
            "[worker-0] Training finished. Exit code 0.".to_owned(),
        ),
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
    assert_eq!(
        metrics["metrics"][2],
        json!({"metric": "gpuUtil", "value": values})
    );
    assert_eq!(
        metrics["metrics"][0],
        json!({"metric": "cpuUsage", "value": vec![-1.0; 60]})
    );
}

#[tokio::test]
async fn each_run_of_each_task_has_its_part_of_the_script() {
    let script = json!({"jobs": [
        {"name": "other-*", "runs": [{"exit_code": 9}]},
        {"name": "flaky-*", "environments": {"MODE": "a*"}, "runs": [
            {"seconds": 10, "log": ["first"], "tasks": {"worker-1": {"seconds": 5, "exit_code": 3}}},
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
    assert_eq!(
        simulation.log(&id, "worker-0").await["content"],
        "first\nsecond\n"
    );
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
        [
            vec!["[worker-0] Training finished. Exit code 1.", terminated],
            vec![terminated],
        ]
    );
}

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
    let counts: Vec<&Value> = tasks
        .as_array()
        .unwrap()
        .iter()
        .map(|task| &task["schedule_count"])
        .collect();
    assert_eq!(counts, [1, 2]);
    let status = simulation.status(&once).await;
    assert_eq!(status["phase"], "Failed");
    assert_eq!(status["running_records"][0]["end_reason"], "node fault");
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
    let again = simulation
        .create(&with_cards(job("again"), annotations))
        .await;
    let id = simulation
        .create(&with_cards(job("reported"), json!({})))
        .await;
    simulation.pass(6 * 3600).await;
    let hint = "The system detects that your training job may be suspended. Go to the job details page to view the cause and handle the issue.";
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
    assert_eq!(
        simulation.log(&again, "worker-0").await["content"],
        "1\n2\n"
    );
    // Without an intervention, the job would hang indefinitely.
    assert_eq!(simulation.status(&id).await["phase"], "Running");
    let stop = json!({"action_type": "terminate"});
    simulation
        .ask(Method::POST, &format!("/training-jobs/{id}/actions"), stop)
        .await;
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
    let failed = "[worker-0] [Duration: 5.000] Failed to download the training code. Failure cause: no such key";
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
            "Preparations timed out. The possible cause is that the cross-region algorithm synchronization or creating shared storage timed out."
        ]
    );
}

#[tokio::test]
async fn nodes_are_assigned_as_soon_as_they_are_free() {
    let script = json!({"default": [{"seconds": 100}]});
    let simulation = Simulation::with(script, |builder| {
        builder.pool(Pool::new("pool", PoolKind::Cpu, 1))
    })
    .await;
    let mut ids = Vec::new();
    for name in ["first", "second", "third"] {
        let mut job = job(name);
        job["spec"]["resource"] = json!({"pool_id": "pool", "node_count": 1});
        ids.push(simulation.create(&job).await);
    }
    simulation.pass(3600).await;
    let mut starts = Vec::new();
    for id in &ids {
        starts.push(simulation.status(id).await["start_time"].as_u64().unwrap() / 1000 - START);
    }
    // A job is Running after 12.4 s. Its nodes become free after a further 1 + 100 + 1 + 25 s, and
    // the next job is Running 3 s later.
    assert_eq!(starts, [12, 142, 272]);
}

#[tokio::test]
async fn dozens_of_jobs_run_through_a_day_at_once() {
    let script =
        json!({"default": [{"seconds": 80_000, "log": [{"every": 100, "line": "step {n}"}]}]});
    let simulation = Simulation::of(script).await;
    let mut ids = Vec::new();
    for number in 0..60 {
        ids.push(simulation.create(&job(&format!("job-{number}"))).await);
        // Jobs start one second apart, so that they are in different states.
        simulation.pass(1).await;
    }
    simulation.pass(24 * 3600).await;
    for (number, id) in (0..).zip(&ids) {
        let status = simulation.status(id).await;
        assert_eq!(status["phase"], "Completed");
        assert_eq!(status["start_time"], (START + 12 + number) * 1000);
        assert_eq!(status["duration"], 80_027_000);
    }
    let log = simulation.log(&ids[59], "worker-0").await;
    assert!(
        log["content"]
            .as_str()
            .unwrap()
            .ends_with("\nstep 799\nstep 800\n")
    );
}

/// A job fails, is restarted and completes within two minutes. The test ends one instance of this
/// job in each second of that period, and verifies that each instance ends exactly once.
#[tokio::test]
async fn a_job_can_be_ended_in_every_second_of_its_life() {
    const SECONDS: usize = 110;
    let script = json!({"default": [{"seconds": 10, "exit_code": 1}, {"seconds": 10}]});
    for action in ["stop", "delete"] {
        let simulation = Simulation::of(script.clone()).await;
        let mut ids = Vec::new();
        for number in 0..SECONDS {
            let mut job = job(&format!("job-{number}"));
            job["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "1"});
            ids.push(simulation.create(&job).await);
        }
        let mut stopped = Vec::new();
        for id in &ids {
            let path = format!("/training-jobs/{id}");
            if action == "delete" {
                let reply = simulation.ask(Method::DELETE, &path, Value::Null).await;
                assert_eq!(reply, "");
            } else {
                let body = json!({"action_type": "terminate"});
                let reply = simulation
                    .ask(Method::POST, &format!("{path}/actions"), body)
                    .await;
                stopped.push(reply["error_code"] != "ModelArts.2796");
            }
            simulation.pass(1).await;
        }
        simulation.pass(120).await;
        if action == "delete" {
            for id in &ids {
                assert_eq!(simulation.get(id, "").await["error_code"], "ModelArts.2775");
            }
            continue;
        }
        assert!(stopped[0] && !stopped[SECONDS - 1]);
        for (second, (id, stopped)) in ids.iter().zip(&stopped).enumerate() {
            let status = simulation.status(id).await;
            let (phase, last) = if *stopped {
                ("Terminated", "The training job has been manually stopped.")
            } else {
                ("Completed", "Training job executed.")
            };
            assert_eq!(status["phase"], phase, "at {second}");
            let events = simulation.events(id).await;
            let ends: Vec<&str> = events
                .iter()
                .map(|(_, text)| text.as_str())
                .filter(|text| text.contains("manually stopped") || text.contains("job executed"))
                .collect();
            assert_eq!(ends, [last], "at {second}");
            let records = status["running_records"].as_array();
            let open = records
                .into_iter()
                .flatten()
                .filter(|record| record.get("end_at").is_none());
            assert_eq!(open.count(), 0, "at {second}: {status}");
        }
    }
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
        log.starts_with(&format!(
            "{kept}\nmodelarts-pope: log length overflow(max:20;"
        )),
        "{log}"
    );
    simulation.pass(600).await;
    // The log contains the message about its size limit only once.
    assert_eq!(
        simulation.get(&id, below).await["content"],
        early["content"]
    );
    let exported = site.get(&format!("bucket/logs/modelarts-job-{id}-worker-0.log"));
    assert_eq!(exported, log);
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
        (
            json!({"input_error": "the bucket is not there"}),
            "the bucket is not there",
        ),
    ] {
        let script = json!({"default": [failure]}).to_string();
        let script = Script::from_json(&script).unwrap();
        let clock = Arc::new(ManualClock::at(SystemTime::now()));
        let site = Site::with(|builder| {
            builder
                .runner(RunnerKind::Simulated(script))
                .clock(Arc::clone(&clock) as _)
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
        assert_eq!(
            queued,
            failure.get("prepare_timeout").is_none(),
            "{messages:?}"
        );
    }
}
