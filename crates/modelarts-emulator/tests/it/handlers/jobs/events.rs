//! ListTrainingJobEvents: the complete list of events of a job, and the filters of the query.

use std::time::{Duration, SystemTime};

use modelarts_emulator::events::Wording;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Reply, Site};

fn rows(list: &Value) -> Vec<(String, String, String)> {
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let rows = list["events"].as_array().unwrap().iter();
    rows.map(|row| (text(row, "message"), text(row, "level"), text(row, "source"))).collect()
}

async fn list(site: &Site, id: &str, query: &str) -> Value {
    let reply = site.get(&format!("/training-jobs/{id}/events{query}")).await;
    assert_eq!(reply.status, 200, "{query}: {}", reply.text);
    reply.json()
}

/// Returns one line for each event: level, source and message, with `ID` for the id of the job.
fn transcript(id: &str, list: &Value) -> String {
    let lines = rows(list).into_iter().map(|(message, level, source)| {
        format!("{level} {source} {}\n", message.replace(id, "ID"))
    });
    lines.collect()
}

/// Events of a job until its code runs.
const BEGINNING: &str = "\
Info Job Training job created.
Info Job The training job is queuing and awaiting resource allocation.
Info K8s [Pod: modelarts-job-ID-worker-0] Pulled: Successfully pulled image \"pytorch_1.8.0\"
Info K8S [Pod: modelarts-job-ID-worker-0] SuccessfulCreate: Created container
Info K8S [Pod: modelarts-job-ID-worker-0] Started: Started container
Info Task [worker-0] The training code is being downloaded.
Info Task [worker-0] [Duration: 0.000] Training code downloaded.
Info Task [worker-0] The training input is being downloaded.
Info Task [worker-0] [Duration: 0.000] Training input (parameter: data_url) downloaded.
Info Job Training job is running.
Info Task [worker-0] training started.
";

fn with_channels(site: &Site, name: &str, script: &str) -> Value {
    site.put("bucket/data/a.txt", "a");
    let mut job = site.script(name, script);
    job["algorithm"]["inputs"] =
        json!([{"name": "data_url", "remote": {"obs": {"obs_url": "/bucket/data/"}}}]);
    job["algorithm"]["outputs"] =
        json!([{"name": "train_url", "remote": {"obs": {"obs_url": "/bucket/out/"}}}]);
    job
}

#[tokio::test]
async fn all_events_of_a_completed_job() {
    all_events(
        "completed",
        "",
        "\
Info Task [worker-0] Training finished. Exit code 0.
Info Task [worker-0] Training output(parameter name: train_url) Uploading.
Info Task [worker-0][time used: 0.000s] Upload training output(parameter name: train_url) finished.
Info Job Training job executed.
Info Job Billing information synchronized.
",
    )
    .await;
}

#[tokio::test]
async fn all_events_of_a_failed_job() {
    all_events(
        "failed",
        "exit(3)",
        "\
Info Task [worker-0] Training finished. Exit code 3.
Info Task [worker-0] Training output(parameter name: train_url) Uploading.
Info Task [worker-0][time used: 0.000s] Upload training output(parameter name: train_url) finished.
Info K8S [Job: modelarts-job-ID] ExecuteAction: Start to execute action TerminateJob
Error Job Training job failed.
Info Job Billing information synchronized.
",
    )
    .await;
}

async fn all_events(name: &str, script: &str, end: &str) {
    let (site, _clock) = Site::standing_still().await;
    let id = site.run(&with_channels(&site, name, script)).await;
    let all = transcript(&id, &list(&site, &id, "").await);
    assert_eq!(all, format!("{BEGINNING}{end}"));
}

#[tokio::test]
async fn the_guides_wording_is_a_switch() {
    let site = Site::with(|builder| builder.event_wording(Wording::Guide)).await;
    let id = site.run(&site.script("guide", "exit(3)")).await;
    let messages = site.messages(&id).await;
    assert_eq!(
        messages[7..],
        [
            "The training job starts to run.",
            "[worker-0] The training job starts to run.",
            "[worker-0] Training job executed.",
            &format!(
                "[Job: modelarts-job-{id}] ExecuteAction: Start to execute action TerminateJob"
            ),
            "Failed to run the training job.",
            "Billing information synchronized.",
        ]
    );
}

