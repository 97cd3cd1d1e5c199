//! Tab with the usage of a job.

use modelarts_emulator::faults::{Fault, FaultRule};
use serde_json::{Value, json};

use crate::{
    job::{assert_has, between, described, seed_one},
    support::Fixture,
};

#[tokio::test]
async fn usage_has_a_row_for_each_minute_and_gaps() {
    let fixture = Fixture::start().await;
    let id = seed_one(
        &fixture,
        json!({"job": described("used"), "phase": "Completed",
        "created": "2026-01-15T08:30:00Z", "started": "2026-01-15T08:30:00Z",
        "ended": "2026-01-15T08:34:00Z",
        "metrics": {
            "worker-0": {"cpuUsage": [-1.0, 40.0, -1.0, 61.25],
                  "memUsage": [10.0, 20.0, 30.0, 40.0]},
            "worker-1": {"cpuUsage": [5.0, 5.0, 5.0, 5.0]},
        }}),
    )
    .await;
    let page = fixture.page(&format!("/jobs/{id}/usage")).await;
    assert_has(
        &page,
        &["<option selected>worker-0</option>", "<option>worker-1</option>", "All workers"],
    );
    assert_has(&page, &["No values of GPU, GPU memory, NPU, NPU memory"]);
    let rows = between(&page, "each minute, newest first", "</table>");
    let rows: Vec<&str> = rows.split("<tr>").skip(2).collect();
    assert_eq!(rows.len(), 4, "{page}");
    assert_has(rows[0], &["2026-01-15T08:33:00Z", ">61.2<", ">40.0<"]);
    assert_has(rows[1], &["2026-01-15T08:32:00Z", "no value", ">30.0<"]);
    let summary = between(&page, "<th scope=\"row\">CPU</th>", "</tr>");
    assert_has(summary, &[">61.2<", ">50.6<"]);

    let data = fixture.page(&format!("/jobs/{id}/usage/data?task=worker-0")).await;
    let data: Value = serde_json::from_str(&data).unwrap();
    let chart = &data["charts"][0];
    let start = 1_768_465_800;
    assert_eq!(chart["times"], json!([start, start + 60, start + 120, start + 180]));
    assert_eq!(chart["series"][0], json!({"label": "CPU", "values": [null, 40.0, null, 61.25]}));
    let all = fixture.page(&format!("/jobs/{id}/usage/data?task=all")).await;
    let all: Value = serde_json::from_str(&all).unwrap();
    assert_eq!(all["charts"][0]["title"], "CPU");
    assert_eq!(all["charts"][0]["series"][1]["label"], "worker-1");
    assert_eq!(all["charts"][0]["series"][1]["values"], json!([5.0, 5.0, 5.0, 5.0]));

    let file = fixture.request("GET", &format!("/jobs/{id}/usage/file?task=worker-1"));
    let file = file.send().await.unwrap();
    let name = file.headers()["content-disposition"].to_str().unwrap().to_owned();
    assert_eq!(name, format!("attachment; filename=\"usage-{id}.csv\""));
    let text = file.text().await.unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert_eq!(lines[0], "time,task,metric,percent");
    assert_eq!(lines[4], "2026-01-15T08:33:00Z,worker-1,cpuUsage,5");

    let unknown = fixture.request("GET", &format!("/jobs/{id}/usage?task=worker-2"));
    let unknown = unknown.send().await.unwrap();
    assert_eq!(unknown.status(), 400);
    assert_has(
        &unknown.text().await.unwrap(),
        &["it must be all or one of its 2 workers, from worker-0 to worker-1"],
    );
}

#[tokio::test]
async fn usage_without_values_says_why() {
    let fixture = Fixture::start().await;
    let waiting = seed_one(&fixture, json!({"name": "waits", "phase": "Pending"})).await;
    let page = fixture.page(&format!("/jobs/{waiting}/usage")).await;
    assert_has(&page, &["There are no values yet."]);
    let ended = seed_one(&fixture, json!({"name": "never", "phase": "Abnormal"})).await;
    let page = fixture.page(&format!("/jobs/{ended}/usage")).await;
    assert_has(&page, &["The job never ran, so there are no values."]);
    let short = json!({"name": "short", "phase": "Completed", "created": "2026-01-15T08:30:00Z",
                       "started": "2026-01-15T08:30:00Z", "ended": "2026-01-15T08:30:21Z"});
    let short = seed_one(&fixture, short).await;
    let page = fixture.page(&format!("/jobs/{short}/usage")).await;
    assert_has(&page, &["once a minute, and has no value of this job, which ran 21s."]);
    let ran = seed_one(&fixture, json!({"name": "ran"})).await;
    let fault = Fault::error(400, "ModelArts.0001", "no metrics");
    let rule = FaultRule::once("ShowTrainingJobMetrics", fault);
    fixture.emulator.faults().add(rule).unwrap();
    let page = fixture.page(&format!("/jobs/{ran}/usage")).await;
    assert_has(
        between(&page, "id=\"usage-tables\"", "</main>"),
        &["role=\"alert\"", "ModelArts.0001", "request <code>"],
    );
}
