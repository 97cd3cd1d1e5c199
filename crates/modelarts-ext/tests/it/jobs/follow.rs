//! Following events, logs and whole jobs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::TryStreamExt;
use modelarts_emulator::{Fault, Seeds, Timing};
use modelarts_ext::{
    Client, Cloud, Credentials, Error, Job, LogAccess, LogItem, News, RetryPolicy,
};
use serde_json::json;

use crate::support::{
    clock::{TestClock, seconds},
    gate::Gate,
    network::{self, Network},
    server::{PROJECT, Reply, Server, json_answer},
    site::Site,
};

fn details(phase: &str) -> Reply {
    let body = json!({"metadata": {"id": "job-1", "name": "restarted"},
                      "status": {"phase": phase, "tasks": ["worker-0"]}});
    json_answer("200 OK", "", &body.to_string())
}

fn events(rows: &[(u32, &str)]) -> Reply {
    let rows: Vec<_> = rows
        .iter()
        .map(|(second, message)| {
            json!({"time": format!("2026-01-15T16:30:{second:02}+08:00"), "level": "Info",
                   "source": "Job", "message": message})
        })
        .collect();
    let body = json!({"total": rows.len(), "limit": 100, "offset": 0, "events": rows});
    json_answer("200 OK", "", &body.to_string())
}

async fn scripted(replies: impl IntoIterator<Item = Reply>) -> (Server, TestClock, Job) {
    let server = Server::start(std::iter::once(details("Running")).chain(replies)).await;
    let clock = TestClock::new();
    // Its logs are read by preview.
    let client = server.client(&clock).cloud(Cloud::Otc).build().unwrap();
    let job = client.training_jobs().get("job-1").await.unwrap();
    (server, clock, job)
}

#[tokio::test]
async fn events_are_followed_across_restarts_of_the_job() {
    let first = [(1, "Training job is running."), (9, "Training job failed.")];
    let second = [
        first[0],
        first[1],
        (20, "The training job has been restarted."),
    ];
    let third = [
        first[0],
        // One that comes late, and one that is equal to another.
        (1, "Training job is running."),
        first[1],
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
        details("Completed"),
        events(&third),
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
    // Two looks after the end, ten seconds in all.
    assert_eq!(clock.slept(), [seconds(5); 6]);
    assert_eq!(server.left(), 0);
    // The second look asks from two minutes, and a second, before the newest event.
    let window = "end_time=1768552250000&limit=100&offset=0&order=asc&start_time=1768465688000";
    assert!(
        server.requests()[4].contains(window),
        "{}",
        server.requests()[4]
    );
}

/// Follows a job that has ended and has two events, of which the first answers have one.
/// Returns the messages, how the stream ended, and how many requests asked for events.
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
        network::json(json!({"total": 2, "limit": 100, "events": rows}))
    };
    let client = Client::builder()
        .endpoint("https://modelarts.test")
        .project_id(PROJECT)
        .credentials(Credentials::token("t"))
        .clock(TestClock::new())
        .connector(Network(network));
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
async fn the_last_poll_of_events_is_complete_or_an_error() {
    // The list is read again, and if that does not help, the next poll begins again.
    for incomplete in 1..40 {
        let (messages, error, asked) = follow_until_quiet(incomplete).await;
        assert_eq!(messages, ["first", "second"], "{incomplete}");
        assert_eq!(error.map(|error| error.to_string()), None, "{incomplete}");
        assert!(asked > incomplete, "{incomplete} {asked}");
    }
    let (messages, error, _) = follow_until_quiet(usize::MAX).await;
    assert_eq!(messages, ["first"]);
    assert_eq!(
        error.unwrap().to_string(),
        "ListTrainingJobEvents: the list ended after 1 of the 2 rows that the service stated; read \
         on from the position of this error, or read it again"
    );
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
        details("Completed"),
        page(&[first.clone(), second.clone(), ahead.clone()]),
        details("Completed"),
        page(&[old.clone(), first.clone(), second.clone(), ahead.clone()]),
        // That was new, so it is quiet from here on.
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
    let expected = [
        "first",
        "an hour and a half ahead",
        "second",
        "much too late",
    ];
    assert_eq!(messages, expected);
    assert_eq!(server.left(), 0);
    let starts = server.requests().into_iter().filter_map(|request| {
        let (_, query) = request.lines().next()?.split_once("/events?")?;
        let start = query
            .split_once("start_time=")
            .map(|(_, start)| &start[..10]);
        Some(start.map(|start| start.parse::<u64>().unwrap()))
    });
    // 2026-01-15T08:30:45Z, when the first poll began, and two minutes and a second before
    // that; then as long before the clock that was set back.
    let first = 1_768_465_845 - 121;
    assert_eq!(
        starts.collect::<Vec<_>>(),
        [None, Some(first), Some(first + 10 - 3600), None, None]
    );
}

