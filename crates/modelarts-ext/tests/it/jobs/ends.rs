//! Ends of jobs: the error for a job that did not complete, and ends as text and JSON.

use std::time::Duration;

use futures::TryStreamExt;
use modelarts_emulator::faults::Fault;
use modelarts_ext::{
    ErrorKind, Job, Outcome, RetryPolicy,
    jobs::wait::{TerminatedBy, Waited},
    types::Phase,
};
use serde_json::{Value, json};

use super::fixtures::details_of;
use crate::support::{
    clock::{TestClock, seconds},
    errors::refused,
    faults::status,
    server::{Server, json_answer},
    site::Site,
};

const EVENTS: &str = "ListTrainingJobEvents";
const LOG: &str = "ShowTrainingJobLogsPreview";

/// Returns the last events of a job in the emulator that ended with this exit code.
fn last_events(code: i64) -> [String; 5] {
    [
        "Info    Task [worker-0] The training code is being downloaded.".to_owned(),
        "Info    Task [worker-0] [Duration: 0.000] Training code downloaded.".to_owned(),
        "Info    Task [worker-0] training started.".to_owned(),
        format!("Info    Task [worker-0] Training finished. Exit code {code}."),
        "Error   Job  Training job failed.".to_owned(),
    ]
    .map(|event| format!("2026-01-15T16:30:45+08:00 {event}"))
}

#[tokio::test]
async fn the_error_of_a_failed_job_has_its_last_events_and_lines() {
    let site = Site::start().await;
    let script = "print('epoch 1')\nprint('epoch 2')\nraise SystemExit(137)\n";
    let job = site.script("fails", script).submit().await.unwrap();
    site.emulator.wait_until_settled(job.id()).await;
    let end = job.wait().await.unwrap();
    assert_eq!(end.last_lines(), ["epoch 1", "epoch 2"]);
    let events = last_events(137);
    assert_eq!(end.last_events().len(), 5);

    let error = end.success().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the job fails ({}) did not complete: failed with exit code 137 (128 + SIGKILL, often \
             out of memory) in worker-0\nlast events:\n  {}\nlast lines of worker-0:\n  epoch 1\n  \
             epoch 2\nadvice: the cause is often too little memory: choose a flavor with more, or \
             a smaller batch; otherwise save the complete log with \
             `job.logs(\"worker-0\").download(..)`",
            job.id(),
            events.join("\n  ")
        )
    );
    assert_eq!(error.kind(), ErrorKind::NotCompleted);
    assert!(!error.is_retryable() && !error.is_not_found() && !error.is_uncertain());
    assert_eq!(error.waited().unwrap().job().id(), job.id());
    assert_eq!(error.clone().waited().unwrap().last_lines().len(), 2);

    // Errors of calls have no outcome.
    let missing = site.client.training_jobs().get("missing").await;
    assert_eq!(refused(missing).outcome(), None);
    // Each wait made one call for the events and one for the log.
    assert_eq!((site.count(EVENTS).0, site.count(LOG).0), (1, 1));
}

#[tokio::test]
async fn long_logs_and_long_lines_are_shortened() {
    let site = Site::start().await;
    let script = "for n in range(30): print('line', n)\nprint('x' * 600 + 'end')\nexit(1)\n";
    let job = site.run(site.script("long", script)).await;
    let all = site.client.training_jobs().wait_all([job.clone()]);
    for end in [job.wait().await.unwrap(), all.await.unwrap().remove(0)] {
        let lines = end.last_lines();
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[0], "line 21");
        assert_eq!(lines[8], "line 29");
        assert_eq!(lines[9], "x".repeat(497) + "end");
        assert_eq!(end.last_events().len(), 5);
    }
}

#[tokio::test]
async fn success_returns_the_job_of_a_wait_that_did_what_it_should() {
    let site = Site::start().await;
    let job = site.script("good", "").submit().await.unwrap();
    let reached = job.wait().until(|_| true).await.unwrap();
    assert_eq!(reached.success().unwrap().id(), job.id());
    let job = job.wait().await.unwrap().success().unwrap();
    assert!(job.is_completed());
    assert_eq!(job.to_string(), format!("good ({}): Completed", job.id()));
    // No details are read for these.
    assert_eq!((site.count(EVENTS).0, site.count(LOG).0), (0, 0));
}

