//! Jobs that are followed: streams of changes, and what happens when something breaks.

use std::time::Duration;

use modelarts_console::ConsoleBuilder;
use modelarts_emulator::{
    faults::{Fault, FaultRule},
    seeds::Seeds,
};
use modelarts_ext::{ClientBuilder, RetryPolicy};
use serde_json::json;

use crate::support::{Fixture, Message, Stream};

/// Pause between two polls of the tests.
const INTERVAL: Duration = Duration::from_millis(20);

fn fast(console: ConsoleBuilder) -> ConsoleBuilder {
    console.interval(INTERVAL)
}

async fn start() -> Fixture {
    Fixture::with(|emulator| emulator, fast).await
}

/// Adds a running job with two events and a log. Returns its id.
async fn running(fixture: &Fixture) -> String {
    let job = json!([{
        "name": "running", "phase": "Running",
        "logs": {"worker-0": "first\nsecond\n"},
    }]);
    fixture.seed(job).await.remove(0)
}

/// Returns the messages of the rows of events in a fragment.
fn event_rows(html: &str) -> Vec<String> {
    let rows = html.split("<td role=\"cell\" class=\"message line\">").skip(1);
    let rows = rows.map(|row| row.split_once("</td>").unwrap().0.to_owned());
    rows.collect()
}

/// A page as a browser shows it: it begins again after `reset`.
#[derive(Default)]
struct EventsPage {
    rows: Vec<String>,
    resets: usize,
    last: String,
}

impl EventsPage {
    fn take(&mut self, message: &Message) {
        self.last.clone_from(&message.id);
        match message.event.as_str() {
            "reset" => {
                self.rows.clear();
                self.resets += 1;
            }
            "events" => self.rows.extend(event_rows(&message.data)),
            _ => {}
        }
    }

    async fn read_until(&mut self, stream: &mut Stream, event: &str) -> Message {
        loop {
            let message = stream.next().await.unwrap();
            self.take(&message);
            if message.event == event {
                return message;
            }
        }
    }
}

#[tokio::test]
async fn a_stream_begins_with_the_state_and_continues_after_its_position() {
    let fixture = start().await;
    let id = running(&fixture).await;
    let path = format!("/jobs/{id}/stream?view=events");
    let mut page = EventsPage::default();
    let mut stream = fixture.stream(&path, "").await;
    let head = page.read_until(&mut stream, "head").await;
    assert!(head.data.contains("running"), "{}", head.data);
    page.read_until(&mut stream, "events").await;
    let rows = page.rows.clone();
    assert_eq!((page.resets, rows.len() > 1), (1, true), "{rows:?}");

    // The stream of a page that has all rows has nothing to say until something changes.
    let mut stream = fixture.stream(&path, &page.last).await;
    let job = fixture.client().training_jobs().get(&id).await.unwrap();
    job.terminate().await.unwrap();
    page.read_until(&mut stream, "end").await;
    assert_eq!(page.resets, 1);
    assert_eq!(&page.rows[..rows.len()], rows);
    let ends = page.rows.iter().filter(|row| row.contains("stopped"));
    assert_eq!(ends.count(), 1, "{:?}", page.rows);
}

#[tokio::test]
async fn a_page_continues_where_its_html_ended() {
    let fixture = start().await;
    let id = running(&fixture).await;
    let html = fixture.page(&format!("/jobs/{id}/events")).await;
    let (_, rest) = html.split_once("data-last=\"").unwrap();
    let last = rest.split_once('"').unwrap().0;
    let path = format!("/jobs/{id}/stream?view=events&last={last}");
    let mut stream = fixture.stream(&path, "").await;
    let job = fixture.client().training_jobs().get(&id).await.unwrap();
    job.terminate().await.unwrap();
    let mut page = EventsPage { rows: event_rows(&html), ..EventsPage::default() };
    page.read_until(&mut stream, "end").await;
    assert_eq!(page.resets, 0);
    let rows = event_rows(&fixture.page(&format!("/jobs/{id}/events")).await);
    assert_eq!(page.rows, rows);
}

