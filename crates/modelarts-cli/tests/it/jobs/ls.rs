//! `modelarts ls`.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use modelarts_emulator::User;
use serde_json::json;

use crate::support::{Fixture, json_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_table_lists_jobs_newest_first_with_short_ids() {
    let fixture = Fixture::start().await;
    let ids = fixture
        .seed(json!([
            {"name": "leaves", "created": "2026-01-15T08:30:00Z"},
            {"name": "bert", "created": "2026-01-16T08:30:00Z"},
        ]))
        .await;
    let output = fixture.run("ls --columns name,id,phase").await.code(0);
    output.stdout_eq(format!(
        "NAME    ID        PHASE\nbert    {}  ✓ Completed\nleaves  {}  ✓ Completed\n",
        &ids[1][..8],
        &ids[0][..8]
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_one_on_each_line() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{"name": "leaves"}])).await;
    let output = fixture.run("ls -o id").await.code(0);
    output.stdout_eq(format!("{}\n", ids[0])).stderr_eq("");
}

#[tokio::test(flavor = "multi_thread")]
async fn json_has_the_version_of_its_schema() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{"name": "leaves"}])).await;
    let output = fixture.run("ls -o json").await.code(0);
    let document = json_of(&output, "jobs");
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["jobs"][0]["name"], "leaves");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_column_is_refused_with_the_names_of_all() {
    let fixture = Fixture::start().await;
    let output = fixture.run("ls --columns name,fase").await.code(2);
    output.stderr_eq(
        "error: --columns \"fase\": no column has this name; it must be one of: name, id, phase, \
         nodes, flavor/pool, age, ran, user, secondary, created, end, cards, billing, full-id, why\n",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reason_of_a_failure_is_in_the_list_without_a_call_for_each_row() {
    let fixture = Fixture::start().await;
    let seeds = json!([
        {"name": "killed", "phase": "Failed", "exit_code": 137, "created": "2026-01-15T08:30:00Z"},
        {"name": "fine", "created": "2026-01-16T08:30:00Z"},
    ]);
    fixture.seed(seeds).await;
    let output = fixture.run("ls --columns name,phase,why").await.code(0);
    output.stdout_eq(
        "NAME    PHASE        WHY\n\
         fine    ✓ Completed\n\
         killed  ✗ Failed     worker-0 exit code 137: likely out of memory\n",
    );
    // The second page, without a row, is the end of the list.
    assert_eq!(fixture.received(), BTreeMap::from([("ListTrainingJobs", 2)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_conditions_are_those_of_the_service() {
    let fixture =
        Fixture::with(|builder| builder.user(User::new("ann")).user(User::new("bo"))).await;
    let pooled = json!({
        "kind": "job", "metadata": {},
        "algorithm": {"engine": {"image_url": "seeds/image:1"}, "command": "true"},
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
    });
    let seeds = json!([
        {"name": "old-1", "created": "2026-01-15T08:30:00Z"},
        {"name": "failed-1", "phase": "Failed", "created": "2026-01-16T08:30:00Z",
         "tags": {"team": "nlp"}},
        {"name": "running-1", "phase": "Running", "created": "2026-01-17T08:30:00Z",
         "tags": {"team": "cv"}, "job": pooled},
    ]);
    fixture.seed(seeds).await;
    for (arguments, names) in [
        ("--phase running,FAILED", "running-1\nfailed-1\n"),
        ("--phase Failed --phase failed", "failed-1\n"),
        ("--name old", "old-1\n"),
        ("--since 2026-01-16T00:00:00Z", "running-1\nfailed-1\n"),
        ("--since 2026-01-16", "running-1\nfailed-1\n"),
        ("--since 2026-01-01 --tag team=nlp", "failed-1\n"),
        ("--since 2026-01-01 --tag team", "running-1\nfailed-1\n"),
        ("--since 2026-01-01 --tag team=nlp --tag team=cv", "running-1\nfailed-1\n"),
        ("--user ann", "running-1\nfailed-1\nold-1\n"),
        ("--user bo", ""),
        ("-n 2", "running-1\nfailed-1\n"),
    ] {
        let output = fixture.run(&format!("ls --jq .jobs[].name {arguments}")).await;
        let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert_eq!(stdout, names, "{arguments}");
        output.code(0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_condition_on_pools_is_sent() {
    let fixture = Fixture::start().await;
    // The emulator refuses this condition, which it does not model.
    let output = fixture.run("ls --pool pool-a,pool-b").await.code(1);
    let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(stderr.contains("searches by pool_id"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_s_own_jobs_are_those_of_the_user_of_the_credentials() {
    let mut ann = User::new("ann");
    let mut bo = User::new("bo");
    ann.project_id = "0123456789abcdef0123456789abcdef".to_owned();
    bo.project_id.clone_from(&ann.project_id);
    let fixture = Fixture::with(|builder| builder.user(ann).user(bo)).await;
    fixture.seed(json!([{"name": "hers", "user": "ann"}, {"name": "his", "user": "bo"}])).await;
    let output = fixture.run("ls --mine --jq .jobs[].name").await.code(0);
    output.stdout_eq("hers\n");
    let all = fixture.run("ls --jq .jobs[].name").await.code(0);
    let all = String::from_utf8_lossy(&all.get_output().stdout).into_owned();
    assert_eq!(all.lines().count(), 2, "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_condition_is_refused_before_anything_is_sent() {
    let fixture = Fixture::start().await;
    let output = fixture.run("ls --phase Runing").await.code(2);
    let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(stderr.contains("a similar value exists: 'Running'"), "{stderr}");
    for (arguments, message) in [
        (
            "--since yesterday",
            "it must be a time such as 4d, 12h or 90m before now, or 2026-01-15 or \
             2026-01-15T08:30:00Z",
        ),
        ("--tag =nlp", "--tag \"=nlp\": it must be a key, or a key and a value such as team=nlp"),
        ("--name=", "filter name: a blank value"),
        ("-n 0", "it must be a whole number, 1 or more"),
        ("-n -1", "it must be a whole number, 1 or more"),
        ("--mine --user ann", "cannot be used with"),
    ] {
        let output = fixture.run(&format!("ls {arguments}")).await;
        let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(stderr.contains(message), "{arguments}: {stderr}");
        output.code(2).stdout_eq("");
    }
    assert!(fixture.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_behind_the_limit_are_not_read() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{"name": "many-{n}", "count": 130}])).await;
    for (limit, requests) in [(10, 1), (50, 1), (60, 2)] {
        let before = requests_of(&fixture, "ListTrainingJobs");
        let output = fixture.run(&format!("ls -o id -n {limit}")).await.code(0);
        let stdout = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert_eq!(stdout.lines().count(), limit);
        let made = requests_of(&fixture, "ListTrainingJobs") - before;
        assert_eq!(made, requests, "{limit}");
    }
}

fn requests_of(fixture: &Fixture, operation: &str) -> u64 {
    fixture.received().get(operation).copied().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_page_is_printed_before_the_second_arrives() {
    let (release, released) = mpsc::channel();
    let (released, pages) = (Mutex::new(released), AtomicUsize::new(0));
    let hold = Arc::new(move |operation: Option<&'static str>| {
        // The response to each page behind the first waits until the test has read a line.
        if operation == Some("ListTrainingJobs") && pages.fetch_add(1, Ordering::SeqCst) > 0 {
            let released = released.lock().unwrap();
            tokio::task::block_in_place(|| released.recv()).unwrap();
        }
    });
    let fixture =
        Fixture::with(|builder| builder.observe(move |exchange| hold(exchange.operation))).await;
    fixture.seed(json!([{"name": "many-{n}", "count": 60}])).await;
    let mut program = fixture.spawn("ls --columns name");
    assert_eq!(program.line(), "NAME");
    assert_eq!(program.line(), "many-59");
    release.send(()).unwrap();
    let (code, stdout, stderr) = program.end();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.ends_with("many-1\nmany-0\n"), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_list_has_no_lines_on_stdout() {
    let fixture = Fixture::start().await;
    let output = fixture.run("ls").await.code(0);
    output.stdout_eq("").stderr_eq("no jobs\n");
    let output = fixture.run("ls -o json").await.code(0);
    let document = json_of(&output, "jobs");
    assert_eq!(document, json!({"schema_version": 1, "jobs": []}));
    output.stderr_eq("");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_a_running_job_is_its_reason_before_it_fails() {
    let fixture = Fixture::start().await;
    let full = "2026-01-03 18:19:40 upload failed: OBS_ERR_InsufficientStorageSpace\n";
    let log = json!({"worker-0": format!("start\n{}", full.repeat(5))});
    fixture
        .seed(json!([
            {"name": "full", "phase": "Running", "logs": log},
            {"name": "fine", "phase": "Running", "logs": {"worker-0": "epoch 1\n"}},
            {"name": "new", "phase": "Running"},
            {"name": "over", "phase": "Completed", "logs": log},
        ]))
        .await;
    let output = fixture.run("ls --columns name,why --phase Running").await.code(0);
    output.stdout_eq(
        "NAME  WHY\nnew\nfine\nfull  OBS has refused writes since 2026-01-03 18:19:40\n",
    );
    let output = fixture.run("ls -o json").await.code(0);
    let reasons = json_of(&output, "jobs");
    let reasons: Vec<_> =
        reasons["jobs"].as_array().unwrap().iter().map(|job| job["why"].clone()).collect();
    assert_eq!(reasons.iter().filter(|why| !why.is_null()).count(), 1);
    // Ids need no logs.
    let previews = || fixture.received()["ShowTrainingJobLogsPreview"];
    let before = previews();
    fixture.run("ls -o id").await.code(0);
    fixture.run("ls --columns name,phase").await.code(0);
    assert_eq!((before, previews()), (6, 6));
}
