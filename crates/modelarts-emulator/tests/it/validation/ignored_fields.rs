//! Fields of a create request that have no effect on the emulator.

use modelarts_emulator::{Emulator, Timing};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Client, Reply, Site, http, put};

/// Returns a job with every field that is only stored, except those in data arrays.
fn job() -> Value {
    json!({
        "kind": "job",
        "metadata": {
            "name": "everything",
            "annotations": {"tensorboard/enable": "false", "jupyter-lab/enable": "true"},
        },
        "algorithm": {
            "engine": {"image_url": "org/image:1", "image_repo_id": "r", "run_user": "1000"},
            "command": "true",
            "autosearch_config_path": "/config/search.yaml",
            "autosearch_framework_path": "/framework/",
            "inputs": [{
                "name": "in",
                "remote": {"obs": {"obs_url": "/bucket/in/"}},
                "remote_constraint": [{"data_type": "obs"}],
            }],
            "summary": {
                "log_type": "tensorboard",
                "log_dir": {"pfs": {"pfs_path": "/bucket/logs/"}},
                "data_sources": [{"job": {"job_id": "x"}}],
            },
        },
        "spec": {
            "resource": {
                "pool_id": "pool-cpu",
                "main_container_customized_flavor": {
                    "cpu_core_num": 2.0, "mem_size": 4.0, "accelerator_num": 0.0,
                },
            },
            "log_export_path": {"obs_url": "", "host_path": "/var/logs"},
            "log_export_config": {"version": "v1", "rotation_enabled": true},
            "schedule_policy": {"required_affinity": {
                "affinity_type": "cabinet", "affinity_group_size": 2,
            }},
            "notification": {"topic_urn": "urn:smn:x", "events": ["JobFailed"]},
            "custom_metrics": [{"http_get": {"path": "/metrics", "port": 10001}}],
            "runtime_type": "debug",
            "output_model": {"obs": {"obs_path": "/bucket/model/"}},
            "asset_model": {"name": "m", "version": "1", "type": "NEW_ASSET"},
            "asset_id": "a",
            "retention": {"policy": "enabled"},
            "reserved_time": {"time_unit": "HOURS", "duration": 1},
        },
        "endpoints": {"ssh": {"key_pair_names": ["KeyPair-a"]}},
        "train_type": "SFT",
        "ftjob_config": {"model_type": "m"},
        "colour": "red",
    })
}

const PATHS: [&str; 23] = [
    "algorithm.autosearch_config_path",
    "algorithm.autosearch_framework_path",
    "algorithm.engine.image_repo_id",
    "algorithm.engine.run_user",
    "algorithm.inputs[].remote_constraint",
    "algorithm.summary",
    "colour",
    "endpoints",
    "ftjob_config",
    "metadata.annotations.jupyter-lab/enable",
    "spec.asset_id",
    "spec.asset_model",
    "spec.custom_metrics",
    "spec.log_export_config",
    "spec.log_export_path.host_path",
    "spec.notification",
    "spec.output_model",
    "spec.reserved_time",
    "spec.resource.main_container_customized_flavor",
    "spec.retention",
    "spec.runtime_type",
    "spec.schedule_policy.required_affinity",
    "train_type",
];

fn header(reply: &Reply) -> Option<&str> {
    let header = reply.headers.get("x-emulator-ignored")?;
    Some(header.to_str().unwrap())
}

async fn ignored(client: &Client, id: &str) -> Reply {
    let url = format!("{}/_emulator/jobs/{id}/ignored", client.url);
    Reply::of(client.http.get(url).send().await.unwrap()).await
}

#[tokio::test]
async fn fields_without_an_effect_are_stored_given_back_and_named() {
    let site = Site::start().await;
    site.put("bucket/in/data", "");
    let reply = site.post("/training-jobs", &job()).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    assert_eq!(header(&reply), Some(PATHS.join(",").as_str()));
    let shown = reply.json();
    let id = shown["metadata"]["id"].as_str().unwrap().to_owned();
    site.emulator.wait_until_settled(&id).await;
    let details = site.details(&id).await;
    assert_eq!(details["status"]["phase"], "Completed");
    let given = job();
    for shown in [shown, details] {
        for pointer in [
            "/algorithm/autosearch_config_path",
            "/algorithm/autosearch_framework_path",
            "/algorithm/engine",
            "/algorithm/inputs/0/remote_constraint",
            "/algorithm/summary",
            "/spec/resource/main_container_customized_flavor",
            "/spec/log_export_path/host_path",
            "/spec/log_export_config",
            "/spec/schedule_policy/required_affinity",
            "/spec/notification",
            "/spec/custom_metrics",
            "/spec/runtime_type",
            "/spec/output_model",
            "/spec/asset_model",
            "/endpoints",
            "/ftjob_config",
        ] {
            assert_eq!(shown.pointer(pointer), given.pointer(pointer), "{pointer}");
        }
        // Responses of the service do not contain these members.
        for pointer in
            ["/train_type", "/spec/asset_id", "/spec/retention", "/spec/reserved_time", "/colour"]
        {
            assert_eq!(shown.pointer(pointer), None, "{pointer}");
        }
    }
    let list = ignored(&site.client, &id).await;
    assert_eq!((list.status.as_u16(), list.json()), (200, json!(PATHS)));

    let plain = site.script("plain", "");
    let reply = site.post("/training-jobs", &plain).await;
    assert_eq!(header(&reply), None);
    let id = reply.json()["metadata"]["id"].as_str().unwrap().to_owned();
    assert_eq!(ignored(&site.client, &id).await.json(), json!([]));

    let unknown = ignored(&site.client, "nobody").await;
    unknown.refused(404, "Emulator.0404");
    assert_eq!(
        unknown.json()["error_msg"],
        "There is no job with the id \"nobody\"; creations and lists return ids."
    );
}

