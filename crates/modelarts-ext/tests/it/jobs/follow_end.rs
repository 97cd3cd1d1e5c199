//! Tests of the end of followed jobs: immediately after a complete poll that follows the end, and
//! later only if something is missing.

use std::time::Duration;

use futures::TryStreamExt;
use modelarts_emulator::Timing;
use modelarts_ext::{
    Job, LogItem, RetryPolicy,
    jobs::{events::Events, follow::JobUpdate},
    types::{EventLevel, EventSource, Language, Phase},
};
use serde_json::json;

use super::fixtures::{details, events, scripted, update_lines};
use crate::support::{
    clock::{TestClock, seconds},
    faults::status,
    script_barrier::ScriptBarrier,
    server::{Reply, Server, json_answer},
    site::Site,
};

const EVENTS: &str = "ListTrainingJobEvents";

/// Method to follow a job.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Events,
    Errors,
    Log,
    Updates,
}

const WAYS: [Way; 4] = [Way::Events, Way::Errors, Way::Log, Way::Updates];

/// Follows a job, and returns the last item as text.
async fn last_item(way: Way, job: &Job) -> String {
    match way {
        Way::Events => last_event(job.events()).await,
        Way::Errors => last_event(job.events().level(EventLevel::Error)).await,
        Way::Log => last_line(job.logs("worker-0").follow().try_collect().await),
        Way::Updates => {
            let updates: Vec<_> = job.follow().try_collect().await.unwrap();
            match updates.last() {
                Some(JobUpdate::Phase(job)) => job.phase().to_string(),
                other => format!("{other:?}"),
            }
        }
    }
}

async fn last_event(events: Events) -> String {
    let mut events: Vec<_> = events.follow().try_collect().await.unwrap();
    let billing = "Billing information synchronized.";
    events.retain(|event| event.message() != billing);
    let last = events.last().map(|event| event.message().to_owned());
    last.unwrap_or_default()
}

fn last_line(items: Result<Vec<LogItem>, modelarts_ext::Error>) -> String {
    match items.unwrap().pop() {
        Some(LogItem::Line(line)) => line,
        other => format!("{other:?}"),
    }
}

/// Returns the last item of each method for a job that ended with this phase.
fn expected(way: Way, phase: &Phase) -> String {
    let text = match (way, phase) {
        (Way::Events, Phase::Completed) => "Training job executed.",
        (Way::Events | Way::Errors, Phase::Failed) => "Training job failed.",
        (Way::Events, _) => "The training job has been manually stopped.",
        (Way::Errors, _) => "",
        (Way::Log, Phase::Terminated) => "before",
        (Way::Log, _) => "after",
        (Way::Updates, _) => return phase.to_string(),
    };
    text.to_owned()
}

#[tokio::test]
async fn a_follow_ends_within_one_interval_of_the_end() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    for (phase, exit_code) in [(Phase::Completed, 0), (Phase::Failed, 7), (Phase::Terminated, 0)] {
        for way in WAYS {
            let what = format!("{way:?}, {phase}");
            let before = "print('before', flush=True)";
            let after = format!("print('after', flush=True)\nraise SystemExit({exit_code})");
            let script = barrier.script(before, &after);
            let name = format!("{way:?}-{phase}");
            let job = site.script(&name, &script).submit().await.unwrap();
            let waiting = barrier.reached().await;
            let ended = job.clone();
            let stops = phase == Phase::Terminated;
            let slept = site.clock.slept().len();
            site.at_pause(job.id(), async move {
                match stops {
                    true => drop(ended.terminate().await.unwrap()),
                    false => waiting.release().await,
                }
            });
            assert_eq!(last_item(way, &job).await, expected(way, &phase), "{what}");
            // The job ended at the start of the only pause.
            assert_eq!(site.clock.slept()[slept..], [seconds(5)], "{what}");

            // For a job that has ended already, one poll is enough.
            assert_eq!(last_item(way, &job).await, expected(way, &phase), "{what}");
            assert_eq!(site.clock.slept().len(), slept + 1, "{what}");
        }
    }
}

