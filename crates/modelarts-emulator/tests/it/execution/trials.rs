//! Hyper-parameter searches with real and simulated trials.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{clock::ManualClock, jobs::RunnerKind, quirks::Quirks, script::Script};
use serde_json::{Value, json};

use crate::support::{Gate, Site};

/// Returns a search whose trials report the distance between `--x` and 3.
fn search(site: &Site, name: &str, algorithm: &str, settings: &[(&str, &str)]) -> Value {
    let script = "import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument('--x', type=float)
parser.add_argument('--kind')
parser.add_argument('--steps', type=int)
parser.add_argument('--train_url')
given, _ = parser.parse_known_args()
print(f'loss={abs(given.x - 3) * 2}, still')
print(f'loss={abs(given.x - 3)} of {given.kind} after {given.steps}')
open(os.path.join(given.train_url, 'model'), 'w').write(str(given.x))
";
    let mut job = site.script(name, script);
    let settings: Vec<Value> = settings
        .iter()
        .map(|(key, value)| json!({"key": key, "value": value, "type": "Float"}))
        .collect();
    job["algorithm"]["parameters"] =
        json!([{"name": "steps", "value": "7"}, {"name": "x", "value": "9"}]);
    job["algorithm"]["outputs"] = json!([{"name": "train_url",
        "remote": {"obs": {"obs_url": format!("/bucket/{name}/out/")}}}]);
    job["algorithm"]["policies"] = json!({"auto_search": {
        "reward_attrs": [
            {"name": "loss", "mode": "min", "regex": r"loss=([\d.e-]+)"},
            {"name": "of", "mode": "max", "regex": r"(?<=of )\w+"},
        ],
        "search_params": [
            {"name": "x", "param_type": "continuous", "lower_bound": "0", "upper_bound": "10"},
            {"name": "kind", "param_type": "discrete", "discrete_values": ["a", "b"]},
        ],
        "algo_configs": [{"name": algorithm, "params": settings}],
    }});
    job
}

/// Returns the page of trials, and its rows as objects with the column names as keys.
async fn trials(site: &Site, id: &str, query: &str) -> (Value, Vec<Value>) {
    let path = format!("/training-jobs/{id}/autosearch-trials{query}");
    let page = site.get(&path).await.json();
    let rows = rows(&page["items"]);
    (page, rows)
}

fn rows(table: &Value) -> Vec<Value> {
    let header = table["header"].as_array().unwrap();
    let row = |row: &Value| -> Value {
        let cells = row.as_array().unwrap();
        assert_eq!(cells.len(), header.len());
        let named = header.iter().map(|name| name.as_str().unwrap().to_owned());
        Value::Object(named.zip(cells.iter().cloned()).collect())
    };
    table["data"].as_array().unwrap().iter().map(row).collect()
}

