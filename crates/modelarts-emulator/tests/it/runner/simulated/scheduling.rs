//! Allocation of nodes to simulated jobs, and the end of jobs at any time.

use modelarts_emulator::pools::{Pool, PoolKind};
use reqwest::Method;
use serde_json::{Value, json};

use super::{START, Simulation, job};

#[tokio::test]
async fn nodes_are_assigned_as_soon_as_they_are_free() {
    let script = json!({"default": [{"seconds": 100}]});
    let simulation =
        Simulation::with(script, |builder| builder.pool(Pool::new("pool", PoolKind::Cpu, 1))).await;
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
    assert!(log["content"].as_str().unwrap().ends_with("\nstep 799\nstep 800\n"));
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
                let reply = simulation.ask(Method::POST, &format!("{path}/actions"), body).await;
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
            let open =
                records.into_iter().flatten().filter(|record| record.get("end_at").is_none());
            assert_eq!(open.count(), 0, "at {second}: {status}");
        }
    }
}
