//! Tests of the switches for undocumented behaviour, with both values of each switch.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{
    Builder,
    clock::ManualClock,
    jobs::RunnerKind,
    pools::{Pool, PoolKind},
    quirks::Quirks,
    script::Script,
    seeds::Seeds,
};
use serde_json::{Value, json};

use crate::support::Site;

/// Starts a site with these switches, where jobs run for two hours.
async fn site(choices: &[&str]) -> Site {
    let mut all = Quirks::default();
    for choice in choices {
        all.set(choice).unwrap();
    }
    let script = Script::from_json(r#"{"default": [{"seconds": 7200}]}"#).unwrap();
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    Site::with(|builder| {
        builder.quirks(all).clock(clock).runner(RunnerKind::Simulated(script)).pool(Pool::new(
            "pool",
            PoolKind::Cpu,
            1,
        ))
    })
    .await
}

fn job(name: &str) -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": name},
        "algorithm": {"engine": {"image_url": "org/image:1"}, "command": "never run"},
        "spec": {"resource": {"pool_id": "pool", "node_count": 1}},
    })
}

#[tokio::test]
async fn a_job_that_was_stopped_after_its_time() {
    for (choice, phase) in
        [("auto-stopped=terminated", "Terminated"), ("auto-stopped=failed", "Failed")]
    {
        let site = site(&[choice]).await;
        let mut limited = job("limited");
        limited["spec"]["auto_stop"] = json!({"time_unit": "HOURS", "duration": 1});
        let id = site.create(&limited).await;
        // The phase is read from the store, because the system clock that signs requests is now an
        // hour behind.
        assert!(site.emulator.advance(Duration::from_secs(3600)).await);
        site.emulator.wait_for(&id, phase).await.unwrap();
    }
}

#[tokio::test]
async fn a_job_whose_nodes_are_taken() {
    for (choice, phase) in [("preempted=pending", "Pending"), ("preempted=failed", "Failed")] {
        let site = site(&[choice]).await;
        let mut soft = job("soft");
        soft["spec"]["schedule_policy"] = json!({"preemptible": true, "priority": 1});
        let soft = site.create(&soft).await;
        site.emulator.wait_for(&soft, "Running").await.unwrap();
        let mut firm = job("firm");
        firm["spec"]["schedule_policy"] = json!({"priority": 2});
        let firm = site.create(&firm).await;
        site.emulator.wait_for(&firm, "Running").await.unwrap();
        assert_eq!(site.phase(&soft).await, phase);
    }
}

#[tokio::test]
async fn a_job_that_is_deleted_before_its_end() {
    let site = site(&["delete-active=refuses"]).await;
    let id = site.create(&job("active")).await;
    let path = format!("/training-jobs/{id}");
    let refused = site.delete(&path).await;
    refused.refused(400, "ModelArts.2788");
    site.terminate(&id).await;
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.delete(&path).await.status, 202);
}

#[tokio::test]
async fn a_second_stop_and_an_action_that_is_none() {
    let seeds = Seeds::from_json(r#"{"jobs": [{"name": "a", "phase": "Terminating"}]}"#).unwrap();
    for (choices, again, code) in [
        (vec![], 409, "ModelArts.2788"),
        (vec!["stop-again=accepts", "unknown-action=documented"], 202, "ModelArts.2812"),
    ] {
        let site = site(&choices).await;
        let id = site.emulator.seed(&seeds).await.unwrap().remove(0);
        assert_eq!(site.terminate(&id).await.status, again);
        let path = format!("/training-jobs/{id}/actions");
        let reply = site.post(&path, &json!({"action_type": "sing"})).await;
        assert_eq!(reply.error(), (400, code.to_owned()));
        assert_eq!(site.phase(&id).await, "Terminating");
    }
}

#[tokio::test]
async fn offsets_and_counts() {
    let seeds = Seeds::from_json(r#"{"jobs": [{"name": "job-{n}", "count": 5}]}"#).unwrap();
    let first = async |site: &Site, id: &str| {
        let path = format!("/training-jobs/{id}/events?offset=1&limit=2");
        site.get(&path).await.json()["events"][0]["message"].take()
    };
    let list = async |site: &Site| {
        let search = json!({"offset": 1, "limit": 2, "order": "asc"});
        let list = site.post("/training-job-searches", &search).await.json();
        (list["items"][0]["metadata"]["name"].clone(), list["count"].clone())
    };
    let plain = site(&[]).await;
    let ids = plain.emulator.seed(&seeds).await.unwrap();
    let queuing = "The training job is queuing and awaiting resource allocation.";
    assert_eq!(first(&plain, &ids[0]).await, queuing);
    assert_eq!(list(&plain).await, (json!("job-2"), json!(5)));
    let other = site(&["events-offset=page", "jobs-offset=job", "jobs-count=page"]).await;
    let ids = other.emulator.seed(&seeds).await.unwrap();
    assert_eq!(first(&other, &ids[0]).await, "Training job is running.");
    assert_eq!(list(&other).await, (json!("job-1"), json!(2)));
}

/// Starts a site on a manual clock, where jobs run for two hours.
async fn two_hours(set: impl FnOnce(Builder) -> Builder) -> Site {
    let script = Script::from_json(r#"{"default": [{"seconds": 7200}]}"#).unwrap();
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let simulated = RunnerKind::Simulated(script);
    Site::with(|builder| set(builder.clock(clock).runner(simulated))).await
}

/// Returns a job outside of pools that writes to this path.
fn writes(name: &str, place: &str) -> Value {
    let mut job = job(name);
    job["spec"] = json!({"resource": {"flavor_id": "modelarts.vm.cpu.8u"}});
    job["algorithm"]["outputs"] =
        json!([{"name": "train_url", "remote": {"obs": {"obs_url": place}}}]);
    job
}

#[tokio::test]
async fn jobs_that_write_to_the_same_place() {
    for (refuses, status) in [(false, 201), (true, 400)] {
        let site = two_hours(|builder| builder.one_job_per_output(refuses)).await;
        site.put("bucket/.keep", "");
        let first = site.create(&writes("first", "/bucket/out/")).await;
        site.create(&writes("elsewhere", "/bucket/other/")).await;
        let reply = site.post("/training-jobs", &writes("second", "/bucket/out/")).await;
        assert_eq!(reply.status, status, "{}", reply.text);
        if refuses {
            assert_eq!(reply.error().1, "ModelArts.2788");
            let error_message = &reply.json()["error_msg"];
            assert!(
                error_message.as_str().unwrap().contains("Other running job contain train_url"),
                "{error_message}"
            );
        }
        // Only active jobs can conflict with a new job.
        site.terminate(&first).await;
        site.emulator.wait_until_settled(&first).await;
        site.create(&writes("third", if refuses { "/bucket/out/" } else { "/bucket/x/" })).await;
    }
}

#[tokio::test]
async fn nodes_outside_of_pools_may_be_few() {
    for (nodes, phase) in [(1, "Pending"), (2, "Running")] {
        let site = two_hours(|builder| builder.public_nodes(nodes)).await;
        site.put("bucket/.keep", "");
        let first = site.create(&writes("first", "/bucket/a/")).await;
        let second = site.create(&writes("second", "/bucket/b/")).await;
        assert!(site.emulator.advance(Duration::from_secs(60)).await);
        assert_eq!(site.phase(&first).await, "Running");
        assert_eq!(site.phase(&second).await, phase);
        site.terminate(&first).await;
        site.emulator.wait_until_settled(&first).await;
        assert!(site.emulator.advance(Duration::from_secs(60)).await);
        assert_eq!(site.phase(&second).await, "Running");
    }
}
