//! Tests of the progress as a stream.

use futures::TryStreamExt;
use modelarts_obs::{
    SyncEvent,
    sync::{Amount, SkipReason},
};

use super::{Place, bytes};

#[tokio::test]
async fn progress_counts_up_to_the_total_and_ends_with_the_summary() {
    let place = Place::new();
    place.write("data/.env", "SECRET=1");
    place.write("data/a", "aaa");
    place.write("data/large", bytes(17 << 20));
    place.write("data/key", "-----BEGIN PRIVATE KEY-----");
    place.write("obs/bucket/in/a", "aaa");
    place.write("obs/bucket/in/old", "");
    let obs = place.obs();
    let up = obs.sync_up(place.path("data"), "obs://bucket/in");
    let events: Vec<_> = up.delete(true).stream().try_collect().await.unwrap();
    let total = |files, bytes: usize| Amount::new(files, bytes as u64);
    let skipped = events.iter().filter_map(|progress| match &progress.event {
        SyncEvent::Skipped(skipped) => Some((skipped.path.as_str(), skipped.reason.clone())),
        _ => None,
    });
    let mut skipped: Vec<_> = skipped.collect();
    assert_eq!(skipped[0], (".env", SkipReason::Credentials));
    skipped.sort_by_key(|(path, _)| *path);
    let others = [("a", SkipReason::Unchanged), ("key", SkipReason::PrivateKey)];
    assert_eq!(skipped[1..], others);
    assert_eq!(events[1].event, SyncEvent::Planned);
    assert_eq!(events[1].total, total(3, 3 + (17 << 20) + 27));
    let find = |event: SyncEvent| {
        let found = events.iter().filter(|progress| progress.event == event);
        assert_eq!(found.count(), 1, "{event:?}");
    };
    find(SyncEvent::Transferred { path: "large".to_owned(), bytes: 17 << 20 });
    find(SyncEvent::Deleted { path: "old".to_owned() });
    let advanced = events.iter().filter_map(|progress| match &progress.event {
        SyncEvent::Advanced { path, bytes } => Some((path.as_str(), *bytes)),
        _ => None,
    });
    let part = ("large", 8 << 20);
    assert_eq!(advanced.collect::<Vec<_>>(), [part, part, ("large", 1 << 20)]);
    assert!(events.is_sorted_by_key(|progress| progress.done.bytes));

    let last = events.last().unwrap();
    assert_eq!(last.total, total(2, 3 + (17 << 20)));
    assert_eq!(last.done, last.total);
    let SyncEvent::Finished(summary) = &last.event else {
        panic!("{last:?}");
    };
    assert_eq!(summary.transferred, total(1, 17 << 20));
    assert_eq!((summary.unchanged, summary.deleted), (total(1, 3), 1));
    let left_out: Vec<_> = summary.skipped.iter().map(|s| s.path.as_str()).collect();
    assert_eq!(left_out, [".env", "key"]);
}

#[tokio::test]
async fn a_stream_ends_with_the_error() {
    let place = Place::new();
    let obs = place.obs();
    let up = obs.sync_up(place.path("missing"), "obs://bucket/in");
    let mut events = up.stream();
    let error = events.try_next().await.unwrap_err().to_string();
    assert!(error.starts_with("reading "), "{error}");
    assert!(events.try_next().await.unwrap().is_none());
}