#[tokio::test]
async fn a_wait_that_timed_out_and_a_deleted_job_are_no_success() {
    let site = Site::start().await;
    let job = site.run(site.script("late", "")).await;
    let end = job.wait().timeout(Duration::ZERO).await.unwrap();
    let error = end.success().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the job late ({}) did not end within the time limit of the wait; it continues; wait \
             again with `job.wait()`, or stop the job with `job.terminate()`",
            job.id()
        )
    );
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.outcome(), Some(&Outcome::TimedOut));
    job.delete().await.unwrap();
    site.emulator.wait_until_gone(job.id()).await;
    let error = job.wait().await.unwrap().success().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the job late ({}) did not complete: vanished: the job was deleted", job.id())
    );
    assert_eq!(error.outcome(), Some(&Outcome::Vanished));
    assert_eq!((site.count(EVENTS).0, site.count(LOG).0), (0, 0));
}

#[tokio::test]
async fn details_that_cannot_be_read_do_not_change_the_outcome() {
    let site = Site::start().await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let mut jobs = Vec::new();
    for name in ["one", "two"] {
        let job = site.run(site.script(name, "print('text')\nexit(3)")).await;
        jobs.push(client.training_jobs().get(job.id()).await.unwrap());
    }
    site.fault(1, LOG, status(500, None));
    let end = jobs[0].wait().await.unwrap();
    assert_eq!((end.last_events().len(), end.last_lines().len()), (5, 0));
    site.fault(1, EVENTS, Fault::Reset);
    let end = jobs[0].wait().await.unwrap();
    assert_eq!((end.last_events().len(), end.last_lines().len()), (0, 0));
    assert_eq!(end.errors(), 0);
    assert_eq!(
        end.success().unwrap_err().to_string(),
        format!(
            "the job one ({}) did not complete: failed with exit code 3 in worker-0; save the \
             complete log with `job.logs(\"worker-0\").download(..)`",
            jobs[0].id()
        )
    );
    // A wait for several jobs stops reading them in this round.
    site.fault(1, EVENTS, Fault::Reset);
    let before = (site.count(EVENTS).0, site.count(LOG).0);
    let ends = client.training_jobs().wait_all(jobs.clone());
    let ends = ends.await.unwrap();
    assert!(ends.iter().all(|end| end.last_events().is_empty()));
    assert_eq!((site.count(EVENTS).0 - before.0, site.count(LOG).0 - before.1), (1, 0));
    // The budget of a round limits them as well.
    let before = site.count(EVENTS).0;
    let ends = client.training_jobs().wait_all(jobs).budget(1);
    let ends = ends.await.unwrap();
    assert_eq!(ends.iter().filter(|end| !end.last_lines().is_empty()).count(), 1);
    assert_eq!(site.count(EVENTS).0 - before, 1);
}

#[tokio::test]
async fn a_stopped_job_needs_one_call_for_its_events() {
    let site = Site::start().await;
    let job = site.script("stopped", "import time\ntime.sleep(1000)");
    let job = job.submit().await.unwrap();
    let running = |job: &Job| job.phase() == Phase::Running;
    let reached = job.wait().until(running).await.unwrap();
    job.terminate().await.unwrap();
    site.emulator.wait_until_settled(job.id()).await;
    drop(reached);
    let end = job.wait().await.unwrap();
    assert_eq!(*end.outcome(), Outcome::Terminated { by: TerminatedBy::User });
    assert_eq!(end.last_events().len(), 5);
    assert_eq!(site.count(EVENTS).0, 1);
    let text = end.success().unwrap_err().to_string();
    assert!(text.contains(") did not complete: terminated by a user\nlast events:\n"), "{text}");
}

