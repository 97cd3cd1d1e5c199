//! `modelarts events`.

use serde_json::json;

use crate::support::{Fixture, json_of, lines_of};

async fn with_events() -> Fixture {
    let fixture = Fixture::start().await;
    let seeds = json!([{
        "name": "leaves", "phase": "Failed", "exit_code": 137, "created": "2026-01-15T08:30:00Z",
        "events": [
            {"time": "2026-01-15T08:30:00Z", "message": "Training job created."},
            {"time": "2026-01-15T08:30:09Z", "source": "Task",
             "message": "[worker-0] Training finished. Exit code 137."},
            {"time": "2026-01-15T08:30:10Z", "level": "Error", "message": "Training job failed."},
        ],
    }]);
    fixture.seed(seeds).await;
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_a_table_oldest_first() {
    let fixture = with_events().await;
    let output = fixture
        .run("events leaves --columns level,source,message")
        .await;
    output.code(0).stderr_eq("").stdout_eq(
        "LEVEL  SOURCE  MESSAGE\n\
         Info   Job     Training job created.\n\
         Info   Task    [worker-0] Training finished. Exit code 137.\n\
         Error  Job     Training job failed.\n",
    );
    let output = fixture
        .run("events leaves --raw --level error")
        .await
        .code(0);
    output.stdout_eq("2026-01-15T16:30:10+08:00 Error   Job  Training job failed.\n");
    let output = fixture
        .run("events leaves --source Task --columns kind,task,exit-code")
        .await;
    output
        .code(0)
        .stdout_eq("KIND           TASK      EXIT-CODE\ntask_finished  worker-0  137\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_values_of_a_message_are_fields() {
    let fixture = with_events().await;
    let output = fixture.run("events leaves -o ndjson").await.code(0);
    let events = lines_of(&output, "events.line");
    assert_eq!(
        events[1],
        json!({
            "schema_version": 1, "type": "event", "time": "2026-01-15T08:30:09Z", "level": "Info",
            "source": "Task", "message": "[worker-0] Training finished. Exit code 137.",
            "kind": "task_finished", "task": "worker-0", "worker": 0, "exit_code": 137,
            "seconds": null,
        })
    );
    let output = fixture.run("events leaves -o json").await.code(0);
    assert_eq!(json_of(&output, "events")["events"][0]["kind"], "created");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_level_is_refused() {
    let fixture = Fixture::start().await;
    let output = fixture.run("events leaves --level Eror").await.code(2);
    let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(
        stderr.contains("a similar value exists: 'Error'"),
        "{stderr}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_followed_to_the_end_of_the_job() {
    let fixture = Fixture::start().await;
    let seeds = json!([{"name": "running", "phase": "Running", "created": "2026-01-15T08:30:00Z"}]);
    let id = fixture.seed(seeds).await.remove(0);
    let mut program = fixture.spawn("events -f --columns message running");
    assert_eq!(program.line(), "MESSAGE");
    assert_eq!(program.line(), "Training job created.");
    let job = fixture.client().training_jobs().job(&id).unwrap();
    job.terminate().await.unwrap();
    let (code, stdout, stderr) = program.end();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("stopped"), "{stdout}");
}