fn number(cell: &Value) -> f64 {
    cell.as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn each_algorithm_searches_with_real_trials() {
    let site = Site::start().await;
    for algorithm in ["bayes_opt_search", "tpe_search", "anneal_search"] {
        // Trials run one at a time, so that the result depends only on the seed.
        let settings = [("num_samples", "12"), ("n_initial_points", "4"), ("max_concurrent", "1")];
        let id = site.run(&search(&site, algorithm, algorithm, &settings)).await;
        let details = site.details(&id).await;
        assert_eq!(details["status"]["phase"], "Completed", "{algorithm}");
        let given = &details["algorithm"]["policies"]["auto_search"]["algo_configs"][0]["name"];
        assert_eq!(given, algorithm);

        let (page, rows) = trials(&site, &id, "").await;
        for (name, expected) in [("total", 12), ("count", 12), ("limit", 50), ("offset", 0)] {
            assert_eq!(page[name], expected, "{name}");
        }
        assert_eq!(page["group_by"], "");
        assert_eq!(
            page["items"]["header"],
            json!([
                "",
                "done",
                "pid",
                "config",
                "trial_id",
                "training_iteration",
                "time_total_s",
                "worker_index",
                "reward_attr",
                "status",
                "loss",
                "of",
                "best_reward"
            ])
        );
        for (index, row) in rows.iter().enumerate() {
            let config = &row["config"];
            let x = config["x"].as_f64().unwrap();
            let loss = number(&row["loss"]);
            assert!((loss - (x - 3.0).abs()).abs() < 1e-9, "{row}");
            assert_eq!(config["param/x"], config["x"]);
            assert_eq!(config["trial_index"], index);
            assert_eq!(row["of"], config["kind"]);
            assert_eq!(row["reward_attr"], row["loss"]);
            assert_eq!(number(&row["best_reward"]), loss);
            assert_eq!(row[""], index.to_string());
            for (name, expected) in [
                ("done", "True"),
                ("training_iteration", "2"),
                ("status", "TERMINATED"),
                ("worker_index", ""),
            ] {
                assert_eq!(row[name], expected, "{name}");
            }
            // The code writes its output to the directory of its trial.
            let model =
                format!("bucket/{algorithm}/out/{}/model", row["trial_id"].as_str().unwrap());
            assert_eq!(site.read(&model).parse::<f64>().unwrap(), x);
        }
        let pids: BTreeSet<&str> = rows.iter().map(|row| row["pid"].as_str().unwrap()).collect();
        assert_eq!(pids.len(), 12);
        let log = site.log(&id).await;
        assert_eq!(log.matches(" after 7\n").count(), 12, "{log}");

        let again = site.run(&search(&site, &format!("{algorithm}-2"), algorithm, &settings)).await;
        let (_, second) = trials(&site, &again, "").await;
        let configs =
            |rows: &[Value]| rows.iter().map(|row| row["config"].clone()).collect::<Vec<_>>();
        assert_eq!(configs(&rows), configs(&second), "the same seed");
    }
}

#[tokio::test]
async fn trials_are_listed_by_page_and_shown_by_report() {
    let site = Site::start().await;
    let id = site.run(&search(&site, "pages", "anneal_search", &[("num_samples", "5")])).await;
    let (page, rows) = trials(&site, &id, "?limit=2&offset=2").await;
    assert_eq!((&page["total"], &page["count"]), (&json!(5), &json!(1)));
    assert_eq!(rows[0][""], "4");
    let (page, rows) = trials(&site, &id, "?limit=0").await;
    assert_eq!((&page["limit"], rows.len()), (&json!(50), 5));

    let trial = rows[4]["trial_id"].as_str().unwrap();
    let path = format!("/training-jobs/{id}/autosearch-trials/{trial}");
    let table = site.get(&path).await.json();
    assert_eq!(
        table["header"],
        json!([
            "done",
            "pid",
            "best_reward",
            "time_total_s",
            "config",
            "loss",
            "of",
            "trial_id",
            "training_iteration",
            "reward_attr"
        ])
    );
    let reports = self::rows(&table);
    let column = |name: &str| reports.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("done"), ["False", "False", "True"]);
    assert_eq!(column("training_iteration"), ["1", "2", "2"]);
    assert_eq!(number(&reports[0]["loss"]), 2.0 * number(&reports[2]["loss"]));
    assert_eq!(reports[1]["loss"], reports[2]["best_reward"]);

    for (below, expected) in [
        ("autosearch-trials?limit=-1", (400, "ModelArts.2764")),
        ("autosearch-trials?offset=x", (400, "ModelArts.2764")),
        ("autosearch-trials/00000000", (400, "ModelArts.2788")),
        ("autosearch-parameter-analysis/steps", (400, "ModelArts.2788")),
    ] {
        let reply = site.get(&format!("/training-jobs/{id}/{below}")).await;
        assert_eq!(reply.error(), (expected.0, expected.1.to_owned()), "{below}");
    }
    let unknown = site.get("/training-jobs/x/autosearch-trials").await;
    unknown.refused(400, "ModelArts.2775");
    // A job without a search has no trials.
    let plain = site.run(&site.script("plain", "")).await;
    let (page, rows) = trials(&site, &plain, "").await;
    assert_eq!((&page["total"], rows.len()), (&json!(0), 0));
}

#[tokio::test]
async fn a_trial_is_stopped_and_the_search_goes_on() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let mut job =
        search(&site, "early", "tpe_search", &[("num_samples", "3"), ("max_concurrent", "2")]);
    let script = format!("{}print('loss=1', flush=True)\ngate()\n", gate.python());
    site.put("bucket/early/code/train.py", script);
    job["algorithm"]["policies"]["auto_search"]["search_params"].as_array_mut().unwrap().pop();
    let id = site.create(&job).await;
    // At most two trials run at a time.
    let (first, second) = (gate.reached().await, gate.reached().await);
    let (page, rows) = trials(&site, &id, "").await;
    assert_eq!(page["total"], 2);
    assert_eq!(rows[0]["status"], "RUNNING");
    assert_eq!(rows[0]["done"], "False");

    let stop = async |trial: &str| {
        let path = format!("/training-jobs/{id}/autosearch-trial-earlystop/{trial}");
        site.send(reqwest::Method::POST, &path, Vec::new()).await
    };
    let trial = rows[0]["trial_id"].as_str().unwrap();
    let reply = stop(trial).await;
    assert_eq!(reply.json(), json!({"earlystop_trial": trial}));
    // The third trial replaces the stopped trial, which waited at one of the first two gates.
    let third = gate.reached().await;
    let (_, rows) = trials(&site, &id, "").await;
    let status = |rows: &[Value]| rows.iter().map(|row| row["status"].clone()).collect::<Vec<_>>();
    assert_eq!(status(&rows), ["TERMINATED", "RUNNING", "RUNNING"]);
    stop(trial).await.refused(400, "ModelArts.2858");
    stop("00000000").await.refused(400, "ModelArts.2788");

    drop((first, second));
    third.let_through().await;
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.phase(&id).await, "Completed");
    let (_, rows) = trials(&site, &id, "").await;
    assert_eq!(status(&rows), ["TERMINATED", "TERMINATED", "TERMINATED"]);
    assert_eq!(rows[0]["loss"], "1");
}

