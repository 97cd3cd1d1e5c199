//! Jobs that fail before their code starts, because of the state of this machine.

use std::time::Duration;

use serde_json::json;

use crate::support::{Gate, Site, get_at, slow_package};

/// If code, inputs and packages are not available within the time limit, the job ends.
#[tokio::test]
async fn a_preparation_that_takes_too_long_is_ended() {
    let (site, clock) = Site::standing_still().await;
    let gate = Gate::new().await;
    let job = site.script("late", "print('never')");
    site.put("bucket/late/code/requirements.txt", "./package\n");
    let package = site.emulator.obs_root().join("bucket/late/code/package");
    slow_package(&package, &(gate.python() + "gate()\n"));
    let id = site.create(&job).await;
    let waiting = gate.reached().await;
    clock.advance(Duration::from_secs(59 * 60));
    let path = format!("/training-jobs/{id}");
    let details = get_at(&site, &clock, &path).await.json();
    assert_eq!(details["status"]["phase"], "Pending");
    clock.advance(Duration::from_secs(60));
    site.emulator.wait_until_settled(&id).await;
    waiting.wait_until_gone().await;
    let details = get_at(&site, &clock, &path).await.json();
    let status = &details["status"];
    assert_eq!(status["phase"], "Abnormal");
    assert_eq!(status["secondary_phase"], "CreateFailed");
    assert_eq!(status["start_time"], 0);
    let events = format!("{path}/events?order=desc");
    let last = &get_at(&site, &clock, &events).await.json()["events"][0];
    assert_eq!(last["level"], "Error");
    let message = last["message"].as_str().unwrap();
    assert!(message.starts_with("Preparations timed out."), "{message}");
}

/// After a failed pre-check, a job moves to another node, up to its number of restarts. Jobs that
/// may not be restarted have no pre-check.
#[tokio::test]
async fn a_failed_pre_check_uses_up_the_retries() {
    let site = Site::with(|builder| builder.least_disk(u64::MAX)).await;
    let mut job = site.script("checked", "");
    job["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "2"});
    let id = site.run(&job).await;
    let details = site.details(&id).await;
    assert_eq!(details["status"]["phase"], "Abnormal");
    assert_eq!(details["status"]["secondary_phase"], "CreateFailed");
    assert_eq!(details["status"]["start_time"], 0);
    let messages = site.messages(&id).await;
    let count = |part: &str| messages.iter().filter(|text| text.contains(part)).count();
    assert_eq!(count("The training environment is being pre-checked."), 3);
    assert_eq!(count("Pre-check failed. Error: disk-size cache: "), 3);
    assert_eq!(count("The training job has been restarted."), 2);
    assert_eq!(count("awaiting resource allocation"), 3);
    assert_eq!(count("is being downloaded"), 0);
    let last = messages.last().unwrap();
    assert!(last.starts_with("Training job failures: the pre-check of worker-0 failed"), "{last}");
    let tasks = site.get(&format!("/training-jobs/{id}/tasks")).await;
    assert_eq!(tasks.json()[2]["schedule_count"], 3);

    let unchecked = site.run(&site.script("unchecked", "")).await;
    assert_eq!(site.phase(&unchecked).await, "Completed");
}
