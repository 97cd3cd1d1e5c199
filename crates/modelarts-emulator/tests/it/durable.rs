//! What was acknowledged survives the death of the emulator.

use modelarts_emulator::{Emulator, Timing};
use serde_json::json;

use crate::support::{Gate, Site};

/// A site on the directories of another, which ends.
async fn again(site: Site, data: &std::path::Path) -> Site {
    let obs = site.emulator.obs_root().to_owned();
    drop(site);
    Site::with(|builder| builder.data_dir(data).obs_root(obs)).await
}

#[tokio::test]
async fn jobs_go_on_where_the_last_emulator_left_them() {
    let data = tempfile::tempdir().unwrap();
    let obs = tempfile::tempdir().unwrap();
    let first = Site::with(|builder| builder.data_dir(data.path()).obs_root(obs.path())).await;
    let gate = Gate::new().await;
    let done = first.run(&first.script("done", "print('kept')")).await;
    let before = first.details(&done).await;
    let events = first.messages(&done).await;
    let running = first
        .create(&first.script("running", &(gate.python() + "gate()")))
        .await;
    let _waiting = gate.reached().await;
    let project = first.client.project_id.clone();
    let second = again(first, data.path()).await;
    assert_eq!(second.client.project_id, project);
    assert_eq!(second.details(&done).await, before);
    assert_eq!(second.messages(&done).await, events);
    assert_eq!(second.log(&done).await, "kept\n");
    // It runs again, as after the fault of a node.
    gate.reached().await.let_through().await;
    second
        .emulator
        .wait_for(&running, "Completed")
        .await
        .unwrap();
    let status = second.details(&running).await["status"].clone();
    let records = status["running_records"].as_array().unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(records[0]["end_reason"], "node fault");
    assert_eq!(records[0]["end_recover"], "job_reschedule_with_taint");
    assert_eq!(records[1]["end_reason"], "job completed");
    // A deletion that was acknowledged is one.
    second
        .client
        .delete(&format!("/training-jobs/{done}"))
        .await;
    second.emulator.gone(&done).await;
    let third = again(second, data.path()).await;
    let reply = third.client.get(&format!("/training-jobs/{done}")).await;
    assert_eq!(reply.error(), (400, "ModelArts.2775".to_owned()));
}

#[tokio::test]
async fn without_a_directory_nothing_is_kept() {
    let emulator = Emulator::builder()
        .timing(Timing::instant())
        .start()
        .await
        .unwrap();
    assert!(!emulator.data_dir().join("state.sqlite3").exists());
}

/// What is not a job is kept as well.
#[tokio::test]
async fn everything_else_is_kept_too() {
    let data = tempfile::tempdir().unwrap();
    let obs = tempfile::tempdir().unwrap();
    let first = Site::with(|builder| {
        builder
            .data_dir(data.path())
            .obs_root(obs.path())
            .password("p")
    })
    .await;
    let id = first.run(&first.script("tagged", "print('ran')")).await;
    let job = format!("/training-jobs/{id}");
    let tags = json!({"tags": [{"key": "team", "value": "blue"}]});
    let tagged = first
        .client
        .post(&format!("/modelarts-training-job/{id}/tags/create"), &tags)
        .await;
    assert_eq!(tagged.status, 204);
    let body = json!({
        "metadata": {"name": "kept"},
        "job_config": {
            "code_dir": "obs://bucket/tagged/code/",
            "boot_file": "obs://bucket/tagged/code/train.py",
            "engine": {"engine_id": "pytorch-cp36-1.3.0"},
        },
    });
    let algorithm = first.client.post("/algorithms", &body).await;
    assert_eq!(algorithm.status, 201, "{}", algorithm.text);
    let body = json!({"metadata": {"name": "kept"}});
    let experiment = first.client.post("/training-experiments", &body).await;
    assert_eq!(experiment.status, 201, "{}", experiment.text);
    let quotas = json!({"user_id": "u", "quotas": [{"resource": "job-num", "quota": 77}]});
    let changed = first
        .client
        .send(
            reqwest::Method::PUT,
            "/training-quotas",
            quotas.to_string().into_bytes(),
        )
        .await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let login = json!({"auth": {
        "identity": {
            "methods": ["password"],
            "password": {"user": {"name": "emulator", "password": "p"}},
        },
        "scope": {"project": {"id": first.client.project_id}},
    }});
    let url = format!("{}/v3/auth/tokens", first.client.url);
    let login = first.client.http.post(url).body(login.to_string()).send();
    let token = login.await.unwrap().headers()["x-subject-token"].clone();

    let places = [
        job.clone(),
        format!("/modelarts-training-job/{id}/tags"),
        format!("{job}/events"),
        format!(
            "/algorithms/{}",
            algorithm.json()["metadata"]["id"].as_str().unwrap()
        ),
        format!(
            "/training-experiments/{}",
            experiment.json()["metadata"]["id"].as_str().unwrap()
        ),
        "/training-quotas".to_owned(),
    ];
    let mut before = Vec::new();
    for place in &places {
        let reply = first.client.get(place).await;
        assert!(reply.status.is_success(), "{place}: {}", reply.text);
        before.push(reply.text);
    }
    let second = again(first, data.path()).await;
    for (place, before) in places.iter().zip(before) {
        assert_eq!(second.client.get(place).await.text, before, "{place}");
    }
    let url = format!("{}/v2/{}{job}", second.client.url, second.client.project_id);
    let by_token = second.client.http.get(url).header("x-auth-token", token);
    assert_eq!(by_token.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_directory_in_use_is_refused_and_nothing_in_it_is_touched() {
    let data = tempfile::tempdir().unwrap();
    let first = Site::with(|builder| builder.data_dir(data.path())).await;
    let gate = Gate::new().await;
    let id = first
        .create(&first.script("running", &(gate.python() + "gate()")))
        .await;
    let waiting = gate.reached().await;
    let error = Emulator::builder().data_dir(data.path()).start().await;
    assert_eq!(
        error.unwrap_err().to_string(),
        "cannot use state.sqlite3 in the data directory: another emulator runs on it: end that one, or choose another data directory"
    );
    waiting.let_through().await;
    first.emulator.wait_for(&id, "Completed").await.unwrap();
}