#[tokio::test]
async fn a_restart_of_the_server_loses_nothing_and_doubles_nothing() {
    let mut fixture =
        Fixture::with(|emulator| emulator, |console| fast(console).session_key("key")).await;
    let id = running(&fixture).await;
    let path = format!("/jobs/{id}/stream?view=events");
    let mut page = EventsPage::default();
    let mut stream = fixture.stream(&path, "").await;
    page.read_until(&mut stream, "events").await;
    let before = page.rows.clone();

    fixture.restart(|console| fast(console).session_key("key")).await;
    // The stream of the first server ends with it.
    while let Some(message) = stream.next().await {
        page.take(&message);
    }
    let job = fixture.client().training_jobs().get(&id).await.unwrap();
    job.terminate().await.unwrap();
    let mut stream = fixture.stream(&path, &page.last).await;
    page.read_until(&mut stream, "end").await;
    assert_eq!(page.resets, 2);
    assert_eq!(&page.rows[..before.len()], before);
    assert!(page.rows.len() > before.len());
    let rows = event_rows(&fixture.page(&format!("/jobs/{id}/events")).await);
    assert_eq!(page.rows, rows);
}

#[tokio::test]
async fn a_job_that_is_deleted_while_open_is_reported() {
    let fixture = start().await;
    for phase in ["Running", "Completed"] {
        let job = json!([{"name": format!("gone-{}", phase.to_lowercase()), "phase": phase}]);
        let id = fixture.seed(job).await.remove(0);
        let path = format!("/jobs/{id}/stream?view=overview");
        let mut stream = fixture.stream(&path, "").await;
        stream.until("head").await;
        let job = fixture.client().training_jobs().get(&id).await.unwrap();
        job.delete().await.unwrap();
        stream.until("vanished").await;
        let page = fixture.request("GET", &format!("/jobs/{id}/events"));
        let response = page.send().await.unwrap();
        assert_eq!(response.status(), 404);
        let text = response.text().await.unwrap();
        assert!(text.contains(&format!("no job with the id {id}")), "{text}");
    }
}

