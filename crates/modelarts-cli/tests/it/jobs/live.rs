//! `modelarts watch`, `top` and `ls --watch` on streams that are no terminals.

use serde_json::json;

use crate::support::{Fixture, assert_schema, error_of, json_of, lines_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_job_is_printed_to_its_end_and_its_outcome_is_the_exit_code() {
    let fixture = Fixture::start().await;
    for (name, phase, code, summary) in [
        ("done", "Completed", 0, "✓ done completed"),
        ("killed", "Failed", 10, "✗ killed failed with exit code 1 in worker-0"),
        ("stopped", "Terminated", 12, "■ stopped terminated"),
    ] {
        let logs = json!({"worker-0": "epoch 1/2\n"});
        fixture.seed(json!([{"name": name, "phase": phase, "logs": logs}])).await;
        let output = fixture.run(&format!("watch {name}")).await.code(code);
        let output = output.get_output();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains("          worker-0 │ epoch 1/2\n"), "{stdout}");
        assert!(!stdout.contains('\u{1b}'), "{stdout}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(summary), "{stderr}");
    }
    fixture.run("watch missing").await.code(4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_job_has_the_items_of_a_followed_one() {
    let fixture = Fixture::start().await;
    let logs = json!({"worker-0": "epoch 1/2\n"});
    let id = fixture.seed(json!([{"name": "done", "logs": logs}])).await.remove(0);
    let output = fixture.run("watch done -o ndjson").await.code(0);
    let items = lines_of(&output, "submit.line");
    assert!(items.iter().any(|item| item["line"] == "epoch 1/2"), "{items:#?}");
    assert_eq!(items.last().unwrap()["outcome"], "completed");
    let output = fixture.run("watch done -o json").await.code(0);
    assert_eq!(json_of(&output, "submit")["job"]["id"], json!(id));
    fixture.run("watch done -o id").await.code(0).stdout_eq(format!("{id}\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn top_prints_the_active_jobs_once() {
    let fixture = Fixture::start().await;
    fixture.run("top").await.code(0).stdout_eq("").stderr_eq("no active jobs\n");
    let seeds = json!([
        {"name": "done", "created": "2026-01-15T08:30:00Z"},
        {"name": "active", "phase": "Running", "created": "2026-01-16T08:30:00Z"},
    ]);
    fixture.seed(seeds).await;
    let output = fixture.run("top --columns name,phase,gpu/npu,nodes").await.code(0);
    output.stdout_eq("NAME    PHASE      GPU/NPU  NODES\nactive  ● Running  -        1\n");
    let output = fixture.run("top -o json").await.code(0);
    let document = json_of(&output, "active_jobs");
    assert_eq!(document["active_jobs"][0]["name"], "active");
    let output = fixture.run("top --phase Completed --jq .active_jobs[].name").await.code(0);
    output.stdout_eq("done\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_list_prints_each_job_that_is_new_or_changed() {
    let fixture = Fixture::start().await;
    let seeds = json!([
        {"name": "first", "phase": "Running", "created": "2026-01-15T08:30:00Z"},
        {"name": "second", "phase": "Running", "created": "2026-01-16T08:30:00Z"},
    ]);
    let ids = fixture.seed(seeds).await;
    let mut table = fixture.spawn("ls --watch --columns name,phase");
    let mut items = fixture.spawn("ls -w -o ndjson");
    let mut item = || {
        let item = serde_json::from_str(&items.line()).unwrap();
        assert_schema(&item, "jobs.line");
        format!("{} {}", item["name"].as_str().unwrap(), item["phase"].as_str().unwrap())
    };
    assert_eq!([item(), item()], ["first Running", "second Running"]);
    let lines = [table.line(), table.line(), table.line()];
    assert_eq!(lines, ["NAME    PHASE", "first   ● Running", "second  ● Running"]);
    fixture.client().training_jobs().job(&ids[0]).unwrap().delete().await.unwrap();
    fixture.client().training_jobs().job(&ids[1]).unwrap().terminate().await.unwrap();
    let last = loop {
        match item() {
            item if item == "second Terminating" => {}
            item => break item,
        }
    };
    assert_eq!(last, "second Terminated");
    table.signal("INT");
    items.signal("INT");
    let (code, stdout, stderr) = table.end();
    assert!(stdout.lines().all(|line| line.starts_with("second")), "{stdout}");
    assert_eq!((code, stderr.as_str()), (Some(130), ""));
    assert_eq!(items.end().0, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_list_is_no_document() {
    let fixture = Fixture::start().await;
    for format in ["json", "yaml", "id"] {
        let output = fixture.run(&format!("ls --watch -o {format}")).await.code(2);
        let text = "ls --watch: --output must be table, wide, ndjson or csv, because the list does not \
                    end";
        match format {
            "json" => assert_eq!(error_of(&output)["message"], text),
            _ => assert_eq!(
                String::from_utf8_lossy(&output.get_output().stderr),
                format!("error: {text}\n")
            ),
        }
    }
    assert!(fixture.received().is_empty());
}
