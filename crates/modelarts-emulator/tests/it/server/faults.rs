//! Responses changed by injected faults.

use modelarts_emulator::{
    faults::{Fault, FaultRule},
    traffic::RequestCount,
};
use serde_json::{Value, json};

use crate::support::{Reply, Site};

async fn control(site: &Site, method: reqwest::Method, path: &str, body: &Value) -> Reply {
    let request =
        site.client.http.request(method, format!("{}/_emulator{path}", site.emulator.url()));
    Reply::of(request.body(body.to_string()).send().await.unwrap()).await
}

fn counts(site: &Site, operation: &str) -> (u64, u64) {
    let RequestCount { received, executed, .. } = site.emulator.requests()[operation];
    (received, executed)
}

#[tokio::test]
async fn the_queue_is_read_filled_and_emptied_over_http() {
    let site = Site::start().await;
    let rule = json!({"operation": "ListTrainingJobs", "times": 2, "fault": "status",
        "status": 429, "retry_after": 1});
    let reply = control(&site, reqwest::Method::POST, "/faults", &rule).await;
    assert_eq!((reply.status.as_u16(), reply.json()), (201, rule.clone()));
    let search = site.post("/training-job-searches", &json!({})).await;
    assert_eq!(search.status, 429);
    assert_eq!(search.headers["retry-after"], "1");
    assert_eq!(
        search.json(),
        json!({"error_code": "ModelArts.2799", "error_msg": "services too many requests"})
    );
    let list = control(&site, reqwest::Method::GET, "/faults", &json!(null)).await;
    assert_eq!(
        list.json(),
        json!([{"operation": "ListTrainingJobs", "times": 1, "fault": "status", "status": 429,
            "retry_after": 1}])
    );
    assert_eq!(control(&site, reqwest::Method::DELETE, "/faults", &json!(null)).await.status, 204);
    assert_eq!(site.post("/training-job-searches", &json!({})).await.status, 200);

    let reply = control(
        &site,
        reqwest::Method::POST,
        "/faults",
        &json!({"operation": "x", "fault": "reset"}),
    )
    .await;
    reply.refused(400, "Emulator.0400");
    assert!(
        reply.json()["error_msg"]
            .as_str()
            .unwrap()
            .starts_with("unknown operation `x`, expected * or one of BatchDeleteTrainingJob, ")
    );

    let health = control(&site, reqwest::Method::GET, "/health", &json!(null)).await;
    assert_eq!(
        health.json(),
        json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "jobs": 0})
    );
    let requests = control(&site, reqwest::Method::GET, "/requests", &json!(null)).await;
    assert_eq!(requests.json()["ListTrainingJobs"], json!({"received": 2, "executed": 1}));
    assert_eq!(requests.json()["CreateTrainingJob"], json!({"received": 0, "executed": 0}));
    assert_eq!(control(&site, reqwest::Method::GET, "/unknown", &json!(null)).await.status, 501);
}

#[tokio::test]
async fn statuses_and_pages_replace_the_answer() {
    let site = Site::start().await;
    let job = site.script("status", "");
    site.emulator.faults().add(FaultRule::once("*", Fault::status(503))).unwrap();
    let reply = site.post("/training-jobs", &job).await;
    reply.refused(503, "Emulator.0503");
    assert_eq!(reply.headers.get("retry-after"), None);

    let renew = Fault::error(401, "APIGW.0307", "The token must be updated");
    site.emulator.faults().add(FaultRule::once("CreateTrainingJob", renew)).unwrap();
    let reply = site.post("/training-jobs", &job).await;
    assert_eq!(
        reply.json(),
        json!({"error_code": "APIGW.0307", "error_msg": "The token must be updated"})
    );

    site.emulator
        .faults()
        .add(FaultRule::once("CreateTrainingJob", Fault::Html { status: 502 }))
        .unwrap();
    let reply = site.post("/training-jobs", &job).await;
    assert_eq!(
        (reply.status.as_u16(), reply.headers["content-type"].to_str().unwrap()),
        (502, "text/html")
    );
    assert!(reply.text.contains("<h1>502 Bad Gateway</h1>"), "{}", reply.text);
    assert_eq!(reply.headers["x-request-id"].len(), 32);

    // The operation was not executed, and the fault does not affect the next response.
    assert_eq!(counts(&site, "CreateTrainingJob"), (3, 0));
    site.create(&job).await;
    assert_eq!(counts(&site, "CreateTrainingJob"), (4, 1));
}

