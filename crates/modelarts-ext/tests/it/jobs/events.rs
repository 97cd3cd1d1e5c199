//! Tests of the events of a job, listed and followed.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures::TryStreamExt;
use modelarts_ext::{
    Error, Event,
    types::{EventLevel, EventSource},
};
use serde_json::json;

use super::fixtures::{details, events, scripted};
use crate::support::{
    clock::{TestClock, seconds},
    errors::{message, refused},
    network::{self, client_of},
    server::json_answer,
    site::Site,
};

/// Returns the events of a completed job with one node and without inputs and outputs, as lines.
fn events_of_completed(id: &str) -> Vec<String> {
    [
        "Info    Job  Training job created.",
        "Info    Job  The training job is queuing and awaiting resource allocation.",
        "Info    K8s  [Pod: modelarts-job-ID-worker-0] Pulled: Successfully pulled image \
         \"pytorch_1.8.0\"",
        "Info    K8S  [Pod: modelarts-job-ID-worker-0] SuccessfulCreate: Created container",
        "Info    K8S  [Pod: modelarts-job-ID-worker-0] Started: Started container",
        "Info    Task [worker-0] The training code is being downloaded.",
        "Info    Task [worker-0] [Duration: 0.000] Training code downloaded.",
        "Info    Job  Training job is running.",
        "Info    Task [worker-0] training started.",
        "Info    Task [worker-0] Training finished. Exit code 0.",
        "Info    Job  Training job executed.",
        "Info    Job  Billing information synchronized.",
    ]
    .map(|line| format!("2026-01-15T16:30:45+08:00 {}", line.replace("ID", id)))
    .to_vec()
}

