//! Making jobs: what is sent, and what the service says about jobs that break its
//! rules.

use std::collections::BTreeSet;

use modelarts_emulator::{Pool, PoolKind};
use modelarts_ext::{
    Volume,
    types::{self, JobKind, TrainType},
};
use serde_json::{Value, json};

use crate::support::{
    clock::TestClock,
    create_job::{self, client, everything, job, read},
    errors::refused,
    rule_cases::{cases, plain},
    server::{PROJECT, Server, json_answer},
    site::Site,
};

// ---- what is sent ----

#[test]
fn the_builder_says_what_is_sent() {
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
    // The generated type carries all of it.
    assert_eq!(serde_json::to_value(job.request().unwrap()).unwrap(), body);
    // And it reads as it was written.
    assert_eq!(create_job::job(&body).body(), body);
    let text = body.to_string();
    assert_eq!(
        client().training_jobs().from_json(&text).unwrap().body(),
        body
    );
    assert_eq!(
        client().training_jobs().from_yaml(&text).unwrap().body(),
        body
    );
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
                // The default is said, because Huawei Cloud demands it.
                "resource": {"flavor_id": "f", "node_count": 1},
                "schedule_policy": {"required_affinity": {"affinity_type": "cabinet"}},
            },
        })
    );
    let body = create()
        .subscription("s", "v")
        .pool("p")
        .on_supernodes(4)
        .body();
    assert_eq!(
        body["algorithm"],
        json!({"subscription_id": "s", "item_version_id": "v"})
    );
    assert_eq!(
        body["spec"]["schedule_policy"]["required_affinity"],
        json!({"affinity_type": "hyperinstance", "affinity_group_size": 4})
    );
    let body = create().custom_image("org/image:1").command("run").body();
    assert_eq!(
        body["algorithm"],
        json!({"engine": {"image_url": "org/image:1"}, "command": "run"})
    );
    // One way of naming an engine takes the place of the other.
    let body = create().preset_image("a", "b").preset_engine("c").body();
    assert_eq!(body["algorithm"]["engine"], json!({"engine_id": "c"}));
    let body = create().preset_engine("c").preset_image("a", "b").body();
    assert_eq!(
        body["algorithm"]["engine"],
        json!({"engine_name": "a", "engine_version": "b"})
    );
    let body = create()
        .kind(JobKind::FederatedPoolJob)
        .pool_group("g")
        .body();
    assert_eq!(body["kind"], "federated_pool_job");
    assert_eq!(
        body["spec"]["resource"],
        json!({"pool_group_id": "g", "node_count": 1})
    );
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
    assert_eq!(
        body,
        json!({"kind": "job", "metadata": {"name": "a"}, "tasks": [task]})
    );
}

#[test]
fn what_is_said_again_takes_the_place_of_what_was_said() {
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
    assert_eq!(
        body["algorithm"]["environments"],
        json!({"X": "2", "Y": "3"})
    );
    let body = job
        .without_parameter("a")
        .without_env("X")
        .without_input("data_url")
        .without_output("train_url")
        .without_volumes()
        .body();
    assert_eq!(
        body["algorithm"]["parameters"],
        json!([{"name": "b", "value": "2"}])
    );
    assert_eq!(body["algorithm"]["environments"], json!({"Y": "3"}));
    assert_eq!(body["algorithm"]["inputs"], json!([]));
    assert_eq!(body["algorithm"]["outputs"], json!([]));
    assert_eq!(body["spec"].get("volumes"), None);
    // Taking away what is not there leaves nothing behind.
    let bare = client()
        .training_jobs()
        .create("a")
        .without_env("X")
        .without_input("b");
    assert_eq!(
        bare.body(),
        json!({"kind": "job", "metadata": {"name": "a"}, "algorithm": {}})
    );
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
    let job = job(&plain())
        .env("PASSWORD", "hunter2")
        .parameter("pin", "hunter2");
    assert_eq!(
        format!("{job:?}"),
        r#"CreateJob { name: Some(String("job")), .. }"#
    );
}