#[tokio::test]
async fn connections_are_reset_before_the_answer() {
    let site = Site::start().await;
    let job = site.script("reset", "");
    let target = format!("/v2/{}/training-jobs", site.emulator.project_id());
    let send = async || {
        let body = job.to_string().into_bytes();
        let request =
            site.signed(reqwest::Method::POST, &target, body, std::time::SystemTime::now());
        request.send().await
    };
    for (fault, executed) in [(Fault::Reset, 0), (Fault::LostAnswer, 1)] {
        site.emulator.faults().add(FaultRule::once("CreateTrainingJob", fault.clone())).unwrap();
        let error = send().await.unwrap_err();
        assert!(error.is_request(), "{error:?}");
        assert!(format!("{error:?}").contains("ConnectionReset"), "{error:?}");
        assert_eq!(counts(&site, "CreateTrainingJob").1, executed, "{fault:?}");
    }
    // The job exists, although the response to its create request was dropped.
    Reply::of(send().await.unwrap()).await.refused(400, "ModelArts.2751");
}

#[tokio::test]
async fn responses_are_cut_in_the_middle() {
    let site = Site::start().await;
    let id = site.create(&site.script("half", "")).await;
    site.emulator.faults().add(FaultRule::once("*", Fault::ResetMidBody)).unwrap();
    let target = format!("/v2/{}/training-jobs/{id}", site.emulator.project_id());
    let request =
        site.signed(reqwest::Method::GET, &target, Vec::new(), std::time::SystemTime::now());
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.content_length().unwrap() > 100);
    assert!(response.text().await.is_err());
    assert_eq!(counts(&site, "ShowTrainingJobDetails"), (1, 1));
    assert_eq!(site.details(&id).await["metadata"]["id"], id);
}

#[tokio::test]
async fn responses_have_undocumented_values() {
    let site = Site::start().await;
    let id = site.run(&site.script("odd", "")).await;
    let phase = Fault::UnknownPhase { phase: "Hibernating".into() };
    for operation in ["ShowTrainingJobDetails", "ListTrainingJobs"] {
        site.emulator.faults().add(FaultRule::once(operation, phase.clone())).unwrap();
    }
    assert_eq!(site.details(&id).await["status"]["phase"], "Hibernating");
    let list = site.post("/training-job-searches", &json!({})).await.json();
    assert_eq!(list["items"][0]["status"]["secondary_phase"], "Hibernating");
    assert_eq!(site.phase(&id).await, "Completed");

    let phase = "Hibernating".to_owned();
    let secondary = Fault::UnknownSecondaryPhase { phase };
    let rule = FaultRule::once("ShowTrainingJobDetails", secondary);
    site.emulator.faults().add(rule).unwrap();
    let status = site.details(&id).await["status"].clone();
    assert_eq!(
        (&status["phase"], &status["secondary_phase"]),
        (&json!("Completed"), &json!("Hibernating"))
    );

    for operation in ["ListTrainingJobEvents", "ListTrainingJobs"] {
        site.emulator.faults().add(FaultRule::once(operation, Fault::TotalsAsText)).unwrap();
    }
    let events = site.get(&format!("/training-jobs/{id}/events?limit=1")).await.json();
    assert_eq!(
        (&events["total"], &events["limit"], &events["offset"]),
        (&json!("12"), &json!("1"), &json!("0"))
    );
    let list = site.post("/training-job-searches", &json!({})).await.json();
    assert_eq!((&list["total"], &list["count"]), (&json!("1"), &json!("1")));
}

#[tokio::test]
async fn answers_come_late() {
    let (site, clock) = Site::standing_still().await;
    let id = site.create(&site.script("late", "")).await;
    site.emulator.faults().add(FaultRule::once("*", Fault::Delay { ms: 60_000 })).unwrap();
    let path = format!("/training-jobs/{id}");
    let answer = site.get(&path);
    tokio::pin!(answer);
    let asleep = async {
        while clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        reply = &mut answer => panic!("too early: {}", reply.text),
        () = asleep => {}
    }
    assert_eq!(counts(&site, "ShowTrainingJobDetails"), (1, 1));
    clock.advance(std::time::Duration::from_secs(60));
    assert_eq!(answer.await.status, 200);
}