#[tokio::test]
async fn an_interruption_of_the_service_is_shown_until_it_ends() {
    let fixture = Fixture::with_client(
        |emulator| emulator,
        |client: ClientBuilder| client.retry(RetryPolicy::none()),
        fast,
    )
    .await;
    let id = running(&fixture).await;
    let path = format!("/jobs/{id}/stream?view=events");
    let mut page = EventsPage::default();
    let mut stream = fixture.stream(&path, "").await;
    page.read_until(&mut stream, "events").await;
    let rows = page.rows.clone();

    let down = FaultRule::always("*", Fault::error(503, "ModelArts.0107", "down for a while"));
    fixture.emulator.faults().add(down).unwrap();
    let message = page.read_until(&mut stream, "interrupted").await;
    let reason = message.data;
    for part in ["503", "ModelArts.0107", "down for a while", "request id"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    // The rows are still shown to a page that is loaded now.
    let html = fixture.page(&format!("/jobs/{id}/events")).await;
    assert_eq!(event_rows(&html), rows);
    assert!(html.contains("down for a while"), "{html}");

    fixture.emulator.faults().clear();
    page.read_until(&mut stream, "resumed").await;
    let job = fixture.client().training_jobs().get(&id).await.unwrap();
    job.terminate().await.unwrap();
    page.read_until(&mut stream, "end").await;
    assert_eq!(page.resets, 1);
    assert_eq!(&page.rows[..rows.len()], rows);
}

#[tokio::test]
async fn a_job_that_cannot_be_followed_is_followed_again_later() {
    let fixture = start().await;
    let id = running(&fixture).await;
    let path = format!("/jobs/{id}/stream?view=events");
    let mut page = EventsPage::default();
    let mut stream = fixture.stream(&path, "").await;
    page.read_until(&mut stream, "events").await;
    let rows = page.rows.clone();
    // This error ends the stream of the SDK at once.
    let denied = Fault::error(403, "ModelArts.0210", "the user has no permission");
    let rule = FaultRule::always("ShowTrainingJobDetails", denied);
    fixture.emulator.faults().add(rule).unwrap();
    let message = page.read_until(&mut stream, "interrupted").await;
    assert!(message.data.contains("no permission"), "{}", message.data);
    fixture.emulator.faults().clear();
    page.read_until(&mut stream, "resumed").await;
    let job = fixture.client().training_jobs().get(&id).await.unwrap();
    job.terminate().await.unwrap();
    page.read_until(&mut stream, "end").await;
    // The rows of the page remain, and the new ones follow.
    assert_eq!(page.resets, 1);
    assert_eq!(&page.rows[..rows.len()], rows);
    let html = fixture.page(&format!("/jobs/{id}/events")).await;
    assert_eq!(page.rows, event_rows(&html));
}

#[tokio::test]
async fn many_pages_share_one_poller() {
    let fixture = Fixture::with_client(
        |emulator| emulator,
        |client| client.max_pause(Duration::MAX),
        |console| console.interval(Duration::from_secs(3600)),
    )
    .await;
    let id = running(&fixture).await;
    let mut streams = Vec::new();
    for view in ["overview", "events", "usage", "events"].repeat(5) {
        let path = format!("/jobs/{id}/stream?view={view}");
        let mut stream = fixture.stream(&path, "").await;
        stream.until("head").await;
        streams.push(stream);
    }
    let requests = fixture.emulator.requests();
    assert_eq!(requests["ShowTrainingJobDetails"].received, 1);
    assert_eq!(requests["ListTrainingJobEvents"].received, 1);
    // Logs are read for the tab of the logs only.
    assert_eq!(requests["ShowTrainingJobLogsPreview"].received, 0);
}

#[tokio::test]
async fn a_page_with_logs_causes_no_second_poll_of_the_job() {
    let fixture = start().await;
    let id = running(&fixture).await;
    let mut streams = Vec::new();
    for view in ["events", "logs", "overview", "logs"] {
        let path = format!("/jobs/{id}/stream?view={view}");
        let mut stream = fixture.stream(&path, "").await;
        stream.until("head").await;
        streams.push(stream);
    }
    let polls = |operation| {
        let requests = fixture.emulator.requests();
        requests.get(operation).map_or(0, |it| it.received)
    };
    while polls("ShowTrainingJobLogsPreview") < 100 {
        tokio::task::yield_now().await;
    }
    for operation in ["ShowTrainingJobDetails", "ListTrainingJobEvents"] {
        let (polled, logs) = (polls(operation), polls("ShowTrainingJobLogsPreview"));
        // A round reads the end of the log by one request. A second poller would double the polls.
        assert!(polled <= logs * 3 / 2, "{operation}: {polled}, logs: {logs}");
    }
    // The stream of the logs has the news of the job.
    let job = fixture.client().training_jobs().get(&id).await.unwrap();
    job.terminate().await.unwrap();
    for stream in &mut streams[1..] {
        while !stream.until("head").await.data.contains("Terminated") {}
    }
    let mut page = EventsPage::default();
    page.read_until(&mut streams[0], "end").await;
    let rows = event_rows(&fixture.page(&format!("/jobs/{id}/events")).await);
    assert!(rows.iter().any(|row| row.contains("stopped")), "{rows:?}");
    assert_eq!(page.resets, 0);
    assert!(rows.ends_with(&page.rows), "{rows:?}, {:?}", page.rows);
}

#[tokio::test]
async fn streams_that_do_not_exist_are_rejected() {
    let fixture = start().await;
    for (path, status) in [
        ("/jobs/%2F/stream", 404),
        ("/jobs/00000000-0000-0000-0000-000000000000/stream?view=x", 400),
    ] {
        let response = fixture.request("GET", path).send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
    }
    // The stream of a job that does not exist reports so, as one that was deleted.
    let absent = "/jobs/00000000-0000-0000-0000-000000000000";
    let mut stream = fixture.stream(&format!("{absent}/stream"), "").await;
    stream.until("vanished").await;
    let page = fixture.request("GET", &format!("{absent}/events"));
    assert_eq!(page.send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn markup_and_control_characters_of_events_are_text_on_the_page() {
    let fixture = start().await;
    let markup = "<script>alert(1)</script>\rafter";
    let seeds = json!({"jobs": [{
        "name": "markup", "created": "2026-01-15T08:30:00Z",
        "events": [{"time": "2026-01-15T08:30:01Z", "message": markup},
                   {"time": "2026-01-15T08:30:02Z", "message": "last"}],
    }]});
    let seeds = Seeds::from_json(&seeds.to_string()).unwrap();
    let id = fixture.emulator.seed(&seeds).await.unwrap().remove(0);
    let path = format!("/jobs/{id}/stream?view=events");
    let rows = fixture.stream(&path, "").await.until("events").await.data;
    let messages = event_rows(&rows);
    assert_eq!(messages, ["&#60;script&#62;alert(1)&#60;/script&#62; after", "last"]);
    let html = fixture.page(&format!("/jobs/{id}/events")).await;
    assert!(!html.contains("<script>alert"), "{html}");
}

#[tokio::test]
async fn events_are_filtered_on_the_page_and_in_the_stream() {
    let fixture = start().await;
    let event = |second: u32, level: &str, source: &str, message: &str| {
        json!({"time": format!("2026-01-15T08:30:0{second}Z"), "message": message,
               "level": level, "source": source})
    };
    let seeds = json!({"jobs": [{
        "name": "filtered", "created": "2026-01-15T08:30:00Z",
        "events": [
            event(1, "Info", "Job", "Training job created."),
            event(2, "Warning", "Task", "[worker-0] slow"),
            event(3, "Info", "Task", "[worker-0] training started."),
            event(4, "Error", "Task", "[worker-0] Training finished. Exit code 1."),
        ],
    }]});
    let seeds = Seeds::from_json(&seeds.to_string()).unwrap();
    let id = fixture.emulator.seed(&seeds).await.unwrap().remove(0);
    for (query, numbers) in [
        ("", &[1, 2, 3, 4][..]),
        ("level=Warning", &[2]),
        ("source=Task&level=Info", &[3]),
        ("kind=task_finished", &[4]),
        ("q=SLOW", &[2]),
        ("kind=created&level=Error", &[]),
    ] {
        let html = fixture.page(&format!("/jobs/{id}/events?{query}")).await;
        let rows = event_rows(&html);
        let times: Vec<u32> = html
            .match_indices("<time datetime=\"2026-01-15T08:30:0")
            .filter(|(at, _)| html[..*at].ends_with("<td role=\"cell\">"))
            .map(|(at, start)| html[at + start.len()..][..1].parse().unwrap())
            .collect();
        assert_eq!(times, numbers, "{query}");
        let path = format!("/jobs/{id}/stream?view=events&{query}");
        let mut page = EventsPage::default();
        let mut stream = fixture.stream(&path, "").await;
        page.read_until(&mut stream, "head").await;
        if !rows.is_empty() {
            page.read_until(&mut stream, "events").await;
        }
        assert_eq!(page.rows, rows, "{query}");
    }
    let html = fixture.page(&format!("/jobs/{id}/events?kind=task_finished")).await;
    let choice = "<option value=\"task_finished\" selected>Task finished (1)</option>";
    assert!(html.contains(choice), "{html}");
}
