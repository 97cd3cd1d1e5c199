//! Algorithms and experiments.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Site, put};

/// Returns the body of an algorithm whose code prints its parameters.
fn algorithm(site: &Site, name: &str) -> Value {
    site.put(&format!("bucket/{name}/code/train.py"), "import sys\nprint(*sys.argv[1:3])\n");
    site.put(&format!("bucket/{name}/code/lib/a.py"), "");
    json!({
        "metadata": {"name": name, "description": "of a test"},
        "job_config": {
            "code_dir": format!("/bucket/{name}/code/"),
            "boot_file": format!("/bucket/{name}/code/train.py"),
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
            "parameters": [
                {"name": "epochs", "value": "3", "constraint": {"type": "Integer",
                 "editable": true, "required": true}},
                {"name": "lr", "value": "0.1", "constraint": {"type": "Float", "editable": false}},
            ],
            "inputs": [],
            "outputs": [{"name": "train_url", "access_method": "env"}],
        },
        "resource_requirements": [{"key": "flavor_type", "values": ["CPU"], "operator": "in"}],
    })
}

#[tokio::test]
async fn jobs_are_made_from_algorithms() {
    let site = Site::start().await;
    let created = site.post("/algorithms", &algorithm(&site, "first")).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    let created = created.json();
    let id = created["metadata"]["id"].as_str().unwrap().to_owned();
    assert_eq!(created["metadata"]["size"], 33);
    assert_eq!(
        created["job_config"]["code_tree"],
        json!({"name": "code/", "children": [
            {"name": "lib/", "children": [{"name": "a.py"}]},
            {"name": "train.py"},
        ]})
    );
    assert_eq!(site.get(&format!("/algorithms/{id}")).await.json(), created);

    let job = |name: &str, parameters: Value| {
        json!({
            "kind": "job",
            "metadata": {"name": name},
            "algorithm": {
                "id": id,
                "parameters": parameters,
                "outputs": [{"name": "train_url", "remote": {"obs": {"obs_url": "/bucket/out/"}}}],
            },
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u"}},
        })
    };
    let run = site.run(&job("job", json!([{"name": "epochs", "value": "5"}]))).await;
    assert_eq!(site.log(&run).await, "--epochs=5 --lr=0.1\n");
    let shown = &site.details(&run).await["algorithm"];
    assert_eq!((&shown["id"], &shown["name"]), (&json!(id), &json!("first")));
    assert_eq!(shown["code_dir"], "/bucket/first/code/");
    assert_eq!(shown["outputs"][0]["access_method"], "env");
    for (parameters, code) in [
        (json!([{"name": "lr", "value": "0.2"}]), 2814),
        (json!([{"name": "other", "value": "1"}]), 2814),
        (json!([{"name": "epochs", "value": "many"}]), 2768),
        (json!([{"name": "epochs", "value": ""}]), 2766),
    ] {
        let reply = site.post("/training-jobs", &job("bad", parameters)).await;
        assert_eq!(reply.error(), (400, format!("ModelArts.{code}")));
    }
    let mut gpu = job("gpu", json!([]));
    gpu["spec"]["resource"]["flavor_id"] = "modelarts.p3.large.public".into();
    let reply = site.post("/training-jobs", &gpu).await;
    reply.refused(400, "ModelArts.2763");
}

