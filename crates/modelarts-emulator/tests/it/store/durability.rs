//! Tests that acknowledged changes are preserved when the emulator is killed.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{
    Emulator, Timing,
    clock::ManualClock,
    jobs::RunnerKind,
    pools::{Pool, PoolKind},
    script::Script,
};
use serde_json::{Value, json};

use crate::support::{Gate, Site};

/// Ends a site, and starts a new site on the same directories.
async fn again(site: Site, data: &Path) -> Site {
    let obs = site.emulator.obs_root().to_owned();
    drop(site);
    Site::with(|builder| builder.data_dir(data).obs_root(obs)).await
}

#[tokio::test]
async fn jobs_continue_after_a_restart_of_the_emulator() {
    let data = tempfile::tempdir().unwrap();
    let obs = tempfile::tempdir().unwrap();
    let first = Site::with(|builder| builder.data_dir(data.path()).obs_root(obs.path())).await;
    let gate = Gate::new().await;
    let done = first.run(&first.script("done", "print('kept')")).await;
    let before = first.details(&done).await;
    let events = first.messages(&done).await;
    let running = first.create(&first.script("running", &(gate.python() + "gate()"))).await;
    let _waiting = gate.reached().await;
    let project = first.client.project_id.clone();
    let second = again(first, data.path()).await;
    assert_eq!(second.client.project_id, project);
    assert_eq!(second.details(&done).await, before);
    assert_eq!(second.messages(&done).await, events);
    assert_eq!(second.log(&done).await, "kept\n");
    // The job is restarted, as after a node fault.
    gate.reached().await.let_through().await;
    second.emulator.wait_for(&running, "Completed").await.unwrap();
    let status = second.details(&running).await["status"].clone();
    let records = status["running_records"].as_array().unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(records[0]["end_reason"], "node fault");
    assert_eq!(records[0]["end_recover"], "job_reschedule_with_taint");
    assert_eq!(records[1]["end_reason"], "job completed");
    // An acknowledged deletion stays in effect.
    second.delete(&format!("/training-jobs/{done}")).await;
    second.emulator.wait_until_gone(&done).await;
    let third = again(second, data.path()).await;
    let reply = third.get(&format!("/training-jobs/{done}")).await;
    reply.refused(400, "ModelArts.2775");
}

#[tokio::test]
async fn without_a_directory_nothing_is_kept() {
    let emulator = Emulator::builder().timing(Timing::instant()).start().await.unwrap();
    assert!(!emulator.data_dir().join("state.sqlite3").exists());
}

