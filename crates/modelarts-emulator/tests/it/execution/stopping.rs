//! Ends of running jobs: stops, deletions, time limits, and the processes of jobs.

use std::time::{Duration, SystemTime};

use modelarts_emulator::{Timing, clock::ManualClock};
use serde_json::json;

use crate::support::{Gate, Site, address, is_alive, pass};

/// Returns a script that runs as a process with a child and a grandchild, prints the IDs of the
/// three processes, and waits at the gate. `name` is a line of Python that is inserted.
fn family(gate: &Gate, name: &str) -> String {
    format!(
        r#"{}
import os, subprocess, sys, signal, time
pids = [os.getpid()]
command = ["bash", "-c", "sleep 600 & echo $!; wait"]
child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
pids += [child.pid, int(child.stdout.readline())]
{name}
print(*pids, flush=True)
gate()
"#,
        gate.python()
    )
}

/// Returns the log of a job of [`family`] with the IDs of its three processes. A job reaches the
/// gate possibly before the emulator has read what it printed.
async fn process_ids(site: &Site, id: &str) -> String {
    loop {
        let log = site.log(id).await;
        if log.split_whitespace().count() >= 3 {
            return log;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn terminate_ends_the_whole_process_group() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let mut job = site.script(
        "family",
        &family(&gate, "open(sys.argv[1].split('=')[1] + '/partial', 'w').write('half')"),
    );
    job["algorithm"]["outputs"] =
        json!([{"name": "train_url", "remote": {"obs": {"obs_url": "/bucket/out/"}}}]);
    let id = site.create(&job).await;
    let waiting = gate.reached().await;
    let log = process_ids(&site, &id).await;
    let pids: Vec<&str> = log.split_whitespace().collect();
    assert_eq!(pids.len(), 3, "{log}");
    assert!(pids.iter().all(|pid| is_alive(pid)));
    assert_eq!(site.terminate(&id).await.status, 202);
    site.emulator.wait_for(&id, "Terminated").await.unwrap();
    assert!(pids.iter().all(|pid| !is_alive(pid)));
    waiting.wait_until_gone().await;
    assert_eq!(site.read("bucket/out/partial"), "half");
    site.emulator.wait_until_settled(&id).await;
    let messages = site.messages(&id).await;
    let end = messages.iter().position(|m| m.contains("TerminateJob")).unwrap();
    assert_eq!(
        messages[end + 1..],
        [
            "[worker-0] Training finished. Exit code 143.",
            "[worker-0] Training output(parameter name: train_url) Uploading.",
            &messages[end + 3],
            "The training job has been manually stopped.",
            "Billing information synchronized.",
        ]
    );
    let status = &site.details(&id).await["status"];
    assert_eq!(status["secondary_phase"], "Terminated");
    assert_eq!(status["running_records"][0]["end_reason"], "exit with 143");
    assert_eq!(status.get("task_statuses"), None);
}

#[tokio::test]
async fn a_job_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let clock = std::sync::Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(std::sync::Arc::clone(&clock) as _)).await;
    let gate = Gate::new().await;
    let id = site
        .create(
            &site.script("deaf", &family(&gate, "signal.signal(signal.SIGTERM, signal.SIG_IGN)")),
        )
        .await;
    let waiting = gate.reached().await;
    site.terminate(&id).await;
    // The process ignores SIGTERM, so that it ends only after the grace period.
    pass(&clock, Timing::instant().grace).await;
    site.emulator.wait_until_settled(&id).await;
    waiting.wait_until_gone().await;
    assert_eq!(site.phase(&id).await, "Terminated");
    let record = &site.details(&id).await["status"]["running_records"][0];
    assert_eq!(record["end_reason"], "exit with 137");
}

#[tokio::test]
async fn processes_left_by_a_job_are_ended() {
    let site = Site::start().await;
    let script = "import subprocess\np = subprocess.Popen(['sleep', '600'])\nprint(p.pid)\n";
    let id = site.run(&site.script("leaves", script)).await;
    assert_eq!(site.phase(&id).await, "Completed");
    assert!(!is_alive(&site.log(&id).await));
}

#[tokio::test]
async fn jobs_can_be_ended_before_they_run() {
    let mut timing = Timing::instant();
    timing.queuing = Duration::from_secs(3600);
    let clock = std::sync::Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.timing(timing).clock(clock as _)).await;
    let id = site.create(&site.script("early", "")).await;
    site.emulator.wait_for(&id, "Pending").await.unwrap();
    assert_eq!(site.terminate(&id).await.status, 202);
    site.emulator.wait_until_settled(&id).await;
    let job = site.details(&id).await;
    assert_eq!(job["status"]["phase"], "Terminated");
    assert_eq!(job["status"]["start_time"], 0);
    assert_eq!(
        site.messages(&id).await,
        [
            "Training job created.",
            "The training job is queuing and awaiting resource allocation.",
            "The training job has been manually stopped.",
        ]
    );
}

