//! Changes of the list while a page shows it.

use modelarts_emulator::{Emulator, seeds::Seeds};
use modelarts_ext::ClientBuilder;
use serde_json::{Value, json};

use crate::jobs::{Events, Site, names, stream_address};

async fn seed(emulator: &Emulator, jobs: Value) -> Vec<String> {
    let seeds = Seeds::from_json(&json!({ "jobs": jobs }).to_string()).unwrap();
    emulator.seed(&seeds).await.unwrap()
}

#[tokio::test]
async fn changes_are_sent_with_the_numbers_of_jobs() {
    let emulator = Emulator::start().await.unwrap();
    let site = Site::of(&emulator).await;
    let ids = seed(&emulator, json!([{ "name": "a", "phase": "Running" }])).await;
    let page = site.page("/jobs?search=phase:Running,Terminated").await;
    let mut events = Events::open(&site, &stream_address(&page)).await;
    seed(
        &emulator,
        json!([{ "name": "other" }, { "name": "b", "phase": "Running" }]),
    )
    .await;
    let mut rows = events.next_named("rows").await;
    while names(&rows.data) != ["b", "a"] {
        rows = events.next_named("rows").await;
    }
    let counts = events.next_named("counts").await.data;
    assert!(counts.contains("2 in all"), "{counts}");
    let job = ClientBuilder::from_vars(emulator.vars()).build().unwrap();
    job.training_jobs()
        .job(&ids[0])
        .unwrap()
        .delete()
        .await
        .unwrap();
    while names(&rows.data) != ["b"] {
        rows = events.next_named("rows").await;
    }
}

/// The position of a stream is valid for another server, so a restart neither loses a change nor
/// sends one twice.
#[tokio::test]
async fn a_position_is_valid_after_a_restart() {
    let emulator = Emulator::start().await.unwrap();
    seed(&emulator, json!([{ "name": "a" }])).await;
    let first = Site::of(&emulator).await;
    let mut events = Events::open(&first, "/jobs/stream").await;
    let rows = events.next().await.unwrap();
    assert_eq!((&*rows.name, names(&rows.data)), ("rows", vec!["a"]));
    let counts = events.next().await.unwrap();
    assert_eq!(counts.name, "counts");
    first.console.shutdown().await;
    assert_eq!(events.next().await, None);

    let second = Site::of(&emulator).await;
    let position = format!("/jobs/stream?last={}", counts.id);
    let mut again = Events::open(&second, &position).await;
    // The poller has read the list when a stream without a position has its first event.
    let mut other = Events::open(&second, "/jobs/stream").await;
    other.next_named("counts").await;
    seed(&emulator, json!([{ "name": "b" }])).await;
    let rows = again.next().await.unwrap();
    assert_eq!((&*rows.name, names(&rows.data)), ("rows", vec!["b", "a"]));
    assert_ne!(rows.id, counts.id);
}