/// State other than that of jobs is preserved as well.
#[tokio::test]
async fn everything_else_is_kept_too() {
    let data = tempfile::tempdir().unwrap();
    let obs = tempfile::tempdir().unwrap();
    let first =
        Site::with(|builder| builder.data_dir(data.path()).obs_root(obs.path()).password("p"))
            .await;
    let id = first.run(&first.script("tagged", "print('ran')")).await;
    let job = format!("/training-jobs/{id}");
    let tags = json!({"tags": [{"key": "team", "value": "blue"}]});
    let tagged = first.post(&format!("/modelarts-training-job/{id}/tags/create"), &tags).await;
    assert_eq!(tagged.status, 204);
    let body = json!({
        "metadata": {"name": "kept"},
        "job_config": {
            "code_dir": "obs://bucket/tagged/code/",
            "boot_file": "obs://bucket/tagged/code/train.py",
            "engine": {"engine_id": "pytorch-cp36-1.3.0"},
        },
    });
    let algorithm = first.post("/algorithms", &body).await;
    assert_eq!(algorithm.status, 201, "{}", algorithm.text);
    let body = json!({"metadata": {"name": "kept"}});
    let experiment = first.post("/training-experiments", &body).await;
    assert_eq!(experiment.status, 201, "{}", experiment.text);
    let quotas = json!({"user_id": "u", "quotas": [{"resource": "job-num", "quota": 77}]});
    let changed =
        first.send(reqwest::Method::PUT, "/training-quotas", quotas.to_string().into_bytes()).await;
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
        format!("/algorithms/{}", algorithm.json()["metadata"]["id"].as_str().unwrap()),
        format!("/training-experiments/{}", experiment.json()["metadata"]["id"].as_str().unwrap()),
        "/training-quotas".to_owned(),
    ];
    let mut before = Vec::new();
    for place in &places {
        let reply = first.get(place).await;
        assert!(reply.status.is_success(), "{place}: {}", reply.text);
        before.push(reply.text);
    }
    let second = again(first, data.path()).await;
    for (place, before) in places.iter().zip(before) {
        assert_eq!(second.get(place).await.text, before, "{place}");
    }
    let url = format!("{}/v2/{}{job}", second.client.url, second.client.project_id);
    let by_token = second.client.http.get(url).header("x-auth-token", token);
    assert_eq!(by_token.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_directory_in_use_is_refused_and_unchanged() {
    let data = tempfile::tempdir().unwrap();
    let first = Site::with(|builder| builder.data_dir(data.path())).await;
    let gate = Gate::new().await;
    let id = first.create(&first.script("running", &(gate.python() + "gate()"))).await;
    let waiting = gate.reached().await;
    let error = Emulator::builder().data_dir(data.path()).start().await;
    assert_eq!(
        error.unwrap_err().to_string(),
        format!(
            "cannot use state.sqlite3 in the data directory {}: another emulator runs on it: end \
             that one, or choose another data directory",
            first.emulator.data_dir().display()
        )
    );
    waiting.let_through().await;
    first.emulator.wait_for(&id, "Completed").await.unwrap();
}

/// Configuration of sites with simulated jobs on a manual clock, in a pool with one node.
struct Hours {
    data: tempfile::TempDir,
    clock: Arc<ManualClock>,
    script: Script,
}

impl Hours {
    fn new(script: &Value) -> Self {
        Self {
            data: tempfile::tempdir().unwrap(),
            clock: Arc::new(ManualClock::at(SystemTime::now())),
            script: Script::from_json(&script.to_string()).unwrap(),
        }
    }

    /// Starts the next emulator on the same directory, at the current time of the clock.
    async fn start(&self) -> Site {
        self.start_with("one").await
    }

    async fn start_with(&self, pool: &str) -> Site {
        Site::with(|builder| {
            builder
                .data_dir(self.data.path().join("data"))
                .obs_root(self.data.path().join("obs"))
                .clock(Arc::clone(&self.clock) as _)
                .runner(RunnerKind::Simulated(self.script.clone()))
                .pool(Pool::new(pool, PoolKind::Cpu, 1))
                .token("t")
        })
        .await
    }
}

async fn minutes(site: &Site, minutes: u64) {
    let time = Duration::from_secs(60 * minutes);
    assert!(site.emulator.advance(time).await);
}

/// Sends a request with a token, because signatures would expire as the clock advances.
async fn by_token(site: &Site, below: &str, body: Option<&Value>) -> Value {
    let (url, project) = (site.emulator.url(), site.emulator.project_id());
    let url = format!("{url}/v2/{project}/training-jobs{below}");
    let request = match body {
        None => site.client.http.get(url),
        Some(body) => site.client.http.post(url).body(body.to_string()),
    };
    let answer = request.header("x-auth-token", "t").send().await.unwrap();
    serde_json::from_str(&answer.text().await.unwrap()).unwrap()
}

async fn queue(site: &Site, name: &str, priority: u32, annotations: Value) -> String {
    let mut job = site.script(name, "");
    job["metadata"]["annotations"] = annotations;
    job["spec"] = json!({
        "resource": {"pool_id": "one"},
        "schedule_policy": {"priority": priority},
    });
    let created = by_token(site, "", Some(&job)).await;
    let id = created["metadata"]["id"].as_str();
    id.unwrap_or_else(|| panic!("{created}")).to_owned()
}

async fn phases(site: &Site, ids: &[&str]) -> Vec<String> {
    let mut phases = Vec::new();
    for id in ids {
        let job = by_token(site, &format!("/{id}"), None).await;
        phases.push(job["status"]["phase"].as_str().unwrap().to_owned());
    }
    phases
}

/// A job that never ran keeps its position in the queue and its unlimited waiting time, and
/// receives no precedence.
#[tokio::test]
async fn jobs_that_never_ran_wait_on_after_a_restart() {
    let hours = Hours::new(&json!({"default": [{"seconds": 3600}]}));
    let first = hours.start().await;
    let runs = queue(&first, "runs", 1, json!({})).await;
    let early = queue(&first, "early", 1, json!({})).await;
    let late = queue(&first, "late", 1, json!({})).await;
    minutes(&first, 1).await;
    drop(first);
    let second = hours.start().await;
    let urgent = queue(&second, "urgent", 2, json!({})).await;
    let all = [&runs, &urgent, &early, &late].map(String::as_str);
    for at in 0..all.len() {
        // The time exceeds the limit for restarted jobs. The first job is restarted from the
        // beginning.
        minutes(&second, 31).await;
        let mut expected = vec!["Pending"; all.len()];
        expected[..at].fill("Completed");
        expected[at] = "Running";
        assert_eq!(phases(&second, &all).await, expected);
        minutes(&second, 29).await;
    }
    assert_eq!(phases(&second, &all).await, ["Completed"; 4]);
}

/// Retries used before a restart of the emulator still count.
#[tokio::test]
async fn retries_are_counted_over_a_restart() {
    let hours = Hours::new(&json!({"default": [{"seconds": 60, "exit_code": 1}]}));
    let first = hours.start().await;
    let retries = json!({"fault-tolerance/job-retry-num": "2"});
    let id = queue(&first, "fails", 1, retries).await;
    // The first emulator ends half a minute after the start of the second run.
    assert!(first.emulator.advance(Duration::from_secs(90)).await);
    drop(first);
    let second = hours.start().await;
    minutes(&second, 10).await;
    let job = by_token(&second, &format!("/{id}"), None).await;
    assert_eq!(job["status"]["phase"], "Failed");
    let records = job["status"]["running_records"].as_array().unwrap();
    let reasons: Vec<&str> =
        records.iter().map(|record| record["end_reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["exit with 1", "node fault", "exit with 1", "exit with 1"]);
}

/// The emulator does not move jobs to the nodes of another pool.
#[tokio::test]
async fn jobs_whose_pool_has_gone_fail() {
    let hours = Hours::new(&json!({"default": [{"seconds": 3600}]}));
    let first = hours.start().await;
    let runs = queue(&first, "runs", 1, json!({})).await;
    let waits = queue(&first, "waits", 1, json!({})).await;
    minutes(&first, 1).await;
    drop(first);
    let second = hours.start_with("other").await;
    minutes(&second, 1).await;
    assert_eq!(phases(&second, &[&runs, &waits]).await, ["Failed"; 2]);
    for id in [&runs, &waits] {
        let events = by_token(&second, &format!("/{id}/events?limit=100"), None).await;
        let mut events = events["events"].as_array().unwrap().iter();
        assert!(events.any(|event| event["message"] == "Failed to be queued."));
    }
}
