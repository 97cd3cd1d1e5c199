//! Decoding of pages, compared with plain structs:
//! `cargo bench -p modelarts-api --no-default-features --bench decode`.

mod pages;

use divan::Bencher;
use modelarts_api::{
    decode::{self, Decode},
    types::{ListTrainingJobEventsResponse, ListTrainingJobsResponse},
};
use serde::de::DeserializeOwned;

fn main() {
    divan::main();
}

/// Measures the decoding by modelarts-api, and that the result is dropped.
fn lenient<Page: Decode>(bencher: Bencher, body: &str) {
    let decoded = || decode::body::<Page>(body.as_bytes());
    let complete = decoded().is_ok_and(|(_, skipped)| skipped.is_empty());
    assert!(complete, "a row could not be decoded");
    bencher.bench_local(|| drop(divan::black_box(decoded())));
}

/// Measures the decoding by `serde_json::from_slice`, and that the result is dropped.
fn plain<Page: DeserializeOwned>(bencher: Bencher, body: &str) {
    let decoded = || serde_json::from_slice::<Page>(body.as_bytes());
    assert!(decoded().is_ok(), "the page could not be decoded");
    bencher.bench_local(|| drop(divan::black_box(decoded())));
}

#[divan::bench]
fn events_100(bencher: Bencher) {
    lenient::<ListTrainingJobEventsResponse>(bencher, &pages::events(20_000, 0, 100));
}

#[divan::bench]
fn events_100_plain(bencher: Bencher) {
    plain::<pages::plain::Events>(bencher, &pages::events(20_000, 0, 100));
}

#[divan::bench]
fn jobs_50(bencher: Bencher) {
    lenient::<ListTrainingJobsResponse>(bencher, &pages::jobs());
}

#[divan::bench]
fn jobs_50_plain(bencher: Bencher) {
    plain::<pages::plain::Jobs>(bencher, &pages::jobs());
}