#[tokio::test]
async fn algorithms_are_changed_listed_and_deleted() {
    let site = Site::start().await;
    let mut ids = Vec::new();
    for name in ["alpha", "beta", "gamma"] {
        let created = site.post("/algorithms", &algorithm(&site, name)).await;
        ids.push(created.json()["metadata"]["id"].as_str().unwrap().to_owned());
    }
    let names = async |query: &str| -> Vec<String> {
        let list = site.get(&format!("/algorithms{query}")).await.json();
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("").await, ["gamma", "beta", "alpha"]);
    // The offset counts pages, not records.
    assert_eq!(names("?order=asc&offset=1&limit=2").await, ["gamma"]);
    assert_eq!(names("?searches=name:am").await, ["gamma"]);
    assert_eq!(names("?sort_by=name&order=asc&limit=1").await, ["alpha"]);
    for (query, code) in [
        ("?limit=51", 2764),
        ("?offset=2147483648", 2764),
        ("?searches=alpha", 2764),
        ("?sort_by=size", 2790),
        // The error is that of the first invalid parameter in the order: order, sort_by, searches.
        ("?sort_by=size&order=up", 2764),
        ("?searches=alpha&sort_by=size", 2790),
    ] {
        let reply = site.get(&format!("/algorithms{query}")).await;
        assert_eq!(reply.error(), (400, format!("ModelArts.{code}")));
    }
    let reply = site.post("/algorithms", &algorithm(&site, "alpha")).await;
    reply.refused(400, "ModelArts.2821");
    let mut bad = algorithm(&site, "delta");
    bad["job_config"]["boot_file"] = "/bucket/delta/code/none.py".into();
    let reply = site.post("/algorithms", &bad).await;
    reply.refused(400, "ModelArts.2758");
    bad["job_config"]["boot_file"] = Value::Null;
    let reply = site.post("/algorithms", &bad).await;
    assert_eq!(reply.json()["error_msg"], "Invalid parameter(job_config.boot_file is required).");

    let path = format!("/algorithms/{}", ids[0]);
    let mut changed = algorithm(&site, "renamed");
    changed["metadata"]["description"] = "changed".into();
    let reply = put(&site, &path, changed).await;
    assert_eq!(reply.status, StatusCode::CREATED);
    let metadata = &reply.json()["metadata"];
    assert_eq!((&metadata["name"], &metadata["description"]), (&json!("alpha"), &json!("changed")));
    assert!(metadata["update_time"].as_i64() >= metadata["create_time"].as_i64());
    let reply = site.delete(&path).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::ACCEPTED, "null"));
    for reply in [site.get(&path).await, site.delete(&path).await] {
        reply.refused(400, "ModelArts.2755");
    }
}

/// As observed on the service, tags are kept until an empty list is sent, an emptied search is
/// returned as absent, and all other members are replaced. A change may consist of `metadata`
/// alone.
#[tokio::test]
async fn a_change_of_an_algorithm_replaces_it() {
    let site = Site::start().await;
    let mut full = algorithm(&site, "full");
    full["metadata"]["tags"] = json!([{"key": "auto_search"}]);
    full["advanced_config"] = json!({"auto_search": {
        "reward_attrs": [{"name": "acc", "mode": "max", "regex": "acc=(.*)"}],
        "search_params": [{"name": "lr", "lower_bound": "0.1", "upper_bound": "0.2"}],
        "algo_configs": [{"name": "tpe_search", "params": []}],
    }});
    let created = site.post("/algorithms", &full).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    let created = created.json();
    assert_eq!(created["metadata"]["tags"], json!([{"key": "auto_search"}]));
    assert_eq!(created["advanced_config"], full["advanced_config"]);
    let names = |list: &Value| {
        let items = list.as_array().unwrap().iter();
        items.map(|one| one["name"].clone()).collect::<Vec<_>>()
    };
    // The elements are in the order in which the request contained them.
    assert_eq!(names(&created["job_config"]["parameters"]), ["epochs", "lr"]);

    let id = created["metadata"]["id"].as_str().unwrap();
    let path = format!("/algorithms/{id}");
    let change = async |body: Value| {
        let changed = put(&site, &path, body).await;
        assert_eq!(changed.status, StatusCode::CREATED, "{}", changed.text);
        let shown = site.get(&path).await.json();
        assert_eq!(shown, changed.json());
        shown
    };
    let described = json!({"metadata": {"name": "full", "description": "new"}});
    let shown = change(described).await;
    assert_eq!(shown["metadata"]["description"], "new");
    for member in ["job_config", "resource_requirements", "advanced_config"] {
        assert_eq!(shown[member], created[member], "{member}");
    }
    assert_eq!(shown["metadata"]["tags"], created["metadata"]["tags"]);

    let mut least = algorithm(&site, "full");
    least["metadata"] = json!({"name": "full", "workspace_id": "w", "tags": []});
    for list in ["parameters", "inputs", "outputs"] {
        least["job_config"][list] = json!([]);
    }
    least["resource_requirements"] = json!([]);
    least["advanced_config"] = json!({"auto_search": {
        "reward_attrs": [], "search_params": [], "algo_configs": [],
    }});
    let shown = change(least).await;
    assert_eq!(shown["metadata"]["tags"], Value::Null);
    assert_eq!(shown["metadata"]["description"], "");
    assert_eq!(shown["metadata"]["workspace_id"], "w");
    for list in ["parameters", "inputs", "outputs"] {
        assert_eq!(shown["job_config"][list], json!([]), "{list}");
    }
    assert_eq!(shown["resource_requirements"], Value::Null);
    assert_eq!(shown["advanced_config"], json!({"auto_search": {}}));

    let nameless = put(&site, &path, json!({"metadata": {"description": "x"}})).await;
    nameless.refused(400, "ModelArts.2788");
}