#[tokio::test]
async fn a_follow_of_a_job_that_never_ran_ends_without_its_log() {
    let mut timing = Timing::instant();
    timing.queuing = seconds(1000);
    let site = Site::with(|builder| builder.timing(timing)).await;
    for way in WAYS {
        let name = format!("{way:?}");
        let job = site.script(&name, "").submit().await.unwrap();
        site.emulator.wait_for(job.id(), "Pending").await.unwrap();
        job.terminate().await.unwrap();
        site.emulator.wait_until_settled(job.id()).await;
        let last = match way {
            Way::Log => "None".to_owned(),
            _ => expected(way, &Phase::Terminated),
        };
        assert_eq!(last_item(way, &job).await, last, "{way:?}");
        assert_eq!(site.clock.slept(), [Duration::ZERO; 0], "{way:?}");
    }
}

#[tokio::test]
async fn a_poll_that_fails_after_the_end_is_not_the_last_one() {
    let site = Site::start().await;
    let client = site.client().retry(RetryPolicy::none()).build().unwrap();
    let job = site.run(site.script("failing", "print('after')")).await;
    let job = client.training_jobs().get(job.id()).await.unwrap();
    for (way, operation) in [
        (Way::Events, EVENTS),
        (Way::Log, "ShowTrainingJobLogsPreview"),
        (Way::Updates, EVENTS),
        (Way::Updates, "ShowTrainingJobLogsPreview"),
    ] {
        let slept = site.clock.slept().len();
        site.fault(2, operation, status(503, None));
        let last = last_item(way, &job).await;
        assert_eq!(last, expected(way, &Phase::Completed), "{way:?}");
        assert_eq!(site.clock.slept()[slept..], [seconds(5); 2], "{way:?}, {operation}");
    }
}

fn preview(text: &str) -> Reply {
    let body = json!({"content": text, "current_size": text.len(), "full_size": text.len()});
    json_answer("200 OK", "", &body.to_string())
}

fn no_log() -> Reply {
    json_answer("204 No Content", "", "")
}

const RUNNING: (u32, &str) = (1, "Training job is running.");
const FAILED: (u32, &str) = (9, "Training job failed.");
const RESTARTED: (u32, &str) = (20, "The training job has been restarted.");

async fn messages(events: Events) -> Vec<String> {
    let events: Vec<_> = events.follow().try_collect().await.unwrap();
    let messages = events.iter().map(|event| event.message().to_owned());
    messages.collect()
}

#[tokio::test]
async fn the_event_of_the_end_is_waited_for() {
    for (phase, first, last) in [
        ("Completed", &[RUNNING][..], (30, "Training job executed.")),
        ("Failed", &[RUNNING], FAILED),
        // The failure before the restart is not the end.
        ("Failed", &[RUNNING, FAILED, RESTARTED], (30, "Training job failed.")),
        ("Terminated", &[RUNNING, FAILED], (30, "The training job has been manually stopped.")),
        (
            "Terminated",
            &[RUNNING],
            (30, "The training job has been stopped. (Maximum running duration: 1 hour)"),
        ),
    ] {
        let all = [first, &[last]].concat();
        let (server, clock, job) = scripted([
            details(phase),
            events(first),
            details(phase),
            events(first),
            details(phase),
            events(&all),
        ])
        .await;
        let expected: Vec<_> = all.iter().map(|(_, message)| *message).collect();
        assert_eq!(messages(job.events()).await, expected, "{phase}");
        assert_eq!(clock.slept(), [seconds(5); 2], "{phase}");
        assert_eq!(server.left(), 0, "{phase}");
        // Polls after the end request all events, regardless of their times.
        let windows = server.requests();
        let windows = windows.iter().filter(|it| it.contains("start_time"));
        assert_eq!(windows.count(), 0, "{phase}");
    }
}

#[tokio::test]
async fn an_event_that_never_comes_is_waited_for_in_the_quiet_time() {
    let rounds = |count: usize| {
        let round = [details("Completed"), events(&[RUNNING])];
        std::iter::repeat_n(round, count).flatten()
    };
    let (server, clock, job) = scripted(rounds(7)).await;
    assert_eq!(messages(job.events()).await, [RUNNING.1]);
    assert_eq!(clock.slept().iter().sum::<Duration>(), seconds(30));
    assert_eq!(server.left(), 0);

    let (server, clock, job) = scripted(rounds(1)).await;
    let quiet = job.events().quiet(Duration::ZERO);
    assert_eq!(messages(quiet).await, [RUNNING.1]);
    assert_eq!((clock.slept(), server.left()), (vec![], 0));
}

