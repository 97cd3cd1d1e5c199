//! Operations on existing jobs: changes, tasks, stages, logs, metrics, tags.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{
    clock::ManualClock,
    pools::{Pool, PoolKind},
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Gate, Reply, Site, get_at, put};

#[tokio::test]
async fn description_and_priority_change() {
    let site = Site::with(|builder| {
        let pool = Pool::new("one", PoolKind::Cpu, 1);
        builder.pool(pool).high_priority(true)
    })
    .await;
    let gate = Gate::new().await;
    let job = |name: &str| {
        let mut job = site.script(name, &(gate.python() + "gate()"));
        job["spec"] = json!({"resource": {"pool_id": "one"}});
        job
    };
    let first = site.create(&job("first")).await;
    let running = gate.reached().await;
    let second = site.create(&job("second")).await;
    let third = site.create(&job("third")).await;
    site.emulator.wait_for(&second, "Pending").await.unwrap();
    site.emulator.wait_for(&third, "Pending").await.unwrap();

    let path = format!("/training-jobs/{first}");
    let reply = put(&site, &path, json!({"description": "new"})).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::OK, "null"));
    assert_eq!(site.details(&first).await["metadata"]["description"], "new");
    let priority = |number: i64| json!({"spec": {"schedule_policy": {"priority": number}}});
    for (path, body, code) in [
        (&path, priority(2), "ModelArts.2858"),
        (&path, priority(4), "ModelArts.2788"),
        (&path, json!({"description": "x".repeat(257)}), "ModelArts.2788"),
        (&"/training-jobs/none".to_owned(), json!({}), "ModelArts.2775"),
    ] {
        assert_eq!(put(&site, path, body).await.error(), (400, code.to_owned()));
    }
    // The third job moves ahead of the second in the queue.
    let reply = put(&site, &format!("/training-jobs/{third}"), priority(3)).await;
    assert_eq!(reply.status, StatusCode::OK);
    let details = site.details(&third).await;
    assert_eq!(details["spec"]["schedule_policy"], json!({"priority": 3}));
    running.let_through().await;
    let next = gate.reached().await;
    assert_eq!(site.phase(&third).await, "Running");
    assert_eq!(site.phase(&second).await, "Pending");
    next.let_through().await;
    gate.reached().await.let_through().await;
    site.emulator.wait_for(&second, "Completed").await.unwrap();
}

#[tokio::test]
async fn several_jobs_are_deleted_at_once_or_none() {
    let site = Site::start().await;
    let a = site.run(&site.script("a", "")).await;
    let b = site.run(&site.script("b", "")).await;
    let item = |id: &str| json!({"kind": "job", "metadata": {"id": id}});
    let batch = async |jobs: Vec<Value>| {
        let body = json!({ "jobs": jobs });
        site.post("/training-jobs/batch-delete", &body).await
    };
    let reply = batch(vec![item(&a), item("none")]).await;
    reply.refused(400, "ModelArts.2775");
    batch(vec![]).await.refused(400, "ModelArts.2788");
    batch(vec![item(&a); 101]).await.refused(400, "ModelArts.2788");
    assert_eq!(site.phase(&a).await, "Completed");
    let reply = batch(vec![item(&a), item(&b)]).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::ACCEPTED, ""));
    site.emulator.wait_until_gone(&a).await;
    site.emulator.wait_until_gone(&b).await;
}

