//! Paths of the members in the details of a job, each with a job whose details contain it.

use std::collections::{BTreeMap, BTreeSet};

use modelarts_emulator::pools::{Pool, PoolKind};
use serde_json::{Value, json};

use crate::support::{
    Gate, Site, put,
    traffic::{DESCRIPTION, resolve},
};

/// Paths in two sections, each after a line with its title. Rows of the first section contain a
/// path and a job; rows of the second contain a path, `-` and the reason.
const PATHS: &str = include_str!("details.tsv");

/// Number of paths in the API references.
const DOCUMENTED: usize = 221;

/// Returns the rows of each section.
fn sections() -> Vec<Vec<Vec<&'static str>>> {
    let mut sections = Vec::new();
    for line in PATHS.lines() {
        match line.strip_prefix('#') {
            Some(_) => sections.push(Vec::new()),
            None => {
                let row = line.split('\t').collect();
                sections.last_mut().unwrap().push(row);
            }
        }
    }
    sections
}

/// Collects the paths of all values that are not null. `[]` stands for each element of a list.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    if value.is_null() {
        return;
    }
    found.insert(path.to_owned());
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let place = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                paths(member, &place, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                paths(item, &format!("{path}[]"), found);
            }
        }
        _ => {}
    }
}

/// Returns a job with all members that a job can have.
fn full(site: &Site, experiment: &str) -> Value {
    let mut job = site.script("full", "exit(3)");
    job["metadata"]["description"] = "first".into();
    job["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "1"});
    job["metadata"]["training_experiment_reference"] = json!({"id": experiment});
    let given = json!({
        "local_code_dir": "/home/ma-user/own",
        "working_dir": "/home/ma-user/own/code",
        "autosearch_config_path": "/config/search.yaml",
        "autosearch_framework_path": "/framework/",
        "environments": {"MODE": "a"},
        "parameters": [{
            "name": "lr", "value": "0.1", "description": "step",
            "i18n_description": {"language": "zh-cn", "description": "步长"},
            "constraint": {
                "type": "Float", "editable": true, "required": false, "sensitive": false,
                "valid_type": "Range", "valid_range": ["0", "1"],
            },
        }],
        "inputs": [{
            "name": "data_url", "description": "pairs", "access_method": "env",
            "local_dir": "/home/ma-user/data", "remote": {"obs": {"obs_url": "/bucket/in/"}},
        }],
        "outputs": [{
            "name": "train_url", "description": "weights", "access_method": "parameter",
            "mode": "upload_periodically", "period": "30s", "local_dir": "/home/ma-user/out",
            "remote": {"obs": {"obs_url": "/bucket/out/"}},
        }],
        "summary": {
            "log_type": "tensorboard",
            "log_dir": {"pfs": {"pfs_path": "/bucket/log/"}},
            "data_sources": [{"job": {"job_id": "another"}}],
        },
    });
    let algorithm = job["algorithm"].as_object_mut().unwrap();
    algorithm.extend(given.as_object().unwrap().clone());
    job["spec"] = json!({
        "resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 2},
        "log_export_path": {"obs_url": "/bucket/logs/", "host_path": "/var/logs"},
        "log_export_config": {"version": "v1", "rotation_enabled": true},
        "auto_stop": {"time_unit": "HOURS", "duration": 2},
        "notification": {"topic_urn": "urn:smn:x:p:t", "events": ["JobFailed"]},
        "custom_metrics": [{"metrics_url": "/raw_text", "metrics_port": 5006}],
    });
    job
}

/// Returns conditions on nodes, in the form that requests and responses share.
fn conditions() -> Value {
    json!({
        "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}],
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
    })
}

fn in_a_pool(site: &Site) -> Value {
    let mut job = site.script("pool", "");
    job["spec"] = json!({
        "resource": {
            "pool_id": "pool",
            "main_container_customized_flavor":
                {"cpu_core_num": 2.5, "mem_size": 4, "accelerator_num": 0},
        },
        "volumes": [
            {"nfs": {"nfs_server_path": "server:/share", "local_path": "/data",
             "read_only": false}},
            {"pfs": {"pfs_path": "/bucket/pfs", "local_path": "/mnt/pfs"}},
            {"obs": {"obs_path": "/bucket/obs", "local_path": "/mnt/obs"}},
        ],
        "schedule_policy": {
            "priority": 2,
            "preemptible": true,
            "required_affinity": {
                "affinity_type": "hyperinstance",
                "affinity_group_size": 1,
                "node_affinity": {"nodeSelectorTerms": [conditions()]},
            },
            "preferred_affinity":
                {"node_affinity": [{"weight": 40, "preference": conditions()}]},
        },
    });
    job
}

/// Returns the schema of a member, or that of its elements if `[]` follows the name.
fn member<'a>(schema: &'a Value, step: &str) -> Option<&'a Value> {
    let schema = resolve(&DESCRIPTION.root, schema);
    if let Some(parts) = schema["allOf"].as_array() {
        return parts.iter().find_map(|part| member(part, step));
    }
    match step.strip_suffix("[]") {
        Some(step) => {
            let list = resolve(&DESCRIPTION.root, member(schema, step)?);
            list.get("items")
        }
        None => schema["properties"].get(step),
    }
}