#[tokio::test]
async fn the_end_is_found_among_events_that_the_conditions_exclude() {
    let (server, clock, job) = scripted([
        details("Completed"),
        events(&[RUNNING]),
        events(&[]),
        details("Completed"),
        events(&[RUNNING, (30, "Training job executed.")]),
        events(&[]),
    ])
    .await;
    let tasks = job.events().source(EventSource::Task);
    assert_eq!(messages(tasks).await, [""; 0]);
    assert_eq!(clock.slept(), [seconds(5)]);
    let requests = server.requests();
    let queries: Vec<_> = requests
        .iter()
        .filter_map(|request| request.split(' ').nth(1)?.split_once("/events?"))
        .map(|(_, query)| query)
        .collect();
    let (newest, tasks) =
        ("limit=100&offset=0&order=desc", "limit=100&offset=0&order=asc&source=Task");
    assert_eq!(queries, [newest, tasks, newest, tasks]);
    assert_eq!(server.left(), 0);
}

#[tokio::test]
async fn the_end_is_found_in_another_language() {
    let site = Site::start().await;
    let job = site.run(site.script("chinese", "print('x')")).await;
    let client = site.client().language(Language::ZhCn).build().unwrap();
    let job = client.training_jobs().get(job.id()).await.unwrap();
    let messages = messages(job.events()).await;
    assert_eq!(messages.last().unwrap(), "计费信息已同步。");
    let updates: Vec<_> = job.follow().try_collect().await.unwrap();
    assert!(matches!(updates.last(), Some(JobUpdate::Phase(_))));
    assert_eq!(site.clock.slept(), [Duration::ZERO; 0]);
}

#[tokio::test]
async fn the_log_of_a_job_that_ran_is_waited_for() {
    let status = json!({"phase": "Failed", "tasks": ["worker-0"], "duration": 1000});
    let failed = json!({"metadata": {"id": "job-1", "name": "failed"}, "status": status});
    let failed = json_answer("200 OK", "", &failed.to_string());
    for details in [details("Completed"), failed] {
        let replies = [details.clone(), no_log(), details, preview("late\n")];
        let (server, clock, job) = scripted(replies).await;
        let items: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
        assert_eq!(items, [LogItem::Line("late".into())]);
        assert_eq!((clock.slept(), server.left()), (vec![seconds(5)], 0));
    }

    let round = [details("Failed"), no_log()];
    let (server, clock, job) = scripted(std::iter::repeat_n(round, 7).flatten()).await;
    let items: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
    assert_eq!(items, []);
    assert_eq!((clock.slept(), server.left()), (vec![seconds(5); 6], 0));
}

#[tokio::test]
async fn the_updates_of_a_job_wait_for_its_events_and_its_logs() {
    let done = [RUNNING, (30, "Training job executed.")];
    let (server, clock, job) = scripted([
        details("Completed"),
        events(&[RUNNING]),
        preview("x\n"),
        details("Completed"),
        events(&done),
        no_log(),
        details("Completed"),
        events(&done),
        preview("x\ny\n"),
    ])
    .await;
    let updates: Vec<_> = job.follow().try_collect().await.unwrap();
    let lines = update_lines(&updates, job.id());
    let all = [
        "! Training job is running.",
        "worker-0: x",
        "= Completed",
        "! Training job executed.",
        "worker-0: y",
    ];
    assert_eq!(lines, all);
    assert_eq!((clock.slept(), server.left()), (vec![seconds(5); 2], 0));
}

/// The details of the job that show its end precede the events and the log of the last poll.
#[tokio::test]
async fn a_poll_that_began_before_the_end_is_not_the_last_one() {
    let server = Server::start([
        details("Running"),
        details("Running"),
        events(&[RUNNING, (30, "Training job executed.")]),
        details("Completed"),
        events(&[RUNNING, (30, "Training job executed.")]),
    ])
    .await;
    let clock = TestClock::new();
    let client = server.client(&clock).build().unwrap();
    let job = client.training_jobs().get("job-1").await.unwrap();
    assert_eq!(messages(job.events()).await.len(), 2);
    assert_eq!((clock.slept(), server.left()), (vec![seconds(5)], 0));
}
