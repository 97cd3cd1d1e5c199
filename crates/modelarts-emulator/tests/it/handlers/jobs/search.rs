//! ListTrainingJobs: filters, order, pages, and errors.

use modelarts_emulator::seeds::Seeds;
use serde_json::{Value, json};

use crate::support::{Gate, Site};

/// Starts a site with three completed jobs, a failed job, and a running job.
async fn site_with_jobs() -> (Site, Vec<String>, crate::support::Waiting) {
    let site = Site::start().await;
    let mut ids = Vec::new();
    for name in ["bert-1", "bert-2", "resnet"] {
        ids.push(site.run(&site.script(name, "")).await);
    }
    ids.push(site.run(&site.script("broken", "exit(3)")).await);
    let gate = Gate::new().await;
    let mut debug = site.script("running", &(gate.python() + "gate()"));
    debug["spec"]["runtime_type"] = "debug".into();
    ids.push(site.create(&debug).await);
    (site, ids, gate.reached().await)
}

async fn names(site: &Site, search: Value) -> Vec<String> {
    let reply = site.post("/training-job-searches", &search).await;
    assert_eq!(reply.status, 200, "{search}: {}", reply.text);
    let items = reply.json();
    let items = items["items"].as_array().unwrap();
    items.iter().map(|job| job["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn filters_narrow_the_list() {
    let (site, ids, _running) = site_with_jobs().await;
    let first = site.details(&ids[0]).await["metadata"]["create_time"].as_i64().unwrap();
    let last = site.details(&ids[4]).await["metadata"]["create_time"].as_i64().unwrap();
    let filter = |key: &str, operator: &str, value: &[&str]| {
        json!([{"key": key,
        "operator": operator, "value": value}])
    };
    let everything = ["running", "broken", "resnet", "bert-2", "bert-1"].as_slice();
    let iso = jiff::Timestamp::from_millisecond(last).unwrap().to_string();
    for (filters, expected) in [
        (json!([]), everything),
        (filter("name", "like", &["bert"]), &["bert-2", "bert-1"]),
        (filter("name", "like", &["none"]), &[]),
        (filter("name", "not", &["running", "broken"]), &["resnet", "bert-2", "bert-1"]),
        (filter("phase", "in", &["Running"]), &["running"]),
        (filter("phase", "in", &["Failed", "Running"]), &["running", "broken"]),
        (filter("phase", "not", &["Completed"]), &["running", "broken"]),
        (filter("id", "in", &[&ids[1]]), &["bert-2"]),
        (filter("kind", "in", &["job"]), everything),
        (filter("kind", "in", &["edge_job"]), &[]),
        (filter("runtime_type", "in", &["debug"]), &["running"]),
        (filter("user_id", "in", &["somebody"]), &[]),
        (filter("algorithm_name", "like", &["x"]), &[]),
        (filter("create_time", "between", &[&first.to_string(), &last.to_string()]), everything),
        (filter("create_time", "between", &[&iso, ""]), &["running"]),
        (filter("create_time", "between", &["", "1000"]), &[]),
        // Filters with blank values have no effect, as in the example (SOURCES X).
        (filter("create_time", "between", &["", ""]), everything),
        (filter("phase", "in", &[""]), everything),
        (filter("kind", "in", &[]), everything),
        (json!([{"key": "kind"}]), everything),
        // If no operator is specified, the default applies.
        (json!([{"key": "phase", "value": ["Failed"]}]), &["broken"]),
        // Jobs must match all filters.
        (
            json!([
                {"key": "name", "operator": "like", "value": ["bert"]},
                {"key": "id", "operator": "not", "value": [&ids[0]]},
            ]),
            &["bert-2"],
        ),
    ] {
        assert_eq!(
            names(&site, json!({"filters": filters, "limit": 50})).await,
            expected,
            "{filters}"
        );
    }
}

#[tokio::test]
async fn tags_and_hosts_choose_jobs_of_the_last_31_days() {
    let (site, ids, _running) = site_with_jobs().await;
    let long_ago = "2020-01-01T00:00:00Z";
    let seed = json!({"jobs": [{"name": "old", "created": long_ago, "tags": {"team": "a"}}]});
    site.emulator.seed(&Seeds::from_json(&seed.to_string()).unwrap()).await.unwrap();
    for (id, tags) in [
        (&ids[0], json!([{"key": "team", "value": "a"}])),
        (&ids[1], json!([{"key": "team", "value": "b"}, {"key": "gpu", "value": "1"}])),
        (&ids[2], json!([{"key": "team"}])),
    ] {
        let path = format!("/modelarts-training-job/{id}/tags/create");
        let reply = site.post(&path, &json!({"tags": tags})).await;
        assert_eq!(reply.status, 204, "{}", reply.text);
    }
    let address = async |id: &str| {
        let tasks = site.get(&format!("/training-jobs/{id}/tasks")).await;
        tasks.json()[0]["ip"].as_str().unwrap().to_owned()
    };
    let (first, last) = (address(&ids[0]).await, address(&ids[4]).await);
    let tag = |key: &str, values: &[&str]| json!({"key": key, "values": values});
    let between = |from: &str, to: &str| {
        json!([{"key": "create_time", "operator": "between",
        "value": [from, to]}])
    };
    for (search, expected) in [
        (json!({"tags": [tag("team", &[])]}), &["resnet", "bert-2", "bert-1"][..]),
        (json!({"tags": [tag("team", &[""])]}), &["resnet", "bert-2", "bert-1"]),
        (json!({"tags": [{"key": "team"}]}), &["resnet", "bert-2", "bert-1"]),
        (json!({"tags": [tag("team", &["a", "b"])]}), &["bert-2", "bert-1"]),
        (json!({"tags": [tag("team", &["a", "b"]), tag("gpu", &[])]}), &["bert-2"]),
        (json!({"tags": [tag("none", &[])]}), &[]),
        (
            json!({"tags": [tag("team", &[])], "filters": [{"key": "name", "operator": "like",
                "value": ["bert"]}]}),
            &["bert-2", "bert-1"],
        ),
        (
            json!({"tags": [tag("team", &[])], "filters": between(long_ago,
                "2020-01-31T00:00:00Z")}),
            &["old"],
        ),
        (
            json!({"tags": [tag("team", &[])], "filters": between("", "2020-01-31T00:00:00Z")}),
            &["old"],
        ),
        (
            json!({"tags": [tag("team", &[])], "filters": between("2019-12-31T00:00:00Z", "")}),
            &["old"],
        ),
        (json!({"host_ips": [first, last]}), &["running", "bert-1"]),
        (json!({"host_ips": [first], "tags": [tag("team", &["b"])]}), &[]),
        (json!({"host_ips": ["10.0.0.1", "::1"]}), &[]),
        (json!({"host_ips": [], "tags": [], "limit": 2}), &["running", "broken"]),
    ] {
        assert_eq!(names(&site, search.clone()).await, expected, "{search}");
    }

    // The response contains the addresses that match.
    let found = json!({"host_ips": [last]});
    let found = site.post("/training-job-searches", &found).await;
    assert_eq!(
        found.json()["items"][0]["status"]["task_ips"],
        json!([{"task": "worker-0", "ip": last, "host_ip": last, "schedule_count": 1}])
    );
    let reply = site.post("/training-job-searches", &json!({})).await;
    assert_eq!(reply.json()["items"][0]["status"].get("task_ips"), None);
}

#[tokio::test]
async fn a_search_is_in_one_workspace() {
    const OTHER: &str = "0123456789abcdef0123456789abcdef";
    const NONE: &str = "fedcba9876543210fedcba9876543210";
    let site = Site::start().await;
    for (name, workspace) in [("here", None), ("there", Some(OTHER))] {
        let mut job = site.script(name, "");
        if let Some(workspace) = workspace {
            job["metadata"]["workspace_id"] = workspace.into();
        }
        site.run(&job).await;
    }
    // Without a workspace in the request, the default workspace is searched (SOURCES O).
    assert_eq!(names(&site, json!({})).await, ["here"]);
    assert_eq!(names(&site, json!({"workspace_id": "0"})).await, ["here"]);
    assert_eq!(names(&site, json!({"workspace_id": OTHER})).await, ["there"]);
    assert_eq!(names(&site, json!({"workspace_id": NONE})).await, [""; 0]);
}

#[tokio::test]
async fn offset_is_the_number_of_a_page() {
    let (site, _, _running) = site_with_jobs().await;
    let page = async |offset: u64| {
        names(&site, json!({"limit": 2, "offset": offset, "order": "asc"})).await
    };
    assert_eq!(page(0).await, ["bert-1", "bert-2"]);
    assert_eq!(page(1).await, ["resnet", "broken"]);
    assert_eq!(page(2).await, ["running"]);
    assert_eq!(page(3).await, [""; 0]);
    assert_eq!(page(2_147_483_647).await, [""; 0]);

    let search =
        json!({"limit": 1, "filters": [{"key": "name", "operator": "like", "value": ["bert"]}]});
    let reply = site.post("/training-job-searches?limit=1", &search).await;
    let mut list = reply.json();
    let items = list.as_object_mut().unwrap().remove("items").unwrap();
    assert_eq!(items.as_array().unwrap().len(), 1);
    assert_eq!(items[0]["metadata"]["user_name"], "emulator");
    assert_eq!(
        list,
        json!({
            "total": 5,
            "count": 2,
            "limit": 1,
            "offset": 0,
            "sort_by": "create_time",
            "order": "desc",
            "group_by": "",
            "workspace_id": "0",
            "ai_project": "default-ai-project",
        })
    );
    assert_eq!(names(&site, json!({})).await.len(), 5);
}

#[tokio::test]
async fn invalid_searches_are_refused() {
    let site = Site::start().await;
    for (search, code, message) in [
        (json!({"limit": 0}), 2788, "Invalid parameter(limit must be between 1 and 50)."),
        (json!({"limit": 51}), 2788, "Invalid parameter(limit must be between 1 and 50)."),
        (json!({"limit": "5"}), 2788, "Invalid parameter(limit must be an integer)."),
        (
            json!({"offset": -1}),
            2788,
            "Invalid parameter(offset must be between 0 and 2147483647).",
        ),
        (
            json!({"offset": 2_147_483_648_u32}),
            2788,
            "Invalid parameter(offset must be between 0 and 2147483647).",
        ),
        (
            json!({"workspace_id": null}),
            2788,
            "Invalid parameter(workspace_id must not be null: leave it out).",
        ),
        (
            json!({"filters": null}),
            2788,
            "Invalid parameter(filters must not be null: leave it out).",
        ),
        (
            json!({"tags": [{"key": "a", "values": null}]}),
            2788,
            "Invalid parameter(tags[0].values must not be null: leave it out).",
        ),
        (json!({"order": "up"}), 2788, "Invalid parameter(order must be asc or desc)."),
        (json!({"sort_by": "name"}), 2790, "Unsupported sorting item."),
        (json!({"filters": {}}), 2788, "Invalid parameter(filters must be an array)."),
        (json!({"filters": [{}]}), 2788, "Invalid parameter(filters[0].key is required)."),
        (json!({"filters": [{"key": "colour"}]}), 2807, "Unsupported condition key (colour)"),
        (
            json!({"filters": [{"key": "phase", "operator": "eq"}]}),
            2808,
            "Unsupported condition operator (eq)",
        ),
        (
            json!({"filters": [{"key": "phase", "operator": "between"}]}),
            2808,
            "Unsupported condition operator (between)",
        ),
        (
            json!({"filters": [{"key": "phase", "operator": "in", "value": ["Sleeping"]}]}),
            2809,
            "Unsupported condition value (Sleeping)",
        ),
        (
            json!({"filters": [{"key": "phase", "value": "Running"}]}),
            2788,
            "Invalid parameter(filters[0].value must be an array).",
        ),
        (
            json!({"filters": [{"key": "create_time", "operator": "between", "value": ["1"]}]}),
            2809,
            "Unsupported condition value (1)",
        ),
        (
            json!({"filters": [{"key": "create_time", "operator": "between", "value": ["x", ""]}]}),
            2809,
            "Unsupported condition value (x)",
        ),
        (
            json!({"tags": [{"key": "a"}, {"key": "a"}]}),
            2788,
            "Invalid parameter(tags must have different keys).",
        ),
        (json!({"tags": [{"values": ["a"]}]}), 2788, "Invalid parameter(tags[0].key is required)."),
        (
            json!({"tags": vec![json!({"key": "a"}); 11]}),
            2788,
            "Invalid parameter(body must have 0 to 10 tags).",
        ),
        (
            json!({"host_ips": vec!["127.0.0.1"; 11]}),
            2788,
            "Invalid parameter(host_ips must have at most 10 elements).",
        ),
        (
            json!({"host_ips": ["node-1"]}),
            2788,
            "Invalid parameter(host_ips[0] must be an IPv4 or IPv6 address).",
        ),
        (
            json!({"tags": [{"key": "a"}], "filters": [{"key": "create_time", "operator": "between",
                "value": ["2026-01-01T00:00:00+08:00", "2026-02-01T00:00:01+08:00"]}]}),
            2809,
            "Unsupported condition value (2026-01-01T00:00:00+08:00,2026-02-01T00:00:01+08:00)",
        ),
    ] {
        let reply = site.post("/training-job-searches", &search).await;
        assert_eq!(reply.error(), (400, format!("ModelArts.{code}")), "{search}: {}", reply.text);
        assert_eq!(reply.json()["error_msg"], message, "{search}");
    }
}

/// The vendor's Terraform provider sends these keys with an operator that is not documented.
#[tokio::test]
async fn keys_without_a_documented_operator_are_not_modelled() {
    let site = Site::start().await;
    for key in ["algorithm_id", "pool_id", "priority", "training_experiment_id"] {
        let search =
            |value: Value| json!({"filters": [{"key": key, "operator": "in", "value": value}]});
        for value in [json!(["1"]), json!(["1", 5])] {
            let reply = site.post("/training-job-searches", &search(value)).await;
            assert_eq!(reply.status, 501, "{key}: {}", reply.text);
            assert!(reply.text.contains(&format!("searches by {key}")), "{}", reply.text);
        }
        assert_eq!(names(&site, search(json!([""]))).await, [""; 0]);
        let any_operator = json!({"filters": [{"key": key, "operator": 5, "value": [""]}]});
        assert_eq!(names(&site, any_operator).await, [""; 0]);
    }
}