#[tokio::test]
async fn the_names_survive_a_restart() {
    let place = tempfile::tempdir().unwrap();
    let start = async || {
        let builder = Emulator::builder().timing(Timing::instant());
        let emulator = builder
            .data_dir(place.path().join("data"))
            .obs_root(place.path().join("obs"))
            .start()
            .await
            .unwrap();
        let client = Client {
            http: http(),
            url: emulator.url().to_owned(),
            project_id: emulator.project_id().to_owned(),
            access_key: emulator.access_key().to_owned(),
            secret_key: emulator.secret_key().to_owned(),
            checks: true,
        };
        (emulator, client)
    };
    let (emulator, client) = start().await;
    let mut job = job();
    job["algorithm"].as_object_mut().unwrap().remove("inputs");
    let reply = client.post("/training-jobs", &job).await;
    let id = reply.json()["metadata"]["id"].as_str().unwrap().to_owned();
    emulator.wait_until_settled(&id).await;
    let before = ignored(&client, &id).await.json();
    assert_eq!(before.as_array().unwrap().len(), PATHS.len() - 1);
    emulator.shutdown().await;
    let (emulator, client) = start().await;
    assert_eq!(ignored(&client, &id).await.json(), before);
    emulator.shutdown().await;
}

#[tokio::test]
async fn a_strict_emulator_refuses_documented_fields_without_an_effect() {
    let site = Site::with(|builder| builder.strict(true)).await;
    let mut job = site.script("strict", "");
    job["spec"]["notification"] = json!({"topic_urn": "urn:smn:x", "events": ["JobFailed"]});
    job["train_type"] = "SFT".into();
    job["colour"] = "red".into();
    let reply = site.post("/training-jobs", &job).await;
    reply.refused(501, "Emulator.0501");
    assert_eq!(
        reply.json()["error_msg"],
        "This emulator does not model the request fields spec.notification, train_type (without \
         --strict it accepts and stores them), so it refuses instead of guessing what the service \
         would do."
    );
    // The emulator applies the rules of the service first.
    job["metadata"]["name"] = "a b".into();
    let reply = site.post("/training-jobs", &job).await;
    reply.refused(400, "ModelArts.2788");

    let mut job = site.script("strict", "");
    job["spec"]["runtime_type"] = "production".into();
    job["algorithm"]["engine"]["install_sys_packages"] = false.into();
    job["colour"] = "red".into();
    let reply = site.post("/training-jobs", &job).await;
    assert_eq!((reply.status.as_u16(), header(&reply)), (201, Some("colour")));
}

#[tokio::test]
async fn a_fine_tuning_job_is_stored_and_fails_with_a_reason() {
    let job = json!({
        "kind": "job",
        "metadata": {"name": "tune"},
        "algorithm": {},
        "spec": {
            "resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1},
            "asset_id": "a",
        },
        "train_type": "LORA",
    });
    let site = Site::start().await;
    let reply = site.post("/training-jobs", &job).await;
    assert_eq!(header(&reply), Some("spec.asset_id,train_type"));
    let id = reply.json()["metadata"]["id"].as_str().unwrap().to_owned();
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.phase(&id).await, "Failed");
    assert_eq!(
        site.log(&id).await,
        "modelarts-emulator: this job tunes a model of the platform; the emulator has none, \
         so the job fails. Jobs of --runner simulated follow a script.\n"
    );

    let mut bare = job.clone();
    bare["metadata"]["name"] = "bare".into();
    bare.as_object_mut().unwrap().remove("algorithm");
    let reply = site.post("/training-jobs", &bare).await;
    assert_eq!(reply.status, 201, "{}", reply.text);

    let strict = Site::with(|builder| builder.strict(true)).await;
    let reply = strict.post("/training-jobs", &job).await;
    reply.refused(501, "Emulator.0501");
    assert_eq!(
        reply.json()["error_msg"],
        "This emulator does not model fine-tuning (train_type in a job without code, command or \
         image to run), so it refuses instead of guessing what the service would do."
    );
}