fn preview(text: &str) -> Reply {
    let body = json!({"content": text, "current_size": text.len(), "full_size": text.len()});
    json_answer("200 OK", "", &body.to_string())
}

#[tokio::test]
async fn a_log_is_followed_across_restarts_of_its_task() {
    let (server, _, job) = scripted([
        details("Failed"),
        preview("first run\n"),
        details("Running"),
        json_answer("204 No Content", "", ""),
        details("Running"),
        preview("again\n"),
        details("Completed"),
        preview("again\nand done"),
        details("Completed"),
        preview("again\nand done"),
        details("Completed"),
        preview("again\nand done"),
    ])
    .await;
    let log = job.logs("worker-0").quiet(seconds(10)).follow();
    let items: Vec<_> = log.try_collect().await.unwrap();
    let lines = ["first run", "again", "and done"];
    assert_eq!(items, lines.map(|line| LogItem::Line(line.into())));
    assert_eq!(server.left(), 0);
}

/// What is told, as lines.
fn told(news: &[News], id: &str) -> Vec<String> {
    let lines = news.iter().map(|news| match news {
        News::Phase(job) => format!("= {}", job.phase()),
        News::Event(event) => format!("! {}", event.message().replace(id, "ID")),
        News::Log {
            task,
            item: LogItem::Line(line),
        } => format!("{task}: {line}"),
        other => format!("{other:?}"),
    });
    lines.collect()
}

#[tokio::test]
async fn a_job_is_followed_as_a_whole() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let script = gate.script("print('hello', flush=True)", "print('bye')");
    let job = site.script("whole", &script).submit().await.unwrap();
    let waiting = gate.reached().await;
    let (emulator, id) = (Arc::clone(&site.emulator), job.id().to_owned());
    site.clock.step(async move {
        waiting.let_through().await;
        emulator.settled(&id).await;
    });
    let news: Vec<_> = job.follow().stream().try_collect().await.unwrap();
    assert_eq!(
        told(&news, job.id()),
        [
            "= Running",
            "! Training job created.",
            "! The training job is queuing and awaiting resource allocation.",
            "! [Pod: modelarts-job-ID-worker-0] Pulled: Successfully pulled image \
             \"pytorch_1.8.0\"",
            "! [Pod: modelarts-job-ID-worker-0] SuccessfulCreate: Created container",
            "! [Pod: modelarts-job-ID-worker-0] Started: Started container",
            "! [worker-0] The training code is being downloaded.",
            "! [worker-0] [Duration: 0.000] Training code downloaded.",
            "! Training job is running.",
            "! [worker-0] training started.",
            "worker-0: hello",
            "worker-0: bye",
            "! [worker-0] Training finished. Exit code 0.",
            "! Training job executed.",
            "! Billing information synchronized.",
            "= Completed",
        ]
    );
    assert_eq!(site.clock.slept(), [seconds(5); 7]);
}