#[tokio::test]
async fn tasks_stages_and_names() {
    let site = Site::start().await;
    let mut job = site.script("stages", "exit(1)");
    job["spec"]["resource"]["node_count"] = 2.into();
    job["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "1"});
    let id = site.run(&job).await;
    let get = async |path: &str| site.get(path).await.json();
    let tasks = get(&format!("/training-jobs/{id}/tasks")).await;
    let tasks = tasks.as_array().unwrap();
    assert_eq!(tasks.len(), 4);
    assert_eq!(tasks[3]["task"], "worker-1");
    assert_eq!(tasks[3]["schedule_count"], 2);
    // Each worker has its own node.
    assert_eq!(tasks[3]["host_ip"], tasks[3]["ip"]);
    let second = get(&format!("/training-jobs/{id}/tasks?schedule_count=2")).await;
    assert_eq!(second.as_array().unwrap()[..], tasks[2..]);

    let stages = get(&format!("/training-jobs/{id}/stages")).await;
    assert_eq!(stages["total_count"], 2);
    let names = |record: usize| -> Vec<String> {
        let stages = stages["running_records"][record]["stages"].as_array().unwrap();
        stages.iter().map(|s| s["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(0), ["scheduling", "preparing", "running"]);
    assert_eq!(names(1), ["scheduling", "preparing", "running", "end"]);
    let last = &stages["running_records"][1]["stages"][3];
    assert_eq!((&last["stage_order"], &last["job_id"]), (&json!(4), &json!(id)));

    for (name, taken) in [("stages", true), ("other", false)] {
        let reply = get(&format!("/training-job-names?job_name={name}")).await;
        assert_eq!(reply, json!({"is_duplicate": taken}));
    }
    let reply = site.get("/training-job-names?job_name=a b").await;
    reply.refused(400, "ModelArts.2764");
}

#[tokio::test]
async fn a_link_to_a_log_works_five_minutes() {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(Arc::clone(&clock) as _)).await;
    let gate = Gate::new().await;
    let script = gate.python() + "gate()\nprint('Grüße')\n";
    let id = site.create(&site.script("link", &script)).await;
    let waiting = gate.reached().await;
    let path = format!("/training-jobs/{id}/tasks/worker-0/logs/url");
    site.get(&path).await.refused(400, "ModelArts.2818");
    waiting.let_through().await;
    site.emulator.wait_until_settled(&id).await;
    let link = site.get(&path).await.json()["obs_url"].as_str().unwrap().to_owned();
    assert!(link.ends_with(&format!("/modelarts-job-{id}-worker-0.log")), "{link}");
    let follow = async || Reply::of(site.client.http.get(&link).send().await.unwrap()).await;
    let log = follow().await;
    assert_eq!((log.status.as_u16(), log.text.as_str()), (200, "Grüße\n"));
    clock.advance(Duration::from_secs(299));
    assert_eq!(follow().await.status, 200);
    clock.advance(Duration::from_secs(1));
    assert_eq!(follow().await.status, 403);

    // The log is deleted after thirty days.
    clock.advance(Duration::from_secs(30 * 24 * 60 * 60));
    for path in [path, format!("/training-jobs/{id}/tasks/worker-0/logs/preview")] {
        let reply = get_at(&site, &clock, &path).await;
        reply.refused(400, "ModelArts.2819");
    }
}

#[tokio::test]
async fn logs_come_in_pages() {
    let site = Site::start().await;
    let id = site.run(&site.script("pages", "for n in range(1, 8): print('line', n)")).await;
    let page = async |query: &str| {
        let path = format!("/training-jobs/{id}/logs/worker-0{query}");
        let page = site.get(&path).await.json();
        let text = |name: &str| page[name].as_str().unwrap().to_owned();
        let lines = page["lines"].as_u64().unwrap();
        (text("start_line"), text("end_line"), lines, text("content"))
    };
    let expected = |from: usize, to: usize| {
        let content: String = (from..=to).map(|n| format!("line {n}\n")).collect();
        (from.to_string(), to.to_string(), (to + 1 - from) as u64, content)
    };
    assert_eq!(page("").await, expected(1, 7));
    assert_eq!(page("?lines=2").await, expected(6, 7));
    assert_eq!(page("?lines=2&base_line=6").await, expected(4, 5));
    assert_eq!(page("?lines=3&order=asc").await, expected(1, 3));
    assert_eq!(page("?lines=3&order=asc&base_line=3").await, expected(4, 6));
    assert_eq!(page("?order=asc&base_line=7").await, ("7".into(), "7".into(), 0, String::new()));
    for query in ["?lines=0", "?lines=501", "?order=up", "?base_line=x"] {
        let path = format!("/training-jobs/{id}/logs/worker-0{query}");
        site.get(&path).await.refused(400, "ModelArts.2764");
    }
}

#[tokio::test]
async fn metrics_are_measured() {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(Arc::clone(&clock) as _)).await;
    let gate = Gate::new().await;
    let script = gate.python() + "block = bytearray(40 << 20)\ngate()\n";
    let id = site.create(&site.script("measured", &script)).await;
    let path = format!("/training-jobs/{id}/metrics/worker-0");
    let waiting = gate.reached().await;
    let reply = get_at(&site, &clock, &path).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::NO_CONTENT, ""));
    // Minutes without a sample are gaps, including the first two minutes.
    let minutes = async |at_least: usize| loop {
        clock.advance(Duration::from_secs(60));
        for _ in 0..200 {
            let reply = get_at(&site, &clock, &path).await;
            if reply.status == 204 {
                continue;
            }
            let metrics = reply.json();
            if metrics["metrics"][1]["value"].as_array().unwrap().len() >= at_least
                && metrics["metrics"][1]["value"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|v| v.as_f64() > Some(0.0))
            {
                return metrics;
            }
        }
    };
    let metrics = minutes(3).await;
    let names: Vec<&str> = metrics["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|series| series["metric"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["cpuUsage", "memUsage", "gpuUtil", "gpuMemUsage", "npuUtil", "npuMemUsage"]);
    let series = |at: usize| metrics["metrics"][at]["value"].as_array().unwrap();
    assert!((0..6).all(|at| series(at).len() == series(0).len()));
    assert_eq!(series(1)[..2], [json!(-1.0), json!(-1.0)]);
    assert!((2..6).all(|at| series(at).iter().all(|value| *value == json!(-1.0))));
    // Of 32 GB, the job uses 40 MB in addition to the memory of the interpreter.
    let memory = series(1).iter().filter_map(Value::as_f64).fold(0.0, f64::max);
    assert!(memory > 0.12 && memory < 1.0, "{memory}");
    waiting.let_through().await;
}

#[tokio::test]
async fn the_offer_of_the_service_is_listed() {
    let site = Site::start().await;
    let get = async |path: &str| site.get(path).await.json();
    let flavors = get("/training-job-flavors").await;
    assert_eq!(flavors["total_count"], 6);
    assert_eq!(
        flavors["flavors"][0],
        json!({
            "flavor_id": "modelarts.vm.cpu.2u",
            "flavor_name": "Computing CPU(2U) instance",
            "max_num": 1,
            "flavor_type": "CPU",
            "billing": {"code": "modelarts.vm.cpu.2u", "unit_num": 1},
            "flavor_info": {
                "max_num": 1,
                "cpu": {"arch": "x86", "core_num": 2},
                "memory": {"size": 8, "unit": "GB"},
                "disk": {"size": 50, "unit": "GB"},
            },
            "support_engines": r#"["Caffe","Horovod","PyTorch","TensorFlow","XGBoost-Sklearn"]"#,
        })
    );
    assert_eq!(get("/training-job-flavors?flavor_type=CPU").await["total_count"], 2);
    assert_eq!(get("/job/training-job-flavors?flavor_type=Ascend").await["total_count"], 0);
    let engines = get("/training-job-engines").await;
    assert_eq!(engines["items"][0]["engine_id"], "caffe-1.0.0-python2.7");
    assert_eq!(engines["total"], engines["items"].as_array().unwrap().len());
    assert_eq!(
        get("/training-pool-flavors?flavor_id=modelarts.pool.visual.xlarge&pool_id=pool-gpu").await,
        json!({"cpu_core_num": 8, "mem_size": 64})
    );
    let algorithms = get("/search-algorithms").await;
    assert_eq!(algorithms["search_algo_count"], 3);
    assert_eq!(
        algorithms["search_algo_list"][2]["params"][1],
        json!({"key": "shrink_coef", "value": "0.1", "type": "Float"})
    );
    let categories = get("/training-event-categories?flavor_type=CPU").await;
    assert_eq!(categories["event-categories"].as_array().unwrap().len(), 6);
    for (path, code) in [
        ("/training-job-flavors?flavor_type=TPU", "ModelArts.2764"),
        ("/training-pool-flavors?pool_id=pool-gpu", "ModelArts.2764"),
    ] {
        assert_eq!(site.get(path).await.error(), (400, code.to_owned()));
    }
}

#[tokio::test]
async fn a_full_quota_refuses_creations() {
    let site = Site::with(|builder| builder.job_quota(1)).await;
    site.run(&site.script("one", "")).await;
    let reply = site.post("/training-jobs", &site.script("two", "")).await;
    reply.refused(400, "ModelArts.2815");
    let quotas = site.get("/training-quotas?resource=job-num").await;
    assert_eq!(quotas.json(), json!({"quotas": [{"resource": "job-num", "quota": 1, "used": 1}]}));
    let more = json!({"user_id": "u", "quotas": [{"resource": "job-num", "quota": 2}]});
    assert_eq!(put(&site, "/training-quotas", more.clone()).await.json(), more);
    site.run(&site.script("two", "")).await;
    let wrong =
        json!({"user_id": "u", "quotas": [{"resource": "job-retention-enabled", "quota": 2}]});
    put(&site, "/training-quotas", wrong).await.refused(400, "ModelArts.2788");
}

#[tokio::test]
async fn jobs_are_found_by_their_tags() {
    let site = Site::start().await;
    let mut ids = Vec::new();
    for name in ["one", "two", "bare"] {
        ids.push(site.run(&site.script(name, "")).await);
    }
    let tags = |id: &str, what: &str| format!("/modelarts-training-job/{id}/tags{what}");
    let create = async |id: &str, pairs: Value| {
        site.post(&tags(id, "/create"), &json!({ "tags": pairs })).await.status
    };
    assert_eq!(create(&ids[0], json!([{"key": "team", "value": "a"}, {"key": "keep"}])).await, 204);
    assert_eq!(create(&ids[1], json!([{"key": "team", "value": "x"}])).await, 204);
    assert_eq!(create(&ids[1], json!([{"key": "team", "value": "b"}])).await, 204);
    assert_eq!(create(&ids[1], json!([])).await, 400);
    assert_eq!(create(&ids[1], json!([{"key": "k"}, {"key": "k"}])).await, 400);
    assert_eq!(
        site.get(&tags(&ids[0], "")).await.json(),
        json!({"tags": [{"key": "keep", "value": ""}, {"key": "team", "value": "a"}]})
    );
    assert_eq!(
        site.get("/modelarts-training-job/tags").await.json(),
        json!({"tags": [{"key": "keep", "values": [""]}, {"key": "team", "values": ["a", "b"]}]})
    );
    let find = async |body: Value| -> Vec<String> {
        let path = "/modelarts-training-job/resource-instances";
        let found = site.post(&format!("{path}/filter"), &body).await.json();
        let count = site.post(&format!("{path}/count"), &body).await.json();
        assert_eq!(found["total_count"], count["total_count"]);
        let rows = found["resources"].as_array().unwrap().iter();
        rows.map(|row| row["resource_name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        find(json!({"tags": [{"key": "team", "values": ["a", "b"]}]})).await,
        ["one", "two"]
    );
    assert_eq!(find(json!({"tags": [{"key": "team"}, {"key": "keep"}]})).await, ["one"]);
    assert_eq!(find(json!({"without_any_tag": true})).await, ["bare"]);
    assert_eq!(find(json!({"matches": [{"key": "resource_name", "value": "w"}]})).await, ["two"]);
    let body = json!({"tags": [{"key": "team"}]}).to_string().into_bytes();
    let reply = site.send(Method::DELETE, &tags(&ids[0], "/delete"), body).await;
    assert_eq!(reply.status, 204);
    assert_eq!(find(json!({"tags": [{"key": "team"}]})).await, ["two"]);
}
