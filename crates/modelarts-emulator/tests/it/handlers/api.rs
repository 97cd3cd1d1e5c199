//! Statuses and bodies of responses: to the basic operations, and to requests for undefined
//! operations.

use std::time::{Duration, SystemTime};

use axum::{
    body::{Body, to_bytes},
    http::header::{DATE, HOST},
};
use modelarts_emulator::{Timing, WaitError};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::{Gate, Reply, Site, pass};

/// Verifies the members that differ in each run, and replaces them with fixed values.
fn pin(mut job: Value) -> Value {
    let id = job["metadata"]["id"].as_str().unwrap();
    assert_eq!((id.len(), id.matches('-').count()), (36, 4), "{id}");
    job["metadata"]["id"] = "ID".into();
    assert!(job["metadata"]["create_time"].as_i64().unwrap() > 1_700_000_000_000);
    job["metadata"]["create_time"] = 0.into();
    job
}

#[tokio::test]
async fn a_creation_is_answered_in_the_documented_shape() {
    let site = Site::start().await;
    site.put("bucket/data/a", "");
    let mut job = site.script("shape", "");
    job["metadata"]["description"] = "a job".into();
    job["metadata"]["annotations"] = json!({"job_template": "Template DL"});
    job["algorithm"]["parameters"] = json!([{"name": "epochs", "value": "3"}]);
    job["algorithm"]["policies"] = json!({"auto_search": null});
    job["algorithm"]["environments"] = json!({"NCCL_DEBUG": "INFO"});
    job["algorithm"]["inputs"] =
        json!([{"name": "data_url", "remote": {"obs": {"obs_url": "obs://bucket/data/"}}}]);
    job["algorithm"]["outputs"] = json!([{"name": "train_url", "access_method": "env",
        "remote": {"obs": {"obs_url": "/bucket/out/"}}}]);
    job["spec"]["log_export_path"] = json!({"obs_url": ""});
    job["spec"]["auto_stop"] = json!({"time_unit": "HOURS", "duration": 1});
    job["spec"]["notification"] = json!({"topic_urn": "urn", "events": ["JobFailed"]});
    let reply = site.post("/training-jobs", &job).await;
    assert_eq!(reply.status, StatusCode::CREATED);
    assert_eq!(reply.headers["content-type"], "application/json");
    assert_eq!(
        pin(reply.json()),
        json!({
            "kind": "job",
            "metadata": {
                "id": "ID",
                "name": "shape",
                "description": "a job",
                "create_time": 0,
                "workspace_id": "0",
                "user_name": "",
                "annotations": {"job_template": "Template DL"},
            },
            "status": {
                "phase": "Creating",
                "secondary_phase": "Creating",
                "duration": 0,
                "start_time": 0,
                "node_count_metrics": null,
                "tasks": ["worker-0"],
            },
            "algorithm": {
                "code_dir": "/bucket/shape/code/",
                "boot_file": "/bucket/shape/code/train.py",
                "parameters": [{
                    "name": "epochs",
                    "description": "",
                    "i18n_description": null,
                    "value": "3",
                    "constraint": {
                        "type": "String",
                        "editable": true,
                        "required": false,
                        "sensitive": false,
                        "valid_type": "None",
                        "valid_range": [],
                    },
                }],
                "inputs": [{
                    "name": "data_url",
                    "local_dir": "/home/ma-user/modelarts/inputs/data_url_0",
                    "remote": {"obs": {"obs_url": "/bucket/data/"}},
                }],
                "outputs": [{
                    "name": "train_url",
                    "access_method": "env",
                    "local_dir": "/home/ma-user/modelarts/outputs/train_url_0",
                    "remote": {"obs": {"obs_url": "/bucket/out/"}},
                }],
                "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
                "policies": {},
                "environments": {"NCCL_DEBUG": "INFO"},
            },
            "spec": {
                "resource": {
                    "policy": "regular",
                    "flavor_id": "modelarts.vm.cpu.8u",
                    "flavor_name": "Computing CPU(8U) instance",
                    "node_count": 1,
                    "flavor_detail": {
                        "flavor_type": "CPU",
                        "billing": {"code": "modelarts.vm.cpu.8u", "unit_num": 1},
                        "flavor_info": {
                            "max_num": 16,
                            "cpu": {"arch": "x86", "core_num": 8},
                            "memory": {"size": 32, "unit": "GB"},
                            "disk": {"size": 50, "unit": "GB"},
                        },
                    },
                },
                "log_export_path": {},
                "auto_stop": {"time_unit": "HOURS", "duration": 1},
                "notification": {"topic_urn": "urn", "events": ["JobFailed"]},
                "runtime_type": "production",
            },
        })
    );
}