#[test]
fn outcomes_are_clauses_and_objects() {
    let failed = |exit_code, task: Option<&str>, message: Option<&str>| Outcome::Failed {
        exit_code,
        task: task.map(str::to_owned),
        message: message.map(str::to_owned),
    };
    let terminated = |by| Outcome::Terminated { by };
    for (outcome, text, json) in [
        (Outcome::Completed, "completed", json!({"outcome": "completed"})),
        (
            failed(Some(139), Some("worker-1"), Some("core dumped")),
            "failed with exit code 139 (128 + SIGSEGV, invalid memory access) in worker-1: core \
             dumped",
            json!({"outcome": "failed", "exit_code": 139, "task": "worker-1",
                   "message": "core dumped"}),
        ),
        (
            failed(None, None, None),
            "failed",
            json!({"outcome": "failed", "exit_code": null, "task": null, "message": null}),
        ),
        (
            terminated(TerminatedBy::User),
            "terminated by a user",
            json!({"outcome": "terminated", "by": "user"}),
        ),
        (
            terminated(TerminatedBy::AutoStop { limit: seconds(3600) }),
            "terminated by its time limit of 3600s",
            json!({"outcome": "terminated", "by": "auto_stop", "limit_seconds": 3600}),
        ),
        (
            terminated(TerminatedBy::Unknown),
            "terminated by an unknown cause",
            json!({"outcome": "terminated", "by": "unknown"}),
        ),
        (
            Outcome::Abnormal {
                secondary_phase: Some("CreateFailed".into()),
                cause: Some("no such image".into()),
            },
            "abnormal: CreateFailed: no such image",
            json!({"outcome": "abnormal", "secondary_phase": "CreateFailed",
                   "cause": "no such image"}),
        ),
        (
            Outcome::Abnormal { secondary_phase: None, cause: None },
            "abnormal",
            json!({"outcome": "abnormal", "secondary_phase": null, "cause": null}),
        ),
        (
            failed(Some(3), Some("worker-0"), Some("exit with 3")),
            "failed with exit code 3 in worker-0",
            json!({"outcome": "failed", "exit_code": 3, "task": "worker-0",
                   "message": "exit with 3"}),
        ),
        (Outcome::Vanished, "vanished: the job was deleted", json!({"outcome": "vanished"})),
        (Outcome::Reached, "reached the condition of the wait", json!({"outcome": "reached"})),
        (Outcome::TimedOut, "timed out: the job continues", json!({"outcome": "timed_out"})),
    ] {
        assert_eq!(outcome.to_string(), text);
        assert_eq!(serde_json::to_value(&outcome).unwrap(), json);
        assert_eq!(outcome.is_completed(), text == "completed");
    }
}

#[tokio::test]
async fn jobs_observations_and_results_are_json() {
    let failed = json!({
        "metadata": {"id": "j", "name": "n", "create_time": 1_768_464_000_000_u64},
        "status": {"phase": "Failed", "start_time": 1_768_464_600_000_u64, "duration": 90_500,
                   "tasks": ["worker-0"],
                   "task_statuses": [{"task": "worker-0", "exit_code": 3}]},
    });
    let events = json!({"total": 1, "count": 1, "limit": 100, "offset": 0, "events": [
        {"time": "2026-01-15T08:30:07Z", "level": "Error", "source": "Job",
         "message": "Training job failed."}]});
    let log = json!({"content": "a\nb\n", "current_size": 4, "full_size": 4});
    let server = Server::start([
        details_of("j", "Running"),
        json_answer("200 OK", "", &failed.to_string()),
        json_answer("200 OK", "", &events.to_string()),
        json_answer("200 OK", "", &log.to_string()),
        json_answer("200 OK", "", &failed.to_string()),
    ])
    .await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = client.training_jobs().get("j").await.unwrap();
    let to_json = |value: &dyn Fn() -> serde_json::Result<Value>| value().unwrap();
    assert_eq!(
        to_json(&|| serde_json::to_value(&job)),
        json!({"metadata": {"id": "j", "name": "j"}, "status": {"phase": "Running"}})
    );
    let end: Waited = job.wait().await.unwrap();
    assert_eq!(
        to_json(&|| serde_json::to_value(&end)),
        json!({
            "id": "j", "name": "n", "phase": "Failed", "created_at": "2026-01-15T08:00:00Z",
            "started_at": "2026-01-15T08:10:00Z", "run_seconds": 90.5,
            "outcome": "failed", "exit_code": 3, "task": "worker-0", "message": null,
            "errors": 0,
            "last_events": [{"time": "2026-01-15T08:30:07Z", "level": "Error", "source": "Job",
                             "message": "Training job failed.", "kind": "failed"}],
            "last_lines": ["a", "b"],
        })
    );
    assert_eq!(to_json(&|| serde_json::to_value(end.job())), failed);
    let observed: Vec<_> = job.wait().stream().try_collect().await.unwrap();
    assert_eq!(
        to_json(&|| serde_json::to_value(&observed)),
        json!([{
            "at": "2026-01-15T08:30:45Z",
            "id": "j", "name": "n", "phase": "Failed", "secondary_phase": null, "errors": 0,
            "outcome": "failed", "exit_code": 3, "task": "worker-0", "message": null,
        }])
    );
    assert_eq!(server.left(), 0);
}
