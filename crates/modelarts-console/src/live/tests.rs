//! Tests of a job that other streams than its own poll follow.

use std::{sync::Arc, time::Duration};

use modelarts_emulator::{Emulator, seeds::Seeds};
use modelarts_ext::{ClientBuilder, jobs::follow::JobUpdate};

use crate::live::job::JobWatch;

#[tokio::test]
async fn a_feed_replaces_the_polls_until_it_ends_and_doubles_no_event() {
    let emulator = Emulator::start().await.unwrap();
    let seeds = Seeds::from_json(r#"{"jobs": [{"name": "fed", "phase": "Running"}]}"#).unwrap();
    let id = emulator.seed(&seeds).await.unwrap().remove(0);
    let client = ClientBuilder::from_vars(emulator.vars()).build().unwrap();
    let watch = Arc::new(JobWatch::new(client.training_jobs().job(&id).unwrap()));
    let poller = tokio::spawn(Arc::clone(&watch).poll(Duration::from_millis(1)));
    let polls = || emulator.requests()["ShowTrainingJobDetails"].received;
    let events = watch.loaded().await.events;
    assert!(events.len() > 1);

    let mut feed = watch.feed();
    let updates = || events.iter().cloned().map(JobUpdate::Event).collect();
    feed.take(updates());
    assert_eq!(watch.state().events, events);
    // A request in flight may still arrive.
    let before = polls();
    for _ in 0..5 {
        client.training_jobs().list().collect(1).await.unwrap();
    }
    assert!(polls() <= before + 1);
    // Equal events of one stream are different events.
    feed.take(vec![JobUpdate::Event(events[0].clone())]);
    assert_eq!(watch.state().events.len(), events.len() + 1);

    drop(feed);
    let before = polls();
    while polls() < before + 5 {
        tokio::task::yield_now().await;
    }
    assert_eq!(watch.state().events.len(), events.len() + 1);
    poller.abort();
    emulator.shutdown().await;
}
