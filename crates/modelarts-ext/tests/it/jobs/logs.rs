//! Tests of the logs of a job, which are read by preview.

use std::sync::Arc;

use futures::TryStreamExt;
use modelarts_emulator::Timing;
use modelarts_ext::LogItem;
use serde_json::json;

use super::fixtures::{blocked_job, details, scripted, update_lines};
use crate::support::{
    clock::seconds,
    errors::{message, refused},
    server::{Reply, json_answer},
    site::Site,
};

#[tokio::test]
async fn a_log_is_followed_to_the_end_of_the_job() {
    let site = Site::start().await;
    let job = blocked_job(
        &site,
        "logged",
        "print('one')\nprint('two, ', end='')",
        "print('and more')\nprint()\nprint('ä, no end', end='')",
    )
    .await;
    let items: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
    let lines = ["one", "two, and more", "", "ä, no end"];
    assert_eq!(items, lines.map(|line| LogItem::Line(line.into())));
    assert_eq!(site.clock.steps_left(), 0);
    assert_eq!(site.clock.slept(), [seconds(5)]);

    let preview = job.logs("worker-0").preview().await.unwrap();
    assert_eq!(preview.content.as_deref(), Some("one\ntwo, and more\n\nä, no end"));
    let error = refused(job.logs("worker-7").preview().await);
    assert_eq!(
        message(&error),
        "ShowTrainingJobLogsPreview: Invalid parameter(task_id worker-7 is not a task of the job) \
         (ModelArts.2788, HTTP 400, request id REQUEST); Check the request parameter"
    );
}

#[tokio::test]
async fn a_log_that_does_not_exist_yet_is_waited_for() {
    let mut timing = Timing::instant();
    timing.queuing = seconds(100);
    let site = Site::with(|builder| builder.timing(timing)).await;
    let job = site.script("later", "print('here')").submit().await.unwrap();
    site.emulator.wait_for(job.id(), "Pending").await.unwrap();
    let error = refused(job.logs("worker-0").preview().await);
    assert_eq!(
        message(&error),
        "ShowTrainingJobLogsPreview: not ready yet (HTTP 204, request id REQUEST)"
    );
    assert!(error.is_not_ready() && error.is_retryable() && !error.is_not_found());

    let (emulator, clock, id) =
        (Arc::clone(&site.emulator), site.clock.clone(), job.id().to_owned());
    site.clock.step(async move {
        clock.advance(seconds(100));
        emulator.wait_until_settled(&id).await;
    });
    let items: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
    assert_eq!(items, [LogItem::Line("here".into())]);
}

fn preview(text: &str) -> Reply {
    let body = json!({"content": text, "current_size": text.len(), "full_size": text.len()});
    json_answer("200 OK", "", &body.to_string())
}

#[tokio::test]
async fn a_log_is_followed_across_restarts_of_its_task() {
    let (server, _, job) = scripted([
        details("Running"),
        preview("first run\n"),
        // The log does not exist, so the stream continues until the job is restarted.
        details("Failed"),
        json_answer("204 No Content", "", ""),
        details("Running"),
        json_answer("204 No Content", "", ""),
        details("Running"),
        preview("again\n"),
        details("Completed"),
        preview("again\nand done"),
    ])
    .await;
    let log = job.logs("worker-0").quiet(seconds(10)).follow();
    let items: Vec<_> = log.try_collect().await.unwrap();
    let line = |line: &str| LogItem::Line(line.to_owned());
    // The last lines of the first run may be missing.
    let gap = LogItem::Gap { bytes: None };
    assert_eq!(items, [line("first run"), gap, line("again"), line("and done")]);
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn a_long_log_precedes_the_end_of_its_task() {
    let site = Site::start().await;
    let script = "for i in range(1234): print(i % 7)\nprint('no end', end='')";
    let job = site.run(site.script("long", script)).await;
    let items: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
    let lines = (0..1234).map(|number| (number % 7).to_string());
    let lines = lines.chain(["no end".to_owned()]).map(LogItem::Line);
    assert_eq!(items, lines.collect::<Vec<_>>());
    let news: Vec<_> = job.follow().try_collect().await.unwrap();
    let lines = update_lines(&news, job.id());
    let last = lines.iter().rposition(|line| line == "worker-0: 1").unwrap();
    let end = "! [worker-0] Training finished. Exit code 0.";
    assert!(last < lines.iter().position(|line| line == end).unwrap());
}

/// Changes of the job are detected even while a log in several parts is read.
#[tokio::test]
async fn the_details_are_polled_with_each_part_of_a_log() {
    let site = Site::start().await;
    // The link returns 13 MB in three parts, between two previews.
    let script = "for i in range(1200): print(str(i).zfill(11_000))";
    let job = site.run(site.script("parts", script)).await;
    let details = || site.count("ShowTrainingJobDetails").0;
    let before = details();
    let items: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
    assert_eq!(items.len(), 1200);
    assert_eq!(details() - before, 5);
}

#[tokio::test]
async fn a_line_without_its_end_comes_before_the_log_is_cleared_away() {
    let cleared = json!({"error_code": "ModelArts.2819", "error_msg": "The log is cleared."});
    let (server, _, job) = scripted([
        details("Running"),
        preview("first\nsecond"),
        details("Completed"),
        json_answer("400 Bad Request", "", &cleared.to_string()),
    ])
    .await;
    let log = job.logs("worker-0").quiet(seconds(10)).follow();
    let items: Vec<_> = log.try_collect().await.unwrap();
    let line = |text: &str| LogItem::Line(text.to_owned());
    let gap = LogItem::Gap { bytes: None };
    assert_eq!(items, [line("first"), line("second"), gap]);
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn a_log_that_is_not_there_ends_and_a_refused_poll_is_an_error() {
    let refusal = |status: &str, code: &str| {
        json_answer(status, "", &json!({ "error_code": code }).to_string())
    };
    for missing in
        [refusal("404 Not Found", "ModelArts.2836"), refusal("400 Bad Request", "ModelArts.2775")]
    {
        let (server, _, job) = scripted([details("Running"), missing]).await;
        let items: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
        assert_eq!(items, []);
        assert_eq!(server.left(), 0);
    }
    // The first code concerns an algorithm or an invalid value, the second an experiment; neither
    // concerns the log.
    for code in ["ModelArts.2755", "ModelArts.2842"] {
        let refused = refusal("400 Bad Request", code);
        let (_server, _, job) = scripted([details("Running"), refused.clone()]).await;
        let log = job.logs("worker-0").follow();
        let error = log.try_collect::<Vec<_>>().await.unwrap_err();
        assert_eq!((error.status(), error.code()), (Some(400), Some(code)));

        let (_server, _, job) = scripted([details("Running"), refused]).await;
        let error = job.events().follow().try_collect::<Vec<_>>().await;
        assert_eq!(error.unwrap_err().code(), Some(code));
    }
}
