//! The two clouds: their operations, and the gateway's response to operations that a cloud does not
//! offer.

use std::collections::HashSet;

use modelarts_emulator::Cloud;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Reply, Site, traffic::DESCRIPTION};

/// Returns each operation of the description: its method, its path with `x` in place of IDs, and
/// true if Open Telekom Cloud offers it. Leaves out the parts of the service in which the emulator
/// has no operation, because it denies none of theirs.
fn operations(site: &Site) -> Vec<(Method, String, bool)> {
    let modelled = site.emulator.requests();
    let mut parts = HashSet::new();
    let mut found = Vec::new();
    for (path, item) in DESCRIPTION.root()["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Some(clouds) = operation["x-clouds"].as_array() else {
                continue;
            };
            let path = path.strip_prefix("/v2/{project_id}").unwrap();
            if modelled.contains_key(operation["operationId"].as_str().unwrap()) {
                parts.insert(path.split('/').nth(1));
            }
            let steps = path.split('/').map(|step| match step.starts_with('{') {
                true => "x",
                false => step,
            });
            found.push((
                method.to_uppercase().parse().unwrap(),
                steps.collect::<Vec<_>>().join("/"),
                clouds.contains(&json!("otc")),
            ));
        }
    }
    found.retain(|(_, path, _)| parts.contains(&path.split('/').nth(1)));
    found
}

fn code(reply: &Reply) -> String {
    let body: Value = serde_json::from_str(&reply.text).unwrap_or_default();
    body["error_code"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn open_telekom_cloud_lacks_what_only_huawei_cloud_documents() {
    let otc = Site::with(|builder| builder.cloud(Cloud::Otc)).await;
    let huawei = Site::start().await;
    let operations = operations(&huawei);
    let in_both = operations.iter().filter(|(.., both)| *both).count();
    assert!(in_both >= 25, "{in_both}");
    assert!(operations.len() >= 55, "{}", operations.len());
    for (method, path, both) in operations {
        for (site, there) in [(&otc, both), (&huawei, true)] {
            let body = match method {
                Method::GET => Vec::new(),
                _ => b"{}".to_vec(),
            };
            let reply = site.send(method.clone(), &path, body).await;
            assert_eq!(code(&reply) != "APIGW.0101", there, "{method} {path}");
            if !there {
                assert_eq!(reply.status, 404, "{method} {path}");
            }
        }
    }
    // The gateway rejected the request, so that it is not counted.
    assert_eq!(otc.emulator.requests()["ShowTrainingQuotas"].received, 0);
    assert_eq!(huawei.emulator.requests()["ShowTrainingQuotas"].received, 1);
}

#[tokio::test]
async fn a_gateway_refuses_before_it_looks_at_credentials() {
    let site = Site::with(|builder| builder.cloud(Cloud::Otc)).await;
    for path in ["training-quotas", "training-jobs/x/route_plan"] {
        let url = format!("{}/v2/p/{path}", site.client.url);
        let reply = Reply::of(site.client.http.get(url).send().await.unwrap()).await;
        assert_eq!(reply.status, 404);
        let request_id = reply.headers["x-request-id"].to_str().unwrap();
        assert_eq!(
            reply.json(),
            json!({
                "error_msg": "The API does not exist or has not been published in the environment",
                "error_code": "APIGW.0101",
                "request_id": request_id,
            })
        );
    }
    for (method, path, there) in [
        (Method::DELETE, "/training-quotas", false),
        (Method::HEAD, "/training-quotas", false),
        (Method::PATCH, "/training-jobs/x/route_plan", false),
        (Method::PATCH, "/training-jobs/x", true),
        (Method::PATCH, "/job/training-job-engines", true),
    ] {
        let reply = site.send(method, path, Vec::new()).await;
        let status = if there { 405 } else { 404 };
        assert_eq!(reply.status, status, "{path}");
    }
    // The description does not cover other parts of ModelArts, so that the cloud may offer this
    // path.
    let reply = site.get("/pools").await;
    reply.refused(501, "Emulator.0501");
}

#[tokio::test]
async fn the_default_is_huawei_cloud() {
    let site = Site::with(|builder| builder.password("p")).await;
    let mut job = site.script("cloud", "");
    job["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "128"});
    let reply = site.post("/training-jobs", &job).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    assert_eq!(site.get("/training-experiments").await.status, 200);
}