#[tokio::test]
async fn all_tasks_of_a_job_are_followed() {
    let site = Site::start().await;
    let script = "import os\nprint('I am', os.environ['VC_TASK_INDEX'])";
    let job = site.run(site.script("many", script).nodes(2)).await;
    let news = job.follow().quiet(Duration::ZERO).stream();
    let news: Vec<_> = news.try_collect().await.unwrap();
    let lines = told(&news, job.id());
    for task in ["worker-0", "worker-1"] {
        let index = &task[7..];
        let line = lines
            .iter()
            .position(|line| *line == format!("{task}: I am {index}"));
        let end = format!("! [{task}] Training finished. Exit code 0.");
        let end = lines.iter().position(|line| *line == end);
        assert!(line.is_some() && line < end, "{lines:?}");
    }
    assert_eq!(site.clock.slept(), []);

    let news = job.follow().quiet(Duration::ZERO).without_logs().stream();
    let news: Vec<_> = news.try_collect().await.unwrap();
    assert!(!news.iter().any(|news| matches!(news, News::Log { .. })));
    assert!(matches!(news.last(), Some(News::Phase(_))));
}

#[tokio::test]
async fn a_job_that_is_deleted_vanishes() {
    let mut timing = Timing::instant();
    timing.queuing = seconds(1000);
    let site = Site::with(|builder| builder.timing(timing)).await;
    let job = site.script("vanishing", "").submit().await.unwrap();
    site.emulator.wait_for(job.id(), "Pending").await.unwrap();
    let (emulator, deleted) = (Arc::clone(&site.emulator), job.clone());
    site.clock.step(async move {
        deleted.delete().await.unwrap();
        emulator.gone(deleted.id()).await;
    });
    let news: Vec<_> = job.follow().stream().try_collect().await.unwrap();
    assert_eq!(
        told(&news, job.id()),
        [
            "= Pending",
            "! Training job created.",
            "! The training job is queuing and awaiting resource allocation.",
            "Vanished",
        ]
    );
}

#[tokio::test]
async fn answers_that_fail_in_passing_do_not_end_it() {
    let site = Site::start().await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let job = site.run(site.script("bumpy", "print('x')")).await;
    let job = client.training_jobs().get(job.id()).await.unwrap();
    for operation in [
        "ShowTrainingJobDetails",
        "ListTrainingJobEvents",
        "ShowTrainingJobLogsPreview",
    ] {
        site.fault(1, operation, Fault::Reset);
    }
    let news: Vec<_> = job.follow().stream().try_collect().await.unwrap();
    let lines = told(&news, job.id());
    assert_eq!(
        lines.iter().filter(|line| line.starts_with('!')).count(),
        12
    );
    assert_eq!(
        lines.iter().filter(|line| *line == "worker-0: x").count(),
        1
    );
}

#[tokio::test]
async fn a_job_tells_what_people_look_for() {
    let server = Server::start([
        json_answer(
            "200 OK",
            "",
            &json!({
                "metadata": {"id": "job-1", "create_time": 1_641_892_642_625_i64},
                "spec": {"log_export_path": {"obs_url": "obs://bucket/logs/"}},
                "status": {
                    "phase": "Failed", "start_time": 1_641_892_655_000_i64, "duration": 268_000,
                    "running_records": [
                        {"start_at": 1_701_327_093, "end_at": 1_701_322_341,
                         "end_reason": "exit with 127", "start_type": "init_or_rescheduled"},
                        {"start_at": 1_701_327_193, "start_type": "restarted"},
                    ],
                    "task_statuses": [{"task": "worker-1", "exit_code": 127, "message": "no"}],
                },
                "tasks": [
                    {"role": "server", "log_export_path": {"obs_url": ""}},
                    {"role": "worker", "log_export_path": {"obs_url": "obs://bucket/w/"}},
                ],
            })
            .to_string(),
        ),
        json_answer(
            "200 OK",
            "",
            &json!({"metadata": {"id": "job-2", "create_time": 1000},
                "status": {"phase": "Creating", "start_time": 0, "duration": 0},
                "spec": {"log_export_path": {}},
                "tasks": [{"role": "worker", "log_export_path": {"obs_url": "obs://bucket/w"}}]})
            .to_string(),
        ),
    ])
    .await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = client.training_jobs().get("job-1").await.unwrap();
    assert_eq!(job.time_queued(), Some(Duration::from_millis(12_375)));
    assert_eq!(job.time_run(), Some(seconds(268)));
    assert_eq!(job.restarts(), Some(1));
    assert_eq!(job.runs()[0].end_reason.as_deref(), Some("exit with 127"));
    assert_eq!(job.exit_codes().collect::<Vec<_>>(), [("worker-1", 127)]);
    let dirs = ["obs://bucket/logs/", "obs://bucket/w/"];
    assert_eq!(job.log_dirs().collect::<Vec<_>>(), dirs);
    // In the directory of the task's role; in the job's own where that has none.
    for (task, dir) in [("worker-1", "w"), ("server-0", "logs"), ("other", "logs")] {
        assert_eq!(
            job.log_object(task),
            Some(format!("obs://bucket/{dir}/modelarts-job-job-1-{task}.log"))
        );
    }

    let new = client.training_jobs().get("job-2").await.unwrap();
    assert_eq!(
        (new.started_at(), new.time_queued(), new.time_run()),
        (None, None, None)
    );
    assert_eq!((new.restarts(), new.exit_codes().count()), (None, 0));
    assert_eq!(
        new.log_object("worker-0").as_deref(),
        Some("obs://bucket/w/modelarts-job-job-2-worker-0.log")
    );
    assert_eq!(new.log_object("server-0"), None);
    assert_eq!(new.log_dirs().collect::<Vec<_>>(), ["obs://bucket/w"]);
}