#[tokio::test]
async fn every_answer_carries_a_request_id() {
    let site = Site::start().await;
    let project = site.emulator.project_id();
    let id = site.run(&site.script("ids", "print(1)")).await;
    let mut seen = std::collections::BTreeSet::new();
    for path in [
        format!("/v2/{project}/training-jobs/{id}"),
        format!("/v2/{project}/training-jobs/{id}/tasks/worker-0/logs/preview"),
        format!("/v2/{project}/training-jobs/none"),
        format!("/v2/{project}/training-job-engines"),
        "/v2/other/training-jobs/x".into(),
        "/_emulator/health".into(),
        "/".into(),
    ] {
        let request = site.signed(Method::GET, &path, Vec::new(), std::time::SystemTime::now());
        let response = request.send().await.unwrap();
        let request_id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
        assert_eq!(request_id.len(), 32, "{path}");
        assert!(seen.insert(request_id), "{path}");
    }
}

#[tokio::test]
async fn a_job_that_does_not_exist_is_a_400() {
    let site = Site::start().await;
    let (id, path) = (
        "3faf5c03-aaa1-4cbe-879d-24b05d997347",
        "/training-jobs/3faf5c03-aaa1-4cbe-879d-24b05d997347",
    );
    for reply in [
        site.get(path).await,
        site.delete(path).await,
        site.terminate(id).await,
        site.get(&format!("{path}/events")).await,
        site.get(&format!("{path}/tasks/worker-0/logs/preview")).await,
    ] {
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert_eq!(
            reply.json(),
            json!({
                "error_msg": format!("Training job (ID: {id}) not found."),
                "error_code": "ModelArts.2775",
                "error_solution": "Check whether the training job information in the request is \
                     valid.",
            })
        );
    }
    assert_eq!(site.emulator.wait_for(id, "Running").await, Err(WaitError::NoSuchJob));
}

#[tokio::test]
async fn another_project_is_a_404() {
    let mut site = Site::start().await;
    site.client.project_id = "0123456789abcdef0123456789abcdef".into();
    let reply = site.get("/training-jobs/x").await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    let own = site.emulator.project_id();
    assert_eq!(
        reply.json(),
        json!({
            "error_msg": format!("The project ID (0123456789abcdef0123456789abcdef) in the \
                 request does not match that({own}) in the token."),
            "error_code": "ModelArts.2786",
            "error_solution": "Change the request token or change the project ID in the request.",
        })
    );
}

#[tokio::test]
async fn unimplemented_operations_are_a_501_with_a_message() {
    let site = Site::start().await;
    let id = site.create(&site.script("model", "")).await;
    for (method, path) in [
        // Operations of fine-tuning jobs.
        (Method::GET, format!("/training-jobs/{id}/ft-detail")),
        (Method::POST, format!("/training-jobs/{id}/ft-artifacts/publish")),
        // Paths with a reserved word in place of an ID.
        (Method::GET, "/training-jobs/autosearch".to_owned()),
        (Method::GET, "/training-jobs/autosearch/events".to_owned()),
        (Method::GET, "/training-jobs/".to_owned()),
    ] {
        let reply = site.send(method.clone(), &path, Vec::new()).await;
        assert_eq!(reply.status, StatusCode::NOT_IMPLEMENTED, "{method} {path}");
        let project = site.emulator.project_id();
        let reason = match path.contains("/ft-") {
            true => " No source tells which products and metrics a fine-tuning job has.",
            false => "",
        };
        assert_eq!(
            reply.json(),
            json!({
                "error_code": "Emulator.0501",
                "error_msg": format!("This emulator does not model {method} /v2/{project}{path}, \
                     so it refuses instead of guessing what the service would do.{reason}"),
            })
        );
    }
    // Requests outside of the API are rejected with 501, and need no signature.
    let login = site.client.http.post(format!("{}/v3/users", site.emulator.url()));
    assert_eq!(login.send().await.unwrap().status(), StatusCode::NOT_IMPLEMENTED);
}

