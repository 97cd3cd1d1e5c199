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
        json!({"job": job, "phase": "Completed", "created": "2026-01-15T08:30:00Z",
               "started": "2026-01-15T08:30:00Z", "ended": "2026-01-15T08:40:00Z", "logs": {"worker-0": log(factor)}})
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

#[tokio::test]
async fn trials_of_a_search_are_ranked() {
    let fixture = Fixture::start().await;
    let code = "import sys\nx = next(a.split('=')[1] for a in sys.argv if a.startswith('--x='))\n\
                print('loss=' + x)\n";
    fixture.emulator.put("bucket/code/train.py", code).unwrap();
    let mut body = json!({
        "kind": "job",
        "metadata": {"name": "search"},
        "algorithm": {
            "code_dir": "/bucket/code/", "boot_file": "/bucket/code/train.py",
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
            "parameters": [{"name": "x", "value": "1"}],
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
    });
    body["algorithm"]["policies"] = json!({"auto_search": {
        "reward_attrs": [{"name": "loss", "mode": "min", "regex": r"loss=([\d.e-]+)"}],
        "search_params": [{"name": "x", "param_type": "discrete", "discrete_values": ["1", "2", "4"]}],
        "algo_configs": [{"name": "tpe_search", "params": [
            {"key": "num_samples", "value": "3", "type": "Integer"},
        ]}],
    }});
    let job = fixture.client().training_jobs().from_json(&body.to_string()).unwrap();
    let job = job.submit().await.unwrap();
    assert!(job.wait().await.unwrap().is_completed());
    let page = fixture.page(&format!("/jobs/{}/values", job.id())).await;
    assert_has(
        &page,
        &["Metric of the search: loss, the least is the best.", "<tr class=\"best\">"],
    );
    let rows = page.split("<table class=\"trials\">").nth(1).unwrap();
    assert_eq!(rows.split("</table>").next().unwrap().matches("<tr").count(), 4);
    let overview = fixture.page(&format!("/jobs/{}", job.id())).await;
    assert_has(&overview, &["<dt>Hyper-parameter search</dt><dd>tpe_search</dd>", "<dd>x</dd>"]);
}
