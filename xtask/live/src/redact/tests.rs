//! Tests of the redaction, with bodies that contain names in every field.

use std::{collections::BTreeSet, time::Duration};

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};

use crate::{
    description::Description,
    recorder::{Answer, Exchange},
    redact::redact,
    transcript::Call,
};

fn exchange(method: &str, path: &str, request: &Value, answer: &Value) -> Exchange {
    let body = |value: &Value| match value {
        Value::Null => Bytes::new(),
        value => value.to_string().into(),
    };
    Exchange {
        method: method.into(),
        url: format!("https://modelarts.eu-de.otc.t-systems.com/v2/0f1e2d3c4b5a6978{path}")
            .parse()
            .unwrap(),
        request: body(request),
        took: Duration::from_millis(7),
        answer: Ok(Answer {
            status: 200,
            headers: HeaderMap::new(),
            body: body(answer),
        }),
    }
}

fn redacted(exchanges: &[Exchange]) -> Vec<Call> {
    let description = Description::load().unwrap();
    let secrets = ["0f1e2d3c4b5a6978", "SECRETKEY"].map(str::to_owned);
    redact(&description, secrets, exchanges)
}

#[test]
fn texts_of_a_job_are_replaced_and_words_of_the_service_are_kept() {
    let details = json!({
        "kind": "job",
        "metadata": {
            "id": "5bd61eea-9de2-4864-a0f7-5fae966171b5", "name": "heron", "workspace_id": "0",
            "user_name": "ann", "description": "secret plans of the heron",
            "annotations": {"fault-tolerance/job-retry-num": "3", "heron-note": "yes"},
        },
        "algorithm": {
            "code_dir": "obs://aviary/heron/code/", "command": "python /opt/heron.py --token SECRETKEY",
            "engine": {"image_url": "swr.eu-de.example.com/aviary/heron:1.2.0"},
            "environments": {"HERON_HOME": "/srv/heron", "EMPTY": ""},
            "parameters": [{"name": "rate", "value": "1e-3", "constraint": {"type": "Float"}}],
        },
        "spec": {
            "volumes": [{"nfs": {"nfs_server_path": "10.9.8.7:/aviary/nest", "local_path": "/home/ma-user/nest", "read_only": true}}],
            "notification": {"topic_urn": "urn:smn:eu-de:0f1e2d3c4b5a6978:heron", "events": ["JobFailed"]},
            "resource": {"pool_id": "pool-heron", "pool_info": {"owner": "ann", "beak": "long"}},
            "new_switch": "ajar",
        },
        "status": {
            "phase": "Lurking", "duration": 17,
            "task_statuses": [{"task": "worker-0", "exit_code": 3, "message": "heron of ann left 10.9.8.7 with RuntimeError: nest is full"}],
        },
        "endpoints": {"ssh": {"key_pair_names": ["KeyPair-ann"], "task_urls": [{"task": "worker-0", "url": "ssh://ma-user@dev.eu-de.example.com:30123"}]}},
    });
    let id = "/training-jobs/5bd61eea-9de2-4864-a0f7-5fae966171b5";
    let calls = redacted(&[exchange("GET", id, &Value::Null, &details)]);
    assert_eq!(
        calls[0].path,
        "/v2/{project_id}/training-jobs/{training_job_id}"
    );
    assert_eq!(calls[0].path_parameters["project_id"], "0000000000000001");
    assert_eq!(
        calls[0].path_parameters["training_job_id"],
        "00000000-0000-4000-8000-000000000001"
    );
    let got = calls[0].answer.clone().unwrap();
    let expected = json!({
        "kind": "job",
        "metadata": {
            "id": "00000000-0000-4000-8000-000000000001", "name": "name_2", "workspace_id": "0",
            "user_name": "user_name_1", "description": "description_1",
            "annotations": {"fault-tolerance/job-retry-num": "3", "key_3": "annotations_1"},
        },
        "algorithm": {
            "code_dir": "obs://bucket-1/name_2/dir_2/", "command": "command_1",
            "engine": {"image_url": "host-1.example/bucket-1/name_2:1.2.0"},
            "environments": {"key_2": "/bucket-2/name_2", "key_1": ""},
            "parameters": [{"name": "name_1", "value": "1e-1", "constraint": {"type": "Float"}}],
        },
        "spec": {
            "volumes": [{"nfs": {
                "nfs_server_path": "192.0.2.1:/bucket-1/dir_3",
                "local_path": "/home/ma-user/dir_3", "read_only": true,
            }}],
            "notification": {"topic_urn": "topic_urn_1", "events": ["JobFailed"]},
            "resource": {
                "pool_id": "pool_id_1", "pool_info": {"key_4": "pool_info_1", "key_5": "user_name_1"},
            },
            "new_switch": "new_switch_1",
        },
        "status": {
            "phase": "Lurking", "duration": 17,
            "task_statuses": [{
                "task": "worker-0", "exit_code": 3,
                "message": "name_2 of user_name_1 left 192.0.2.1 with word_1: dir_3 is full",
            }],
        },
        "endpoints": {"ssh": {
            "key_pair_names": ["key_pair_names_1"],
            "task_urls": [{"task": "worker-0", "url": "ssh://user@host-2.example:30123"}],
        }},
    });
    assert_eq!(got, expected, "{got:#}");
}