#[tokio::test]
async fn a_method_that_no_document_has_is_a_405() {
    let site = Site::start().await;
    let id = site.create(&site.script("model", "")).await;
    for (method, path, allowed) in [
        (Method::GET, "/training-jobs".to_owned(), "POST"),
        (Method::HEAD, format!("/training-jobs/{id}"), ""),
        (Method::PATCH, format!("/training-jobs/{id}"), "GET,HEAD,PUT,DELETE"),
        (Method::TRACE, "/training-job-searches".to_owned(), "POST"),
        // A reserved word is not a valid ID.
        (Method::GET, "/training-jobs/batch-delete".to_owned(), "POST"),
        (Method::DELETE, "/training-jobs/batch-delete".to_owned(), "POST"),
    ] {
        let reply = site.send(method.clone(), &path, Vec::new()).await;
        assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        if method == Method::HEAD {
            continue;
        }
        assert_eq!(reply.headers["allow"], allowed, "{method} {path}");
        reply.refused(405, "ModelArts.2803");
    }
}

#[tokio::test]
async fn a_name_is_taken_until_its_job_is_gone() {
    let site = Site::start().await;
    let job = site.script("twin", "");
    let id = site.create(&job).await;
    let reply = site.post("/training-jobs", &job).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert_eq!(
        reply.json(),
        json!({
            "error_msg": "Duplicate training job (name twin).",
            "error_code": "ModelArts.2751",
            "error_solution": "Change training job name.",
        })
    );
    assert_eq!(site.delete(&format!("/training-jobs/{id}")).await.status, StatusCode::ACCEPTED);
    site.emulator.wait_until_gone(&id).await;
    site.create(&job).await;
}

#[tokio::test]
async fn only_active_jobs_are_terminated_and_only_so() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let id = site.create(&site.script("active", &(gate.python() + "gate()"))).await;
    let waiting = gate.reached().await;
    let path = format!("/training-jobs/{id}/actions");
    for (body, code, message) in [
        (json!({}), 2788, "Invalid parameter(action_type is required)."),
        (json!({"action_type": 1}), 2788, "Invalid parameter(action_type must be a string)."),
        (
            json!({"action_type": "stop"}),
            2788,
            "Invalid parameter(action_type must be one of [terminate restart]).",
        ),
    ] {
        let reply = site.post(&path, &body).await;
        assert_eq!(reply.error(), (400, format!("ModelArts.{code}")));
        assert_eq!(reply.json()["error_msg"], message);
    }
    let restart = json!({"action_type": "restart"});
    let reply = site.post(&path, &restart).await;
    reply.refused(501, "Emulator.0501");
    let reply = site.terminate(&id).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED);
    let job = reply.json();
    assert_eq!(job["status"]["phase"], "Terminating");
    assert_eq!(job["status"]["secondary_phase"], "Terminating");
    assert_eq!(job["metadata"]["user_name"], "emulator");
    waiting.wait_until_gone().await;
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.phase(&id).await, "Terminated");
    let reply = site.terminate(&id).await;
    assert_eq!(reply.status, StatusCode::CONFLICT);
    assert_eq!(
        reply.json(),
        json!({
            "error_msg": "The job cannot be terminated.",
            "error_code": "ModelArts.2796",
            "error_solution": "Check whether the job status is valid.",
        })
    );
}

