//! Page of a job: header, time line, diagnosis, and its tabs Overview, Usage and Request.

mod changes;
mod outputs;
mod request;
mod secrets;
mod usage;
mod values;

use std::time::Duration;

use modelarts_emulator::faults::{Fault, FaultRule};
use serde_json::{Value, json};

use crate::support::Fixture;

/// A job with all parameters of the form, as far as they fit together.
fn described(name: &str) -> Value {
    json!({
        "kind": "job",
        "metadata": {
            "name": name,
            "description": "first try",
            "annotations": {"fault-tolerance/job-retry-num": "2"},
        },
        "algorithm": {
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
            "code_dir": "obs://bucket/code/",
            "boot_file": "obs://bucket/code/train.py",
            "local_code_dir": "/home/ma-user/code",
            "working_dir": "/home/ma-user/work",
            "inputs": [{"name": "data_url", "access_method": "env",
                        "remote": {"obs": {"obs_url": "obs://bucket/data/"}}}],
            "outputs": [{"name": "train_url", "remote": {"obs": {"obs_url": "obs://bucket/out/"}}}],
            "parameters": [{"name": "epochs", "value": "3"}, {"name": "lr", "value": "it's 1e-5"}],
            "environments": {"SEED": "1"},
        },
        "spec": {
            "resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 2},
            "log_export_path": {"obs_url": "obs://bucket/logs/"},
            "auto_stop": {"time_unit": "HOURS", "duration": 2},
            "notification": {"topic_urn": "urn:smn:r:p:t", "events": ["JobFailed"]},
        },
    })
}

/// Returns the text between two marks.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("no {start} in {page}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end} in {page}")).0
}

/// Asserts that a page contains texts.
#[track_caller]
fn assert_has(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(page.contains(text), "no {text} in {page}");
    }
}

async fn seed_one(fixture: &Fixture, job: Value) -> String {
    for object in ["code/train.py", "data/rows.csv", "out/none", "logs/none"] {
        fixture.emulator.put(&format!("bucket/{object}"), "1\n").unwrap();
    }
    fixture.seed(json!([job])).await.remove(0)
}

#[tokio::test]
async fn the_header_has_the_phase_and_the_stages_with_their_durations() {
    let fixture = Fixture::start().await;
    let id = seed_one(
        &fixture,
        json!({"name": "resnet-50", "phase": "Completed", "created": "2026-01-15T08:30:00Z",
               "started": "2026-01-15T08:31:05Z", "ended": "2026-01-15T09:31:05Z"}),
    )
    .await;
    let page = fixture.page(&format!("/jobs/{id}")).await;
    assert_has(&page, &["<h1>resnet-50</h1>", "</span> Completed</span>"]);
    assert_eq!(page.matches("<h1").count(), 1);
    let line = between(&page, "<ol class=\"timeline\"", "</ol>");
    let steps: Vec<&str> = line.split("<li ").skip(1).collect();
    assert_eq!(steps.len(), 3, "{line}");
    assert_has(steps[0], &["</span> Waiting<", ">1m5s<", "2026-01-15T08:30:00"]);
    assert_has(steps[1], &["</span> Running<", ">1h0m<", "2026-01-15T08:31:05"]);
    assert_has(steps[2], &["step completed", "</span> Completed<"]);
    for (tab, name) in [("", "Overview"), ("/events", "Events"), ("/logs", "Logs")] {
        assert_has(&page, &[&format!("href=\"/jobs/{id}{tab}\"")]);
        assert_has(&page, &[&format!(">{name}</a>")]);
    }
    assert!(!page.contains("/stop\""), "an ended job cannot be stopped");
}

#[tokio::test]
async fn a_cloud_without_stages_has_a_time_line_from_the_times_of_the_job() {
    let otc =
        |emulator: modelarts_emulator::Builder| emulator.cloud(modelarts_emulator::Cloud::Otc);
    let fixture = Fixture::with(otc, |console| console).await;
    let id = seed_one(
        &fixture,
        json!({"name": "otc", "phase": "Failed", "created": "2026-01-15T08:30:00Z",
               "started": "2026-01-15T08:31:05Z", "ended": "2026-01-15T09:31:05Z"}),
    )
    .await;
    let page = fixture.page(&format!("/jobs/{id}")).await;
    let line = between(&page, "<ol class=\"timeline\"", "</ol>");
    assert_has(
        line,
        &[
            "</span> Waiting<",
            ">1m5s<",
            "</span> Running<",
            ">1h0m<",
            "step failed",
            "</span> Failed<",
        ],
    );
}

