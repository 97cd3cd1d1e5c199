//! Tests of synchronizations with the OBS of the emulator: uploads that cannot be continued,
//! objects that stand for directories, and the cache.

use modelarts_emulator::faults::Fault;

use super::{
    bytes,
    service::{MIB, Site},
};

#[tokio::test]
async fn an_upload_starts_anew_if_its_parts_are_rejected() {
    let site = Site::start().await;
    site.place.write("data/large", bytes(17 * MIB));
    let complete = "obs.CompleteMultipartUpload";
    site.fault(complete, Fault::status(503));
    site.up().await.unwrap_err();
    let rejection = || Fault::error(400, "InvalidPart", "a part is missing");
    site.fault(complete, rejection());
    let summary = site.up().await.unwrap();
    assert_eq!(summary.transferred.files, 1);
    assert_eq!(site.requests()["obs.CreateMultipartUpload"], 2);
    assert_eq!(site.requests()["obs.AbortMultipartUpload"], 1);
    assert!(site.contents("in/large").await == bytes(17 * MIB));

    // A rejected upload is repeated only if it was continued. The next call begins a new upload.
    site.place.write("data/large", bytes(18 * MIB));
    site.fault(complete, rejection());
    let error = site.up().await.unwrap_err();
    assert_eq!(error.code(), Some("InvalidPart"));
    assert_eq!(site.requests()["obs.CreateMultipartUpload"], 3);
    assert_eq!(site.requests()["obs.AbortMultipartUpload"], 2);
    site.up().await.unwrap();
    assert_eq!(site.requests()["obs.CreateMultipartUpload"], 4);
    assert!(site.contents("in/large").await == bytes(18 * MIB));
}

#[tokio::test]
async fn rejected_keys_keep_the_parts_of_an_upload() {
    let site = Site::start().await;
    site.place.write("data/large", bytes(17 * MIB));
    for status in [403, 408, 429] {
        site.fault("obs.CompleteMultipartUpload", Fault::error(status, "Later", "later"));
        assert_eq!(site.up().await.unwrap_err().status(), Some(status));
    }
    site.up().await.unwrap();
    assert_eq!(site.requests()["obs.CreateMultipartUpload"], 1);
    assert_eq!(site.requests()["obs.UploadPart"], 3);
}

#[tokio::test]
async fn a_directory_without_objects_is_not_an_empty_object() {
    let site = Site::start().await;
    site.put_marker("in/alone/").await;
    site.place.write("data/alone", "");
    // No object with this key exists, so the file is uploaded.
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

#[tokio::test]
async fn a_single_file_keeps_the_checksums_of_the_others() {
    let site = Site::start().await;
    let file = site.place.write("data/a", "a");
    site.place.write("data/b", "b");
    site.up().await.unwrap();
    site.place.write("data/a", "c");
    let single = site.obs.sync_up(&file, "obs://bucket/in");
    assert_eq!(single.await.unwrap().transferred.files, 1);
    let before = site.requests();
    assert_eq!(site.up().await.unwrap().unchanged.files, 2);
    assert_eq!(site.requests_since(&before), [("obs.ListObjectsV2", 1)]);
}
