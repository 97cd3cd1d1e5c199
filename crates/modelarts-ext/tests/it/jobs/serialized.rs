//! JSON of events, log items, updates and metrics.

use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use modelarts_ext::{
    Event, EventKind, LogItem, Timestamp,
    jobs::{MetricSeries, follow::JobUpdate},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::fixtures::{details, scripted};
use crate::support::{server::json_answer, site::Site};

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

/// Returns these rows as events.
async fn events(rows: Value) -> Vec<Event> {
    let page = |rows: &Value| json_answer("200 OK", "", &json!({"events": rows}).to_string());
    let (_server, _, job) = scripted([page(&rows), page(&json!([]))]).await;
    job.events().collect(100).await.unwrap()
}

#[tokio::test]
async fn an_event_is_an_object_with_the_fields_of_its_kind() {
    let events = events(json!([
        {"time": "2026-01-15T16:30:07+08:00", "level": "Info", "source": "Job",
         "message": "Training job created."},
        {"time": "2026-01-15T16:30:08+08:00", "level": "Info", "source": "Task",
         "message": "[worker-0] Training finished. Exit code 0."},
        {"time": "soon", "level": "Warning", "source": "Job", "message": "Something \"new\"."},
    ]))
    .await;
    assert_eq!(
        events.iter().map(text).collect::<Vec<_>>(),
        [
            concat!(
                r#"{"time":"2026-01-15T08:30:07Z","level":"Info","source":"Job","#,
                r#""message":"Training job created.","kind":"created"}"#
            ),
            concat!(
                r#"{"time":"2026-01-15T08:30:08Z","level":"Info","source":"Task","#,
                r#""message":"[worker-0] Training finished. Exit code 0.","#,
                r#""kind":"task_finished","task":"worker-0","exit_code":0}"#
            ),
            concat!(
                r#"{"time":"soon","level":"Warning","source":"Job","#,
                r#""message":"Something \"new\".","kind":"other"}"#
            ),
        ]
    );
}

#[test]
fn a_kind_is_an_object_with_its_name() {
    let task = || "worker-0".to_owned();
    for (kind, json) in [
        (EventKind::MaybeHanging, r#"{"kind":"maybe_hanging"}"#),
        (
            EventKind::AutoStopped { limit: Duration::from_secs(3600) },
            r#"{"kind":"auto_stopped","limit_seconds":3600}"#,
        ),
        (
            EventKind::CodeDownloaded { task: task(), took: Some(Duration::from_millis(296)) },
            r#"{"kind":"code_downloaded","task":"worker-0","took_seconds":0.296}"#,
        ),
        (
            EventKind::DependenciesInstalled {
                task: task(),
                took: None,
                files: vec!["requirements.txt".to_owned()],
            },
            concat!(
                r#"{"kind":"dependencies_installed","task":"worker-0","took_seconds":null,"#,
                r#""files":["requirements.txt"]}"#
            ),
        ),
    ] {
        assert_eq!(text(&kind), json);
    }
}

#[test]
fn a_log_item_is_a_line_or_a_gap() {
    assert_eq!(text(&LogItem::Line("epoch 1".to_owned())), r#"{"line":"epoch 1"}"#);
    assert_eq!(text(&LogItem::Gap { bytes: Some(4096) }), r#"{"gap":{"bytes":4096}}"#);
    assert_eq!(text(&LogItem::Gap { bytes: None }), r#"{"gap":{"bytes":null}}"#);
}

#[tokio::test]
async fn an_update_is_one_object() {
    let (server, _, job) = scripted([]).await;
    let event = events(json!([
        {"time": "2026-01-15T16:30:07+08:00", "level": "Error", "source": "Job",
         "message": "Training job failed."},
    ]))
    .await
    .remove(0);
    server.add([details("Failed")]);
    let failed = job.get().await.unwrap();
    let log = |item| JobUpdate::Log { task: "worker-0".to_owned(), item };
    for (update, json) in [
        (
            JobUpdate::Phase(Box::new(failed)),
            r#"{"update":"phase","id":"job-1","name":"restarted","phase":"Failed"}"#,
        ),
        (
            JobUpdate::Event(event),
            concat!(
                r#"{"update":"event","time":"2026-01-15T08:30:07Z","level":"Error","#,
                r#""source":"Job","message":"Training job failed.","kind":"failed"}"#
            ),
        ),
        (
            log(LogItem::Line("epoch 1".to_owned())),
            r#"{"update":"log","task":"worker-0","line":"epoch 1"}"#,
        ),
        (
            log(LogItem::Gap { bytes: Some(4096) }),
            r#"{"update":"log","task":"worker-0","gap":{"bytes":4096}}"#,
        ),
        (JobUpdate::Vanished, r#"{"update":"vanished"}"#),
    ] {
        assert_eq!(text(&update), json);
    }
}

/// Every update of a followed job can be printed.
#[tokio::test]
async fn a_followed_job_is_lines_of_json() {
    let site = Site::start().await;
    let job = site.run(site.script("printed", "print('hello')")).await;
    let updates: Vec<_> = job.follow().try_collect().await.unwrap();
    let lines = updates.iter().map(serde_json::to_value);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().unwrap();
    let of = |update: &str| lines.iter().filter(|line| line["update"] == update).count();
    assert_eq!((of("phase"), of("log")), (1, 1));
    assert_eq!(of("phase") + of("log") + of("event"), lines.len());
    let finished = lines.iter().find(|line| line["kind"] == "task_finished");
    assert_eq!(finished.unwrap()["exit_code"], 0);
}

#[test]
fn a_series_is_a_metric_with_points() {
    let start: Timestamp = "2026-01-15T08:30:45Z".parse().unwrap();
    let series = MetricSeries::new("cpuUsage", SystemTime::from(start), [-1.0, 40.5]);
    assert_eq!(
        text(&series),
        concat!(
            r#"{"metric":"cpuUsage","points":[{"time":"2026-01-15T08:30:45Z","value":null},"#,
            r#"{"time":"2026-01-15T08:31:45Z","value":40.5}]}"#
        )
    );
}
