//! Control routes: clock, reset, HTML errors, and processes left running by an earlier emulator.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{
    Emulator, Timing,
    clock::ManualClock,
    faults::{Fault, FaultRule},
    jobs::RunnerKind,
    script::Script,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Gate, Reply, Site, is_alive};

async fn post(site: &Site, path: &str, body: Value) -> Reply {
    let url = format!("{}{path}", site.emulator.url());
    let request = site.client.http.post(url).body(body.to_string());
    Reply::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn a_manual_clock_is_moved_over_http() {
    let clock = Arc::new(ManualClock::at(SystemTime::UNIX_EPOCH));
    let site = Site::with(|builder| builder.clock(clock as _)).await;
    let reply = post(&site, "/_emulator/clock", json!({"advance_seconds": 90})).await;
    assert_eq!(
        reply.json(),
        json!({"now": "1970-01-01T00:01:30.000000Z", "millis": 90_000, "manual": true})
    );
    for body in [json!({}), json!({"advance_seconds": -1}), json!({"advance_seconds": "1"})] {
        let reply = post(&site, "/_emulator/clock", body).await;
        reply.refused(400, "Emulator.0400");
    }
    let site = Site::start().await;
    let reply = post(&site, "/_emulator/clock", json!({"advance_seconds": 1})).await;
    reply.refused(400, "Emulator.0400");
    let clock = format!("{}/_emulator/clock", site.emulator.url());
    let reply = site.client.http.get(clock).send().await.unwrap();
    assert_eq!(Reply::of(reply).await.json()["manual"], false);
}

#[tokio::test]
async fn a_reset_deletes_everything() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let done = site.run(&site.script("done", "")).await;
    site.create(&site.script("runs", &(gate.python() + "gate()"))).await;
    let waiting = gate.reached().await;
    site.emulator.faults().add(FaultRule::once("ListAlgorithms", Fault::Reset)).unwrap();
    let few = json!({"user_id": "u", "quotas": [{"resource": "job-num", "quota": 77}]});
    let few = few.to_string().into_bytes();
    let changed = site.send(Method::PUT, "/training-quotas", few).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let reply = post(&site, "/_emulator/reset", json!({})).await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (204, ""));
    waiting.wait_until_gone().await;
    assert_eq!(
        site.get("/training-quotas").await.json(),
        json!({"quotas": [{"resource": "job-num", "quota": 10_000, "used": 0}]})
    );
    assert_eq!(site.emulator.requests()["CreateTrainingJob"].executed, 0);
    assert!(site.emulator.faults().list().is_empty());
    assert!(!site.worker(&done).exists());
    let list = site.post("/training-job-searches", &json!({})).await;
    assert_eq!(list.json()["total"], 0);
    site.run(&site.script("done", "")).await;
}

/// A reset ends processes that would otherwise wait on a stopped clock: before or during a grace
/// period, and while code runs.
#[tokio::test]
async fn a_reset_does_not_wait_for_the_clock() {
    let reset = async |site: &Site| {
        let answer = post(site, "/_emulator/reset", json!({}));
        let answer = tokio::time::timeout(Duration::from_secs(20), answer).await;
        assert_eq!(answer.expect("no answer").status, 204);
        let list = site.post("/training-job-searches", &json!({})).await;
        assert_eq!(list.json()["total"], 0);
    };
    let (site, _clock) = Site::standing_still().await;
    let gate = Gate::new().await;
    let script = gate.python()
        + "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: gate()\n";
    site.create(&site.script("ignores", &script)).await;
    let ignores = gate.reached().await;
    let stopped = site.create(&site.script("stopped", &script)).await;
    let also_ignores = gate.reached().await;
    assert_eq!(site.terminate(&stopped).await.status, 202);
    reset(&site).await;
    ignores.wait_until_gone().await;
    also_ignores.wait_until_gone().await;

    for run in
        [json!({"seconds": 3600, "ignores_sigterm": true}), json!({"download_seconds": 3600})]
    {
        let script = Script::from_json(&json!({"default": [run]}).to_string()).unwrap();
        let clock = Arc::new(ManualClock::at(SystemTime::now()));
        let site =
            Site::with(|builder| builder.clock(clock as _).runner(RunnerKind::Simulated(script)))
                .await;
        site.create(&site.script("simulated", "")).await;
        reset(&site).await;
    }
}

