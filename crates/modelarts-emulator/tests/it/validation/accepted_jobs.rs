//! Jobs that the service accepts although a document advises against them.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::Site;

/// Stores an algorithm whose code prints `stored`, and returns its ID.
async fn stored(site: &Site, config: Value) -> String {
    let mut body = json!({
        "metadata": {"name": "stored"},
        "job_config": site.script("stored", "print('stored')")["algorithm"],
    });
    for (name, value) in config.as_object().unwrap() {
        body["job_config"][name] = value.clone();
    }
    let reply = site.post("/algorithms", &body).await;
    assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text);
    reply.json()["metadata"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn code_beside_the_id_of_an_algorithm_runs_in_the_place_of_the_algorithms() {
    let site = Site::start().await;
    let id = stored(&site, json!({})).await;
    let mut own = site.script("own", "print('own')");
    own["algorithm"]["id"] = id.as_str().into();
    own["algorithm"].as_object_mut().unwrap().remove("engine");
    let run = site.run(&own).await;
    assert_eq!(site.log(&run).await, "own\n");
    let shown = &site.details(&run).await["algorithm"];
    assert_eq!(shown["id"], id);
    assert_eq!(shown["boot_file"], "/bucket/own/code/train.py");
    // The job specifies no engine, so that it runs with the engine of the algorithm.
    assert_eq!(shown["engine"]["engine_name"], "PyTorch");

    let mut alone = site.script("alone", "print('own')");
    alone["algorithm"] = json!({"id": id});
    let run = site.run(&alone).await;
    assert_eq!(site.log(&run).await, "stored\n");

    // The job contains its own command and image.
    let mut command = alone.clone();
    command["metadata"]["name"] = "command".into();
    command["algorithm"]["command"] = "echo first; echo second".into();
    command["algorithm"]["engine"] = json!({"image_url": "org/image:1"});
    let run = site.run(&command).await;
    assert_eq!(site.log(&run).await, "first\nsecond\n");
}

#[tokio::test]
async fn an_engine_may_be_named_by_id_name_and_version() {
    let site = Site::start().await;
    let engine = "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64";
    let mut job = site.script("thrice", "print('here')");
    job["algorithm"]["engine"] = json!({
        "engine_id": engine, "engine_name": "PyTorch", "engine_version": engine,
        "install_sys_packages": false,
    });
    let run = site.run(&job).await;
    assert_eq!(site.log(&run).await, "here\n");
    let shown = &site.details(&run).await["algorithm"]["engine"];
    for (name, value) in
        [("engine_id", engine), ("engine_name", "PyTorch"), ("engine_version", engine)]
    {
        assert_eq!(shown[name], value);
    }
}

/// Fields may accept more values than the documents list. The emulator stores such values, or
/// rejects them with 501 if the job cannot run without their effect.
#[tokio::test]
async fn values_that_no_document_lists_are_ignored_or_not_modelled() {
    let site = Site::start().await;
    site.put("bucket/data/x", "");
    let mut job = site.script("open", "");
    let obs = json!({"obs": {"obs_url": "/bucket/data/"}});
    job["algorithm"]["inputs"] = json!([{"name": "a", "access_method": "file", "remote": obs}]);
    let constraint = json!({"type": "String", "valid_type": "Weird"});
    job["algorithm"]["parameters"] = json!([{"name": "p", "value": "x", "constraint": constraint}]);
    let reply = site.post("/training-jobs", &job).await;
    assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text);
    assert_eq!(
        reply.headers["x-emulator-ignored"],
        "algorithm.inputs[].access_method,algorithm.parameters[].constraint.valid_type"
    );

    let not_modelled = async |pointer: &str, value: Value, field: &str| {
        let mut job = site.script("known", "");
        job["algorithm"]["policies"] = json!({"auto_search": {
            "reward_attrs": [{"name": "acc", "mode": "max", "regex": "acc=(.*)"}],
            "search_params": [{"name": "lr", "lower_bound": "1", "upper_bound": "2"}],
        }});
        job["spec"]["auto_stop"] = json!({"time_unit": "HOURS", "duration": 1});
        *job.pointer_mut(pointer).unwrap() = value;
        let reply = site.post("/training-jobs", &job).await;
        reply.refused(501, "Emulator.0501");
        let error_message = reply.json()["error_msg"].as_str().unwrap().to_owned();
        assert!(error_message.contains(&format!(" {field}, so ")), "{error_message}");
    };
    let unit = json!({"time_unit": "DAYS", "duration": 1});
    not_modelled("/spec/auto_stop", unit, "\"DAYS\" as spec.auto_stop.time_unit").await;
    let metrics = "/algorithm/policies/auto_search/reward_attrs/0";
    let field = "\"avg\" as algorithm.policies.auto_search.reward_attrs[0].mode";
    let metric = json!({"name": "acc", "mode": "avg", "regex": "acc=(.*)"});
    not_modelled(metrics, metric, field).await;
    let metric = json!({"name": "acc", "mode": "max"});
    not_modelled(metrics, metric, "a metric without regex").await;
}