#[test]
fn a_name_is_replaced_in_a_message_that_came_before_it_was_known() {
    let events = json!({"events": [{"message": "[Pod: modelarts-job-heron-worker-0] Pulled: heron's image"}], "total": 1});
    let list = json!({"items": [{"metadata": {"id": "x1", "name": "heron", "tags": []}}]});
    let calls = redacted(&[
        exchange(
            "GET",
            "/training-jobs/a-b/events?pattern=heron&limit=5",
            &Value::Null,
            &events,
        ),
        exchange(
            "GET",
            "/algorithms?searches=name:heron&sort_by=create_time",
            &Value::Null,
            &list,
        ),
        exchange("GET", "/no/such/path", &Value::Null, &Value::Null),
    ]);
    let message = &calls[0].answer.as_ref().unwrap()["events"][0]["message"];
    let name = &calls[0].query["pattern"];
    assert_eq!(
        *message,
        format!("[Pod: modelarts-job-{name}-worker-0] Pulled: {name}'s image")
    );
    assert_eq!(calls[0].query["limit"], "5");
    assert_eq!(calls[1].query["searches"], format!("name:{name}"));
    assert_eq!(calls[1].query["sort_by"], "create_time");
    assert_eq!(
        calls[1].answer.as_ref().unwrap()["items"][0]["metadata"]["name"],
        *name
    );
    assert_eq!(calls[2].operation, None);
    assert_eq!(calls[2].path, "/v2/0000000000000001/dir_1/dir_2/dir_3");
}

#[test]
fn a_catalogue_stays_but_for_addresses() {
    let engines = json!({"items": [{
        "engine_id": "torch_2-cuda_12", "engine_name": "Torch", "engine_version": "torch_2",
        "image_info": {"cpu_image_url": "swr.eu-de.example.com/aip/torch:2"},
    }]});
    let job = json!({"items": [{"algorithm": {"engine": {"engine_id": "torch_2-cuda_12", "engine_version": "torch_2"}}}]});
    let calls = redacted(&[
        exchange("POST", "/training-job-searches", &json!({}), &job),
        exchange("GET", "/training-job-engines", &Value::Null, &engines),
    ]);
    let engine = &calls[1].answer.as_ref().unwrap()["items"][0];
    assert_eq!(engine["engine_id"], "torch_2-cuda_12");
    let image = &engine["image_info"]["cpu_image_url"];
    assert_eq!(*image, "host-1.example/aip/torch:2");
    let engine = &calls[0].answer.as_ref().unwrap()["items"][0]["algorithm"]["engine"];
    assert_eq!(engine["engine_version"], "torch_2");
}

#[test]
fn a_rejected_catalogue_is_redacted() {
    let refusal =
        json!({"error_code": "ModelArts.0112", "error_msg": "User heron is not authorized"});
    let mut refused = exchange("GET", "/training-job-flavors", &Value::Null, &refusal);
    if let Ok(answer) = &mut refused.answer {
        answer.status = 403;
    }
    let calls = redacted(&[refused]);
    let expected =
        json!({"error_code": "ModelArts.0112", "error_msg": "User word_1 is not authorized"});
    assert_eq!(calls[0].answer, Some(expected));
}

