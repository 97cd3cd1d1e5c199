//! Tests of the requests that the job builder creates.

use std::collections::BTreeSet;

use modelarts_ext::{
    jobs::create::Volume,
    types::{self, JobKind, TrainType},
};
use serde_json::json;

use crate::support::{
    create_job::{self, client, everything, job, read},
    rule_cases::plain,
};

#[test]
fn the_body_of_the_builder_is_sent() {
    let body = json!({
        "kind": "job",
        "metadata": {
            "name": "bert", "description": "Large", "workspace_id": "w",
            "annotations": {
                "team": "a",
                "fault-tolerance/job-retry-num": "3",
                "fault-tolerance/job-unconditional-retry": "true",
                "fault-tolerance/hang-retry": "true",
                "jupyter-lab/enable": "true",
                "tensorboard/enable": "true",
                "mindstudio-insight/enable": "true",
            },
            "training_experiment_reference": {"id": "e"},
        },
        "algorithm": {
            "engine": {
                "engine_name": "PyTorch", "engine_version": "pytorch_1.8.0",
                "image_url": "org/image:1", "image_repo_id": "repo",
                "install_sys_packages": true, "run_user": "1001",
            },
            "code_dir": "obs://bucket/code/",
            "boot_file": "obs://bucket/code/train.py",
            "local_code_dir": "/home/ma-user/code",
            "working_dir": "/home/ma-user/code/src",
            "parameters": [
                {"name": "epochs", "value": "3"},
                {
                    "name": "rate", "value": "0.1", "description": "Learning rate",
                    "constraint": {"type": "Float", "editable": true, "required": true,
                        "sensitive": false, "valid_type": "Range", "valid_range": ["0", "1"]},
                    "i18n_description": {"language": "en-us", "description": "Learning rate"},
                },
            ],
            "environments": {"MODE": "quick"},
            "policies": {"auto_search": {
                "reward_attrs": [
                    {"name": "acc", "mode": "max", "regex": "acc=(.*)"},
                    {"name": "loss", "mode": "min", "regex": "loss=(.*)"},
                ],
                "search_params": [
                    {"name": "rate", "param_type": "continuous", "lower_bound": "0.1",
                        "upper_bound": "0.5", "discrete_points_num": "5"},
                    {"name": "decay", "param_type": "continuous", "lower_bound": "0",
                        "upper_bound": "0.5"},
                    {"name": "size", "param_type": "discrete", "discrete_values": ["8", "16"]},
                ],
                "skip_search_params": "epochs",
                "algo_configs": [{"name": "tpe_search", "params": [
                    {"key": "seed", "value": "1", "type": "Integer"},
                ]}],
            }},
            "autosearch_config_path": "obs://bucket/search.yaml",
            "autosearch_framework_path": "obs://bucket/framework/",
            "inputs": [
                {
                    "name": "data_url", "description": "Images", "local_dir": "/home/ma-user/data",
                    "access_method": "env", "remote": {"obs": {"obs_url": "obs://bucket/data/"}},
                    "remote_constraint": [{"data_type": "dataset", "attributes": "data_format"}],
                },
                {"name": "labels", "remote": {"dataset": {
                    "id": "d", "version_id": "v", "dataset_proportion": 50,
                }}},
                {"name": "more", "remote": {"dataset": {"id": "d", "service_type": "V3"}}},
            ],
            "outputs": [{
                "name": "train_url", "description": "Model", "local_dir": "/home/ma-user/out",
                "access_method": "env", "remote": {"obs": {"obs_url": "obs://bucket/out/"}},
                "prefetch_to_local": true,
            }],
            "summary": {
                "log_type": "tensorboard",
                "log_dir": {"pfs": {"pfs_path": "obs://file-system/logs/"}},
                "data_sources": [{"job": {"job_id": "job-1"}}, {"job": {"job_id": "job-2"}}],
            },
        },
        "spec": {
            "resource": {
                "flavor_id": "modelarts.pool.visual.xlarge", "pool_id": "p", "node_count": 2,
                "main_container_customized_flavor": {
                    "cpu_core_num": 4.0, "mem_size": 16.0, "accelerator_num": 1.0,
                },
            },
            "schedule_policy": {
                "priority": 2,
                "preemptible": true,
                "required_affinity": {
                    "affinity_type": "networkTopology", "job_level": "cluster",
                    "affinity_group_size": 2, "affinity_group_level": "slice",
                    "node_affinity": {"nodeSelectorTerms": [{
                        "matchExpressions": [{"key": "k", "operator": "In", "values": ["a"]}],
                        "matchFields": [{"key": "k", "operator": "Exists"}],
                    }]},
                },
                "preferred_affinity": {"node_affinity": [{"weight": 1, "preference": {
                    "matchExpressions": [{"key": "k", "operator": "Gt", "values": ["1"]}],
                }}]},
            },
            "volumes": [
                {"nfs": {"nfs_server_path": "10.0.0.5:/share", "local_path": "/mnt/a",
                    "read_only": true}},
                {"pfs": {"pfs_path": "/file-system/path", "local_path": "/mnt/b"}},
                {"obs": {"obs_path": "/bucket/path", "local_path": "/mnt/c"}},
            ],
            "auto_stop": {"time_unit": "HOURS", "duration": 4},
            "reserved_time": {"time_unit": "HOURS", "duration": 1},
            "log_export_path": {"obs_url": "obs://bucket/logs/", "host_path": "/var/log"},
            "log_export_config": {"version": "v1", "rotation_enabled": true},
            "runtime_type": "debug",
            "retention": {"policy": "enabled"},
            "notification": {"topic_urn": "urn:smn", "events": ["JobFailed", "JobCompleted"]},
            "custom_metrics": [
                {"metrics_url": "/metrics", "metrics_port": 5006},
                {"http_get": {"path": "/metrics", "port": 10001}},
                {"exec": {"command": ["/bin/metrics", "all"]}},
            ],
            "output_model": {"obs": {
                "obs_path": "obs://bucket/model/", "local_path": "/home/ma-user/model",
            }},
            "asset_model": {"name": "m", "version": "1", "type": "llm"},
            "asset_id": "asset",
        },
        "endpoints": {"ssh": {"key_pair_names": ["mine"]}},
    });
    let job = everything();
    assert_eq!(job.body(), body);
    assert_eq!(job.check().violations, []);
    // The generated type includes all fields of the body.
    assert_eq!(serde_json::to_value(job.request().unwrap()).unwrap(), body);
    // A job that is read from the body has the same body.
    assert_eq!(create_job::job(&body).body(), body);
    let text = body.to_string();
    assert_eq!(client().training_jobs().from_json(&text).unwrap().body(), body);
    assert_eq!(client().training_jobs().from_yaml(&text).unwrap().body(), body);
}