#[tokio::test]
async fn names_that_no_header_can_have_are_escaped() {
    let site = Site::start().await;
    let mut job = site.script("names", "");
    job["ä,b\r\nX-Evil: 1"] = 1.into();
    for number in 0..1000 {
        job["spec"][format!("unknown-{number}")] = 1.into();
    }
    let body = job.to_string().into_bytes();
    let reply = site.send(Method::POST, "/training-jobs", body).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    assert_eq!(reply.headers.get("x-evil"), None);
    let header = header(&reply).unwrap();
    assert!(header.len() <= 2048 && header.ends_with(",..."), "{header}");
    let id = reply.json()["metadata"]["id"].as_str().unwrap().to_owned();
    let all = ignored(&site.client, &id).await.json();
    assert_eq!(all.as_array().unwrap().len(), 1001);
    assert_eq!(all[1000], "ä,b\r\nX-Evil: 1");
}

#[tokio::test]
async fn changes_without_an_effect_are_named() {
    let site = Site::start().await;
    let mut job = site.script("change", "");
    job["endpoints"] = json!({"ssh": {"key_pair_names": ["KeyPair-a"]}});
    let id = site.run(&job).await;
    let path = format!("/training-jobs/{id}");
    let change = json!({
        "description": "new",
        "spec": {"notification": {"topic_urn": "urn:smn:x", "events": ["JobFailed"]}},
        "metadata": {"annotation": {"jupyter-lab/enable": "true"}},
        "colour": "red",
    });
    let reply = put(&site, &path, change.clone()).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let named = "colour,metadata.annotation,spec.notification";
    assert_eq!(header(&reply), Some(named));
    let reply = put(&site, &path, json!({"description": "newer"})).await;
    assert_eq!((reply.status.as_u16(), header(&reply)), (200, None));
    assert_eq!(
        ignored(&site.client, &id).await.json(),
        json!(["endpoints", "metadata.annotations.jupyter-lab/enable", "spec.notification"])
    );

    let strict = Site::with(|builder| builder.strict(true)).await;
    let id = strict.run(&strict.script("change", "")).await;
    let reply = put(&strict, &format!("/training-jobs/{id}"), change).await;
    reply.refused(501, "Emulator.0501");
    let sentence = reply.json()["error_msg"].as_str().unwrap().to_owned();
    assert!(
        sentence.contains("the request fields metadata.annotation, spec.notification ("),
        "{sentence}"
    );
    assert_eq!(strict.details(&id).await["metadata"]["description"], "");
}

#[tokio::test]
async fn members_of_an_algorithm_that_no_document_has_are_named() {
    let site = Site::start().await;
    site.put("bucket/code/train.py", "");
    let mut algorithm = json!({
        "metadata": {"name": "sorter", "ai_project": "a", "tags": [{"key": "k"}]},
        "job_config": {
            "code_dir": "/bucket/code/", "boot_file": "/bucket/code/train.py",
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
            "parameters": [{"name": "a", "value": "1", "constraint": {"type": "Integer"}}],
            "inputs": [{"name": "in", "remote_constraints": [{"data_type": "obs"}]}],
            "environments": {"A": "1"},
        },
        "resource_requirements": [{"key": "flavor_type", "values": ["CPU"], "operator": "in"}],
        "advanced_config": {"auto_search": {"reward_attrs": [
            {"name": "loss", "mode": "min", "regex": "loss=(.*)"},
        ]}},
        "colour": "red",
    });
    let reply = site.post("/algorithms", &algorithm).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let named = "colour,job_config.environments";
    assert_eq!(header(&reply), Some(named));
    let shown = reply.json();
    assert_eq!(shown["job_config"].get("environments"), None);
    let path = format!("/algorithms/{}", shown["metadata"]["id"].as_str().unwrap());
    let reply = put(&site, &path, algorithm.clone()).await;
    assert_eq!((reply.status.as_u16(), header(&reply)), (201, Some(named)));
    // The body of a change may be an earlier response, or `metadata` alone.
    for body in [shown, json!({"metadata": {"name": "sorter"}})] {
        let reply = put(&site, &path, body).await;
        assert_eq!((reply.status.as_u16(), header(&reply)), (201, None), "{}", reply.text);
    }
    algorithm["advanced_config"]["auto_search"] = 5.into();
    let reply = site.post("/algorithms", &algorithm).await;
    assert_eq!(
        reply.json()["error_msg"],
        "Invalid parameter(advanced_config.auto_search must be an object)."
    );
}
