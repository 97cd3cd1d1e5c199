//! Scripted jobs.

use std::sync::Arc;

use modelarts_ext::{Cloud, Job, LogItem, News};
use serde_json::json;

use crate::support::{
    clock::TestClock,
    gate::Gate,
    server::{Reply, Server, json_answer},
    site::Site,
};

/// A job that stands at a gate, and what lets it run to its end during the next
/// pause of the client.
pub(super) async fn at_the_gate(site: &Site, name: &str, before: &str, after: &str) -> Job {
    let gate = Gate::new().await;
    let script = gate.script(before, after);
    let job = site.script(name, &script).submit().await.unwrap();
    let waiting = gate.reached().await;
    let (emulator, id) = (Arc::clone(&site.emulator), job.id().to_owned());
    site.clock.step(async move {
        waiting.let_through().await;
        emulator.settled(&id).await;
    });
    job
}

pub(super) fn details(phase: &str) -> Reply {
    let body = json!({"metadata": {"id": "job-1", "name": "restarted"},
                      "status": {"phase": phase, "tasks": ["worker-0"]}});
    json_answer("200 OK", "", &body.to_string())
}

pub(super) async fn scripted(replies: impl IntoIterator<Item = Reply>) -> (Server, TestClock, Job) {
    let server = Server::start(std::iter::once(details("Running")).chain(replies)).await;
    let clock = TestClock::new();
    // Its logs are read by preview.
    let client = server.client(&clock).cloud(Cloud::Otc).build().unwrap();
    let job = client.training_jobs().get("job-1").await.unwrap();
    (server, clock, job)
}

/// What is told, as lines.
pub(super) fn update_lines(news: &[News], id: &str) -> Vec<String> {
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

pub(super) fn details_of(id: &str, phase: &str) -> Reply {
    let body = json!({"metadata": {"id": id, "name": id}, "status": {"phase": phase}});
    json_answer("200 OK", "", &body.to_string())
}