// ---- what the service says about jobs that break its rules ----

#[tokio::test]
async fn the_service_refuses_with_the_code_that_the_check_says() {
    // The cases name a pool of GPU nodes.
    let pool = Pool::new("pool-1", PoolKind::Gpu, 8);
    let otc = modelarts_emulator::Cloud::Otc;
    let site = Site::with(|builder| builder.pool(pool).cloud(otc)).await;
    site.put("bucket/code/train.py", "");
    site.put("bucket/data/x", "");
    for case in cases().into_iter().filter(|case| !case.is_advice) {
        let job = site
            .client
            .training_jobs()
            .from_value(&case.breaks)
            .unwrap()
            .cloud(modelarts_ext::Cloud::Otc);
        let said = job.check().violations.remove(0);
        let error = refused(job.unchecked().submit().await);
        assert_eq!(error.code(), said.code(), "{}: {error}", case.name);
        // Many rules share this code, so it must be about the same: `spec.volumes`.
        let about = said
            .field()
            .split('.')
            .take(2)
            .collect::<Vec<_>>()
            .join(".");
        let about = about.split('[').next().unwrap();
        let message = error.message().unwrap();
        assert!(
            said.code() != Some("ModelArts.2788")
                || message.contains(about)
                // The check names the engine, the service the search.
                || case.name == "a search runs on two engines",
            "{}: {error}",
            case.name
        );
    }
}

/// An algorithm on the emulator; its id.
async fn stored(site: &Site) -> String {
    let body: types::AlgorithmRequest = read(json!({
        "metadata": {"name": "stored"},
        "job_config": plain()["algorithm"],
    }));
    let client = &site.client;
    let algorithm = client
        .call(|api| {
            api.create_algorithm()
                .project_id(client.project_id())
                .body(body)
                .send()
        })
        .await
        .unwrap();
    algorithm.metadata.as_ref().unwrap().id.clone().unwrap()
}

/// Advice keeps no job from being made. What the emulator does not have, it refuses with a
/// code of its own.
#[tokio::test]
async fn the_service_takes_what_is_only_advised_against() {
    let pool = Pool::new("pool-1", PoolKind::Gpu, 8);
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("d")).unwrap();
    let site = Site::with(|builder| {
        let builder = builder.pool(pool).nfs_root(directory.path());
        builder.datasets(directory.path())
    })
    .await;
    site.put("bucket/code/train.py", "");
    site.put("bucket/data/x", "");
    let stored = stored(&site).await;
    let mut refusals = Vec::new();
    let mut not_modelled = Vec::new();
    let cases = cases().into_iter().filter(|case| case.is_advice);
    for (n, mut case) in cases.enumerate() {
        if case.breaks["algorithm"]["id"] == "a" {
            case.breaks["algorithm"]["id"] = stored.as_str().into();
        }
        let jobs = site.client.training_jobs();
        let job = jobs.from_value(&case.breaks).unwrap();
        assert!(job.check().is_ok(), "{}", case.name);
        match job.name(format!("job-{n}")).submit().await {
            Ok(_) => {}
            Err(error) if error.code() == Some("Emulator.0501") => not_modelled.push(case.name),
            Err(error) => refusals.push(format!("{}: {error}", case.name)),
        }
    }
    assert_eq!(refusals, [""; 0]);
    not_modelled.retain(|name| {
        ![
            "tasks exclude spec",
            "a search is configured in YAML",
            "a search has a metric",
            "a metric has a regex",
            "a metric grows or shrinks",
            "what a search varies is continuous or discrete",
            "auto stop counts hours",
            "a search algorithm is known",
            "a local directory is plain",
            "a volume is not mounted over the home",
            "a volume is not mounted over the inputs",
            "a volume is mounted at an absolute path",
            "a working directory is plain",
            "a local code directory is not /home",
        ]
        .contains(&name.as_str())
    });
    assert_eq!(not_modelled, [""; 0]);
}