#[tokio::test]
async fn events_of_a_job_that_cannot_be_prepared() {
    let (site, _clock) = Site::standing_still().await;
    let mut job = with_channels(&site, "unprepared", "");
    job["algorithm"]["inputs"][0]["remote"]["obs"]["obs_url"] = "/bucket/locked/".into();
    let locked = site.emulator.obs_root().join("bucket/locked");
    std::fs::create_dir(&locked).unwrap();
    std::os::unix::fs::symlink("/etc", locked.join("door")).unwrap();
    let id = site.run(&job).await;
    let all = transcript(&id, &list(&site, &id, "").await);
    let last: Vec<&str> = all.lines().skip(7).collect();
    let reason = "'door' is a link that leads out of its root directory";
    assert_eq!(
        last,
        [
            "Info Task [worker-0] The training input is being downloaded.",
            &format!(
                "Error Task [worker-0] [Duration: 0.000] Failed to download the training input \
                 (parameter: data_url). Failure cause: {reason}"
            ),
            &format!(
                "Error Job Training job failures: the training input data_url cannot be \
                 downloaded from /bucket/locked/: {reason}"
            ),
        ]
    );
    let status = &site.details(&id).await["status"];
    assert_eq!(status["phase"], "Abnormal");
    assert_eq!(status["secondary_phase"], "CreateFailed");
    assert_eq!(status["start_time"], 0);
    assert_eq!(status["duration"], 0);
    assert!(status["node_count_metrics"].as_array().unwrap().iter().all(|point| point[1] == 0));
    assert_eq!(status.get("running_records"), None);
}

#[tokio::test]
async fn pages_are_counted_in_events() {
    let (site, _clock) = Site::standing_still().await;
    let id = site.run(&site.script("pages", "")).await;
    let all = rows(&list(&site, &id, "?limit=100").await);
    assert_eq!(all.len(), 12);
    let page = list(&site, &id, "?offset=3&limit=2").await;
    assert_eq!(rows(&page), all[3..5]);
    let mut rest = page;
    rest.as_object_mut().unwrap().remove("events");
    assert_eq!(rest, json!({"total": 12, "limit": 2, "offset": 3, "order": "asc"}));
    let reversed: Vec<_> = all.iter().rev().cloned().collect();
    assert_eq!(rows(&list(&site, &id, "?order=desc").await), reversed);
    assert_eq!(rows(&list(&site, &id, "?order=desc&offset=10&limit=50").await), reversed[10..]);
    assert_eq!(rows(&list(&site, &id, "?offset=12").await), []);
}

#[tokio::test]
async fn events_are_filtered() {
    let (site, _clock) = Site::standing_still().await;
    let id = site.run(&site.script("filters", "exit(1)")).await;
    let count = async |query: &str| {
        let list = list(&site, &id, query).await;
        assert_eq!(list["total"], list["events"].as_array().unwrap().len());
        list["total"].as_u64().unwrap()
    };
    assert_eq!(count("").await, 13);
    assert_eq!(count("?level=Error").await, 1);
    assert_eq!(count("?level=ERROR").await, 1);
    assert_eq!(count("?level=Warning").await, 0);
    assert_eq!(count("?source=Task").await, 4);
    // `K8S` in a query matches events whose source is spelled `K8s`.
    assert_eq!(count("?source=K8S").await, 4);
    assert_eq!(count("?pattern=Exit code 1.").await, 1);
    assert_eq!(count("?pattern=nothing").await, 0);
    assert_eq!(count("?source=Task&pattern=started").await, 1);
    // Blank values count as absent, and unknown parameters are ignored.
    assert_eq!(count("?level=&source=&pattern=&start_time=&end_time=&x=y").await, 13);
}

/// Python's `urlencode` and browsers encode a space as `+`.
#[tokio::test]
async fn a_blank_in_a_query_may_be_a_plus() {
    let site = Site::with(|builder| builder.token("t")).await;
    let id = site.run(&site.script("blanks", "exit(1)")).await;
    let path = format!("/v2/{}/training-jobs/{id}/events", site.client.project_id);
    for (query, count) in [
        ("pattern=Exit+code+1.", 1),
        ("pattern=Exit%20code+1.", 1),
        ("pattern=Exit%2Bcode%2B1.", 0),
    ] {
        let url = format!("{}{path}?{query}", site.client.url);
        let request = site.client.http.get(url).header("x-auth-token", "t");
        let list = Reply::of(request.send().await.unwrap()).await.json();
        assert_eq!(list["total"], count, "{query}: {list}");
    }
}

