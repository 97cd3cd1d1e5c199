//! Jobs as arguments: by name, id, prefix, `@last`, or `-`.

use std::collections::BTreeMap;

use serde_json::json;

use crate::support::Fixture;

/// Jobs whose ids differ in their beginnings, except for two.
const IDS: [&str; 3] = [
    "6081b12b-63b1-4219-b717-708a2665100b",
    "6081c12b-63b1-4219-b717-708a2665100b",
    "91aa0c3e-63b1-4219-b717-708a2665100b",
];

async fn three_jobs() -> Fixture {
    let fixture = Fixture::start().await;
    fixture
        .seed(json!([
            {"name": "leaves-7", "id": IDS[0], "created": "2026-01-15T08:30:00Z"},
            {"name": "leaves-6", "id": IDS[1], "created": "2026-01-14T08:30:00Z"},
            {"name": "beef", "id": IDS[2], "created": "2026-01-13T08:30:00Z"},
        ]))
        .await;
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_named_by_its_name_its_id_or_the_beginning_of_either() {
    let fixture = three_jobs().await;
    for (argument, id) in [
        ("leaves-7", IDS[0]),
        (IDS[1], IDS[1]),
        ("6081b", IDS[0]),
        ("6081B12B", IDS[0]),
        ("6081c12b-63b1", IDS[1]),
        ("beef", IDS[2]),
        ("bee", IDS[2]),
    ] {
        let output = fixture.run(&format!("show -o id {argument}")).await.code(0);
        output.stdout_eq(format!("{id}\n")).stderr_eq("");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_argument_that_fits_several_jobs_lists_them() {
    let fixture = three_jobs().await;
    let output = fixture.run("show 6081").await.code(2);
    output.stdout_eq("").stderr_eq(format!(
        "error: \"6081\" fits 2 jobs; the argument must name one of them:\n  \
         leaves-7 ({}): Completed\n  leaves-6 ({}): Completed\n",
        IDS[0], IDS[1]
    ));
    let output = fixture.run("show leaves").await.code(2);
    output.stdout_eq("").stderr_eq(format!(
        "error: \"leaves\" fits 2 jobs; the argument must name one of them:\n  \
         leaves-7 ({}): Completed\n  leaves-6 ({}): Completed\n",
        IDS[0], IDS[1]
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_job_is_an_error_with_a_suggestion() {
    let fixture = three_jobs().await;
    for (argument, message) in [
        ("laeves-7", "no job is named \"laeves-7\"; did you mean leaves-7?"),
        (
            "unheard-of",
            "no job is named \"unheard-of\", and no id begins with it; `modelarts ls` lists jobs, \
             and a job of another workspace is found by its id",
        ),
        (
            "00000000-63b1-4219-b717-708a2665100b",
            "no job has the id 00000000-63b1-4219-b717-708a2665100b",
        ),
        (
            "@last",
            "@last: no job of this project was submitted from this directory; `modelarts ls` lists \
             all jobs",
        ),
    ] {
        let output = fixture.run(&format!("show {argument}")).await;
        let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert_eq!(stderr, format!("error: {message}\n"), "{argument}");
        output.code(4).stdout_eq("");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_argument_that_no_job_can_have_is_refused_before_anything_is_sent() {
    let fixture = three_jobs().await;
    for (argument, message) in [
        ("@first", "@first: a job must be @last, a name or an id"),
        ("leaves.7", "the job \"leaves.7\": a name must consist of letters, digits, _ and -"),
    ] {
        let output = fixture.run(&format!("show {argument}")).await.code(2);
        output.stderr_eq(format!("error: {message}\n"));
    }
    assert!(fixture.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_job_is_that_of_the_directory_and_the_project() {
    let fixture = three_jobs().await;
    let client = fixture.client();
    let project = format!("emulator {}", client.project_id());
    let directory = fixture.path().canonicalize().unwrap();
    let last = |id: &str, project: &str| {
        let job = json!({"directory": directory, "project": project, "id": id});
        fixture.write("state/last.json", &json!({"jobs": [job]}).to_string());
    };
    last(IDS[2], &project);
    fixture.run("show -o id @last").await.code(0).stdout_eq(format!("{}\n", IDS[2]));
    last(IDS[2], "another project");
    fixture.run("show @last").await.code(4);
    last("00000000-63b1-4219-b717-708a2665100b", &project);
    fixture
        .run("show @last")
        .await
        .code(4)
        .stderr_eq("error: @last: the job 00000000-63b1-4219-b717-708a2665100b no longer exists\n");
    // A damaged file only lacks the convenience of `@last`.
    fixture.write("state/last.json", "{");
    fixture.run("show @last").await.code(4);
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_read_from_stdin() {
    let fixture = three_jobs().await;
    let lines = format!("{}  leaves-6\n\n", IDS[1]);
    let output = fixture.run_with_stdin("show -o id -", &lines).await.code(0);
    output.stdout_eq(format!("{}\n", IDS[1]));
    let output = fixture.run_with_stdin("show -", "").await.code(2);
    output.stderr_eq("error: stdin has no id; it must have that of one job\n");
    let two = format!("{}\n{}\n", IDS[0], IDS[1]);
    let output = fixture.run_with_stdin("show -", &two).await.code(2);
    output.stderr_eq("error: stdin has 2 ids; the command must have one job\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_ids_take_few_calls() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{"name": "many-{n}", "count": 25}])).await;
    let output = fixture.run_with_stdin("stop -o id --yes -", &ids.join("\n")).await;
    output.code(0).stdout_eq(format!("{}\n", ids.join("\n")));
    assert_eq!(fixture.received(), BTreeMap::from([("ListTrainingJobs", 4)]));
}