#[tokio::test]
async fn a_deletion_is_asynchronous_and_leaves_nothing() {
    let mut timing = Timing::instant();
    timing.deleting = Duration::from_secs(10);
    let clock = std::sync::Arc::new(modelarts_emulator::clock::ManualClock::at(
        std::time::SystemTime::now(),
    ));
    let site =
        Site::with(|builder| builder.timing(timing).clock(std::sync::Arc::clone(&clock) as _))
            .await;
    let id = site.run(&site.script("gone", "print(1)")).await;
    let path = format!("/training-jobs/{id}");
    let reply = site.delete(&path).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::ACCEPTED, "\"\""));
    // The job still exists, and its last event is that of the deletion.
    assert_eq!(
        site.messages(&id).await.last().unwrap(),
        "The training job has been manually deleted."
    );
    assert_eq!(site.delete(&path).await.status, StatusCode::ACCEPTED);
    assert!(site.worker(&id).exists());
    pass(&clock, Duration::from_secs(10)).await;
    site.emulator.wait_until_gone(&id).await;
    site.get(&path).await.refused(400, "ModelArts.2775");
    assert!(!site.worker(&id).exists());
}

#[tokio::test]
async fn the_log_is_a_204_before_its_first_byte() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let script = gate.python() + "gate()\nprint('Grüße', flush=True)\ngate()\n";
    let id = site.create(&site.script("log", &script)).await;
    let path = format!("/training-jobs/{id}/tasks/worker-0/logs/preview");
    let waiting = gate.reached().await;
    let reply = site.get(&path).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::NO_CONTENT, ""));
    waiting.let_through().await;
    let waiting = gate.reached().await;
    let reply = site.get(&path).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.json(), json!({"content": "Grüße\n", "current_size": 8, "full_size": 8}));
    waiting.let_through().await;

    let reply = site.get(&format!("/training-jobs/{id}/tasks/worker-1/logs/preview")).await;
    reply.refused(400, "ModelArts.2788");
    assert_eq!(
        reply.json()["error_msg"],
        "Invalid parameter(task_id worker-1 is not a task of the job)."
    );
}

#[tokio::test]
async fn a_long_log_is_cut_at_its_beginning() {
    let site = Site::start().await;
    // The log consists of one odd byte and six megabytes of two-byte characters, so that the size
    // limit falls within a character.
    let script = "import sys\nsys.stdout.buffer.write(b'x' + 'é'.encode() * 3000000)\n";
    let id = site.run(&site.script("long", script)).await;
    let reply = site.get(&format!("/training-jobs/{id}/tasks/worker-0/logs/preview")).await;
    let log = reply.json();
    assert_eq!(log["full_size"], 6_000_001);
    assert_eq!(log["current_size"], 5 * 1024 * 1024);
    let content = log["content"].as_str().unwrap();
    assert_eq!(content.len(), 5 * 1024 * 1024);
    assert!(content.chars().all(|c| c == 'é'));
}

/// An in-process request receives the same response as a request over the socket.
#[tokio::test]
async fn a_request_in_process_is_answered_as_over_the_socket() {
    let site = Site::start().await;
    site.run(&site.script("listed", "")).await;
    let target = format!("/v2/{}/training-job-searches", site.client.project_id);
    for body in ["{}", "{\"limit\": 0}"] {
        let signed = || {
            let body = body.as_bytes().to_vec();
            let request = site.signed(Method::POST, &target, body, SystemTime::now());
            request.build().unwrap()
        };
        let mut over_socket = Reply::of(site.client.http.execute(signed()).await.unwrap()).await;

        let mut request = axum::http::Request::try_from(signed()).unwrap().map(Body::new);
        // Over the socket, the client adds the header when it sends the request.
        let host = request.uri().authority().unwrap().as_str().parse().unwrap();
        request.headers_mut().insert(HOST, host);
        let response = site.emulator.router().oneshot(request).await.unwrap();
        let (mut parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();

        for headers in [&mut over_socket.headers, &mut parts.headers] {
            // The request ID is unique for each request, and the time may differ.
            assert!(headers.remove("x-request-id").is_some());
            assert!(headers.remove(DATE).is_some());
        }
        assert_eq!(parts.status, over_socket.status);
        assert_eq!(parts.headers, over_socket.headers);
        let mut bodies = [serde_json::from_slice(&body).unwrap(), over_socket.json()];
        for body in &mut bodies {
            body.as_object_mut().unwrap().remove("request_id");
        }
        assert_eq!(bodies[0], bodies[1]);
    }
}