#[tokio::test]
async fn wrong_signatures_use_up_no_fault() {
    let mut site = Site::start().await;
    site.emulator.faults().add(FaultRule::once("*", Fault::Reset)).unwrap();
    let secret = std::mem::replace(&mut site.client.secret_key, "wrong".into());
    assert_eq!(site.get("/training-jobs/x").await.status, 401);
    assert_eq!(site.emulator.faults().list().len(), 1);
    assert_eq!(counts(&site, "ShowTrainingJobDetails"), (0, 0));
    site.client.secret_key = secret;
}

#[tokio::test]
async fn lists_are_null_and_retry_after_is_a_date() {
    let clock = std::sync::Arc::new(modelarts_emulator::clock::ManualClock::at(
        std::time::SystemTime::now(),
    ));
    let site = Site::with(|builder| builder.clock(std::sync::Arc::clone(&clock) as _)).await;
    let rule = json!({"operation": "*", "fault": "status-until", "seconds": 90});
    let reply = control(&site, reqwest::Method::POST, "/faults", &rule).await;
    assert_eq!(reply.json()["status"], 429);
    let reply = site.get("/training-jobs/x").await;
    reply.refused(429, "ModelArts.2799");
    let now = modelarts_emulator::clock::Clock::now(clock.as_ref());
    let until = jiff::Timestamp::try_from(now).unwrap() + jiff::SignedDuration::from_secs(90);
    let until = until.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    assert_eq!(reply.headers["retry-after"], until.as_str());

    site.create(&site.script("listed", "")).await;
    let rule = FaultRule::once("ListTrainingJobs", Fault::NullLists);
    site.emulator.faults().add(rule).unwrap();
    let search = async || site.post("/training-job-searches", &json!({})).await.json();
    let list = search().await;
    assert_eq!((&list["items"], &list["total"]), (&Value::Null, &json!(1)));
    assert_eq!(search().await["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_last_requests_are_shown_without_credentials() {
    let site = Site::start().await;
    let search = json!({"limit": 5});
    site.post("/training-job-searches", &search).await;
    site.get("/training-jobs/x?a=b c").await;
    let last = control(&site, reqwest::Method::GET, "/requests/last", &json!(null)).await;
    let project = site.emulator.project_id();
    let path = |below: &str| format!("/v2/{project}{below}");
    assert_eq!(
        last.json(),
        json!([
            {"operation": "ListTrainingJobs", "path": path("/training-job-searches"),
             "query": "", "body": search, "status": 200},
            {"operation": "ShowTrainingJobDetails", "path": path("/training-jobs/x"),
             "query": "a=b%20c", "body": null, "status": 400},
        ])
    );
    for _ in 0..300 {
        site.get("/training-jobs/y").await;
    }
    let last = site.emulator.last_requests();
    assert_eq!(last.len(), 256);
    assert!(last.iter().all(|request| request.path.ends_with("/y")));
}

/// The last requests include the values of variables and credentials only if this is enabled.
#[tokio::test]
async fn secrets_of_requests_are_masked_unless_asked_for() {
    let body = json!({
        "metadata": {"name": "secrets", "description": "a token"},
        "algorithm": {
            "environments": {"HF_TOKEN": "hf_1", "MODE": "fast"},
            "parameters": [
                {"name": "key", "value": "k-1", "constraint": {"sensitive": true}},
                {"name": "steps", "value": "7", "constraint": {"sensitive": false}},
            ],
        },
        "spec": {"remote": [{"userPassword": "p", "Access_Key": 5, "token": null, "port": 22}]},
    });
    let mut masked = body.clone();
    masked["algorithm"]["environments"] = json!({"HF_TOKEN": "***", "MODE": "***"});
    masked["algorithm"]["parameters"][0]["value"] = "***".into();
    masked["spec"]["remote"][0] =
        json!({"userPassword": "***", "Access_Key": "***", "token": null, "port": 22});
    for (show, expected) in [(false, &masked), (true, &body)] {
        let site = Site::with(|builder| builder.show_secrets(show)).await;
        site.post("/training-jobs", &body).await;
        let last = control(&site, reqwest::Method::GET, "/requests/last", &json!(null)).await;
        assert_eq!(last.json()[0]["body"], *expected, "{show}");
        assert_eq!(site.emulator.last_requests()[0].body, *expected, "{show}");
    }
}
