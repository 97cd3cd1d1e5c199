//! Jobs that are restarted after a failure, a hang, or the loss of their nodes.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{
    Timing,
    clock::ManualClock,
    jobs::RestartOn,
    pools::{Pool, PoolKind},
};
use serde_json::{Value, json};

use crate::support::{Gate, Site};

fn annotated(mut job: Value, annotations: Value) -> Value {
    job["metadata"]["annotations"] = annotations;
    job
}

fn records(details: &Value) -> Vec<(String, String, String)> {
    let text = |record: &Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let records = details["status"]["running_records"].as_array().unwrap();
    records
        .iter()
        .map(|record| {
            (text(record, "start_type"), text(record, "end_reason"), text(record, "end_recover"))
        })
        .collect()
}

/// Returns a job that fails until a counter file in its output reaches `runs`. The output is
/// downloaded before each run.
fn counting(site: &Site, name: &str, runs: u32) -> Value {
    let script = format!(
        r#"
import os, sys
path = os.path.join(sys.argv[1].split("=", 1)[1], "count")
count = int(open(path).read()) + 1 if os.path.exists(path) else 1
open(path, "w").write(str(count))
print("run", count, flush=True)
sys.exit(0 if count == {runs} else 9)
"#
    );
    let mut job = site.script(name, &script);
    job["algorithm"]["outputs"] = json!([{
        "name": "train_url",
        "prefetch_to_local": true,
        "remote": {"obs": {"obs_url": format!("/bucket/{name}/out/")}},
    }]);
    job
}

const RETRIES: &str = "fault-tolerance/job-retry-num";
const UNCONDITIONAL: &str = "fault-tolerance/job-unconditional-retry";

#[tokio::test]
async fn a_failed_job_runs_again_and_gets_its_old_outputs() {
    let site = Site::start().await;
    let job = annotated(counting(&site, "again", 3), json!({RETRIES: "3"}));
    let id = site.run(&job).await;
    assert_eq!(site.log(&id).await, "run 1\nrun 2\nrun 3\n");
    assert_eq!(site.read("bucket/again/out/count"), "3");
    let details = site.details(&id).await;
    assert_eq!(details["status"]["phase"], "Completed");
    let failed = || {
        ("init_or_rescheduled".to_owned(), "exit with 9".to_owned(), "job_reschedule".to_owned())
    };
    let done = ("init_or_rescheduled".to_owned(), "job completed".to_owned(), String::new());
    assert_eq!(records(&details), [failed(), failed(), done]);
    // No document describes this member in responses (SOURCES O, S).
    let output = &details["algorithm"]["outputs"][0];
    assert_eq!(output.get("prefetch_to_local"), None);

    // Only jobs that may be restarted have a pre-check, one for each run.
    let messages = site.messages(&id).await;
    let count = |text: &str| messages.iter().filter(|m| m.contains(text)).count();
    assert_eq!(count("being pre-checked"), 3);
    assert_eq!(count("Pre-check completed."), 3);
    assert_eq!(count("The training job has been restarted."), 2);
    assert_eq!(count("Started container"), 3);
    assert_eq!(count("Training job created."), 1);
    assert_eq!(count("Training job executed."), 1);
}

#[tokio::test]
async fn restarts_are_counted() {
    let any = Site::start().await;
    let fault = Site::with(|builder| builder.restart_on(RestartOn::Fault)).await;
    for (site, name, annotations, runs) in [
        (&any, "none", json!({}), 1),
        (&any, "two", json!({RETRIES: "2"}), 3),
        (&any, "unconditional", json!({UNCONDITIONAL: "true"}), 4),
        (&any, "both", json!({RETRIES: "1", UNCONDITIONAL: "true"}), 2),
        (&fault, "fault", json!({RETRIES: "3"}), 1),
        (&fault, "fault-both", json!({RETRIES: "3", UNCONDITIONAL: "true"}), 4),
    ] {
        let id = site.run(&annotated(site.script(name, "exit(5)"), annotations)).await;
        let details = site.details(&id).await;
        assert_eq!(details["status"]["phase"], "Failed", "{name}");
        assert_eq!(records(&details).len(), runs, "{name}");
        assert_eq!(details["status"]["task_statuses"][0]["exit_code"], 5);
    }
}