#[test]
fn the_other_forms_of_a_job() {
    let create = || client().training_jobs().create("a");
    let body = create().algorithm("id").flavor("f").in_one_cabinet().body();
    assert_eq!(
        body,
        json!({
            "kind": "job", "metadata": {"name": "a"}, "algorithm": {"id": "id"},
            "spec": {
                // The default is sent explicitly, because Huawei Cloud requires the field.
                "resource": {"flavor_id": "f", "node_count": 1},
                "schedule_policy": {"required_affinity": {"affinity_type": "cabinet"}},
            },
        })
    );
    let body = create().subscription("s", "v").pool("p").on_supernodes(4).body();
    assert_eq!(body["algorithm"], json!({"subscription_id": "s", "item_version_id": "v"}));
    assert_eq!(
        body["spec"]["schedule_policy"]["required_affinity"],
        json!({"affinity_type": "hyperinstance", "affinity_group_size": 4})
    );
    let body = create().custom_image("org/image:1").command("run").body();
    assert_eq!(
        body["algorithm"],
        json!({"engine": {"image_url": "org/image:1"}, "command": "run"})
    );
    // An engine that is set later replaces the earlier one.
    let body = create().preset_image("a", "b").preset_engine("c").body();
    assert_eq!(body["algorithm"]["engine"], json!({"engine_id": "c"}));
    let body = create().preset_engine("c").preset_image("a", "b").body();
    assert_eq!(body["algorithm"]["engine"], json!({"engine_name": "a", "engine_version": "b"}));
    let body = create().kind(JobKind::FederatedPoolJob).pool_group("g").body();
    assert_eq!(body["kind"], "federated_pool_job");
    assert_eq!(body["spec"]["resource"], json!({"pool_group_id": "g", "node_count": 1}));
    let body = create().new_experiment("e", "d").body();
    assert_eq!(
        body["metadata"]["training_experiment_reference"],
        json!({"name": "e", "description": "d"})
    );
    let config: types::FineTuningConfigRequest = read(json!({"ft_job_uuid": "u"}));
    let body = create().fine_tuning(TrainType::Lora, config).body();
    assert_eq!(
        body,
        json!({"kind": "job", "metadata": {"name": "a"}, "train_type": "LORA",
            "ftjob_config": {"ft_job_uuid": "u"}})
    );
    let task = json!({"task_resource": {"flavor_id": "f", "node_count": 1}});
    let body = create().task(read(task.clone())).body();
    assert_eq!(body, json!({"kind": "job", "metadata": {"name": "a"}, "tasks": [task]}));
}