/// A job of Huawei Cloud.
async fn huawei(replies: impl IntoIterator<Item = Reply>) -> (Server, Job) {
    let server = Server::start(std::iter::once(details("Running")).chain(replies)).await;
    let client = server
        .client(&TestClock::new())
        .cloud(Cloud::Huawei)
        .build()
        .unwrap();
    let job = client.training_jobs().get("job-1").await.unwrap();
    (server, job)
}

fn numbered(first: u32, text: &str) -> Reply {
    let lines = u32::try_from(text.lines().count()).unwrap();
    let body = json!({"start_line": first.to_string(), "lines": lines, "content": text,
                      "end_line": (first + lines.max(1) - 1).to_string()});
    json_answer("200 OK", "", &body.to_string())
}

fn no_such_route() -> Reply {
    let body = json!({"error_code": "APIG.0101", "error_msg": "The API does not exist"});
    json_answer("404 Not Found", "", &body.to_string())
}

/// What was asked for, without what is before the log.
fn asked(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let paths = requests.iter().filter_map(|request| {
        let path = request.split(' ').nth(1)?;
        Some(path.split_once("/logs/")?.1.to_owned())
    });
    paths.collect()
}

#[tokio::test]
async fn a_log_is_read_by_line_numbers_where_the_cloud_has_them() {
    let (server, job) = huawei([
        details("Running"),
        json_answer("204 No Content", "", ""),
        details("Completed"),
        numbered(1, "one\ntwo\n"),
        numbered(2, "two\n"),
        numbered(1, ""),
        numbered(2, ""),
    ])
    .await;
    let log = job.logs("worker-0").quiet(Duration::ZERO).follow();
    let items: Vec<_> = log.try_collect().await.unwrap();
    assert_eq!(items, ["one", "two"].map(|line| LogItem::Line(line.into())));
    assert_eq!(
        asked(&server),
        [
            "worker-0?lines=500&order=asc",
            "worker-0?lines=500&order=asc",
            "worker-0?base_line=1&lines=500&order=asc",
            "worker-0?base_line=1&lines=500&order=desc",
            "worker-0?base_line=2&lines=500&order=asc",
        ]
    );
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn a_log_is_read_by_preview_where_the_service_has_no_line_numbers() {
    let answers = || [details("Completed"), no_such_route(), preview("one\ntwo\n")];
    let (server, job) = huawei(answers()).await;
    let log = job.logs("worker-0").quiet(Duration::ZERO).follow();
    let items: Vec<_> = log.try_collect().await.unwrap();
    assert_eq!(items, ["one", "two"].map(|line| LogItem::Line(line.into())));
    assert_eq!(asked(&server), ["worker-0?lines=500&order=asc", "preview"]);

    // Who wants numbers is told, and not that the job is gone.
    let (_server, job) = huawei(answers()).await;
    let log = job
        .logs("worker-0")
        .read_by(LogAccess::LineNumbers)
        .follow();
    let error = log.try_collect::<Vec<_>>().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the service does not give lines of logs by their numbers; read the log by preview"
    );
    assert!(!error.is_not_found());

    // Elsewhere nobody asks for them.
    let (server, _, job) = scripted([details("Completed"), preview("one\n")]).await;
    let log = job.logs("worker-0").quiet(Duration::ZERO).follow();
    assert_eq!(log.try_collect::<Vec<_>>().await.unwrap().len(), 1);
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn a_long_log_is_the_same_in_both_ways() {
    let site = Site::start().await;
    let script = "for i in range(1234): print(i % 7)\nprint('no end', end='')";
    let job = site.run(site.script("long", script)).await;
    for access in [LogAccess::Preview, LogAccess::LineNumbers] {
        let log = job.logs("worker-0").read_by(access).quiet(Duration::ZERO);
        let items: Vec<_> = log.follow().try_collect().await.unwrap();
        let lines = (0..1234).map(|number| (number % 7).to_string());
        let lines = lines.chain(["no end".to_owned()]).map(LogItem::Line);
        assert_eq!(items, lines.collect::<Vec<_>>(), "{access:?}");
        // And all of it comes before the end of its task.
        let follow = job.follow().read_logs_by(access).quiet(Duration::ZERO);
        let news: Vec<_> = follow.stream().try_collect().await.unwrap();
        let lines = told(&news, job.id());
        let last = lines
            .iter()
            .rposition(|line| line == "worker-0: 1")
            .unwrap();
        let end = "! [worker-0] Training finished. Exit code 0.";
        assert!(last < lines.iter().position(|line| line == end).unwrap());
    }
}

#[tokio::test]
async fn a_job_whose_log_was_cleared_away_is_followed_nonetheless() {
    let site = Site::start().await;
    // Logs are kept for 30 days.
    let seeds = json!({"jobs": [{
        "name": "old", "created": "2025-01-15T08:30:00Z",
        "events": [{"time": "2025-01-15T08:30:01Z", "message": "the only event"}],
        "logs": {"worker-0": "once written\n"},
    }]});
    let seeds = Seeds::from_json(&seeds.to_string()).unwrap();
    let id = site.emulator.seed(&seeds).await.unwrap().remove(0);
    let job = site.client.training_jobs().get(&id).await.unwrap();
    let error = job.logs("worker-0").preview().await.unwrap_err();
    assert_eq!(error.code(), Some("ModelArts.2819"));

    for access in [LogAccess::Preview, LogAccess::LineNumbers] {
        let log = job.logs("worker-0").read_by(access).quiet(Duration::ZERO);
        let items: Vec<LogItem> = log.follow().try_collect().await.unwrap();
        assert_eq!(items, [LogItem::Gap { bytes: None }], "{access:?}");

        let follow = job.follow().read_logs_by(access).quiet(Duration::ZERO);
        let news: Vec<News> = follow.stream().try_collect().await.unwrap();
        let told = news.iter().map(|news| match news {
            News::Phase(job) => job.phase().to_string(),
            News::Event(event) => event.message().to_owned(),
            News::Log { task, item } => format!("{task}: {item:?}"),
            other => format!("{other:?}"),
        });
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                "the only event",
                "worker-0: Gap { bytes: None }",
                "Completed"
            ],
            "{access:?}"
        );
    }
}

#[tokio::test]
async fn a_line_without_its_end_comes_before_the_log_is_cleared_away() {
    let cleared = json!({"error_code": "ModelArts.2819", "error_msg": "The log is cleared."});
    let (server, _, job) = scripted([
        details("Completed"),
        preview("first\nsecond"),
        details("Completed"),
        json_answer("400 Bad Request", "", &cleared.to_string()),
        details("Completed"),
        details("Completed"),
    ])
    .await;
    let log = job.logs("worker-0").quiet(seconds(10)).follow();
    let items: Vec<_> = log.try_collect().await.unwrap();
    let line = |text: &str| LogItem::Line(text.to_owned());
    let gap = LogItem::Gap { bytes: None };
    assert_eq!(items, [line("first"), line("second"), gap]);
    assert_eq!(server.left(), 0);
}