#[tokio::test]
async fn each_run_of_a_restarted_job_has_its_stages() {
    let fixture = Fixture::start().await;
    fixture.emulator.put("bucket/code/train.py", "raise SystemExit(3)\n").unwrap();
    let job = fixture.client().training_jobs().create("again");
    let job = job
        .preset_image("PyTorch", "pytorch_1.8.0")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .flavor("modelarts.vm.cpu.2u")
        .auto_restart(1);
    let job = job.submit().await.unwrap();
    assert!(!job.wait().await.unwrap().is_completed());
    let page = fixture.page(&format!("/jobs/{}", job.id())).await;
    let line = between(&page, "<ol class=\"timeline\"", "</ol>");
    assert_has(
        line,
        &["<li class=\"run\">Run 1</li>", "<li class=\"run\">Run 2</li>", "<li class=\"reason\">"],
    );
    assert_eq!(line.matches("</span> Running<").count(), 2, "{line}");
    // The run in which each of both ended, and the end of the job.
    assert_eq!(line.matches("step failed").count(), 3, "{line}");
    let runs = between(&page, "<h2>Runs</h2>", "</table>");
    assert_eq!(runs.matches("<tr>").count(), 3, "{runs}");
    assert_has(&page, &["<dt>Restarts</dt><dd>1</dd>"]);
}

#[tokio::test]
async fn a_job_that_does_not_exist_is_not_found() {
    let fixture = Fixture::start().await;
    for path in ["/jobs/none", "/jobs/none/usage", "/jobs/none/request", "/jobs/none/delete"] {
        let response = fixture.request("GET", path).send().await.unwrap();
        assert_eq!(response.status(), 404, "{path}");
        let text = response.text().await.unwrap();
        assert_has(&text, &["the project has no job with the id none", "ModelArts."]);
    }
    let response = fixture.request("GET", "/jobs/%20%3Cscript%3E").send().await.unwrap();
    assert_eq!(response.status(), 404);
    assert!(!response.text().await.unwrap().contains("<script>"));
}

#[tokio::test]
async fn a_failed_job_has_its_diagnosis() {
    let fixture = Fixture::start().await;
    let id = seed_one(
        &fixture,
        json!({"name": "oom", "phase": "Failed", "exit_code": 137,
               "logs": {"worker-0": "step 1\nKilled\n"},
               "metrics": {"worker-0": {"memUsage": [40.0, 99.0, 99.5]}}}),
    )
    .await;
    let page = fixture.page(&format!("/jobs/{id}")).await;
    assert_has(
        &page,
        &[
            "<details id=\"evidence\" open>",
            "memUsage: 100 %",
            "/logs?task=worker-0&amp;line=2\">Log</a>",
        ],
    );
    for tab in ["", "/events", "/logs"] {
        let page = fixture.page(&format!("/jobs/{id}{tab}")).await;
        let section = between(&page, "<section class=\"diagnosis bad\"", "</section>");
        assert_has(
            section,
            &["Why it failed", "<code>out_of_memory</code>", "exit code 137", "<li>", "<details"],
        );
    }
}

#[tokio::test]
async fn a_waiting_job_has_the_reason_and_a_completed_one_none() {
    let fixture = Fixture::start().await;
    let waiting = seed_one(&fixture, json!({"name": "wait", "phase": "Pending"})).await;
    let page = fixture.page(&format!("/jobs/{waiting}")).await;
    assert_has(
        &page,
        &["Why it waits", "<code>waiting_for_resources</code>", "aria-current=\"step\""],
    );
    for phase in ["Completed", "Running"] {
        let id = seed_one(&fixture, json!({"name": phase, "phase": phase})).await;
        let page = fixture.page(&format!("/jobs/{id}")).await;
        assert!(!page.contains("class=\"diagnosis"), "{page}");
    }
}

#[tokio::test]
async fn the_diagnosis_is_read_once_for_many_pages() {
    let fixture =
        Fixture::with(|emulator| emulator, |console| console.interval(Duration::from_secs(3600)))
            .await;
    let id = seed_one(&fixture, json!({"name": "many", "phase": "Failed"})).await;
    let address = format!("/jobs/{id}");
    let pages = (0..8).map(|_| fixture.page(&address));
    futures::future::join_all(pages).await;
    let requests = fixture.emulator.requests();
    let count = |operation: &str| requests[operation].received;
    assert_eq!(count("ListTrainingJobEvents"), 1);
    assert_eq!(count("ListTrainingJobStages"), 1);
}

#[tokio::test]
async fn the_scripts_of_many_pages_share_their_calls() {
    let fixture =
        Fixture::with(|emulator| emulator, |console| console.interval(Duration::from_secs(3600)))
            .await;
    let id = seed_one(&fixture, json!({"name": "shared"})).await;
    let addresses = [format!("/jobs/{id}/parts"), format!("/jobs/{id}/usage/data")];
    let read = async || {
        let pages = addresses.iter().cycle().take(16);
        futures::future::join_all(pages.map(|address| fixture.page(address))).await;
        fixture.emulator.requests()
    };
    let first = read().await;
    assert_eq!(first["ShowTrainingJobMetrics"].received, 1);
    assert_eq!(read().await, first);
}

