//! `modelarts events`.

use modelarts_emulator::faults::{Fault, FaultRule};
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
    let output = fixture.run("events leaves --columns level,source,message").await;
    output.code(0).stderr_eq("").stdout_eq(
        "LEVEL  SOURCE  MESSAGE\n\
         Info   Job     Training job created.\n\
         Info   Task    [worker-0] Training finished. Exit code 137.\n\
         Error  Job     Training job failed.\n",
    );
    let output = fixture.run("events leaves --raw --level error").await.code(0);
    output.stdout_eq("2026-01-15T16:30:10+08:00 Error   Job  Training job failed.\n");
    let output = fixture.run("events leaves --source Task --columns kind,task,exit-code").await;
    output.code(0).stdout_eq("KIND           TASK      EXIT-CODE\ntask_finished  worker-0  137\n");
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
async fn the_last_events_are_in_the_order_of_their_times() {
    let fixture = with_events().await;
    let (created, finished, failed) = (
        "Training job created.",
        "[worker-0] Training finished. Exit code 137.",
        "Training job failed.",
    );
    for (arguments, messages) in [
        ("--tail 2", vec![finished, failed]),
        ("-n 9", vec![created, finished, failed]),
        ("--tail 1 --source Job --level Info", vec![created]),
        ("--since 2026-01-15T08:30:09Z", vec![finished, failed]),
        ("--since 2026-01-15T08:30:09.500Z", vec![failed]),
        ("--since 2026-01-15T08:30:00Z --tail 1", vec![failed]),
        ("--tail 0", vec![]),
        ("--since 1m", vec![]),
    ] {
        for follow in ["", "--follow"] {
            let arguments = format!("events leaves --jq .events[].message {arguments} {follow}");
            let output = fixture.run(&arguments).await.code(0);
            let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
            assert_eq!(stdout.lines().collect::<Vec<_>>(), messages, "{arguments}");
        }
    }
    let output = fixture.run("events leaves --tail 1 --raw").await.code(0);
    output.stdout_eq("2026-01-15T16:30:10+08:00 Error   Job  Training job failed.\n");
    let output = fixture.run("events leaves --tail -1").await.code(2);
    let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(stderr.contains("it must be a whole number, 0 or more"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_end_of_the_events_is_read_for_the_last_ones() {
    let fixture = Fixture::start().await;
    let events: Vec<_> = (0..250)
        .map(|number| {
            let time = format!("2026-01-15T08:{:02}:{:02}Z", number / 60, number % 60);
            json!({"time": time, "message": format!("[Pod: p] event {number}")})
        })
        .collect();
    let seeds = json!([{"name": "leaves", "created": "2026-01-15T08:00:00Z", "events": events}]);
    fixture.seed(seeds).await;
    let output = fixture.run("events leaves --tail 2 --jq .events[].message").await;
    output.code(0).stdout_eq("[Pod: p] event 248\n[Pod: p] event 249\n");
    assert_eq!(fixture.received()["ListTrainingJobEvents"], 1);
    let output = fixture.run("events leaves --tail 120 --jq .events[0,-1].message").await;
    output.code(0).stdout_eq("[Pod: p] event 130\n[Pod: p] event 249\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_new_events_follow_the_last_ones() {
    let fixture = Fixture::start().await;
    let seeds = json!([{"name": "running", "phase": "Running", "created": "2026-01-15T08:30:00Z"}]);
    let id = fixture.seed(seeds).await.remove(0);
    let output = fixture.run("events running --tail 1 --columns message").await;
    let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    let last = stdout.lines().last().unwrap().to_owned();
    let mut program = fixture.spawn("events -f --tail 1 --columns message running");
    assert_eq!(program.line(), "MESSAGE");
    assert_eq!(program.line(), last);
    let job = fixture.client().training_jobs().job(&id).unwrap();
    job.terminate().await.unwrap();
    let (code, stdout, stderr) = program.end();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("stopped"), "{stdout}");
    assert!(!stdout.contains("created"), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sources_are_those_of_the_service() {
    let fixture = Fixture::start().await;
    let seeds = json!([{
        "name": "leaves", "phase": "Failed", "created": "2026-01-15T08:30:00Z",
        "events": [
            {"time": "2026-01-15T08:30:00Z", "message": "Training job created."},
            {"time": "2026-01-15T08:30:01Z", "source": "K8S", "message": "[Pod: a] one"},
            {"time": "2026-01-15T08:30:02Z", "source": "K8S", "message": "[Pod: a] two"},
        ],
    }]);
    fixture.seed(seeds).await;
    for arguments in ["--source K8S", "--source K8s", "--source k8s --follow"] {
        let output = fixture.run(&format!("events leaves --columns message {arguments}")).await;
        output.code(0).stdout_eq("MESSAGE\n[Pod: a] one\n[Pod: a] two\n");
    }
    let output = fixture.run("events leaves --source Cluster").await.code(2);
    let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(stderr.contains("[possible values: Job, Task, K8S]"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_level_is_refused() {
    let fixture = Fixture::start().await;
    let output = fixture.run("events leaves --level Eror").await.code(2);
    let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(stderr.contains("a similar value exists: 'Error'"), "{stderr}");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_document_has_the_followed_events_before_an_error() {
    let fixture = Fixture::start().await;
    let seeds = json!([{"name": "running", "phase": "Running", "created": "2026-01-15T08:30:00Z"}]);
    fixture.seed(seeds).await;
    let operation = "ListTrainingJobEvents";
    for format in ["json", "ndjson"] {
        // The first response has the existing events.
        let rules = [
            FaultRule::once(operation, Fault::Delay { ms: 0 }),
            FaultRule::always(operation, Fault::error(403, "ModelArts.0404", "No permission.")),
        ];
        for rule in rules {
            fixture.emulator.faults().add(rule).unwrap();
        }
        let arguments = format!("events -f -o {format} running");
        let output = fixture.run(&arguments).await.code(1);
        let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(stdout.contains("Training job created."), "{format}: {stdout}");
        let error = crate::support::error_of(&output);
        assert_eq!(error["code"], "ModelArts.0404");
        fixture.emulator.faults().clear();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_selected_by_text_and_time_in_either_order() {
    let fixture = Fixture::start().await;
    let event = |minute: u8, message: &str| json!({"time": format!("2026-01-15T08:3{minute}:00Z"), "message": message});
    fixture
        .seed(json!([{"name": "leaves", "created": "2026-01-15T08:30:00Z",
            "events": [event(1, "one a"), event(2, "two b"), event(3, "three a")]}]))
        .await;
    for (arguments, messages) in [
        ("--pattern a", "one a\nthree a\n"),
        ("--order desc", "three a\ntwo b\none a\n"),
        ("--order desc --tail 2", "three a\ntwo b\n"),
        ("--until 2026-01-15T08:32:00Z", "one a\ntwo b\n"),
        ("--since 2026-01-15T08:32:00Z --until 2026-01-15T08:32:30Z", "two b\n"),
    ] {
        let command = format!("events leaves {arguments} --jq .events[].message");
        fixture.run(&command).await.code(0).stdout_eq(messages);
    }
    fixture.run("events leaves --until 1h --follow").await.code(2);
}
