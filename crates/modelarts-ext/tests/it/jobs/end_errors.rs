//! Errors of jobs that did not complete: their advice, the choice of events, and lines of a log.

use std::time::Duration;

use modelarts_ext::{Error, jobs::wait::Waited};
use serde_json::{Value, json};

use crate::support::{
    clock::seconds,
    errors::{message, refused},
    simulated_site::SimulatedSite,
    site::Site,
};

/// Returns the end of a job that runs this script, and its error.
async fn failed(site: &Site, name: &str, script: &str) -> (Waited, Error) {
    let job = site.run(site.script(name, script)).await;
    let end = job.wait().await.unwrap();
    (end.clone(), end.success().unwrap_err())
}

/// Returns a site whose jobs run as the script states.
async fn simulated(run: Value) -> SimulatedSite {
    SimulatedSite::start(json!({"default": [run]}), seconds(60)).await
}

/// Returns the messages of the last events.
fn messages(end: &Waited) -> Vec<&str> {
    end.last_events().iter().map(|event| event.message()).collect()
}

const SAVE_LOG: &str = "save the complete log with `job.logs(\"worker-0\").download(..)`";

#[tokio::test]
async fn the_advice_is_the_next_step_after_the_outcome() {
    let site = Site::start().await;
    let (_, error) = failed(&site, "code", "exit(3)").await;
    assert_eq!(error.advice(), Some(SAVE_LOG));
    let text = error.to_string();
    assert!(text.ends_with(&format!("\nadvice: {SAVE_LOG}")), "{text}");
    let (_, error) = failed(&site, "memory", "exit(137)").await;
    let memory = format!(
        "the cause is often too little memory: choose a flavor with more, or a smaller batch; \
         otherwise {SAVE_LOG}"
    );
    assert_eq!(error.advice(), Some(memory.as_str()));

    let job = site.run(site.script("late", "")).await;
    let late = job.wait().timeout(Duration::ZERO).await.unwrap();
    assert_eq!(
        late.success().unwrap_err().advice(),
        Some("wait again with `job.wait()`, or stop the job with `job.terminate()`")
    );

    let site = simulated(json!({"seconds": 7200})).await;
    let limited = site.job("limited").auto_stop(seconds(3600));
    let end = limited.submit().await.unwrap().wait().await.unwrap();
    assert_eq!(end.success().unwrap_err().advice(), Some("raise `auto_stop`"));
    let job = site.job("stopped").submit().await.unwrap();
    job.terminate().await.unwrap();
    let end = job.wait().await.unwrap();
    assert_eq!(end.success().unwrap_err().advice(), None);
}

#[tokio::test]
async fn the_advice_of_broken_rules_is_in_the_message_once() {
    let site = Site::start().await;
    let error = refused(site.script("odd", "").nodes(0).submit().await);
    assert_eq!(
        message(&error),
        "the job breaks a rule, so nothing was sent: spec.resource.node_count = 0: must be 1 or \
         more (ModelArts.2788); choose a value within the limit"
    );
    assert_eq!(error.advice(), Some("choose a value within the limit"));
    let job = site.script("a b", "").nodes(0);
    let error = refused(job.submit().await);
    assert_eq!(
        error.advice(),
        Some("use letters, digits, _ and -; choose a value within the limit")
    );
    let lines = message(&error);
    assert_eq!(lines.matches("choose a value").count(), 1, "{lines}");
    let many = site
        .script("a b", "")
        .nodes(0)
        .auto_stop(seconds(90))
        .boot_file("train.sh")
        .output("a b", "bucket");
    let error = refused(many.submit().await);
    let advice = error.advice().unwrap();
    assert!(advice.ends_with(" more"), "{advice}");
}

#[tokio::test]
async fn errors_and_events_of_the_failed_task_come_before_others() {
    let run = json!({
        "seconds": 500,
        "tasks": {"worker-1": {"seconds": 20, "exit_code": 1}},
    });
    let site = simulated(run).await;
    let job = site.job("many").flavor("modelarts.vm.cpu.8u").nodes(8).submit().await.unwrap();
    let end = job.wait().await.unwrap();
    assert_eq!(
        messages(&end),
        [
            "[worker-1] The training code is being downloaded.",
            "[worker-1] [Duration: 0.000] Training code downloaded.",
            "[worker-1] training started.",
            "[worker-1] Training finished. Exit code 1.",
            "Training job failed.",
        ]
    );
    site.take_requests();
    let end = job.wait().await.unwrap();
    assert_eq!(end.last_events().len(), 5);
    let requests = site.take_requests();
    let of_events = requests.iter().filter(|(_, last)| last == "events");
    assert_eq!(of_events.count(), 1);
}

#[tokio::test]
async fn the_error_of_an_abnormal_job_has_the_cause() {
    let site = simulated(json!({"download_error": "no such key"})).await;
    let job = site.job("broken").submit().await.unwrap();
    let end = job.wait().await.unwrap();
    assert_eq!(
        end.outcome().to_string(),
        "abnormal: CreateFailed: the training code cannot be downloaded: no such key"
    );
    let error = end.success().unwrap_err();
    assert_eq!(error.advice(), Some("`job.events()` has all events of the job"));
}

#[tokio::test]
async fn a_progress_bar_is_its_last_state_and_colors_are_left_out() {
    let site = Site::start().await;
    let script = "import sys\nsys.stdout.buffer.write(\
                  b'\\r 10%\\r 50%\\r100%\\n\\x1b[31mred\\x1b[0m\\ttab\\n 9%\\r')\nexit(1)\n";
    let (end, error) = failed(&site, "bar", script).await;
    assert_eq!(end.last_lines(), ["100%", "\u{1b}[31mred\u{1b}[0m\ttab", " 9%"]);
    let text = error.to_string();
    let lines = "\nlast lines of worker-0:\n  100%\n  red\ttab\n   9%\nadvice: ";
    assert!(text.contains(lines), "{text}");
}

#[tokio::test]
async fn an_input_that_does_not_exist_is_named() {
    let site = Site::start().await;
    let job = site
        .script("inputless", "")
        .input("labels", "obs://bucket/inputless/code/")
        .input("data", "obs://bucket/nothing/");
    let error = refused(job.submit().await);
    assert_eq!(
        message(&error),
        "CreateTrainingJob: Invalid obs path: /bucket/nothing/, reason: not a directory \
         (ModelArts.2791, HTTP 400, request id REQUEST); Check the obs path; check that the path \
         is a directory that exists, in a bucket that is not encrypted; if it is, try again later; \
         \"obs://bucket/nothing/\" is the path of the input \"data\""
    );
    assert!(error.is_retryable());
    let debug = format!("{error:?}");
    assert!(
        debug.contains("\n  retry: the same call may succeed later if the path exists\n"),
        "{debug}"
    );
    let job = site.script("codeless", "").code_dir("obs://bucket/nothing/");
    let error = refused(job.boot_file("obs://bucket/nothing/train.py").submit().await);
    assert_eq!(
        message(&error),
        "CreateTrainingJob: Invalid codeDir path: obs://bucket/nothing/ (ModelArts.2802, HTTP 400, \
         request id REQUEST); Check the codeDir path; check that the bucket and the directory \
         \"obs://bucket/nothing/\" exist"
    );
}
