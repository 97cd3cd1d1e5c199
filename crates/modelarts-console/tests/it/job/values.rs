//! Values that the code of jobs prints, and the comparison of jobs.

use serde_json::{Value, json};

use crate::{
    job::{assert_has, described},
    support::Fixture,
};

async fn seed(fixture: &Fixture) -> Vec<String> {
    for object in ["code/train.py", "data/rows.csv", "out/none", "logs/none"] {
        fixture.emulator.put(&format!("bucket/{object}"), "1\n").unwrap();
    }
    let log = |factor: f64| -> String {
        (1..=4).map(|step| format!("step {step} loss={}\n", factor / f64::from(step))).collect()
    };
    let job = |name: &str, rate: &str, factor: f64| {
        let mut job = described(name);
        job["algorithm"]["parameters"][0]["value"] = json!(rate);
        json!({"job": job, "phase": "Completed", "logs": {"worker-0": log(factor)}})
    };
    fixture.seed(json!([job("one", "3", 1.0), job("other", "5", 2.0)])).await
}

async fn json_of(fixture: &Fixture, path: &str) -> Value {
    let response = fixture.request("GET", path).header("accept", "application/json");
    response.send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn values_of_a_worker_are_a_chart_and_a_table() {
    let fixture = Fixture::start().await;
    let ids = seed(&fixture).await;
    let address = format!("/jobs/{}/values", ids[0]);
    let data = loop {
        let data = json_of(&fixture, &format!("{address}/data?task=worker-0")).await;
        if data["has_ended"] == true {
            break data;
        }
    };
    assert_eq!(
        data["charts"],
        json!([{
            "title": "loss", "axis": "step", "times": [1.0, 2.0, 3.0, 4.0],
            "series": [{"label": "worker-0", "values": [1.0, 0.5, 1.0 / 3.0, 0.25]}],
        }])
    );
    let page = fixture.page(&address).await;
    assert_has(&page, &["<th scope=\"row\">loss</th><td>worker-0</td><td class=\"number\">4</td>"]);
    let empty = fixture.page(&format!("{address}?task=worker-1")).await;
    assert_has(&empty, &["No values in the log."]);
    let unknown = fixture.request("GET", &format!("{address}?task=none")).send().await.unwrap();
    assert_eq!(unknown.status(), 400);
}

#[tokio::test]
async fn jobs_are_compared_by_what_differs() {
    let fixture = Fixture::start().await;
    let ids = seed(&fixture).await;
    let query = format!("id={}&id={}&id={}", ids[0], ids[1], ids[0]);
    let page = fixture.page(&format!("/jobs/compare?{query}")).await;
    assert_has(
        &page,
        &[
            "<th scope=\"row\"><code>epochs</code></th><td><code>3</code></td><td><code>5</code></td>",
            "Completed</span></td>",
        ],
    );
    assert!(!page.contains("algorithm.code_dir"), "{page}");
    let data = loop {
        let data = json_of(&fixture, &format!("/jobs/compare/data?{query}")).await;
        if data["has_ended"] == true {
            break data;
        }
    };
    let series = data["charts"][0]["series"].as_array().unwrap();
    let labels: Vec<_> = series.iter().map(|series| &series["label"]).collect();
    assert_eq!(labels, ["one", "other"]);
    assert_eq!(series[1]["values"][1], 1.0);
    for (query, status) in [(format!("id={}", ids[0]), 400), ("id=a&id=b".to_owned(), 404)] {
        let response = fixture.request("GET", &format!("/jobs/compare?{query}"));
        assert_eq!(response.send().await.unwrap().status(), status, "{query}");
    }
}
