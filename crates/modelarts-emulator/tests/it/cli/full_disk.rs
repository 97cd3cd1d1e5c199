//! A disk without room, as a limit on the size of files that the test sets and lifts.

use std::path::Path;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    cli::kills,
    support::{
        Gate, Reply,
        program::{Program, command, cpu_job, serve},
    },
};

/// Starts the program without the signal for files that exceed the limit, so that writing them
/// fails as on a full disk.
async fn start(place: &Path) -> Program {
    let mut wrapped = Command::new("sh");
    let own = command(place, &[]);
    wrapped
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(own.as_std().get_program())
        .args(own.as_std().get_args())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::inherit())
        .kill_on_drop(true);
    serve(wrapped).await
}

/// Sets the largest size of a file that the program can write, and returns the former one.
fn limit(program: &Program, bytes: Option<u64>) -> Option<u64> {
    let id = i32::try_from(program.child.id().unwrap()).unwrap();
    let id = Pid::from_raw(id);
    let hard = rustix::process::getrlimit(Resource::Fsize).maximum;
    let new = Rlimit { current: bytes, maximum: hard };
    prlimit(id, Resource::Fsize, new).unwrap().current
}

async fn health(program: &Program) -> (u16, Value) {
    let url = format!("{}/_emulator/health", program.client.url);
    let reply = Reply::of(program.client.http.get(url).send().await.unwrap()).await;
    (reply.status.as_u16(), reply.json())
}

async fn details(program: &Program, id: &str) -> Value {
    let reply = program.client.get(&format!("/training-jobs/{id}")).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

/// Returns the list of the jobs whose names contain a text.
async fn list(program: &Program, part: &str) -> Value {
    let filters = json!([{"key": "name", "operator": "like", "value": [part]}]);
    let body = json!({"filters": filters});
    let list = program.client.post("/training-job-searches", &body).await;
    assert_eq!(list.status, 200, "{}", list.text);
    list.json()
}

async fn names(program: &Program, part: &str) -> Vec<String> {
    let list = list(program, part).await;
    let jobs = list["items"].as_array().unwrap().iter();
    jobs.map(|job| job["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

/// The first request that the disk has no room for was executed before this was known: its job
/// runs. Later changes are refused before they are executed.
#[tokio::test]
async fn reads_go_on_and_what_happened_is_stored_when_there_is_room() {
    let place = tempfile::tempdir().unwrap();
    let code = place.path().join("obs/bucket/code");
    std::fs::create_dir_all(&code).unwrap();
    let gate = Gate::new().await;
    std::fs::write(code.join("train.py"), gate.python() + "gate()").unwrap();
    let mut program = start(place.path()).await;

    let log = place.path().join("data/state.sqlite3-wal");
    let before = limit(&program, Some(std::fs::metadata(log).unwrap().len()));
    let jobs = "/training-jobs";
    let unstored = program.client.post(jobs, &cpu_job("unstored")).await;
    assert_eq!(unstored.status, 500);
    let message = unstored.json()["error_msg"].as_str().unwrap().to_owned();
    assert!(
        message.starts_with("The state of the emulator cannot be stored: ")
            && message.ends_with(
                ". Make room on the disk of the data directory: then the emulator stores it."
            ),
        "{message}"
    );
    gate.reached().await.let_through().await;
    let refused = program.client.post(jobs, &cpu_job("refused")).await;
    assert_eq!(refused.status, 500);
    let list = list(&program, "sto").await;
    let id = list["items"][0]["metadata"]["id"].as_str().unwrap();
    let ended = loop {
        let job = details(&program, id).await;
        if job["status"]["phase"] == "Completed" {
            break job;
        }
    };
    assert_eq!(names(&program, "").await, ["unstored"]);
    let (status, body) = health(&program).await;
    assert_eq!((status, &body["status"]), (200, &json!("not stored")));
    assert!(message.contains(body["problem"].as_str().unwrap()), "{body}");

    limit(&program, before);
    program.create(&cpu_job("later")).await;
    gate.reached().await.let_through().await;
    assert_eq!(health(&program).await.1["status"], "ok");
    let events = format!("{jobs}/{id}/events?limit=100");
    let seen = program.client.get(&events).await.json();
    program.child.start_kill().unwrap();
    program.child.wait().await.unwrap();
    let program = kills::start(place.path(), &[]).await;
    assert_eq!(details(&program, id).await, ended);
    assert_eq!(program.client.get(&events).await.json(), seen);
    assert_eq!(names(&program, "sto").await, ["unstored"]);
    assert_eq!(names(&program, "").await, ["later", "unstored"]);
}
