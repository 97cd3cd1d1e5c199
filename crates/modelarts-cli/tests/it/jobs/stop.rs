//! `modelarts stop`.

use modelarts_emulator::faults::{Fault, FaultRule};
use serde_json::json;

use crate::support::{Fixture, json_of};

#[tokio::test(flavor = "multi_thread")]
async fn one_job_is_stopped_without_a_question() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{"name": "running", "phase": "Running"}])).await;
    let output = fixture.run("stop running").await.code(0);
    output
        .stdout_eq(format!("NAME     ID        RESULT\nrunning  {}  stopping\n", &ids[0][..8]))
        .stderr_eq("");
    fixture.emulator.wait_until_settled(&ids[0]).await;
    fixture.run("wait running").await.code(12);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_jobs_need_a_confirmation() {
    let fixture = Fixture::start().await;
    let seeds = json!([{"name": "a", "phase": "Running"}, {"name": "b", "phase": "Pending"}]);
    let ids = fixture.seed(seeds).await;
    let output = fixture.run("stop a b").await.code(2);
    output.stdout_eq("").stderr_eq(format!(
        "  a ({}): Running\n  b ({}): Pending\nerror: this would stop 2 jobs in the project {} at \
         {}; without a terminal to ask on, --yes must be given\n",
        ids[0],
        ids[1],
        fixture.client().project_id(),
        fixture.emulator.url()
    ));
    assert!(!fixture.received().contains_key("StopTrainingJob"));
    // The same job twice is one job.
    fixture.run("stop b b").await.code(0);
    fixture.run("stop --yes a b -o json").await.code(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_ended_is_no_error() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{"name": "done"}])).await;
    let output = fixture.run("stop --columns name,result done").await.code(0);
    output.stdout_eq("NAME  RESULT\ndone  ended\n");
    assert!(!fixture.received().contains_key("StopTrainingJob"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_reported_and_the_other_jobs_are_stopped() {
    let fixture = Fixture::start().await;
    let seeds = json!([{"name": "a", "phase": "Running"}, {"name": "b", "phase": "Running"}]);
    fixture.seed(seeds).await;
    let refusal = Fault::error(403, "ModelArts.0105", "No permission");
    let rule = FaultRule::once("StopTrainingJob", refusal);
    fixture.emulator.faults().add(rule).unwrap();
    let output = fixture.run("stop --yes a b -o json").await.code(1);
    let document = json_of(&output, "results");
    let mut results: Vec<&str> = document["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["result"].as_str().unwrap())
        .collect();
    results.sort_unstable();
    assert_eq!(results, ["failed", "stopping"]);
    let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(stderr.contains("No permission"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_selected_by_conditions() {
    let fixture = Fixture::start().await;
    let seeds = json!([
        {"name": "a", "phase": "Running"}, {"name": "b", "phase": "Pending"}, {"name": "c"},
    ]);
    let ids = fixture.seed(seeds).await;
    let listed = format!("  a ({}): Running\n", ids[0]);
    let output = fixture.run("stop --phase Running --dry-run").await.code(0);
    output.stdout_eq("").stderr_eq(format!("{listed}dry run: no job was stopped\n"));
    let output = fixture.run("stop --phase Running").await.code(2);
    let place = format!("{} at {}", fixture.client().project_id(), fixture.emulator.url());
    output.stdout_eq("").stderr_eq(format!(
        "{listed}error: this would stop 1 job in the project {place}; without a terminal to ask \
         on, --yes must be given\n"
    ));
    assert!(!fixture.received().contains_key("StopTrainingJob"));
    let output = fixture.run("stop --name a --yes --columns name,result").await.code(0);
    output.stdout_eq("NAME  RESULT\na     stopping\n").stderr_eq(listed);
    // Jobs that have ended are not selected.
    fixture.run("stop --name c --yes").await.code(0).stderr_eq("no jobs to stop\n");
    for wrong in ["stop", "stop a --phase Running"] {
        fixture.run(wrong).await.code(2).stderr_eq(
            "error: stop must have jobs, or conditions that select them such as --phase Running, \
             but not both\n",
        );
    }
}
