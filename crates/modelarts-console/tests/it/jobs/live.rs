//! Changes of the list while a page shows it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use modelarts_emulator::{Emulator, seeds::Seeds};
use modelarts_ext::ClientBuilder;
use serde_json::{Value, json};

use crate::jobs::{Events, Site, changed_rows, service, stream_address};

async fn seed(emulator: &Emulator, jobs: Value) -> Vec<String> {
    let seeds = Seeds::from_json(&json!({ "jobs": jobs }).to_string()).unwrap();
    emulator.seed(&seeds).await.unwrap()
}

/// Waits until the poller has read the list: a stream without a position has its first event then.
async fn poller_has_read(site: &Site, address: &str) {
    Events::open(site, address).await.next_named("counts").await;
}

#[tokio::test]
async fn changes_are_sent_with_the_numbers_of_jobs() {
    let emulator = Emulator::start().await.unwrap();
    let site = Site::of(&emulator).await;
    let ids = seed(&emulator, json!([{ "name": "a", "phase": "Running" }])).await;
    let page = site.page("/jobs?search=phase:Running,Terminated").await;
    let address = stream_address(&page);
    let mut events = Events::open(&site, &address).await;
    poller_has_read(&site, address.split("last=").next().unwrap()).await;
    seed(&emulator, json!([{ "name": "other" }, { "name": "b", "phase": "Running" }])).await;
    assert_eq!(changed_rows(&events.next_named("rows").await), (2, vec!["b".to_owned()]));
    let counts = events.next_named("counts").await.data;
    assert!(counts.contains("2 in all"), "{counts}");
    let job = ClientBuilder::from_vars(emulator.vars()).build().unwrap();
    job.training_jobs().job(&ids[0]).unwrap().delete().await.unwrap();
    while changed_rows(&events.next_named("rows").await) != (1, vec![]) {}
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
    assert_eq!((&*rows.name, changed_rows(&rows)), ("rows", (1, vec!["a".to_owned()])));
    let counts = events.next().await.unwrap();
    assert_eq!(counts.name, "counts");
    first.console.shutdown().await;
    assert_eq!(events.next().await, None);

    let second = Site::of(&emulator).await;
    let position = format!("/jobs/stream?last={}", counts.id);
    let mut again = Events::open(&second, &position).await;
    poller_has_read(&second, "/jobs/stream").await;
    seed(&emulator, json!([{ "name": "b" }])).await;
    let rows = again.next().await.unwrap();
    assert_eq!((&*rows.name, changed_rows(&rows)), ("rows", (2, vec!["b".to_owned()])));
    assert_ne!(rows.id, counts.id);
}

#[tokio::test]
async fn rows_that_change_without_a_phase_cause_no_count_of_the_jobs() {
    let has_failed = Arc::new(AtomicBool::new(false));
    let counts = Arc::new(AtomicU64::new(0));
    let (fails, counted, reads) = (has_failed.clone(), counts.clone(), AtomicU64::new(0));
    let client = service(move |request: Value| {
        // A count is a request for one job of a phase.
        if request["limit"] == 1 {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        let has_failed = fails.load(Ordering::Relaxed);
        let phase = if has_failed { "Failed" } else { "Running" };
        let user = format!("user-{}", reads.fetch_add(1, Ordering::Relaxed));
        let total = if has_failed { 6 } else { 5 };
        json!({
            "total": total, "count": total, "limit": request["limit"], "offset": 0,
            "items": [{
                "metadata": { "id": "id-0", "name": "a", "user_name": user },
                "status": { "phase": phase },
            }],
        })
    });
    let site = Site::start(client.await).await;
    let mut events = Events::open(&site, "/jobs/stream").await;
    events.next_named("counts").await;
    for _ in 0..3 {
        events.next_named("rows").await;
    }
    assert_eq!(counts.load(Ordering::Relaxed), 8);
    has_failed.store(true, Ordering::Relaxed);
    // The numbers of the phases are others now.
    events.next_named("counts").await;
    assert_eq!(counts.load(Ordering::Relaxed), 16);
}

/// The page continues the age and the running time of a job by itself.
#[tokio::test]
async fn rows_whose_times_go_on_are_not_sent_again() {
    let reads = Arc::new(AtomicU64::new(0));
    let read = reads.clone();
    let client = service(move |request: Value| {
        let number = match request["limit"] == 1 {
            true => 0,
            false => read.fetch_add(1, Ordering::Relaxed),
        };
        let phase = if number > 4 { "Failed" } else { "Running" };
        json!({
            "total": 1, "count": 1, "limit": request["limit"], "offset": 0,
            "items": [{
                "metadata": { "id": "id-0", "name": "a", "create_time": 1_700_000_000_000_u64 },
                "status": { "phase": phase, "start_time": 1_700_000_000_000_u64,
                            "duration": 1000 * number },
            }],
        })
    });
    let site = Site::start(client.await).await;
    let mut events = Events::open(&site, "/jobs/stream").await;
    let first = events.next_named("rows").await;
    assert!(first.data.contains("Running"), "{}", first.data);
    let second = events.next_named("rows").await;
    assert!(second.data.contains("Failed"), "{}", second.data);
    assert!(reads.load(Ordering::Relaxed) > 4);
}