#[tokio::test]
async fn times_are_cut_to_seconds() {
    let (site, clock) = Site::standing_still().await;
    let id = site.run(&site.script("times", "")).await;
    let millis =
        |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64;
    let now = millis(modelarts_emulator::clock::Clock::now(clock.as_ref()));
    let second = now / 1000 * 1000;
    let window = async |start: u64, end: u64| {
        list(&site, &id, &format!("?start_time={start}&end_time={end}")).await
    };
    // The window is the last millisecond of the second; the response contains the whole second.
    let found = window(second + 999, second + 999).await;
    assert_eq!(found["total"], 12);
    assert_eq!(found["start_time"], found["end_time"]);
    assert_eq!(found["start_time"], found["events"][0]["time"]);
    let time = found["start_time"].as_str().unwrap();
    assert!(time.len() == 25 && time.ends_with("+08:00"), "{time}");
    assert_eq!(window(second - 2000, second - 1).await["total"], 0);
    assert_eq!(window(second + 1000, second + 5000).await["total"], 0);

    // Both times are from the documented example (SOURCES F2).
    let found = window(1_669_449_696_964, 1_669_711_991_259).await;
    assert_eq!(found["start_time"], "2022-11-26T16:01:36+08:00");
    assert_eq!(found["end_time"], "2022-11-29T16:53:11+08:00");
    clock.advance(Duration::from_secs(1));
}

#[tokio::test]
async fn a_bad_query_has_an_error_of_its_own() {
    let site = Site::start().await;
    let id = site.create(&site.script("query", "")).await;
    let long = format!("?pattern={}", "x".repeat(257));
    for query in [
        "?limit=0",
        "?limit=101",
        "?limit=ten",
        "?offset=-1",
        "?offset=x",
        "?offset=2147483648",
        "?order=up",
        "?level=Fatal",
        "?source=Docker",
        "?start_time=1669449696964",
        "?end_time=1669449696964",
        "?start_time=2&end_time=1000000x",
        "?start_time=2022-11-26T16:01:36&end_time=1669449696964",
        "?start_time=1669449696964&end_time=1669449600000",
        &long,
    ] {
        let reply = site.get(&format!("/training-jobs/{id}/events{query}")).await;
        assert_eq!(reply.status, 400, "{query}");
        assert_eq!(
            reply.json(),
            json!({"error_code": "ModelArts.50004000", "error_msg": "Bad request."}),
            "{query}"
        );
    }
}

/// ListTrainingJobEvents is the only operation with a header that selects the language.
#[tokio::test]
async fn events_are_in_the_requested_language() {
    let site = Site::start().await;
    let id = site.run(&site.script("language", "")).await;
    let ask = async |language: &str, query: &str| {
        let project = site.emulator.project_id();
        let target = format!("/v2/{project}/training-jobs/{id}/events?source=Job{query}");
        let request = site
            .signed(Method::GET, &target, Vec::new(), SystemTime::now())
            .header("x-language", language);
        let reply = Reply::of(request.send().await.unwrap()).await.json();
        reply["events"][0]["message"].as_str().unwrap_or_default().to_owned()
    };
    let english = "Training job created.";
    for (language, text) in
        [("zh-cn", "训练作业已创建。"), ("en-us", english), ("de-de", english), ("", english)]
    {
        assert_eq!(ask(language, "").await, text, "{language}");
    }
    // The pattern matches part of the text in the requested language.
    assert_eq!(ask("zh-cn", "&pattern=运行完成").await, "训练作业运行完成。");
    assert_eq!(ask("zh-cn", "&pattern=executed").await, "");
    let stages = site.get(&format!("/training-jobs/{id}/stages")).await.json();
    let first = &stages["running_records"][0]["stages"][0];
    assert_eq!(first["en_message"], "Waiting for resources");
    assert_eq!(first["zh_message"], "等待资源");
}