#[tokio::test]
async fn experiments_count_their_jobs() {
    let site = Site::start().await;
    let create = async |name: &str| {
        let body = json!({"metadata": {"name": name}});
        site.post("/training-experiments", &body).await
    };
    let first = create("first").await;
    assert_eq!(first.status, StatusCode::CREATED);
    let id = first.json()["metadata"]["id"].as_str().unwrap().to_owned();
    create("second").await;
    create("first").await.refused(400, "ModelArts.2841");
    let mut job = site.script("member", "");
    job["metadata"]["training_experiment_reference"] = json!({"id": id});
    let job = site.run(&job).await;
    assert_eq!(
        site.details(&job).await["metadata"]["training_experiment_reference"],
        json!({"id": id})
    );
    let path = format!("/training-experiments/{id}");
    let shown = site.get(&path).await.json();
    assert_eq!(shown["statistic"], json!({"job_count": 1}));
    let change = json!({"name": "renamed", "description": "d"});
    assert_eq!(put(&site, &path, change.clone()).await.json(), change);
    let list =
        site.get("/training-experiments?sort_by=name&order=asc&limit=1&offset=1").await.json();
    assert_eq!(list["items"][0]["metadata"]["name"], "second");
    assert_eq!((&list["total"], &list["count"]), (&json!(2), &json!(2)));
    for (query, taken) in [("", true), ("&workspace_id=w", false)] {
        let check =
            site.get(&format!("/training-experiment-names?experiment_name=renamed{query}")).await;
        assert_eq!(check.json(), json!({"is_duplicate": taken}));
    }
    let change = json!({"name": "renamed", "description": ""});
    assert_eq!(put(&site, &path, change.clone()).await.json(), change);
    let shown = site.get(&path).await.json();
    assert_eq!(shown["metadata"]["description"], "");
    assert_eq!(site.delete(&path).await.status, StatusCode::ACCEPTED);
    site.get(&path).await.refused(400, "ModelArts.2842");
}

/// As observed on the service, two workspaces may use the same name, and a list without
/// `workspace_id` contains the experiments of both.
#[tokio::test]
async fn names_of_experiments_are_unique_in_their_workspace() {
    let site = Site::start().await;
    let create = async |name: &str, workspace: &str| {
        let body = json!({"metadata": {"name": name, "workspace_id": workspace}});
        site.post("/training-experiments", &body).await
    };
    assert_eq!(create("same", "0").await.status, StatusCode::CREATED);
    let second = create("same", "w").await;
    assert_eq!(second.status, StatusCode::CREATED, "{}", second.text);
    for workspace in ["0", "w"] {
        let taken = create("same", workspace).await;
        taken.refused(400, "ModelArts.2841");
    }
    let names = async |query: &str| {
        let path = format!("/training-experiments?sort_by=name{query}");
        let list = site.get(&path).await.json();
        let items = list["items"].as_array().unwrap().clone();
        let metadata = items.into_iter().map(|mut item| item["metadata"].take());
        metadata.map(|it| (it["name"].clone(), it["workspace_id"].clone())).collect::<Vec<_>>()
    };
    let (first, other) = ((json!("same"), json!("0")), (json!("same"), json!("w")));
    assert_eq!(names("").await, [other.clone(), first]);
    assert_eq!(names("&workspace_id=w").await, [other]);

    // An experiment may keep its own name, but not adopt that of another experiment in its
    // workspace.
    let id = second.json()["metadata"]["id"].as_str().unwrap().to_owned();
    let path = format!("/training-experiments/{id}");
    let change = |name: &str| json!({"name": name, "description": "d"});
    assert_eq!(put(&site, &path, change("same")).await.status, 200);
    create("other", "w").await;
    create("free", "0").await;
    let taken = put(&site, &path, change("other")).await;
    taken.refused(400, "ModelArts.2841");
    assert!(taken.text.contains("other"), "{}", taken.text);
    assert_eq!(put(&site, &path, change("free")).await.status, 200);
}
