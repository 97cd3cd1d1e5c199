//! Fixtures: jobs of scripted servers, and jobs whose scripts wait for the test.

use modelarts_ext::{Job, LogItem, config::Cloud, jobs::follow::JobUpdate};
use serde_json::json;

use crate::support::{
    clock::TestClock,
    script_barrier::ScriptBarrier,
    server::{Reply, Server, json_answer},
    site::Site,
};

/// Submits a job whose script waits at a barrier until the client pauses next, and then completes.
pub(super) async fn blocked_job(site: &Site, name: &str, before: &str, after: &str) -> Job {
    let barrier = ScriptBarrier::new().await;
    let script = barrier.script(before, after);
    let job = site.script(name, &script).submit().await.unwrap();
    let waiting = barrier.reached().await;
    site.at_pause(job.id(), async move {
        waiting.release().await;
    });
    job
}

pub(super) fn details(phase: &str) -> Reply {
    let body = json!({"metadata": {"id": "job-1", "name": "restarted"},
                      "status": {"phase": phase, "tasks": ["worker-0"],
                                 "start_time": 1_768_465_801_000_u64, "duration": 1000}});
    json_answer("200 OK", "", &body.to_string())
}

/// Returns a list of events at these seconds of a minute, with these messages.
pub(super) fn events(rows: &[(u32, &str)]) -> Reply {
    let rows = rows.iter().map(|(second, message)| {
        json!({"time": format!("2026-01-15T16:30:{second:02}+08:00"), "level": "Info",
               "source": "Job", "message": message})
    });
    let rows: Vec<_> = rows.collect();
    let body = json!({"total": rows.len(), "limit": 100, "offset": 0, "events": rows});
    json_answer("200 OK", "", &body.to_string())
}

pub(super) async fn scripted(replies: impl IntoIterator<Item = Reply>) -> (Server, TestClock, Job) {
    let server = Server::start(std::iter::once(details("Running")).chain(replies)).await;
    let clock = TestClock::new();
    // On Open Telekom Cloud, logs are read by preview.
    let client = server.client(&clock).cloud(Cloud::Otc).build().unwrap();
    let job = client.training_jobs().get("job-1").await.unwrap();
    (server, clock, job)
}

/// Returns the updates of a followed job, as lines.
pub(super) fn update_lines(news: &[JobUpdate], id: &str) -> Vec<String> {
    let lines = news.iter().map(|news| match news {
        JobUpdate::Phase(job) => format!("= {}", job.phase()),
        JobUpdate::Event(event) => format!("! {}", event.message().replace(id, "ID")),
        JobUpdate::Log { task, item: LogItem::Line(line) } => format!("{task}: {line}"),
        other => format!("{other:?}"),
    });
    lines.collect()
}

pub(super) fn details_of(id: &str, phase: &str) -> Reply {
    let body = json!({"metadata": {"id": id, "name": id}, "status": {"phase": phase}});
    json_answer("200 OK", "", &body.to_string())
}