// ---- after creation ----

#[tokio::test]
async fn a_heterogeneous_job_runs_its_roles() {
    let site = Site::start().await;
    let role = |name: &str| {
        let code = format!("bucket/{name}/code");
        site.put(
            &format!("{code}/train.py"),
            "import os\nprint(os.environ['MA_TASK_NAME'])",
        );
        read(json!({
            "role": name,
            "algorithm": {
                "code_dir": format!("obs://{code}/"),
                "boot_file": format!("obs://{code}/train.py"),
                "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
            },
            "task_resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1},
            "log_export_path": {"obs_url": format!("obs://bucket/{name}/logs/")},
        }))
    };
    let create = site.client.training_jobs().create("roles");
    let job = create.task(role("learner")).task(role("worker"));
    let job = site.run(job).await;
    assert_eq!(job.phase(), types::Phase::Completed);
    assert_eq!(job.tasks(), ["learner-0", "worker-0"]);
    for task in ["learner-0", "worker-0"] {
        let (role, _) = task.split_once('-').unwrap();
        let object = job.log_object(task).unwrap();
        let expected = format!("/bucket/{role}/logs/modelarts-job-{}-{task}.log", job.id());
        assert_eq!(object, expected);
        let kept = site
            .emulator
            .obs_root()
            .join(object.trim_start_matches('/'));
        let kept = std::fs::read_to_string(kept).unwrap();
        assert_eq!(kept, format!("{role}\n"));
    }
}

#[tokio::test]
async fn a_job_is_changed_and_many_are_deleted() {
    let details = json!({"kind": "job", "metadata": {"id": "j", "name": "a"}}).to_string();
    let server = Server::start([
        json_answer("200 OK", "", &details),
        json_answer("200 OK", "", "null"),
        json_answer("200 OK", "", ""),
        json_answer("202 Accepted", "", ""),
        json_answer("202 Accepted", "", ""),
    ])
    .await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = client.training_jobs().get("j").await.unwrap();
    job.set_description("new").await.unwrap();
    job.set_priority(3).await.unwrap();
    let jobs = vec![job.clone(); 101];
    client.training_jobs().delete_many(&jobs).await.unwrap();
    let requests = server.requests();
    let body = |request: &str| -> Value {
        serde_json::from_str(request.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    };
    let line = |request: &str| request.lines().next().unwrap().to_owned();
    let at = format!("/v2/{PROJECT}/training-jobs");
    assert_eq!(line(&requests[1]), format!("PUT {at}/j HTTP/1.1"));
    assert_eq!(body(&requests[1]), json!({"description": "new"}));
    assert_eq!(line(&requests[2]), format!("PUT {at}/j HTTP/1.1"));
    assert_eq!(
        body(&requests[2]),
        json!({"spec": {"schedule_policy": {"priority": 3}}})
    );
    assert_eq!(
        line(&requests[3]),
        format!("POST {at}/batch-delete HTTP/1.1")
    );
    assert_eq!(body(&requests[3])["jobs"].as_array().unwrap().len(), 100);
    assert_eq!(
        body(&requests[4]),
        json!({"jobs": [{"kind": "job", "metadata": {"id": "j"}}]})
    );

    // Nothing is sent that must be refused.
    let message = |error: modelarts_ext::Error| error.to_string();
    assert_eq!(
        message(job.set_priority(4).await.unwrap_err()),
        "the change breaks a rule, so nothing was sent:\n  spec.schedule_policy.priority = 4: 1 to 3 \
         (ModelArts.2816); change it so that it keeps to the limit"
    );
    let error = job.set_description("x".repeat(257)).await.unwrap_err();
    assert_eq!(error.violations()[0].field(), "description");
    let error = client.training_jobs().delete_many([]).await.unwrap_err();
    assert_eq!(
        message(error),
        "the call breaks a rule, so nothing was sent:\n  jobs is missing: there is a job to delete \
         (ModelArts.2788); name one"
    );
    assert_eq!(server.requests().len(), 5);
}
