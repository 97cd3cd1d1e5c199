//! Tests of followed logs that begin with their last lines.

use futures::TryStreamExt;
use modelarts_ext::{LogItem, jobs::follow::JobUpdate};

use super::fixtures::blocked_job;
use crate::support::site::Site;

fn lines(items: &[LogItem]) -> Vec<&str> {
    let lines = items.iter().map(|item| match item {
        LogItem::Line(line) => line.as_str(),
        _ => "gap",
    });
    lines.collect()
}

#[tokio::test]
async fn the_first_poll_returns_only_the_last_lines() {
    let site = Site::start().await;
    for (tail, expected) in [
        (0, &["four", "five"][..]),
        (1, &["three", "four", "five"]),
        (2, &["two", "three", "four", "five"]),
        (9, &["one", "two", "three", "four", "five"]),
    ] {
        let job = blocked_job(
            &site,
            &format!("tail-{tail}"),
            "print('one\\ntwo\\nthree', flush=True)",
            "print('four')\nprint('five', end='')",
        )
        .await;
        let items = job.logs("worker-0").tail_lines(tail).follow();
        let items: Vec<LogItem> = items.try_collect().await.unwrap();
        assert_eq!(lines(&items), expected, "{tail}");
    }
}

#[tokio::test]
async fn an_incomplete_line_is_the_last_one() {
    let site = Site::start().await;
    for (tail, expected) in
        [(0, &["ee", "four"][..]), (1, &["three", "four"]), (2, &["two", "three", "four"])]
    {
        let job = blocked_job(
            &site,
            &format!("incomplete-{tail}"),
            "print('one\\ntwo\\nthr', end='', flush=True)",
            "print('ee')\nprint('four')",
        )
        .await;
        let items = job.logs("worker-0").tail_lines(tail).follow();
        let items: Vec<LogItem> = items.try_collect().await.unwrap();
        assert_eq!(lines(&items), expected, "{tail}");
    }
}

#[tokio::test]
async fn a_log_that_is_longer_than_a_preview_is_not_read_from_its_beginning() {
    let site = Site::start().await;
    let script = "for i in range(140_000): print(f'line {i:034}')";
    let job = site.script("long", script).submit().await.unwrap();
    job.wait().await.unwrap().success().unwrap();
    let items = job.logs("worker-0").tail_lines(2).follow();
    let items: Vec<LogItem> = items.try_collect().await.unwrap();
    let last = [139_998, 139_999].map(|number| LogItem::Line(format!("line {number:034}")));
    assert_eq!(items, last);
    assert_eq!(site.count("ShowObsUrlOfTrainingJobLogs"), (0, 0));
}

#[tokio::test]
async fn the_updates_of_a_job_begin_with_the_last_lines() {
    let site = Site::start().await;
    let job =
        blocked_job(&site, "updates", "print('one\\ntwo', flush=True)", "print('three')").await;
    let updates = job.updates().tail_lines(1).follow();
    let updates: Vec<JobUpdate> = updates.try_collect().await.unwrap();
    let items: Vec<LogItem> = updates
        .into_iter()
        .filter_map(|update| match update {
            JobUpdate::Log { item, .. } => Some(item),
            _ => None,
        })
        .collect();
    assert_eq!(lines(&items), ["two", "three"]);
}
