//! `modelarts wait`.

use std::sync::{Mutex, mpsc};

use serde_json::json;

use crate::support::{Fixture, json_of, lines_of};

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_code_is_the_outcome() {
    let fixture = Fixture::start().await;
    for (name, phase, code, outcome) in [
        ("done", "Completed", 0, "completed"),
        ("killed", "Failed", 10, "failed with exit code 1 in worker-0"),
        ("lost", "Abnormal", 11, "abnormal"),
        ("stopped", "Terminated", 12, "terminated by a user"),
    ] {
        let seed = json!({"name": name, "phase": phase, "created": "2026-01-15T08:30:00Z"});
        let id = fixture.seed(json!([seed])).await.remove(0);
        let output = fixture.run(&format!("wait {name}")).await;
        let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        let row = stdout.lines().nth(1).unwrap_or_default();
        assert!(row.starts_with(&format!("{name}  {}", &id[..8])), "{stdout}");
        assert!(row.contains(outcome), "{stdout}");
        output.code(code).stderr_eq("");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_columns_of_all_rows_are_aligned() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{"name": "a"}, {"name": "a-long-name", "phase": "Failed"}])).await;
    let output = fixture.run("wait a a-long-name --columns name,outcome").await.code(10);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    let mut rows: Vec<&str> = text.lines().skip(1).collect();
    rows.sort_unstable();
    let expected = ["a            completed", "a-long-name  failed with exit code 1 in worker-0"];
    assert_eq!(rows, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_jobs_have_the_code_of_the_first_that_did_not_complete() {
    let fixture = Fixture::start().await;
    let seeds = json!([
        {"name": "a"}, {"name": "b"},
        {"name": "killed", "phase": "Failed", "exit_code": 137},
        {"name": "stopped", "phase": "Terminated"},
    ]);
    fixture.seed(seeds).await;
    fixture.run("wait a b a").await.code(0);
    fixture.run("wait a killed stopped").await.code(10);
    fixture.run("wait --exit-code task a killed").await.code(137);
    fixture.run("wait a stopped killed").await.code(12);
    let output = fixture.run("wait -o ndjson a killed").await.code(10);
    let ends = lines_of(&output, "ends.line");
    let killed = ends.iter().find(|end| end["name"] == "killed").unwrap();
    assert_eq!(killed["type"], "end");
    assert_eq!(killed["outcome"], "failed");
    assert_eq!(killed["exit_code"], 137);
    assert_eq!(killed["task"], "worker-0");
    let output = fixture.run("wait -o json a").await.code(0);
    assert_eq!(json_of(&output, "ends")["ends"][0]["exit_code"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_end_suffices_with_any() {
    let fixture = Fixture::start().await;
    let seeds = json!([
        {"name": "running", "phase": "Running"},
        {"name": "stopped", "phase": "Terminated"},
    ]);
    let ids = fixture.seed(seeds).await;
    let output = fixture.run("wait --any -o id running stopped").await.code(12);
    output.stdout_eq(format!("{}\n", ids[1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_limit_ends_the_wait_and_the_job_continues() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{"name": "running", "phase": "Running"}])).await;
    for arguments in ["", "--for Completed", "--any"] {
        let output = fixture
            .run(&format!("wait --timeout 100ms --columns name,outcome {arguments} running"))
            .await;
        output.code(124).stdout_eq("NAME     OUTCOME\nrunning  timed out: the job continues\n");
    }
    let job = fixture.client().training_jobs().get(&ids[0]).await.unwrap();
    assert!(!job.is_final());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phase_is_waited_for_until_the_end() {
    let fixture = Fixture::start().await;
    let seeds = json!([
        {"name": "running", "phase": "Running"}, {"name": "done"},
        {"name": "killed", "phase": "Failed"},
    ]);
    fixture.seed(seeds).await;
    for (arguments, code) in [
        ("--for running running", 0),
        ("--for Pending running", 0),
        ("--for Running done", 0),
        ("--for Running killed", 10),
        ("--for Failed killed", 0),
        ("--for Failed done", 1),
        ("--for Runing done", 2),
    ] {
        let output = fixture.run(&format!("wait {arguments}")).await;
        assert_eq!(output.get_output().status.code(), Some(code), "{arguments}");
    }
    let output = fixture.run("wait --for Running --columns outcome running").await;
    output.stdout_eq("OUTCOME\nreached Running\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phase_of_many_jobs_is_waited_for_with_few_calls() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{"name": "job-{n}", "phase": "Running", "count": 30}])).await;
    let before = fixture.received();
    let output =
        fixture.run_with_stdin("wait --for Running -o id -", &ids.join("\n")).await.code(0);
    let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert_eq!(stdout.lines().count(), 30);
    let count = |operation| {
        let after = fixture.received().get(operation).copied().unwrap_or(0);
        after - before.get(operation).copied().unwrap_or(0)
    };
    // Three searches find the jobs of the arguments, and one page has their phases.
    assert_eq!(count("ListTrainingJobs"), 4);
    assert_eq!(count("ShowTrainingJobDetails"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_job_is_no_wait() {
    let fixture = Fixture::start().await;
    fixture.run("wait nothing").await.code(4).stdout_eq("");
}

/// Starts a fixture that reports each search for jobs, and a running job.
async fn with_searches() -> (Fixture, mpsc::Receiver<()>, String) {
    let (search, searched) = mpsc::channel();
    let search = Mutex::new(search);
    let fixture = Fixture::with(|builder| {
        builder.observe(move |exchange| {
            if exchange.operation == Some("ListTrainingJobs") {
                // The test may have ended.
                let _ = search.lock().unwrap().send(());
            }
        })
    })
    .await;
    let id = fixture.seed(json!([{"name": "running", "phase": "Running"}])).await.remove(0);
    (fixture, searched, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_the_wait_and_the_job_continues() {
    let (fixture, searched, id) = with_searches().await;
    let program = fixture.spawn(&format!("wait {id}"));
    tokio::task::block_in_place(|| searched.recv()).unwrap();
    program.signal("INT");
    let (code, stdout, stderr) = program.end();
    assert_eq!(
        (code, stdout.as_str(), stderr.as_str()),
        (Some(130), "", "interrupted; 1 job continues\n")
    );
    let job = fixture.client().training_jobs().get(&id).await.unwrap();
    assert!(!job.is_final());
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_completes_the_document() {
    let (fixture, searched, id) = with_searches().await;
    let program = fixture.spawn(&format!("wait -o json {id}"));
    tokio::task::block_in_place(|| searched.recv()).unwrap();
    program.signal("INT");
    let (code, stdout, _) = program.end();
    assert_eq!(code, Some(130));
    let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(document, json!({"schema_version": 1, "ends": []}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_deleted_meanwhile_has_vanished() {
    let (fixture, searched, id) = with_searches().await;
    let program = fixture.spawn(&format!("wait --columns name,outcome {id}"));
    tokio::task::block_in_place(|| searched.recv()).unwrap();
    let job = fixture.client().training_jobs().job(&id).unwrap();
    job.delete().await.unwrap();
    let (code, stdout, stderr) = program.end();
    assert_eq!(
        (code, stdout.as_str(), stderr.as_str()),
        (Some(13), "NAME     OUTCOME\nrunning  vanished: the job was deleted\n", "")
    );
}

/// Such as after submits that were all refused.
#[tokio::test(flavor = "multi_thread")]
async fn stdin_without_ids_is_an_error() {
    let fixture = Fixture::start().await;
    let output = fixture.run_with_stdin("wait -", "\n").await.code(2);
    output.stdout_eq("").stderr_eq(
        "error: stdin has no id; it must have those of the jobs to wait for, one on each line\n",
    );
}
