//! `modelarts logs`.

use std::time::Duration;

use modelarts_emulator::faults::{Fault, FaultRule};
use serde_json::{Value, json};

use crate::support::{Fixture, error_of, json_of, lines_of};

/// Creates a job with these logs, one for each worker.
async fn with_logs(phase: &str, logs: &[&str]) -> (Fixture, String) {
    let fixture = Fixture::start().await;
    let by_task: serde_json::Map<String, Value> = logs
        .iter()
        .enumerate()
        .map(|(number, log)| (format!("worker-{number}"), (*log).into()))
        .collect();
    let seeds = json!([{
        "name": "leaves", "phase": phase, "logs": by_task,
        "job": {
            "kind": "job", "metadata": {},
            "algorithm": {"engine": {"image_url": "seeds/image:1"}, "command": "true"},
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": logs.len()}},
        },
    }]);
    let id = fixture.seed(seeds).await.remove(0);
    (fixture, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_one_task_is_printed_as_it_is() {
    let (fixture, _) = with_logs("Completed", &["one\n  two\n\nthree"]).await;
    let output = fixture.run("logs leaves").await.code(0);
    output.stdout_eq("one\n  two\n\nthree\n").stderr_eq("");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_logs_of_several_tasks_are_sorted_by_time_and_have_prefixes() {
    let (fixture, _) = with_logs(
        "Completed",
        &[
            "head\n2026-01-15T08:30:01Z a\nmore\n2026-01-15T08:30:05Z c\n",
            "2026-01-15T08:30:03Z b\nlast\n",
        ],
    )
    .await;
    let output = fixture.run("logs leaves").await.code(0);
    output.stdout_eq(
        "worker-0 │ head\n\
         worker-0 │ 2026-01-15T08:30:01Z a\n\
         worker-0 │ more\n\
         worker-1 │ 2026-01-15T08:30:03Z b\n\
         worker-1 │ last\n\
         worker-0 │ 2026-01-15T08:30:05Z c\n",
    );
    let output = fixture.run("logs leaves --task worker-1").await.code(0);
    output.stdout_eq("2026-01-15T08:30:03Z b\nlast\n");
    let output = fixture.run("logs leaves --task worker-2").await.code(2);
    output.stderr_eq(
        "error: --task \"worker-2\": the job has no such task; it must be one of: worker-0, \
         worker-1, all\n",
    );
    let output = fixture.run("logs leaves --tail 1").await.code(0);
    output.stdout_eq("worker-1 │ last\nworker-0 │ 2026-01-15T08:30:05Z c\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_selected_by_end_time_pattern_and_origin() {
    let log = "[ModelArts Service Log] up\n2026-01-15T08:30:01Z loss=1\n2026-01-15T08:30:02Z x\n\
               2026-01-15T08:30:03Z loss=2\nlast\n";
    let (fixture, _) = with_logs("Completed", &[log]).await;
    for (arguments, lines) in [
        ("--tail 2", "2026-01-15T08:30:03Z loss=2\nlast\n"),
        ("-n 0", ""),
        ("--tail 99", log),
        ("--no-system --tail 99", &log[27..]),
        ("--grep loss=", "2026-01-15T08:30:01Z loss=1\n2026-01-15T08:30:03Z loss=2\n"),
        ("--grep loss= --tail 1", "2026-01-15T08:30:03Z loss=2\n"),
        (
            "--since 2026-01-15T08:30:02Z",
            "2026-01-15T08:30:02Z x\n2026-01-15T08:30:03Z loss=2\nlast\n",
        ),
        ("--since 2026-01-15T08:30:02Z --grep s", "2026-01-15T08:30:03Z loss=2\nlast\n"),
        // The lines before the first time count with it.
        ("--since 2026-01-15T08:30:01Z --grep up", "[ModelArts Service Log] up\n"),
    ] {
        let output = fixture.run(&format!("logs leaves {arguments}")).await;
        let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert_eq!(stdout, lines, "{arguments}");
        output.code(0).stderr_eq("");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_end_of_a_log_is_read_for_the_last_lines() {
    let (fixture, _) = with_logs("Completed", &["one\ntwo\nthree\n"]).await;
    fixture.run("logs leaves --tail 1").await.code(0).stdout_eq("three\n");
    let requests = fixture.received();
    assert_eq!(requests["ShowTrainingJobLogsPreview"], 1);
    assert!(!requests.contains_key("ShowObsUrlOfTrainingJobLogs"));
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_have_their_numbers_as_json() {
    let (fixture, _) = with_logs("Completed", &["one\ntwo\n"]).await;
    let two = json!({
        "schema_version": 1, "type": "log", "task": "worker-0", "line": "two", "number": 2,
    });
    for arguments in ["", "--tail 1", "--grep two", "-f --grep two"] {
        let output = fixture.run(&format!("logs leaves -o ndjson {arguments}")).await.code(0);
        let lines = lines_of(&output, "lines.line");
        assert_eq!(lines.last(), Some(&two), "{arguments}");
    }
    let output = fixture.run("logs leaves -o json").await.code(0);
    assert_eq!(json_of(&output, "lines")["lines"][0]["line"], "one");
    fixture
        .run("logs leaves -o id")
        .await
        .code(2)
        .stderr_eq("error: --output id: lines have no ids; the format must be another\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_expression_is_refused_before_anything_is_sent() {
    let fixture = Fixture::start().await;
    let output = fixture.run("logs leaves --grep (").await.code(2);
    output.stderr_eq("error: --grep \"(\": unclosed group; it must be a regular expression\n");
    assert!(fixture.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_not_started_has_no_log_yet() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{"name": "waiting", "phase": "Pending"}])).await;
    let output = fixture.run("logs waiting").await.code(0);
    let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(stderr.contains("no log yet"), "{stderr}");
    output.stdout_eq("");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_followed_to_the_end_of_the_job() {
    let (fixture, id) = with_logs("Running", &["one\ntwo\nthree\n"]).await;
    for (arguments, lines) in [("", "one"), ("--tail 2", "two")] {
        let mut program = fixture.spawn(&format!("logs -f leaves {arguments}"));
        assert_eq!(program.line(), lines);
        program.signal("INT");
        let (code, ..) = program.end();
        assert_eq!(code, Some(130));
    }
    let mut program = fixture.spawn("logs -f leaves");
    assert_eq!(program.line(), "one");
    let job = fixture.client().training_jobs().job(&id).unwrap();
    job.terminate().await.unwrap();
    let (code, stdout, stderr) = program.end();
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "two\nthree\n", ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_code_after_following_is_that_of_the_outcome_only_on_request() {
    let (fixture, _) = with_logs("Failed", &["one\n"]).await;
    fixture.run("logs -f leaves").await.code(0).stdout_eq("one\n");
    fixture.run("logs -f leaves --exit-code outcome").await.code(10);
    fixture.run("logs -f leaves --exit-code task").await.code(1);
    fixture.run("logs leaves --exit-code task").await.code(2);
}

/// Follows the logs of two tasks while a request fails, and expects this note.
async fn follow_through(fault: Fault, note: &str) {
    let (fixture, id) = with_logs("Running", &["a\n", "b\n"]).await;
    let mut program = fixture.spawn("logs -f leaves");
    assert_eq!(program.line(), "worker-0 │ a");
    assert_eq!(program.line(), "worker-1 │ b");
    // More failures than one call repeats.
    let down = FaultRule::times(20, "ShowTrainingJobDetails", fault);
    fixture.emulator.faults().add(down).unwrap();
    let job = fixture.client().training_jobs().job(&id).unwrap();
    job.terminate().await.unwrap();
    let (code, stdout, stderr) = program.end();
    assert_eq!((code, stdout.as_str()), (Some(0), ""));
    let lines: Vec<&str> = stderr.lines().collect();
    assert!(lines[0].starts_with(note), "{stderr}");
    assert_eq!(lines.last(), Some(&"connection restored"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_logs_of_all_tasks_are_followed_through_a_failure_of_the_service() {
    let note = "connection lost, trying again for 15 minutes: ";
    follow_through(Fault::status(503), note).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_logs_of_all_tasks_are_followed_through_a_limit_of_requests() {
    let note = "the service limits the requests, trying again more slowly: ";
    follow_through(Fault::status(429), note).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_without_times_is_printed_whole_with_a_note() {
    let (fixture, _) = with_logs("Completed", &["one\ntwo\n"]).await;
    let output = fixture.run("logs leaves --since 1m").await.code(0);
    output.stdout_eq("one\ntwo\n").stderr_eq(
        "no line of worker-0 begins with a time, so --since leaves none of them out; --tail prints \
         the last lines\n",
    );
}

/// Adds faults with which all previews but the first ones are rejections.
fn reject_later(fixture: &Fixture) {
    let operation = "ShowTrainingJobLogsPreview";
    let rejection = Fault::error(403, "ModelArts.0105", "No permission");
    for rule in [
        FaultRule::times(4, operation, Fault::delay(Duration::ZERO)),
        FaultRule::always(operation, rejection),
    ] {
        fixture.emulator.faults().add(rule).unwrap();
    }
}

/// Lines of a stream are printed before its error, in both formats; without any line, there is only
/// the error.
#[tokio::test(flavor = "multi_thread")]
async fn lines_before_an_error_are_a_document() {
    let (fixture, _) = with_logs("Running", &["one\ntwo\n"]).await;
    let mut documents = Vec::new();
    for format in ["json", "yaml"] {
        fixture.emulator.faults().clear();
        reject_later(&fixture);
        let command = format!("logs -f leaves --task worker-0 -o {format}");
        let output = fixture.run(&command).await.code(1);
        let stdout = &output.get_output().stdout;
        documents.push(match format {
            "json" => {
                assert_eq!(error_of(&output)["code"], "ModelArts.0105");
                json_of(&output, "lines")
            }
            _ => yaml_serde::from_slice(stdout).unwrap(),
        });
    }
    let lines = documents[0]["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["line"], "one");
    assert_eq!((&lines[1]["line"], &lines[1]["number"]), (&json!("two"), &json!(2)));
    assert_eq!(documents[0], documents[1]);

    fixture.emulator.faults().clear();
    let refusal = Fault::error(403, "ModelArts.0105", "No permission");
    let refusal = FaultRule::always("ShowTrainingJobLogsPreview", refusal);
    fixture.emulator.faults().add(refusal).unwrap();
    let output = fixture.run("logs leaves --tail 1 -o json").await.code(1);
    output.stdout_eq("");
}