#[test]
fn later_settings_replace_earlier_ones() {
    let job = job(&plain())
        .parameter("a", 1)
        .parameter("b", 2)
        .parameter("a", 3)
        .env("X", "1")
        .env("X", "2")
        .env("Y", "3")
        .input("data_url", "obs://bucket/a/")
        .output("train_url", "obs://bucket/b/")
        .volume(Volume::obs("/bucket/c", "/mnt/c"));
    let body = job.body();
    assert_eq!(
        body["algorithm"]["parameters"],
        json!([{"name": "a", "value": "3"}, {"name": "b", "value": "2"}])
    );
    assert_eq!(body["algorithm"]["environments"], json!({"X": "2", "Y": "3"}));
    let body = job
        .without_parameter("a")
        .without_env("X")
        .without_input("data_url")
        .without_output("train_url")
        .without_volumes()
        .body();
    assert_eq!(body["algorithm"]["parameters"], json!([{"name": "b", "value": "2"}]));
    assert_eq!(body["algorithm"]["environments"], json!({"Y": "3"}));
    assert_eq!(body["algorithm"]["inputs"], json!([]));
    assert_eq!(body["algorithm"]["outputs"], json!([]));
    assert_eq!(body["spec"].get("volumes"), None);
    // Removing missing fields leaves no empty objects.
    let bare = client().training_jobs().create("a").without_env("X").without_input("b");
    assert_eq!(bare.body(), json!({"kind": "job", "metadata": {"name": "a"}, "algorithm": {}}));
}

#[test]
fn a_name_is_made_when_none_is_given() {
    let name = || {
        let body = client().training_jobs().create_unnamed().body();
        body["metadata"]["name"].as_str().unwrap().to_owned()
    };
    let names: BTreeSet<String> = (0..20).map(|_| name()).collect();
    assert_eq!(names.len(), 20);
    for name in names {
        let digits = name.strip_prefix("job-").unwrap();
        assert_eq!(digits.len(), 8);
        assert!(digits.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
    }
}

#[test]
fn debug_shows_no_values() {
    let job = job(&plain()).env("PASSWORD", "hunter2").parameter("pin", "hunter2");
    assert_eq!(format!("{job:?}"), r#"CreateJob { name: Some(String("job")), .. }"#);
}