#[tokio::test]
async fn events_are_read() {
    let site = Site::start().await;
    let job = site.run(site.script("events", "")).await;
    let lines = async |events: modelarts_ext::jobs::events::Events| {
        let events: Vec<_> = events.stream().try_collect().await.unwrap();
        events.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let all = events_of_completed(job.id());
    assert_eq!(lines(job.events()).await, all);

    let before = site.count("ListTrainingJobEvents").0;
    assert_eq!(lines(job.events().page_size(5)).await, all);
    // One of the requests shows the unit of offsets.
    assert_eq!(site.count("ListTrainingJobEvents").0 - before, 3);

    let mut reversed = all.clone();
    reversed.reverse();
    assert_eq!(lines(job.events().newest_first()).await, reversed);
    assert_eq!(
        lines(job.events().source(EventSource::Task)).await,
        [&all[5], &all[6], &all[8], &all[9]].map(Clone::clone)
    );
    assert_eq!(lines(job.events().level(EventLevel::Error)).await, [""; 0]);
    assert_eq!(lines(job.events().pattern("downloaded")).await, all[5..=6]);
    let now = modelarts_ext::clock::Clock::now(&site.clock);
    assert_eq!(lines(job.events().between(now - seconds(60), now - seconds(1))).await, [""; 0]);
    assert_eq!(lines(job.events().between(now - seconds(60), now)).await, all);

    let event = job.events().collect(1).await.unwrap().remove(0);
    assert_eq!(event.time(), Some(now.into()));
    assert_eq!(*event.level(), EventLevel::Info);
    assert_eq!(*event.source(), EventSource::Job);
    assert_eq!(event.message(), "Training job created.");

    let error = refused(job.events().pattern("x".repeat(257)).stream().try_next().await);
    assert_eq!(message(&error), "pattern: 257 characters; must be at most 256");
    let error = refused(job.events().between(now, now - seconds(1)).follow().try_next().await);
    assert_eq!(message(&error), "between: the end is before the start");
}

#[tokio::test]
async fn events_are_followed_across_restarts_of_the_job() {
    let first = [(1, "Training job is running.")];
    // The event of the first end comes after the restart.
    let second =
        [first[0], (9, "Training job failed."), (20, "The training job has been restarted.")];
    let third = [
        first[0],
        // A late event, and an event that is equal to another event.
        (1, "Training job is running."),
        second[1],
        second[2],
        (40, "Training job executed."),
    ];
    let (server, clock, job) = scripted([
        details("Failed"),
        events(&first),
        details("Failed"),
        events(&first),
        details("Running"),
        events(&second),
        details("Running"),
        events(&second),
        details("Completed"),
        events(&third),
    ])
    .await;
    let events = job.events().quiet(seconds(10)).follow();
    let events: Vec<_> = events.try_collect().await.unwrap();
    let lines: Vec<_> = events.iter().map(|event| event.message()).collect();
    assert_eq!(
        lines,
        [
            "Training job is running.",
            "Training job failed.",
            "The training job has been restarted.",
            "Training job is running.",
            "Training job executed.",
        ]
    );
    assert_eq!(clock.slept(), [seconds(5); 4]);
    assert_eq!(server.left(), 0);
    // The window of the third poll begins two minutes and a second before the newest event.
    let window = "end_time=1768552255000&limit=100&offset=0&order=asc&start_time=1768465680000";
    assert!(server.requests()[6].contains(window), "{}", server.requests()[6]);
}

#[tokio::test]
async fn a_program_that_was_restarted_gets_only_the_events_that_it_has_not_seen() {
    let first = [(1, "Training job is running."), (2, "Training job is running.")];
    let all = [first[0], first[1], first[1], (9, "Training job executed.")];
    let (server, _, job) = scripted([
        details("Running"),
        events(&first),
        details("Completed"),
        events(&all),
        details("Completed"),
        events(&all),
    ])
    .await;
    let mut follow = job.events().follow();
    let seen = [follow.try_next().await.unwrap(), follow.try_next().await.unwrap()];
    drop(follow);
    // The stored form has the times in UTC.
    let stored = serde_json::to_string(&seen.each_ref().map(Option::as_ref)).unwrap();
    let mut seen: Vec<Event> = serde_json::from_str(&stored).unwrap();
    let new: Vec<_> = job.events().seen(seen.clone()).follow().try_collect().await.unwrap();
    let lines: Vec<_> = new.iter().map(|event| event.message()).collect();
    assert_eq!(lines, [first[1].1, "Training job executed."]);
    seen.extend(new);
    // The event of the end is known, so the stream does not wait for it.
    let new: Vec<_> = job.events().seen(seen).follow().try_collect().await.unwrap();
    assert_eq!(new, []);
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn the_billing_event_is_awaited_on_request() {
    let ended = [(1, "Training job executed.")];
    let billed = [ended[0], (20, "Billing information synchronized.")];
    let (server, _, job) = scripted([
        details("Completed"),
        events(&ended),
        details("Completed"),
        events(&billed),
        details("Completed"),
        events(&ended),
    ])
    .await;
    let events: Vec<_> = job.events().until_billed().follow().try_collect().await.unwrap();
    assert_eq!(events.len(), 2);
    let events: Vec<_> = job.events().follow().try_collect().await.unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(server.left(), 0);
}

/// Follows a job that has ended and has two events, one of which is missing from the first
/// responses. Returns the messages, the final error, and the number of requests for events.
async fn follow_until_quiet(incomplete: usize) -> (Vec<String>, Option<Error>, usize) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let network = move |request: &reqwest::Request| {
        if !request.url().path().ends_with("/events") {
            return network::json(json!({"metadata": {"id": "job-1", "name": "ended"},
                                        "status": {"phase": "Completed"}}));
        }
        let asked = count.fetch_add(1, Ordering::Relaxed);
        let row = |message: &str| json!({"time": "2026-01-15T16:30:01+08:00", "message": message});
        let mut rows = vec![row("first"), row("second")];
        if asked < incomplete {
            rows.pop();
        }
        let query = request.url().query_pairs().find(|(name, _)| name == "offset");
        let offset: usize = query.unwrap().1.parse().unwrap();
        let rows = rows.get(offset..).unwrap_or_default();
        network::json(json!({"total": 2, "limit": 100, "events": rows}))
    };
    let client = client_of(network).clock(TestClock::new());
    let client = client.build().unwrap();
    let job = client.training_jobs().get("job-1").await.unwrap();
    let mut events = job.events().quiet(seconds(0)).follow();
    let mut messages = Vec::new();
    let error = loop {
        match events.try_next().await {
            Ok(Some(event)) => messages.push(event.message().to_owned()),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    (messages, error, asked.load(Ordering::Relaxed))
}

#[tokio::test]
async fn a_poll_of_events_reads_on_if_the_service_states_more() {
    // A short page of all stated rows ends a poll; otherwise, a page without a row does.
    for (incomplete, expected, requests) in [
        (0, &["first", "second"][..], 1),
        (1, &["first", "second"], 3),
        (usize::MAX, &["first"], 2),
    ] {
        let (messages, error, asked) = follow_until_quiet(incomplete).await;
        assert_eq!(error.map(|error| error.to_string()), None, "{incomplete}");
        assert_eq!(messages, expected, "{incomplete}");
        assert_eq!(asked, requests, "{incomplete}");
    }
}

#[tokio::test]
async fn an_event_that_is_dated_ahead_hides_no_other_one() {
    let row = |time: &str, message: &str| json!({"time": time, "message": message});
    let page = |rows: &[serde_json::Value]| {
        let body = json!({"total": rows.len(), "limit": 100, "offset": 0, "events": rows});
        json_answer("200 OK", "", &body.to_string())
    };
    let first = row("2026-01-15T16:30:44+08:00", "first");
    let ahead = row("2026-01-15T18:00:00+08:00", "an hour and a half ahead");
    let second = row("2026-01-15T16:30:49+08:00", "second");
    let old = row("2026-01-15T12:00:00+08:00", "much too late");
    let (server, clock, job) = scripted([
        details("Running"),
        page(&[first.clone(), ahead.clone()]),
        details("Running"),
        page(&[first.clone(), second.clone(), ahead.clone()]),
        details("Running"),
        page(&[first.clone(), second.clone(), ahead.clone()]),
        details("Completed"),
        page(&[old.clone(), first.clone(), second.clone(), ahead.clone()]),
        // The page contained a new event, so the quiet time starts here.
        details("Completed"),
        page(&[old, first, second, ahead]),
    ])
    .await;
    let mut events = job.events().quiet(seconds(5)).follow();
    let mut messages = Vec::new();
    while let Some(event) = events.try_next().await.unwrap() {
        if event.message() == "second" {
            clock.set_back(seconds(3600));
        }
        messages.push(event.message().to_owned());
    }
    let expected = ["first", "an hour and a half ahead", "second", "much too late"];
    assert_eq!(messages, expected);
    assert_eq!(server.left(), 0);
    let starts = server.requests().into_iter().filter_map(|request| {
        let (_, query) = request.lines().next()?.split_once("/events?")?;
        let start = query.split_once("start_time=").map(|(_, start)| &start[..10]);
        Some(start.map(|start| start.parse::<u64>().unwrap()))
    });
    // The second poll begins two minutes and a second before the first poll, which is at
    // 2026-01-15T08:30:45Z. The third poll begins two minutes and a second before the time to which
    // the clock was set back.
    let first = 1_768_465_845 - 121;
    assert_eq!(
        starts.collect::<Vec<_>>(),
        [None, Some(first), Some(first + 10 - 3600), None, None]
    );
}
