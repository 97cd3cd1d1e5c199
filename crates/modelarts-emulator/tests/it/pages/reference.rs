//! Pages with the reference of the emulator: their shell sessions, and their documents of users, jobs
//! and scripts.

use std::{fs, path::Path};

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::{
    pages::{
        block::{Block, blocks},
        session::{Session, Step, steps},
    },
    support::program::{self, Program},
};

const PAGES: &str = concat!(
    include_str!("../../../README.md"),
    include_str!("../../../PROGRAM.md"),
    include_str!("../../../FAULTS.md"),
    include_str!("../../../OPERATIONS.md"),
    include_str!("../../../SIMULATION.md"),
);

/// Returns the block of a language that contains a text.
fn find(language: &str, text: &str) -> Block {
    let mut found = blocks(PAGES).into_iter();
    let found = found.find(|block| block.language == language && block.text.contains(text));
    found.unwrap_or_else(|| panic!("the pages have no {language} block with {text}"))
}

fn hidden(command: &str) -> Step {
    Step { command: command.to_owned(), output: String::new() }
}

/// Writes the job that the page creates: with two fields that have no effect in the emulator.
fn write_job(place: &Path) {
    let mut job = program::cpu_job("first");
    job["spec"]["custom_metrics"] = json!([{"http_get": {"path": "/metrics", "port": 10001}}]);
    job["spec"]["notification"] = json!({"topic_urn": "urn:smn:x", "events": ["JobFailed"]});
    fs::write(place.join("job.json"), job.to_string()).unwrap();
}

/// Reads the id of the only job.
const FIND_JOB: &str = "ID=$(curl -H 'X-Auth-Token: dev' -d '{}' \
     $URL/v2/$PROJECT/training-job-searches \
                        | python3 -c \"import json,sys; \
                        print(json.load(sys.stdin)['items'][0]['metadata']['id'])\")";

#[tokio::test]
async fn the_shell_blocks_of_the_page_run() {
    let place = tempfile::tempdir().unwrap();
    let start = steps(&find("console", "serve --token dev"));
    let [start] = start.as_slice() else {
        panic!("{start:?}");
    };
    let session = Session::start(place.path(), start).await;
    write_job(place.path());
    let mut run = steps(&find("console", "grep -i ignored"));
    run.insert(1, hidden(FIND_JOB));
    run.extend(steps(&find("console", "evil.example")));
    run.extend(steps(&find("console", "lost-answer")));
    session.run(&run).await;
}

#[tokio::test]
async fn a_program_gets_the_settings_of_the_page() {
    let place = tempfile::tempdir().unwrap();
    let serve = steps(&find("console", "serve --env-file emulator.env"));
    let [serve] = serve.as_slice() else {
        panic!("{serve:?}");
    };
    let session = Session::start(place.path(), serve).await;
    let settings = ["url", "project_id", "access_key", "secret_key"];
    let settings = settings.map(|name| session.value(name)).join(" ");
    // The program of the user prints its settings.
    let mut run = vec![hidden(
        "cargo() { echo $MODELARTS_ENDPOINT $HUAWEICLOUD_SDK_PROJECT_ID $HUAWEICLOUD_SDK_AK \
         $HUAWEICLOUD_SDK_SK; }",
    )];
    run.extend(steps(&find("console", "cargo run")));
    let program = run.last_mut().unwrap();
    assert_eq!(program.command, "cargo run");
    program.output = settings;
    session.run(&run).await;
}

/// Returns the jobs of the project, by their names.
async fn jobs(program: &Program, name: &str) -> Value {
    let filter = json!({"filters": [{"key": "name", "operator": "like", "value": [name]}]});
    let found = program.client.post("/training-job-searches", &filter).await;
    assert_eq!(found.status, StatusCode::OK, "{}", found.text);
    found.json()
}

#[tokio::test]
async fn the_program_reads_the_documents_of_the_page() {
    let place = tempfile::tempdir().unwrap();
    let documents = [
        ("--users", find("json", "\"password\"")),
        ("--seed", find("json", "\"exit_code\": 2")),
        ("--script", find("json", "\"runs\"")),
    ];
    let all = blocks(PAGES);
    let all = all.iter().filter(|block| block.language == "json");
    assert_eq!(all.count(), documents.len(), "a document is not tested");
    let mut flags = ["--runner", "simulated", "--clock", "manual"].map(str::to_owned).to_vec();
    for (flag, block) in documents {
        let file = place.path().join(format!("{}.json", &flag[2..]));
        fs::write(&file, block.text).unwrap();
        flags.extend([flag.to_owned(), file.to_str().unwrap().to_owned()]);
    }
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let program = program::serve_with(place.path(), &flags).await;
    let client = &program.client;
    let user = (&*client.project_id, &*client.access_key, &*client.secret_key);
    assert_eq!(user, ("p1", "A", "S"));

    let old = jobs(&program, "old").await;
    let status = &old["items"][0]["status"];
    assert_eq!((&status["phase"], &old["count"]), (&json!("Failed"), &json!(1)));
    assert_eq!(jobs(&program, "many-").await["count"], 1000);
    assert_eq!(jobs(&program, "now").await["items"][0]["status"]["phase"], "Running");

    // A job without code: the emulator copies no files.
    let mut flaky = program::cpu_job("flaky-1");
    flaky["algorithm"] = json!({"command": "true", "engine": {"image_url": "own/image:1"}});
    flaky["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "1"});
    let id = program.create(&flaky).await;
    let advance = program.client.http.post(format!("{}/_emulator/clock", client.url));
    let advance = advance.body(json!({"advance_seconds": 60}).to_string()).send().await.unwrap();
    assert_eq!(advance.status(), StatusCode::OK);
    let job = jobs(&program, "flaky-1").await["items"][0].take();
    assert_eq!(job["status"]["phase"], "Completed", "{job}");
    let exits = job["status"]["running_records"].as_array().unwrap();
    assert_eq!((exits.len(), &job["metadata"]["id"]), (2, &json!(id)), "{job}");
}
