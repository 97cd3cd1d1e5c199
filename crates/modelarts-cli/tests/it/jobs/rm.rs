//! `modelarts rm`.

use std::time::Duration;

use modelarts_emulator::{
    Cloud,
    faults::{Fault, FaultRule},
};
use serde_json::{Value, json};

use crate::support::{Fixture, json_of};

async fn names(fixture: &Fixture) -> String {
    let output = fixture.run("ls --jq .jobs[].name").await.code(0);
    let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    stdout.lines().collect::<Vec<_>>().join(" ")
}

fn received(fixture: &Fixture, operation: &str) -> u64 {
    fixture.received().get(operation).copied().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn even_one_job_needs_a_confirmation() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{"name": "done"}])).await;
    let output = fixture.run("rm done").await.code(2);
    output.stdout_eq("").stderr_eq(format!(
        "  done ({}): Completed\nerror: this would delete 1 job with events and logs in the \
         project {} at {}; without a terminal to ask on, --yes must be given\n",
        ids[0],
        fixture.client().project_id(),
        fixture.emulator.url()
    ));
    assert_eq!(names(&fixture).await, "done");
    let output = fixture.run("rm done --yes").await.code(0);
    output.stdout_eq(format!("NAME  ID        RESULT\ndone  {}  deleting\n", &ids[0][..8]));
    fixture.emulator.wait_until_gone(&ids[0]).await;
    fixture.run("rm done --yes").await.code(4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_must_be_complete() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{"name": "try-2"}])).await;
    let output = fixture.run("rm try --yes").await.code(4);
    output.stderr_eq("error: no job is named \"try\"; did you mean try-2?\n");
    assert_eq!(names(&fixture).await, "try-2");
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_select_old_jobs_that_have_ended() {
    let fixture = Fixture::start().await;
    let seeds = json!([
        {"name": "old-running", "phase": "Running", "created": "2026-01-15T08:30:00Z"},
        {"name": "old-stopped", "phase": "Terminated", "created": "2026-01-15T08:30:00Z"},
        {"name": "old-done", "created": "2026-01-15T08:30:00Z"},
        {"name": "new-done"},
    ]);
    let ids = fixture.seed(seeds).await;
    let output = fixture.run("rm --older-than 72h --phase terminated --yes -o id").await.code(0);
    output
        .stdout_eq(format!("{}\n", ids[1]))
        .stderr_eq(format!("  old-stopped ({}): Terminated\n", ids[1]));
    fixture.emulator.wait_until_gone(&ids[1]).await;
    let output = fixture.run("rm --older-than 72h --yes -o id").await.code(0);
    output.stdout_eq(format!("{}\n", ids[2]));
    fixture.emulator.wait_until_gone(&ids[2]).await;
    assert_eq!(names(&fixture).await, "new-done old-running");
    let output = fixture.run("rm --older-than 72h --yes").await.code(0);
    output.stdout_eq("").stderr_eq("no jobs to delete\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_and_conditions_exclude_each_other() {
    let fixture = Fixture::start().await;
    let message = "error: rm must have jobs, or conditions that select them such as --older-than \
                   72h --phase Terminated, but not both\n";
    for arguments in ["", "done --older-than 1h", "--yes", "done --phase Failed"] {
        let output = fixture.run(&format!("rm {arguments}")).await.code(2);
        output.stderr_eq(message);
    }
    assert!(fixture.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_on_stdin_are_deleted_in_batches() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{"name": "many-{n}", "count": 120}])).await;
    let stdin = ids.join("\n");
    let output = fixture.run_with_stdin("rm -", &stdin).await.code(2);
    let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(
        stderr.contains(
            "  and 100 more\nerror: this would delete 120 jobs with events and logs in the project "
        ),
        "{stderr}"
    );
    let output = fixture.run_with_stdin("rm - --yes -o id", &stdin).await;
    output.code(0).stdout_eq(format!("{stdin}\n"));
    assert_eq!(received(&fixture, "BatchDeleteTrainingJob"), 2);
    assert_eq!(received(&fixture, "DeleteTrainingJob"), 0);
    let output = fixture.run_with_stdin("rm - --yes", "").await.code(0);
    output.stdout_eq("").stderr_eq("no jobs to delete\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_batch_is_deleted_one_by_one() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{"name": "a"}, {"name": "b"}, {"name": "c"}])).await;
    for (operation, code) in
        [("BatchDeleteTrainingJob", "ModelArts.2788"), ("DeleteTrainingJob", "ModelArts.0105")]
    {
        let refusal = Fault::error(400, code, "No permission");
        let rule = FaultRule::once(operation, refusal);
        fixture.emulator.faults().add(rule).unwrap();
    }
    let output = fixture.run("rm a b c --yes -o json").await.code(1);
    let document = json_of(&output, "results");
    let count = |result: &str| {
        let rows = document["results"].as_array().unwrap();
        rows.iter().filter(|row: &&Value| row["result"] == result).count()
    };
    assert_eq!((count("deleting"), count("failed")), (2, 1));
    let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert_eq!(stderr.matches("No permission").count(), 1, "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_before_a_lost_connection_are_printed() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{"name": "many-{n}", "count": 101}])).await;
    for rule in [
        FaultRule::once("BatchDeleteTrainingJob", Fault::delay(Duration::ZERO)),
        FaultRule::always("BatchDeleteTrainingJob", Fault::Reset),
    ] {
        fixture.emulator.faults().add(rule).unwrap();
    }
    let stdin = ids.join("\n");
    let output = fixture.run_with_stdin("rm - --yes -o json", &stdin).await;
    let output = output.code(1);
    let document = json_of(&output, "results");
    assert_eq!(document["results"].as_array().unwrap().len(), 100);
    let error: Value = serde_json::from_slice(&output.get_output().stderr).unwrap();
    assert_eq!(error["error"]["exit_code"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn open_telekom_cloud_has_no_batches() {
    let fixture = Fixture::with(|builder| builder.cloud(Cloud::Otc)).await;
    fixture.seed(json!([{"name": "a"}, {"name": "b"}])).await;
    fixture.run("rm a b --yes").await.code(0);
    assert_eq!(received(&fixture, "DeleteTrainingJob"), 2);
    assert_eq!(received(&fixture, "BatchDeleteTrainingJob"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_run_are_named_and_not_deleted() {
    let fixture = Fixture::start().await;
    let seeds = json!([
        {"name": "sweep-1", "phase": "Running", "created": "2026-01-15T08:30:00Z"},
        {"name": "sweep-2", "phase": "Running", "created": "2026-01-15T08:30:01Z"},
    ]);
    let ids = fixture.seed(seeds).await;
    let output = fixture.run("rm --name sweep --yes").await.code(0);
    output.stdout_eq("").stderr_eq(format!(
        "no jobs to delete; these meet the conditions, and have not ended; --phase selects \
         them:\n  sweep-1 ({}): Running\n  sweep-2 ({}): Running\n",
        ids[0], ids[1]
    ));
    assert_eq!(names(&fixture).await, "sweep-2 sweep-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_deletes_nothing() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{"name": "old"}])).await;
    let output = fixture.run("rm --phase Completed --dry-run --yes").await.code(0);
    output
        .stdout_eq("")
        .stderr_eq(format!("  old ({}): Completed\ndry run: no job was deleted\n", ids[0]));
    fixture.run("show old").await.code(0);
}