#[test]
fn the_description_has_the_documented_paths() {
    let details = &DESCRIPTION.root["components"]["schemas"]["TrainingJob"];
    let known = |path: &&str| {
        let mut steps = path.split('.');
        steps.try_fold(details, member).is_some()
    };
    let sections = sections();
    assert_eq!(sections[0].len(), DOCUMENTED);
    let unknown: Vec<&str> =
        sections[0].iter().map(|row| row[0]).filter(|path| !known(path)).collect();
    assert_eq!(unknown, [""; 0]);
}

#[tokio::test]
async fn each_documented_path_is_shown_by_a_job_or_has_a_reason() {
    let storage = tempfile::tempdir().unwrap();
    let set = storage.path().join("sets/set/v1");
    std::fs::create_dir_all(&set).unwrap();
    let site = Site::with(|builder| {
        builder
            .pool(Pool::new("pool", PoolKind::Cpu, 4))
            .datasets(storage.path().join("sets"))
            .nfs_root(storage.path().join("nfs"))
    })
    .await;
    site.put("bucket/in/a.csv", "1");

    let body = json!({"metadata": {"name": "trials"}});
    let experiment = site.post("/training-experiments", &body).await;
    let experiment = experiment.json()["metadata"]["id"].clone();
    let full = full(&site, experiment.as_str().unwrap());

    let mut preset = site.script("preset", "");
    preset["algorithm"]["engine"] =
        json!({"engine_id": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"});

    let mut image = site.script("image", "");
    image["algorithm"] = json!({
        "command": "true",
        "engine": {
            "engine_name": "PyTorch",
            "engine_version": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
            "image_url": "org/image:1", "install_sys_packages": true, "run_user": "1000",
        },
    });

    let mut cards = site.script("cards", "");
    cards["spec"]["resource"]["flavor_id"] = "modelarts.p3.large.public".into();
    cards["spec"]["custom_metrics"] = json!([
        {"http_get": {"path": "/raw_text", "port": 10_001}},
        {"exec": {"command": ["cat", "/tmp/metrics"]}},
    ]);

    let mut subscribed = site.script("subscribed", "");
    subscribed["algorithm"]["subscription_id"] = "4c1f".into();
    subscribed["algorithm"]["item_version_id"] = "1.0.2".into();

    let body = json!({
        "metadata": {"name": "kept"},
        "job_config": preset["algorithm"].clone(),
    });
    let kept = site.post("/algorithms", &body).await.json();
    let mut stored = site.script("stored", "");
    stored["algorithm"] = json!({"id": kept["metadata"]["id"]});

    let mut data = site.script("data", "");
    data["algorithm"]["inputs"] = json!([{
        "name": "data_url",
        "remote": {"dataset": {"id": "set", "version_id": "v1"}},
        "remote_constraint": [{
            "data_type": "modelarts_dataset",
            "attributes": "dataset_type",
        }],
    }]);

    let mut search = site.script("search", "print('acc=1')");
    search["algorithm"]["parameters"] =
        json!([{"name": "x", "value": "1"}, {"name": "y", "value": "1"}]);
    search["algorithm"]["policies"] = json!({"auto_search": {
        "skip_search_params": "y",
        "reward_attrs": [{"name": "acc", "mode": "max", "regex": "acc=(.*)"}],
        "search_params": [
            {"name": "x", "param_type": "continuous", "lower_bound": "0", "upper_bound": "1",
             "discrete_points_num": "2"},
            {"name": "z", "param_type": "discrete", "discrete_values": ["1", "2"]},
        ],
        "algo_configs": [{
            "name": "tpe_search",
            "params": [{"key": "num_samples", "value": "1", "type": "Integer"}],
        }],
    }});

    let role = |role: &str, algorithm: Value| {
        let resource = match role {
            "learner" => json!({"flavor_id": "modelarts.p3.large.public", "node_count": 1}),
            _ => json!({"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}),
        };
        json!({"role": role, "algorithm": algorithm, "task_resource": resource})
    };
    let mut learner = preset["algorithm"].clone();
    for member in ["local_code_dir", "working_dir"] {
        learner[member] = full["algorithm"][member].clone();
    }
    let channel =
        |name: &str, path: &str| json!([{"name": name, "remote": {"obs": {"obs_url": path}}}]);
    learner["inputs"] = channel("data_url", "/bucket/in/");
    learner["outputs"] = channel("train_url", "/bucket/learnt/");
    let roles = json!({
        "kind": "job",
        "metadata": {"name": "roles", "annotations": {"job_template": "Template RL"}},
        "tasks": [
            role("learner", learner),
            role("worker", image["algorithm"].clone()),
        ],
    });

    let mut shown: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, job) in [
        ("full", full),
        ("preset", preset),
        ("image", image),
        ("cards", cards),
        ("subscribed", subscribed),
        ("stored", stored),
        ("data", data),
        ("search", search),
        ("roles", roles),
        ("pool", in_a_pool(&site)),
    ] {
        let id = site.run(&job).await;
        paths(&site.details(&id).await, "", shown.entry(name).or_default());
    }

    let gate = Gate::new().await;
    let mut running = site.script("running", &(gate.python() + "gate()"));
    running["metadata"]["annotations"] = json!({
        "jupyter-lab/enable": "true", "tensorboard/enable": "true",
        "mindstudio-insight/enable": "true",
    });
    running["algorithm"]["summary"] = json!({"data_sources": [{"job": {"job_id": "another"}}]});
    running["endpoints"] = json!({"ssh": {"key_pair_names": ["lab"]}});
    let id = site.create(&running).await;
    let waiting = gate.reached().await;
    let details = site.details(&id).await;
    paths(&details, "", shown.entry("running").or_default());
    waiting.let_through().await;

    let sections = sections();
    let mut wrong = Vec::new();
    for row in sections.iter().flatten() {
        let path = row[0];
        match row[1] {
            "-" => {
                let who = shown.iter().find(|(_, all)| all.contains(path));
                wrong.extend(who.map(|(job, _)| format!("{path} is shown by {job}: {}", row[2])));
            }
            job if !shown[job].contains(path) => wrong.push(format!("{path} is not in {job}")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A change overrides the members of the request, and remains in effect after a restart.
#[tokio::test]
async fn a_change_is_shown() {
    let data = tempfile::tempdir().unwrap();
    let site = Site::with(|builder| builder.data_dir(data.path())).await;
    let gate = Gate::new().await;
    let mut job = site.script("changed", &(gate.python() + "gate()"));
    job["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "1"});
    job["spec"]["notification"] = json!({"topic_urn": "old", "events": ["JobFailed"]});
    let id = site.create(&job).await;
    let waiting = gate.reached().await;
    let path = format!("/training-jobs/{id}");
    let change = json!({
        "spec": {"notification": {"topic_urn": "new", "events": ["JobHanged"]}},
        "endpoints": {"ssh": {"key_pair_names": ["lab"]}},
        "metadata": {"annotation": {"jupyter-lab/enable": "true"}},
    });
    assert_eq!(put(&site, &path, change.clone()).await.status, 200);
    let details = site.details(&id).await;
    let expected = |details: &Value| {
        assert_eq!(details["spec"]["notification"], change["spec"]["notification"]);
        assert_eq!(
            details["metadata"]["annotations"],
            json!({"fault-tolerance/job-retry-num": "1", "jupyter-lab/enable": "true"})
        );
        assert_eq!(details["endpoints"]["ssh"]["key_pair_names"], json!(["lab"]));
    };
    expected(&details);
    let url = details["endpoints"]["jupyter_lab"]["url"].as_str().unwrap();
    assert!(url.starts_with("https://127."), "{url}");
    let urls = &details["endpoints"]["ssh"]["task_urls"];
    assert_eq!(urls[0]["task"], "worker-0");
    let wrong = json!({"spec": {"notification": {"events": []}}});
    let refused = put(&site, &path, wrong).await;
    refused.refused(400, "ModelArts.2788");

    waiting.let_through().await;
    site.emulator.wait_until_settled(&id).await;
    let project = site.emulator.project_id().to_owned();
    let keys = [site.emulator.access_key(), site.emulator.secret_key()].map(str::to_owned);
    site.emulator.shutdown().await;
    let site = Site::with(|builder| {
        let [access, secret] = keys;
        let builder = builder.access_key(access).secret_key(secret);
        builder.data_dir(data.path()).project_id(project)
    })
    .await;
    let details = site.details(&id).await;
    expected(&details);
    // A job that has ended has no endpoints.
    assert_eq!(details["endpoints"].get("jupyter_lab"), None);
    assert_eq!(details["endpoints"]["ssh"].get("task_urls"), None);
}
