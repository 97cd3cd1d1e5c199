//! Flags of the program that other tests do not cover, each with an observable effect.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    cli::kills,
    support::program::{Program, serve_with},
};

/// Writes a JSON file and returns its path.
fn file(place: &Path, name: &str, content: &Value) -> String {
    let path = place.join(name);
    std::fs::write(&path, content.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn job(name: &str) -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": name},
        "algorithm": {"engine": {"image_url": "org/image:1"}, "command": "true"},
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u"}},
    })
}

async fn create(program: &Program, job: &Value) -> String {
    let reply = program.client.post("/training-jobs", job).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    reply.json()["metadata"]["id"].as_str().unwrap().to_owned()
}

async fn status(program: &Program, id: &str) -> Value {
    let details = program.client.get(&format!("/training-jobs/{id}")).await;
    details.json()["status"].take()
}

async fn log(program: &Program, id: &str) -> String {
    let path = format!("/training-jobs/{id}/tasks/worker-0/logs/preview");
    let log = program.client.get(&path).await.json();
    log["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn flags_of_simulated_jobs() {
    let place = tempfile::tempdir().unwrap();
    let users =
        json!([{"name": "ann", "project_id": "p-ann", "access_key": "A", "secret_key": "S"}]);
    let run = json!({"seconds": 1, "exit_code": 3, "log": ["more than ten bytes"]});
    let flags = json!({
        "users": file(place.path(), "users.json", &users),
        "script": file(place.path(), "script.json", &json!({"default": [run]})),
        "runner": "simulated", "clock": "manual", "cloud": "otc", "strict": true, "speed": 4,
            "log-cap": 10,
        "restart-on": "fault", "wording": "guide", "public-nodes": 1,
        "encrypted-bucket": ["locked"],
    });
    let config = file(place.path(), "config.json", &flags);
    let program = serve_with(place.path(), &["--config", &config]).await;
    let client = &program.client;
    // --users: the ready line contains the project and the access key of the first user in the
    // file.
    assert_eq!((client.project_id.as_str(), client.access_key.as_str()), ("p-ann", "A"));
    let pass = async |seconds: f64| {
        let body = json!({"advance_seconds": seconds}).to_string();
        let url = format!("{}/_emulator/clock", client.url);
        let moved = client.http.post(url).body(body).send().await.unwrap();
        assert_eq!(moved.status(), 200);
    };
    // --cloud: Open Telekom Cloud permits at most three retries, and offers no operation for
    // quotas.
    let mut fails = job("fails");
    fails["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "4"});
    let reply = client.post("/training-jobs", &fails).await;
    reply.refused(400, "ModelArts.2788");
    let reply = client.get("/training-quotas").await;
    reply.refused(404, "APIGW.0101");
    // --strict: a field that the emulator only stores is rejected.
    let mut stored = job("stored");
    stored["spec"]["runtime_type"] = "debug".into();
    let reply = client.post("/training-jobs", &stored).await;
    reply.refused(501, "Emulator.0501");
    fails["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "3"});
    let id = create(&program, &fails).await;
    // --speed: Creating takes 2.4 seconds on the service; with this flag, it takes a quarter of
    // this time.
    pass(0.5).await;
    assert_eq!(status(&program, &id).await["phase"], "Creating");
    pass(0.2).await;
    assert_eq!(status(&program, &id).await["phase"], "Pending");
    pass(60.0).await;
    let ended = status(&program, &id).await;
    assert_eq!(ended["phase"], "Failed");
    // --restart-on: the job is not restarted, because its code failed and not the machine.
    assert_eq!(ended["running_records"].as_array().unwrap().len(), 1);
    // --log-cap: the log consists of ten bytes and a message.
    let log = log(&program, &id).await;
    assert!(log.starts_with("more than \nmodelarts-pope: log length overflow(max:10;"), "{log}");
    // --wording: the event text is that of the events guide.
    let events = client.get(&format!("/training-jobs/{id}/events?limit=100")).await;
    assert!(events.text.contains("The training job starts to run."), "{}", events.text);
    // --public-nodes: a job that requests two nodes waits, because only one node exists.
    let mut large = job("large");
    large["spec"]["resource"]["node_count"] = 2.into();
    let id = create(&program, &large).await;
    pass(60.0).await;
    assert_eq!(status(&program, &id).await["phase"], "Pending");
    // --encrypted-bucket: jobs cannot use the bucket.
    let mut locked = job("locked");
    locked["spec"]["log_export_path"] = json!({"obs_url": "/locked/logs/"});
    let reply = client.post("/training-jobs", &locked).await;
    assert!(reply.text.contains("the bucket is encrypted"), "{}", reply.text);
}

#[tokio::test]
async fn flags_of_jobs_that_run() {
    let place = tempfile::tempdir().unwrap();
    let put = |below: &str, content: &str| {
        let path = place.path().join(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    put("sets/flowers/v1/rose", "red");
    put("nfs/10.0.0.1/share/a", "shared");
    put("obs/bucket/code/requirements.txt", "none\n");
    put("obs/bucket/code/train.py", "");
    let directory = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let flags = json!({
        "datasets": directory("sets"), "nfs-root": directory("nfs"), "no-packages": true,
        "show-secrets": true, "organization": ["team"], "container": "none",
    });
    let config = file(place.path(), "config.json", &flags);
    // The repeated requests write so many messages that an unread pipe would fill up.
    let program = kills::start(place.path(), &["--config", &config]).await;
    let mut job = job("runs");
    job["algorithm"] = json!({
        "code_dir": "/bucket/code/",
        "engine": {"image_url": "org/image:1"},
        "command": "cat $data_url/rose $MA_HOME/nfs/a",
        "environments": {"MODE": "fast"},
        "inputs": [{
            "name": "data_url", "access_method": "env",
            "remote": {"dataset": {"id": "flowers", "version_id": "v1"}},
        }],
    });
    job["spec"] = json!({
        "resource": {"pool_id": "pool-cpu"},
        "volumes": [{"nfs": {"nfs_server_path": "10.0.0.1:/share",
            "local_path": "/home/ma-user/nfs"}}],
    });
    let id = create(&program, &job).await;
    // --show-secrets: the last requests include the values of environment variables.
    let url = format!("{}/_emulator/requests/last", program.client.url);
    let last = program.client.http.get(url).send().await.unwrap();
    let last: Value = serde_json::from_str(&last.text().await.unwrap()).unwrap();
    let created = &last[0]["body"]["algorithm"];
    assert_eq!(created["environments"], json!({"MODE": "fast"}));
    // No API operation waits for the end of a job, so that the test polls the job.
    while !["Completed", "Failed", "Abnormal"]
        .contains(&status(&program, &id).await["phase"].as_str().unwrap())
    {}
    assert_eq!(
        log(&program, &id).await,
        "[ModelArts Service Log] requirements.txt: this emulator installs no packages\nredshared"
    );
    // --organization: images cannot be saved to another organization.
    let path = format!("/training-jobs/{id}/tasks/worker-0/save-image-job");
    let foreign = json!({"name": "lab", "namespace": "others", "tag": "1"});
    let reply = program.client.post(&path, &foreign).await;
    reply.refused(400, "ModelArts.2885");
    let path = format!("/training-jobs/{id}");
    let reply = program.client.send(Method::DELETE, &path, Vec::new()).await;
    assert_eq!(reply.status, 202);
}