/// If the job has both a command and a boot file, a custom image runs the command and an engine
/// runs the boot file. Responses contain both.
#[tokio::test]
async fn an_unused_command_or_boot_file_is_named() {
    let site = Site::start().await;
    for (name, engine, log, idle) in [
        ("image", json!({"image_url": "org/image:1"}), "command\n", "boot_file"),
        ("preset", json!(null), "boot file\n", "command"),
    ] {
        let mut job = site.script(name, "print('boot file')");
        if !engine.is_null() {
            job["algorithm"]["engine"] = engine;
        }
        job["algorithm"]["command"] = "echo command".into();
        let reply = site.post("/training-jobs", &job).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text);
        assert_eq!(reply.headers["x-emulator-ignored"], format!("algorithm.{idle}"));
        let id = reply.json()["metadata"]["id"].as_str().unwrap().to_owned();
        site.emulator.wait_until_settled(&id).await;
        assert_eq!(site.log(&id).await, log);
        let shown = &site.details(&id).await["algorithm"];
        assert_eq!(shown["command"], "echo command");
        assert_eq!(shown["boot_file"], format!("/bucket/{name}/code/train.py"));
    }
}

/// A job may provide the value of a required hyper-parameter.
#[tokio::test]
async fn an_algorithm_leaves_required_values_to_its_jobs() {
    let site = Site::start().await;
    let speed = json!({"type": "Float", "required": true, "valid_range": ["10", "50"]});
    let config = json!({"parameters": [{"name": "speed", "constraint": speed}]});
    let id = stored(&site, config).await;
    let mut job = site.script("speed", "");
    job["algorithm"] = json!({"id": id});
    let reply = site.post("/training-jobs", &job).await;
    reply.refused(400, "ModelArts.2766");
    job["algorithm"]["parameters"] = json!([{"name": "speed", "value": "14"}]);
    let run = site.run(&job).await;
    assert_eq!(site.phase(&run).await, "Completed");
}

#[tokio::test]
async fn an_algorithm_says_which_data_it_takes_and_where_its_code_must_be() {
    let sets = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(sets.path().join("flowers/v1")).unwrap();
    let site = Site::with(|builder| builder.datasets(sets.path())).await;
    let input = json!({"name": "data_url", "remote_constraints": [{"data_type": "obs"}]});
    let id = stored(&site, json!({"inputs": [input]})).await;
    let mut job = site.script("flowers", "");
    let set = json!({"dataset": {"id": "flowers", "version_id": "v1"}});
    job["algorithm"] = json!({"id": id, "inputs": [{"name": "data_url", "remote": set}]});
    let reply = site.post("/training-jobs", &job).await;
    reply.refused(400, "ModelArts.2834");
    assert_eq!(reply.json()["error_msg"], "Does not support data type (modelarts_dataset).");

    let body = json!({"metadata": {"name": "gone"}, "job_config": {
        "code_dir": "/bucket/none/", "boot_file": "/bucket/none/train.py",
        "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
    }});
    let reply = site.post("/algorithms", &body).await;
    reply.refused(400, "ModelArts.2773");
    assert_eq!(reply.json()["error_msg"], "get obs object content error.");
}

/// The restriction to directories below `/home` applies to the emulator, not to the service.
#[tokio::test]
async fn directories_that_the_emulator_lacks_are_refused_as_such() {
    let site = Site::start().await;
    site.put("bucket/data/a", "");
    let input = json!([{
        "name": "data_url", "local_dir": "/data", "remote": {"obs": {"obs_url": "/bucket/data/"}},
    }]);
    for (field, value, what) in [
        (
            "working_dir",
            json!("/opt/code"),
            "algorithm.working_dir at /opt/code (it must be below /home on this emulator: leave \
             it out, or name a directory such as /home/ma-user/data)",
        ),
        (
            "local_code_dir",
            json!("/home"),
            "algorithm.local_code_dir at /home (it must be below /home on this emulator: leave it \
             out, or name a directory such as /home/ma-user/data)",
        ),
        (
            "inputs",
            input,
            "algorithm.inputs[0].local_dir at /data (it must be below /home on this emulator: \
             leave it out, or name a directory such as /home/ma-user/data)",
        ),
    ] {
        let mut job = site.script("elsewhere", "");
        job["algorithm"][field] = value;
        let reply = site.post("/training-jobs", &job).await;
        assert_eq!(reply.error(), (501, "Emulator.0501".to_owned()), "{field}");
        let error_message = reply.json()["error_msg"].as_str().unwrap().to_owned();
        assert!(error_message.contains(what), "{error_message}");
    }
}