#[tokio::test]
async fn a_job_that_is_stopped_does_not_run_again() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let job = site.script("stopped", &(gate.python() + "gate()"));
    let id = site.create(&annotated(job, json!({RETRIES: "3"}))).await;
    let _waiting = gate.reached().await;
    site.terminate(&id).await;
    site.emulator.wait_until_settled(&id).await;
    let details = site.details(&id).await;
    assert_eq!(details["status"]["phase"], "Terminated");
    assert_eq!(records(&details).len(), 1);
}

/// Starts a site with a manual clock. Its requests use a token, because signatures would expire as
/// the clock advances.
async fn timeless() -> (Site, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(Arc::clone(&clock) as _).token("t")).await;
    (site, clock)
}

async fn get(site: &Site, below: &str) -> Value {
    let url = format!("{}/v2/{}{below}", site.emulator.url(), site.emulator.project_id());
    let request = site.client.http.get(url).header("x-auth-token", "t");
    let text = request.send().await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn a_job_that_hangs_is_restarted_in_place() {
    let (site, clock) = timeless().await;
    let gate = Gate::new().await;
    let script = gate.python() + "import os\nprint(os.getcwd(), flush=True)\ngate()\n";
    let mut job = annotated(
        site.script("hangs", &script),
        json!({RETRIES: "1", "fault-tolerance/hang-retry": "true"}),
    );
    job["spec"]["resource"]["flavor_id"] = "modelarts.p3.large.public".into();
    let id = site.create(&job).await;
    let first = gate.reached().await;
    let reported = async || {
        let events = get(&site, &format!("/training-jobs/{id}/events")).await;
        events["events"].as_array().unwrap().iter().any(|event| {
            event["level"] == "Warning"
                && event["message"].as_str().unwrap().contains("may be suspended")
        })
    };
    // The first check records the activity, and a later check finds no change for half an hour. A
    // check runs between two moves of the clock.
    'reported: loop {
        clock.advance(Duration::from_secs(30 * 60));
        for _ in 0..200 {
            if reported().await {
                break 'reported;
            }
        }
    }
    first.wait_until_gone().await;
    let second = gate.reached().await;
    let details = get(&site, &format!("/training-jobs/{id}")).await;
    assert_eq!(details["status"]["phase"], "Running");
    assert_eq!(
        records(&details),
        [
            ("init_or_rescheduled".to_owned(), "job hanged".to_owned(), "proc_restart".to_owned()),
            ("restarted".to_owned(), String::new(), String::new()),
        ]
    );
    second.let_through().await;
    site.emulator.wait_for(&id, "Completed").await.unwrap();
}

#[tokio::test]
async fn a_preempted_job_waits_and_runs_again() {
    let site = Site::with(|builder| builder.pool(Pool::new("one", PoolKind::Cpu, 1))).await;
    let gate = Gate::new().await;
    let job = |name: &str, priority: u32| {
        let mut job = site.script(name, &(gate.python() + "gate()"));
        job["spec"] = json!({
            "resource": {"pool_id": "one"},
            "schedule_policy": {"priority": priority, "preemptible": true},
        });
        job
    };
    let low = site.create(&job("low", 1)).await;
    let victim = gate.reached().await;
    let high = site.create(&job("high", 2)).await;
    victim.wait_until_gone().await;
    let winner = gate.reached().await;
    assert_eq!(site.phase(&high).await, "Running");
    site.emulator.wait_for(&low, "Pending").await.unwrap();
    let messages = site.messages(&low).await;
    assert!(messages.contains(&"The training job is preempted.".to_owned()), "{messages:?}");
    winner.let_through().await;
    gate.reached().await.let_through().await;
    site.emulator.wait_for(&low, "Completed").await.unwrap();
    let details = site.details(&low).await;
    assert_eq!(details["status"]["running_records"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_job_that_waits_too_long_to_run_again_fails() {
    let mut timing = Timing::instant();
    timing.requeue = Duration::ZERO;
    let site =
        Site::with(|builder| builder.timing(timing).pool(Pool::new("one", PoolKind::Cpu, 1))).await;
    let gate = Gate::new().await;
    let job = |name: &str, priority: u32| {
        let mut job = site.script(name, &(gate.python() + "gate()"));
        job["spec"] = json!({
            "resource": {"pool_id": "one"},
            "schedule_policy": {"priority": priority, "preemptible": true},
        });
        job
    };
    let low = site.create(&job("low", 1)).await;
    let _victim = gate.reached().await;
    let _high = site.create(&job("high", 2)).await;
    site.emulator.wait_until_settled(&low).await;
    assert_eq!(site.phase(&low).await, "Failed");
    assert!(site.messages(&low).await.contains(&"Failed to be queued.".to_owned()));
}