/// The emulator accepts a body up to the limit and rejects a larger one, as on all routes.
#[tokio::test]
async fn bodies_of_control_routes_may_have_twelve_megabytes() {
    let site = Site::start().await;
    let log = "x".repeat(3 << 20);
    let seeds = json!({"jobs": [{"name": "large", "logs": {"worker-0": log}}]});
    let reply = post(&site, "/_emulator/seeds", seeds).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let id = reply.json()["ids"][0].as_str().unwrap().to_owned();
    assert_eq!(site.log(&id).await.len(), 3 << 20);
    for path in ["seeds", "faults", "clock"] {
        let body = json!("x".repeat(12 << 20));
        let reply = post(&site, &format!("/_emulator/{path}"), body).await;
        assert_eq!(reply.error(), (413, "ModelArts.4104".to_owned()), "{path}");
    }
}

/// On Linux, all addresses of 127.0.0.0/8 belong to this machine.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn links_have_the_address_of_the_emulator() {
    let address = "127.0.0.2:0".parse().unwrap();
    let site = Site::with(|builder| builder.listen(address).token("t")).await;
    let own = site.emulator.url();
    assert!(own.starts_with("http://127.0.0.2:"), "{own}");
    let id = site.run(&site.script("linked", "print('hello')")).await;
    let path = format!("/training-jobs/{id}/tasks/worker-0/logs/url");
    let link = site.get(&path).await.json()["obs_url"].take();
    let log = site.client.http.get(link.as_str().unwrap()).send().await;
    assert_eq!(log.unwrap().text().await.unwrap(), "hello\n");
    let projects = format!("{own}/v3/projects");
    let asked = site.client.http.get(&projects).header("x-auth-token", "t");
    let listed = Reply::of(asked.send().await.unwrap()).await.json();
    assert_eq!(listed["links"]["self"], projects);
    let link = format!("{projects}/{}", site.emulator.project_id());
    assert_eq!(listed["projects"][0]["links"]["self"], link);
}

#[tokio::test]
async fn pages_shift_and_rows_repeat() {
    let site = Site::start().await;
    for name in ["a", "b", "c"] {
        site.run(&site.script(name, "")).await;
    }
    let names = async || -> Vec<String> {
        let search = json!({"order": "asc"});
        let list = site.post("/training-job-searches", &search).await.json();
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    for (fault, expected) in [
        ("shifted-page", vec!["a", "a", "b"]),
        ("duplicate-rows", vec!["a", "a", "b", "b", "c", "c"]),
    ] {
        let rule = json!({"operation": "ListTrainingJobs", "fault": fault});
        assert_eq!(post(&site, "/_emulator/faults", rule).await.status, 201);
        assert_eq!(names().await, expected);
    }
    assert_eq!(names().await, ["a", "b", "c"]);
}

/// The record contains a process that is still running although its emulator has ended, as after a
/// SIGKILL of that emulator.
#[tokio::test]
async fn the_next_start_ends_what_the_last_one_left_running() {
    if !std::path::Path::new("/proc/self/stat").exists() {
        return;
    }
    use std::os::unix::process::CommandExt;
    let data = tempfile::tempdir().unwrap();
    let running = data.path().join("running");
    std::fs::create_dir_all(&running).unwrap();
    let start = || std::process::Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
    let (mut left, mut other) = (start(), start());
    let moment = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let rest = stat.rsplit(')').next().unwrap();
        rest.split_whitespace().nth(19).unwrap().to_owned()
    };
    std::fs::write(running.join(left.id().to_string()), moment(left.id())).unwrap();
    // When the process ID was recorded, it belonged to another process.
    std::fs::write(running.join(other.id().to_string()), "1").unwrap();
    let builder = Emulator::builder().timing(Timing::instant());
    let emulator = builder.data_dir(data.path()).start().await.unwrap();
    left.wait().unwrap();
    assert!(is_alive(&other.id().to_string()));
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(std::fs::read_dir(&running).unwrap().count(), 0);
    emulator.shutdown().await;
}
