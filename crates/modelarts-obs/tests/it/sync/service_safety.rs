//! Synchronizations with the emulator's OBS: uploads that cannot be continued, objects that stand
//! for directories, and the cache.

use modelarts_emulator::faults::Fault;

use super::{
    bytes,
    service::{MIB, Site},
};

#[tokio::test]
async fn a_directory_without_objects_is_not_an_empty_object() {
    let site = Site::start().await;
    site.put_marker("in/alone/").await;
    site.place.write("data/alone", "");
    // The object is missing, so that it is sent.
    let summary = site.up().dry_run(true).await.unwrap();
    assert_eq!(summary.transferred.files, 1);

    std::fs::remove_file(site.place.path("data/alone")).unwrap();
    site.place.write("data/a", "a");
    site.bucket.put("in/empty", "").await.unwrap();
    for (dry_run, deleted) in [(true, 1), (false, 1), (false, 0)] {
        let summary = site.up().delete(true).dry_run(dry_run).await.unwrap();
        assert_eq!(summary.deleted, deleted);
    }
    let copy = site.obs.copy("obs://bucket/in", "obs://bucket/out");
    let summary = copy.await.unwrap();
    assert_eq!((summary.transferred.files, summary.skipped.len()), (1, 1));
}