#[tokio::test]
async fn a_search_whose_trials_all_fail_has_failed_and_a_stopped_one_is_terminated() {
    let site = Site::start().await;
    let mut job = search(&site, "fails", "anneal_search", &[("num_samples", "3")]);
    site.put("bucket/fails/code/train.py", "import sys\nsys.exit(3)\n");
    let id = site.run(&job).await;
    let details = site.details(&id).await;
    assert_eq!(details["status"]["phase"], "Failed");
    assert_eq!(details["status"]["task_statuses"][0]["exit_code"], 3);
    let (_, rows) = trials(&site, &id, "").await;
    for row in &rows {
        assert_eq!((&row["status"], &row["best_reward"]), (&json!("ERROR"), &json!("")));
    }

    let gate = Gate::new().await;
    job["metadata"]["name"] = "stopped".into();
    site.put("bucket/fails/code/train.py", format!("{}gate()\n", gate.python()));
    let id = site.create(&job).await;
    let waiting = gate.reached().await;
    site.terminate(&id).await;
    waiting.wait_until_gone().await;
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.phase(&id).await, "Terminated");
    let (_, rows) = trials(&site, &id, "").await;
    assert!(rows.iter().all(|row| row["status"] == "TERMINATED"), "{rows:?}");
}

#[tokio::test]
async fn the_analysis_has_a_table_and_paths_of_charts() {
    let site = Site::start().await;
    let id = site.run(&search(&site, "why", "anneal_search", &[("num_samples", "12")])).await;
    let path = format!("/training-jobs/{id}/autosearch-parameter-analysis");
    let table = site.get(&path).await.json();
    assert_eq!(table["header"], json!(["parameters", "the mean/std of importance"]));
    let share = |at: usize| -> f64 {
        let text = table["data"][at][1].as_str().unwrap();
        let (mean, deviation) = text.split_once('/').unwrap();
        assert!((0.0..=0.5).contains(&deviation.parse::<f64>().unwrap()), "{text}");
        mean.parse().unwrap()
    };
    assert_eq!(table["data"][0][0], "x");
    assert_eq!(table["data"][1][0], "kind");
    assert!(share(0) > share(1), "{table}");

    let file = site.get(&format!("{path}/x")).await.json();
    let file = file["file_path"].as_str().unwrap();
    assert_eq!(file, "/bucket/why/out/hyperparameter-analysis/fanova/x.png");
    assert!(!site.emulator.obs_root().join(&file[1..]).exists());

    // A job without outputs in OBS gets no charts.
    let mut bare = search(&site, "bare", "anneal_search", &[("num_samples", "1")]);
    bare["algorithm"]["outputs"] = json!([]);
    site.put("bucket/bare/code/train.py", "print('loss=1')");
    let id = site.run(&bare).await;
    let path = format!("/training-jobs/{id}/autosearch-parameter-analysis");
    let reply = site.get(&format!("{path}/x")).await;
    reply.refused(404, "ModelArts.2836");
    assert_eq!(reply.json()["error_msg"], "Path not found.");
    assert_eq!(site.get(&path).await.json()["data"], json!([]));
}