#[tokio::test]
async fn the_overview_has_the_settings_of_the_job() {
    let fixture = Fixture::start().await;
    let job = described("all");
    let id = seed_one(
        &fixture,
        json!({"job": job, "phase": "Failed", "exit_code": 3, "task": "worker-1",
               "tags": {"team": "nlp"}}),
    )
    .await;
    let page = fixture.page(&format!("/jobs/{id}?secrets=shown")).await;
    let has = |label: &str, value: &str| {
        let cell = between(&page, &format!("<dt>{label}</dt><dd>"), "</dd>");
        let text = cell.replace("<code>", "").replace("</code>", "");
        assert_eq!(text, value, "{label}");
    };
    has("Id", &id);
    has("Exit codes", "worker-1: 3");
    has("Workers", "worker-0, worker-1");
    has("Tags", "team=nlp");
    has("Preset image", "PyTorch pytorch_1.8.0");
    has("Code directory", "obs://bucket/code/");
    has("Boot file", "obs://bucket/code/train.py");
    has("Local code directory", "/home/ma-user/code");
    has("Work directory", "/home/ma-user/work");
    has("Resource pool", "Public pool");
    has("Specifications", "modelarts.vm.cpu.8u");
    has("Compute nodes", "2");
    has("Persistent logs", "obs://bucket/logs/");
    has("Auto stop", "after 2 hours");
    has("Auto restart", "2");
    has("Notified topic", "urn:smn:r:p:t");
    has("Notified events", "JobFailed");
    has("Hardware", "8 CPU cores, 32 GB of memory");
    assert_has(&page, &["<p class=\"description\">first try</p>"]);
    let row = |name: &str| between(&page, &format!("scope=\"row\"><code>{name}</code>"), "</tr>");
    assert_has(row("data_url"), &["obs://bucket/data/", "environment variable"]);
    assert_has(row("train_url"), &["obs://bucket/out/", "hyper-parameter"]);
    assert_has(row("epochs"), &["<code>3</code>"]);
    assert_has(row("SEED"), &["<code>1</code>"]);
}

#[tokio::test]
async fn the_scripts_get_the_parts_that_change() {
    let fixture = Fixture::start().await;
    let id = seed_one(&fixture, json!({"name": "parts", "phase": "Failed"})).await;
    let parts = fixture.page(&format!("/jobs/{id}/parts")).await;
    let parts: Value = serde_json::from_str(&parts).unwrap();
    assert_has(parts["summary"].as_str().unwrap(), &["class=\"timeline\"", "Why it failed"]);
    assert_has(parts["settings"].as_str().unwrap(), &["Basic settings", &id]);
}

#[tokio::test]
async fn an_error_of_the_service_has_its_code_and_request_id() {
    let fixture = Fixture::start().await;
    let id = seed_one(&fixture, json!({"name": "hidden"})).await;
    let fault = Fault::error(403, "ModelArts.0010", "not permitted");
    let rule = FaultRule::once("ShowTrainingJobDetails", fault);
    fixture.emulator.faults().add(rule).unwrap();
    let response = fixture.request("GET", &format!("/jobs/{id}")).send().await.unwrap();
    assert_eq!(response.status(), 502);
    let text = response.text().await.unwrap();
    assert_has(&text, &["<code>ModelArts.0010</code>", "Request id"]);
}

#[tokio::test]
async fn markup_in_the_texts_of_a_job_is_text() {
    let fixture = Fixture::start().await;
    let bad = "</textarea></code></pre><script>alert(1)</script><img src=x onerror=alert(1)>\"'";
    let mut job = described("markup");
    job["metadata"]["description"] = json!(bad);
    job["algorithm"]["parameters"] = json!([{"name": "p", "value": bad}]);
    job["algorithm"]["environments"] = json!({"SEED": bad});
    job["metadata"]["annotations"]["note"] = json!(bad);
    let line = format!("Traceback (most recent call last):\nValueError: {bad}\n");
    let failed = seed_one(
        &fixture,
        json!({"job": job, "phase": "Failed", "logs": {"worker-0": line}, "tags": {bad: bad},
               "events": [{"time": "2026-01-15T08:30:00Z", "message": bad, "level": "Error"}]}),
    )
    .await;
    for tab in ["", "/usage", "/request", "/delete", "/parts"] {
        let page = fixture.page(&format!("/jobs/{failed}{tab}?secrets=shown")).await;
        for markup in ["<script>alert", "<img src=x", "onerror=alert(1)>"] {
            assert!(!page.contains(markup), "{tab}: {page}");
        }
    }
    let page = fixture.page(&format!("/jobs/{failed}?secrets=shown")).await;
    // In the description, its form, a hyper-parameter, a variable, tags and the log line.
    assert!(page.matches("&#60;script&#62;alert(1)").count() >= 7, "{page}");
}