#[test]
fn values_of_the_user_keep_only_their_shape() {
    let details = json!({
        "kind": "job",
        "metadata": {
            "id": "x1", "name": "heron",
            "annotations": {"fault-tolerance/job-retry-num": "3", "job-password": "4711"},
        },
        "algorithm": {
            "environments": {
                "DB_PASSWORD": "20261122", "BORN": "1984-03-07", "RATE": "2.5e-3", "DRY": "False",
                "MODE": "Running", "ROLE": "worker-0", "NODES": 4712, "HOST": "10.9.8.7:4711",
                "BATCH": "/home/ma-user/20261123/12", "BLANK": "",
            },
            "parameters": [{
                "name": "rate", "value": "998877665544",
                "constraint": {"type": "Integer", "valid_type": "Range", "valid_range": ["17", "998877665545"]},
            }],
        },
        "spec": {"resource": {"pool_info": {"birthday": "1984-03-07", "count": 4713}}},
        "status": {
            "phase": "Running", "tasks": ["worker-0"],
            "task_statuses": [{"task": "worker-0", "message": "Running with 20261122 on worker-0, parameter=998877665544"}],
        },
    });
    let tags = json!({"tags": [{"key": "team", "value": "19840307"}]});
    let metrics = json!({"metrics": [{"metric": "cpuUsage", "value": [-1, 20.5]}]});
    let search = json!({"filters": [{"key": "phase", "operator": "in", "value": ["Failed"]}]});
    let calls = redacted(&[
        exchange("GET", "/training-jobs/x1", &Value::Null, &details),
        exchange(
            "GET",
            "/modelarts-training-job/x1/tags",
            &Value::Null,
            &tags,
        ),
        exchange(
            "GET",
            "/training-jobs/x1/metrics/worker-0",
            &Value::Null,
            &metrics,
        ),
        exchange("POST", "/training-job-searches", &search, &Value::Null),
    ]);
    let got = calls[0].answer.as_ref().unwrap();
    let expected = json!({"fault-tolerance/job-retry-num": "3", "job-password": "1111"});
    assert_eq!(got["metadata"]["annotations"], expected, "{got:#}");
    let values = got["algorithm"]["environments"].as_object().unwrap();
    let values: BTreeSet<String> = values.values().map(Value::to_string).collect();
    let expected = [
        "\"\"",
        "\"/home/ma-user/11111111/11\"",
        "\"1.1e-1\"",
        "\"11111111\"",
        "\"2000-01-01\"",
        "\"environments_1\"",
        "\"environments_2\"",
        "\"environments_3\"",
        "\"true\"",
        "1111",
    ];
    assert_eq!(values, expected.map(str::to_owned).into());
    let parameter = &got["algorithm"]["parameters"][0];
    assert_eq!(parameter["value"], "111111111111");
    let range =
        json!({"type": "Integer", "valid_type": "Range", "valid_range": ["11", "111111111111"]});
    assert_eq!(parameter["constraint"], range);
    let pool = got["spec"]["resource"]["pool_info"].to_string();
    assert!(
        pool.contains("2000-01-01") && pool.contains("1111"),
        "{pool}"
    );
    assert!(!pool.contains("1984") && !pool.contains("4713"), "{pool}");
    let status = json!({
        "phase": "Running", "tasks": ["worker-0"],
        "task_statuses": [{"task": "worker-0", "message": "Running with 11111111 on worker-0, parameter=111111111111"}],
    });
    assert_eq!(got["status"], status);
    assert_eq!(
        calls[1].answer.as_ref().unwrap()["tags"][0]["value"],
        "11111111"
    );
    assert_eq!(calls[2].answer, Some(metrics));
    assert_eq!(calls[3].request, Some(search));
}

#[test]
fn a_role_of_the_user_is_replaced() {
    let task = |role| json!({"role": role, "task_resource": {"node_count": 1}});
    let details = json!({
        "kind": "job", "metadata": {"id": "x1", "name": "heron"},
        "tasks": [task("worker"), task("parameter-server"), task("osprey")],
        "status": {"phase": "Lurking", "tasks": ["worker-0", "osprey-0"]},
    });
    let calls = redacted(&[exchange("GET", "/training-jobs/x1", &Value::Null, &details)]);
    let got = calls[0].answer.as_ref().unwrap();
    let tasks = got["tasks"].as_array().unwrap();
    let roles: Vec<_> = tasks
        .iter()
        .map(|it| it["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["worker", "parameter-server", "role_1"]);
    // Users cannot choose phases, so an unknown phase is kept.
    assert_eq!(got["status"]["phase"], "Lurking");
    assert_eq!(got["status"]["tasks"], json!(["worker-0", "role_1-0"]));
}

#[test]
fn a_name_of_common_words_stays_in_sentences() {
    // The last string is a value of an enumeration, and is therefore kept.
    for (name, shown) in [
        ("training", "name_1"),
        ("worker-0", "name_1"),
        ("job", "job"),
    ] {
        let list = json!({"items": [{"metadata": {"id": "x1", "name": name}}]});
        let said =
            json!({"events": [{"message": "The training job is queuing: worker-0"}], "total": 1});
        let calls = redacted(&[
            exchange("POST", "/training-job-searches", &json!({}), &list),
            exchange("GET", "/training-jobs/x1/events", &Value::Null, &said),
        ]);
        assert_eq!(calls[1].answer, Some(said));
        let row = &calls[0].answer.as_ref().unwrap()["items"][0];
        assert_eq!(row["metadata"]["name"], shown);
    }
}