/// The node counts of a stopped job are preserved: `openapi/SOURCES.md`, D-150.
#[tokio::test]
async fn a_stop_keeps_the_node_counts() {
    // The manual clock starts at the current time of the system clock, with which requests are
    // signed.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let second = now.unwrap().as_secs();
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    let stopped = async |timing: Timing, phase: &str| {
        let clock = std::sync::Arc::new(ManualClock::at(start));
        let site = Site::with(|builder| builder.timing(timing).clock(clock as _)).await;
        let gate = Gate::new().await;
        let script = gate.python() + "gate()";
        let id = site.create(&site.script("stopped", &script)).await;
        site.emulator.wait_for(&id, phase).await.unwrap();
        let waiting = match phase {
            "Running" => Some(gate.reached().await),
            _ => None,
        };
        let answer = site.terminate(&id).await.json();
        assert_eq!(answer["status"]["phase"], "Terminating");
        if let Some(waiting) = waiting {
            waiting.wait_until_gone().await;
        }
        site.emulator.wait_until_settled(&id).await;
        let details = site.details(&id).await;
        assert_eq!(details["status"]["phase"], "Terminated");
        let shown = [answer, details].map(|job| job["status"]["node_count_metrics"].clone());
        assert_eq!(shown[0], shown[1]);
        shown[0].clone()
    };
    let mut creating = Timing::instant();
    creating.creating = Duration::from_secs(3600);
    assert_eq!(stopped(creating, "Creating").await, json!(null));
    let mut queuing = Timing::instant();
    queuing.queuing = Duration::from_secs(3600);
    let at = second * 1000;
    assert_eq!(stopped(queuing, "Pending").await, json!([[at, 0]]));
    let running = stopped(Timing::instant(), "Running").await;
    assert_eq!(running, json!([[at, 0], [at, 1]]));
}

#[tokio::test]
async fn a_running_job_can_be_deleted() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let id = site.create(&site.script("deleted", &family(&gate, ""))).await;
    let waiting = gate.reached().await;
    let log = process_ids(&site, &id).await;
    assert_eq!(site.delete(&format!("/training-jobs/{id}")).await.text, "\"\"");
    site.emulator.wait_until_gone(&id).await;
    assert!(log.split_whitespace().all(|pid| !is_alive(pid)));
    waiting.wait_until_gone().await;
    assert!(!site.worker(&id).exists());
}

#[tokio::test]
async fn auto_stop_is_honoured() {
    let clock = std::sync::Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(std::sync::Arc::clone(&clock) as _)).await;
    let gate = Gate::new().await;
    let mut job = site.script("limited", &(gate.python() + "gate()"));
    job["spec"]["auto_stop"] = json!({"time_unit": "HOURS", "duration": 3});
    let id = site.create(&job).await;
    let waiting = gate.reached().await;
    assert_eq!(
        site.details(&id).await["spec"]["auto_stop"],
        json!({"time_unit": "HOURS", "duration": 3})
    );
    clock.advance(Duration::from_secs(3 * 3600));
    waiting.wait_until_gone().await;
    site.emulator.wait_until_settled(&id).await;
    let messages = site.emulator.wait_for(&id, "Terminated").await;
    assert_eq!(messages, Ok(()));
    // The system clock is three hours behind the emulator's clock, so that the request is signed
    // with the latter.
    let target = format!("/v2/{}/training-jobs/{id}/events", site.emulator.project_id());
    let now = modelarts_emulator::clock::Clock::now(clock.as_ref());
    let reply = site.signed(reqwest::Method::GET, &target, Vec::new(), now).send().await.unwrap();
    let events: serde_json::Value = serde_json::from_str(&reply.text().await.unwrap()).unwrap();
    let stopped = "The training job has been stopped. (Maximum running duration: 3 hours)";
    assert!(
        events["events"].as_array().unwrap().iter().any(|e| e["message"] == stopped),
        "{events}"
    );
}

#[tokio::test]
async fn several_workers_run_at_once_and_the_first_failure_ends_all() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let script = format!(
        "{}import os\nprint(os.environ['VC_TASK_INDEX'], os.environ['VC_WORKER_NUM'], \
         os.environ['VC_WORKER_HOSTS'])\ngate()\n",
        gate.python()
    );
    let mut job = site.script("three", &script);
    job["spec"]["resource"]["node_count"] = 3.into();
    let id = site.create(&job).await;
    let workers = [gate.reached().await, gate.reached().await, gate.reached().await];
    let status = site.details(&id).await["status"].clone();
    assert_eq!(status["tasks"], json!(["worker-0", "worker-1", "worker-2"]));
    assert_eq!(status["node_count_metrics"].as_array().unwrap().last().unwrap()[1], 3);
    for index in 0..3 {
        let reply =
            site.get(&format!("/training-jobs/{id}/tasks/worker-{index}/logs/preview")).await;
        assert_eq!(
            reply.json()["content"],
            format!("{index} 3 {},{},{}\n", address(&id, 0), address(&id, 1), address(&id, 2))
        );
    }
    for worker in workers {
        worker.let_through().await;
    }
    site.emulator.wait_for(&id, "Completed").await.unwrap();

    let script = format!(
        "{}import os\nif os.environ['VC_TASK_INDEX'] == '1': exit(7)\ngate()\n",
        gate.python()
    );
    let mut job = site.script("one-fails", &script);
    job["spec"]["resource"]["node_count"] = 2.into();
    let id = site.run(&job).await;
    assert_eq!(
        site.details(&id).await["status"]["task_statuses"],
        json!([{"task": "worker-1", "exit_code": 7, "message": "exit with 7"}])
    );
}

#[tokio::test]
async fn the_end_of_the_emulator_is_the_end_of_its_jobs() {
    for orderly in [true, false] {
        let site = Site::start().await;
        let gate = Gate::new().await;
        let id = site.create(&site.script("orphan", &family(&gate, ""))).await;
        let waiting = gate.reached().await;
        let log = process_ids(&site, &id).await;
        if orderly {
            site.emulator.shutdown().await;
            assert!(log.split_whitespace().all(|pid| !is_alive(pid)));
        } else {
            drop(site.emulator);
        }
        // When an emulator is dropped, it kills the process without waiting for it.
        waiting.wait_until_gone().await;
    }
}
