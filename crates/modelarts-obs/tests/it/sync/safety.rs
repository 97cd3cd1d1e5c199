//! Tests of files and objects that a synchronization must not change, or must not report as
//! damaged.

use std::fs;

use modelarts_obs::Obs;

use super::{Place, bytes, names, tree};
use crate::{
    fake_server::{FakeServer, reply},
    support::{builder, object},
};

/// The entity tag of an object that OBS encrypted has the form of an MD5, but is not the MD5 of the
/// contents.
#[tokio::test]
async fn an_entity_tag_that_is_not_the_md5_is_no_damage() {
    const ETAG: &str = "\"00112233445566778899aabbccddeeff\"";
    let server = FakeServer::start(|request| match request.target.contains("list-type=2") {
        true => reply(
            200,
            format!(
                "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>in/a</Key>\
                 <LastModified>2026-01-15T08:30:45.000Z</LastModified><ETag>{ETAG}</ETag>\
                 <Size>8</Size></Contents></ListBucketResult>"
            ),
        ),
        false => {
            assert_eq!(request.header("if-match"), Some(ETAG));
            object("contents").with("x-amz-server-side-encryption", "aws:kms").with("etag", ETAG)
        }
    })
    .await;
    let place = Place::new();
    let obs = Obs::with_address(&builder().build().unwrap(), &server.url).unwrap();
    let obs = obs.with_cache_dir(place.path("cache"));
    let out = place.path("out");
    let summary = obs.sync_down("obs://bucket/in", &out).await.unwrap();
    assert_eq!(summary.transferred.files, 1);
    assert_eq!(tree(&out), [("a".to_owned(), b"contents".to_vec())].into());
}

#[cfg(unix)]
#[tokio::test]
async fn objects_behind_links_out_of_the_bucket_do_not_exist() {
    use std::os::unix::fs::symlink;

    use futures::TryStreamExt;

    let place = Place::new();
    let victim = place.write("outside/a", "old");
    place.write("data/new", "new");
    place.write("obs/bucket/real/b", "b");
    fs::create_dir_all(place.path("obs/bucket/in")).unwrap();
    symlink(place.path("outside"), place.path("obs/bucket/in/dir")).unwrap();
    symlink(&victim, place.path("obs/bucket/in/file")).unwrap();
    symlink("../real", place.path("obs/bucket/in/inner")).unwrap();
    let obs = place.obs();
    let bucket = obs.bucket("bucket").unwrap();
    for directory in ["in", "in/dir"] {
        let listed: Vec<_> = bucket.list(directory).try_collect().await.unwrap();
        let keys: Vec<_> = listed.iter().map(|object| object.key()).collect();
        let expected = ["in/inner/b"];
        let expected = if directory == "in" { &expected[..] } else { &[] };
        assert_eq!(keys, expected);
    }
    assert_eq!(bucket.get("in/inner/b").await.unwrap(), "b");
    let root = place.path("obs/bucket").canonicalize().unwrap();
    let outside = place.path("outside").canonicalize().unwrap();
    for (key, real) in
        [("in/dir/a", "a"), ("in/dir/new", ""), ("in/file", "a"), ("in/dir/deep/new", "")]
    {
        let real = if real.is_empty() { outside.clone() } else { outside.join(real) };
        let rest = format!(
            "obs://bucket/{key}: a link leads to {}, which must be inside of {}",
            real.display(),
            root.display()
        );
        let error = bucket.get(key).await.unwrap_err().to_string();
        assert_eq!(error, format!("reading {rest}"));
        let error = bucket.put(key, "x").await.unwrap_err().to_string();
        assert_eq!(error, format!("writing {rest}"));
        let error = bucket.delete(key).await.unwrap_err().to_string();
        assert_eq!(error, format!("deleting {rest}"));
    }
    let up = obs.sync_up(place.path("data"), "obs://bucket/in");
    assert_eq!(up.delete(true).await.unwrap().deleted, 1);
    assert_eq!(fs::read(&victim).unwrap(), b"old");
    assert_eq!(names(&place.path("outside")), ["a"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_was_received_through_a_link_is_not_deleted() {
    let place = Place::new();
    place.write("obs/bucket/in/latest/a", "new");
    place.write("out/v1/a", "old");
    place.write("out/v1/surplus", "");
    let out = place.path("out");
    std::os::unix::fs::symlink("v1", out.join("latest")).unwrap();
    let obs = place.obs();
    let down = || obs.sync_down("obs://bucket/in", &out).delete(true);
    for (dry_run, deleted, transferred) in [(true, 1, 1), (false, 1, 1), (false, 0, 0)] {
        let summary = down().dry_run(dry_run).await.unwrap();
        assert_eq!((summary.deleted, summary.transferred.files), (deleted, transferred));
    }
    assert_eq!(fs::read(out.join("v1/a")).unwrap(), b"new");
    assert!(!out.join("v1/surplus").exists());
}

#[tokio::test]
async fn the_write_test_of_another_call_is_neither_received_nor_deleted() {
    let place = Place::new();
    place.write("data/a", "a");
    for name in ["in/.modelarts-write-test", "in/d/.modelarts-write-test"] {
        place.write(&format!("obs/bucket/{name}"), "");
    }
    let obs = place.obs();
    let up = obs.sync_up(place.path("data"), "obs://bucket/in");
    assert_eq!(up.delete(true).await.unwrap().deleted, 0);
    assert_eq!(names(&place.path("obs/bucket/in")).len(), 3);
    let out = place.path("out");
    obs.sync_down("obs://bucket/in", &out).await.unwrap();
    assert_eq!(names(&out), ["a"]);
}

#[tokio::test]
async fn a_file_that_another_call_receives_is_an_error() {
    let place = Place::new();
    let out = place.path("out");
    let obs = place.obs();
    // The object is downloaded in one piece, and in ranges.
    for size in [3, 17 << 20] {
        place.write("obs/bucket/in/a", bytes(size));
        let part = place.write("out/.a.modelarts-part", "other");
        let other = fs::File::open(&part).unwrap();
        other.lock().unwrap();
        let error = obs.sync_down("obs://bucket/in", &out).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "writing {}: another synchronization must not receive this file at the same time; \
                 wait until the other one has ended",
                part.canonicalize().unwrap().display()
            )
        );
        assert_eq!(fs::read(&part).unwrap(), b"other");
        drop(other);
        obs.sync_down("obs://bucket/in", &out).await.unwrap();
        assert_eq!(names(&out), ["a"]);
        assert!(fs::read(out.join("a")).unwrap() == bytes(size));
    }
}