#[tokio::test]
async fn templates_are_listed_and_shown() {
    let site = Site::start().await;
    let base = "/training-jobs/autosearch/yaml-templates";
    let list = site.get(base).await.json();
    let families: Vec<&str> = list["yaml_templates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|family| family["algorithm_type_en"].as_str().unwrap())
        .collect();
    assert_eq!(families, ["hpo", "nas", "augment", "compression"]);
    for (name, algorithm) in
        [("Bayes", "bayes_opt_search"), ("TPE", "tpe_search"), ("Anneal", "anneal_search")]
    {
        let template = site.get(&format!("{base}/hpo/{name}")).await.json();
        assert_eq!(template["file_name"], format!("{name}.yaml"));
        let content: Value = serde_saphyr::from_str(template["content"].as_str().unwrap()).unwrap();
        assert_eq!(content["search_algorithm"]["type"], algorithm);
        assert_eq!(content["search_algorithm"]["max_concurrent"], 4);
    }
    for (below, expected) in [
        ("nas/AutoBSS", (501, "Emulator.0501")),
        ("nas/Bayes", (404, "ModelArts.2836")),
        ("hpo/Grid", (404, "ModelArts.2836")),
    ] {
        let reply = site.get(&format!("{base}/{below}")).await;
        assert_eq!(reply.error(), (expected.0, expected.1.to_owned()), "{below}");
    }
}

/// Rules for jobs also apply to searches: auto stop ends a search as specified by the switch, and
/// the log of a search is exported while it runs.
#[tokio::test]
async fn a_search_is_ended_after_its_time_and_its_log_is_copied_on_the_way() {
    for phase in ["Terminated", "Failed"] {
        let clock = Arc::new(ManualClock::at(SystemTime::now()));
        let site = Site::with(|builder| {
            let mut quirks = Quirks::default();
            let choice = format!("auto-stopped={}", phase.to_lowercase());
            quirks.set(&choice).unwrap();
            builder.clock(Arc::clone(&clock) as _).quirks(quirks)
        })
        .await;
        let settings = [("num_samples", "3"), ("max_concurrent", "1")];
        let mut job = search(&site, "slow", "anneal_search", &settings);
        let gate = Gate::new().await;
        let script = format!("{}print('loss=1')\ngate()\n", gate.python());
        site.put("bucket/slow/code/train.py", script);
        site.put("bucket/logs/.keep", "");
        job["spec"]["log_export_path"] = json!({"obs_url": "obs://bucket/logs/"});
        job["spec"]["auto_stop"] = json!({"time_unit": "HOURS", "duration": 1});
        let id = site.create(&job).await;
        let waiting = gate.reached().await;
        let copy = format!("bucket/logs/modelarts-job-{id}-worker-0.log");
        let there = site.emulator.obs_root().join(&copy);
        assert!(!there.exists());
        clock.advance(Duration::from_secs(5));
        while !there.exists() {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_secs(3600));
        waiting.wait_until_gone().await;
        site.emulator.wait_until_settled(&id).await;
        site.emulator.wait_for(&id, phase).await.unwrap();
    }
}

/// The search consists of ten simulated trials of 100 s, two of which run concurrently.
#[tokio::test]
async fn simulated_trials_report_what_the_script_says() {
    let script = r#"{"default": [{"seconds": 100, "log": [
        {"at": 1, "line": "loss={parameter.x} of {parameter.kind}"}
    ]}]}"#;
    let script = Script::from_json(script).unwrap();
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| {
        builder.runner(RunnerKind::Simulated(script)).clock(Arc::clone(&clock) as _)
    })
    .await;
    let settings = [("num_samples", "10"), ("max_concurrent", "2")];
    let job = search(&site, "dry", "tpe_search", &settings);
    let id = site.create(&job).await;
    assert!(site.emulator.advance(Duration::from_secs(500)).await);
    site.emulator.wait_until_settled(&id).await;
    let (page, rows) = trials(&site, &id, "").await;
    assert_eq!(page["total"], 10);
    for row in rows {
        assert_eq!(number(&row["loss"]), row["config"]["x"].as_f64().unwrap());
        assert_eq!((&row["time_total_s"], &row["of"]), (&json!("100"), &row["config"]["kind"]));
    }
    assert_eq!(site.log(&id).await.matches("loss=").count(), 10);
}

/// The seed of a simulated search determines the points that its trials try.
#[tokio::test]
async fn searches_with_the_same_seed_try_the_same_points() {
    let site = Site::with(|builder| builder.runner(RunnerKind::Simulated(Script::default()))).await;
    let mut points = Vec::new();
    for (name, seed) in [("one", "7"), ("same", "7"), ("other", "8")] {
        let settings = [("num_samples", "6"), ("seed", seed)];
        let id = site.run(&search(&site, name, "tpe_search", &settings)).await;
        let (_, rows) = trials(&site, &id, "").await;
        let point = |row: &Value| (row["config"]["x"].clone(), row["config"]["kind"].clone());
        points.push(rows.iter().map(point).collect::<Vec<_>>());
    }
    assert_eq!(points[0].len(), 6);
    assert_eq!(points[0], points[1]);
    assert_ne!(points[0], points[2]);
}
