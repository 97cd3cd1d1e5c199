//! Tests of contents, deletion and single files, with a local directory instead of OBS.

use std::fs;

use modelarts_obs::sync::Amount;

use super::{Place, bytes, names, tree};

#[tokio::test]
async fn a_directory_is_the_same_after_the_way_up_and_down() {
    let place = Place::new();
    let data = place.path("data");
    let deep = "d/".repeat(20);
    for (name, contents) in [
        ("empty", Vec::new()),
        ("a b+ü%2F.txt", b"blank".to_vec()),
        (".hidden", b"h".to_vec()),
        (&format!("{deep}file"), b"deep".to_vec()),
        ("back\\slash#", b"b".to_vec()),
        // The first file is transferred in one piece, and the second one in parts.
        ("medium", bytes(9 << 20)),
        ("large", bytes((17 << 20) + 3)),
    ] {
        place.write(&format!("data/{name}"), contents);
    }
    let obs = place.obs();
    let sent = obs.sync_up(&data, "obs://bucket/in/").await.unwrap();
    let total = Amount::new(7, (26 << 20) + 3 + 5 + 1 + 4 + 1);
    assert_eq!(sent.transferred, total);
    assert_eq!((sent.unchanged, sent.deleted), (Amount::default(), 0));
    assert!(sent.skipped.is_empty());
    assert!(tree(&place.path("obs/bucket/in")) == tree(&data));

    let out = place.path("new/out");
    let received = obs.sync_down("obs://bucket/in", &out).await.unwrap();
    assert_eq!(received, sent);
    assert!(tree(&out) == tree(&data));

    let again = obs.sync_down("obs://bucket/in", &out).await.unwrap();
    assert_eq!((again.transferred, again.unchanged), (Amount::default(), total));
}

#[tokio::test]
async fn only_other_contents_are_sent() {
    let place = Place::new();
    let data = place.path("data");
    for name in ["a", "b", "c"] {
        place.write(&format!("data/{name}"), name);
    }
    let obs = place.obs();
    obs.sync_up(&data, "obs://bucket/in").await.unwrap();
    // `b` gets other contents of the same size, and `a` only a new modification time.
    place.write("data/a", "a");
    place.write("data/b", "x");
    let summary = obs.sync_up(&data, "obs://bucket/in").await.unwrap();
    assert_eq!((summary.transferred.files, summary.unchanged.files), (1, 2));
    assert!(tree(&place.path("obs/bucket/in")) == tree(&data));

    // An object that another program changed is uploaded again.
    place.write("obs/bucket/in/c", "y");
    let summary = obs.sync_up(&data, "obs://bucket/in").await.unwrap();
    assert_eq!((summary.transferred.files, summary.unchanged.files), (1, 2));
    assert!(tree(&place.path("obs/bucket/in")) == tree(&data));
}

#[cfg(unix)]
#[tokio::test]
async fn unchanged_files_are_not_read() {
    use std::time::{Duration, SystemTime};

    let place = Place::new();
    let data = place.path("data");
    let file = place.write("data/a", "aaaa");
    let obs = place.obs();
    obs.sync_up(&data, "obs://bucket/in").await.unwrap();
    // A change that keeps the size, the modification time and the inode is not noticed, because the
    // file is not read.
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "bbbb").unwrap();
    super::set_modified(&file, modified);
    let summary = obs.sync_up(&data, "obs://bucket/in").await.unwrap();
    assert_eq!(summary.unchanged.files, 1);

    // Without the cache, the change is noticed.
    let other = place.obs().with_cache_dir(place.path("other"));
    let summary = other.sync_up(&data, "obs://bucket/in").await.unwrap();
    assert_eq!(summary.transferred.files, 1);

    // A file that has just changed may change again without a change of its modification time.
    fs::write(&file, "cccc").unwrap();
    let now = SystemTime::now() + Duration::from_secs(1);
    super::set_modified(&file, now);
    obs.sync_up(&data, "obs://bucket/in").await.unwrap();
    fs::write(&file, "dddd").unwrap();
    super::set_modified(&file, now);
    let summary = obs.sync_up(&data, "obs://bucket/in").await.unwrap();
    assert_eq!(summary.transferred.files, 1);
}

#[tokio::test]
async fn surplus_objects_are_deleted_only_if_asked() {
    let place = Place::new();
    let data = place.path("data");
    place.write("data/keep", "1");
    place.write("data/.env", "SECRET=1");
    for name in ["old/a", "old/b", ".env", "keep"] {
        place.write(&format!("obs/bucket/in/{name}"), "0");
    }
    place.write("obs/bucket/in2/other", "0");
    let obs = place.obs();
    let up = || obs.sync_up(&data, "obs://bucket/in");
    let all = [".env", "keep", "old/a", "old/b"];
    assert_eq!(up().await.unwrap().deleted, 0);
    assert_eq!(names(&place.path("obs/bucket/in")), all);

    let summary = up().delete(true).dry_run(true).await.unwrap();
    assert_eq!(summary.deleted, 2);
    assert_eq!(names(&place.path("obs/bucket/in")), all);

    // A file that is left out is not deleted.
    let summary = up().delete(true).await.unwrap();
    assert_eq!(summary.deleted, 2);
    assert_eq!(names(&place.path("obs/bucket/in")), [".env", "keep"]);
    assert_eq!(names(&place.path("obs/bucket/in2")), ["other"]);
}

#[tokio::test]
async fn surplus_files_are_deleted_only_if_asked() {
    let place = Place::new();
    place.write("obs/bucket/in/keep", "1");
    for name in ["old/deep/a", "old/b", ".env", "keep"] {
        place.write(&format!("out/{name}"), "0");
    }
    let out = place.path("out");
    let obs = place.obs();
    let down = || obs.sync_down("obs://bucket/in", &out);
    assert_eq!(down().await.unwrap().deleted, 0);
    assert_eq!(names(&out), [".env", "keep", "old/b", "old/deep/a"]);
    assert_eq!(down().delete(true).dry_run(true).await.unwrap().deleted, 2);
    assert!(out.join("old/deep/a").exists());
    assert_eq!(down().delete(true).await.unwrap().deleted, 2);
    assert_eq!(names(&out), [".env", "keep"]);
    assert!(!out.join("old").exists());
}

#[tokio::test]
async fn a_single_file_and_a_single_object_keep_their_names() {
    let place = Place::new();
    let file = place.write("src/train.py", "print()");
    place.write("src/other.py", "");
    let obs = place.obs();
    let summary = obs.sync_up(&file, "obs://bucket/code").delete(true).await.unwrap();
    assert_eq!(summary.transferred.files, 1);
    assert_eq!(names(&place.path("obs/bucket")), ["code/train.py"]);
    let summary = obs.sync_up(&file, "obs://bucket/code").await.unwrap();
    assert_eq!(summary.unchanged.files, 1);

    let out = place.path("out");
    place.write("out/other", "");
    let down = obs.sync_down("obs://bucket/code/train.py", &out);
    assert_eq!(down.delete(true).await.unwrap().transferred.files, 1);
    assert_eq!(names(&out), ["other", "train.py"]);

    let copy = obs.copy("obs://bucket/code/train.py", "obs://bucket/copy");
    assert_eq!(copy.await.unwrap().transferred.files, 1);
    assert!(place.path("obs/bucket/copy/train.py").exists());
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let place = Place::new();
    place.write("data/a", "a");
    place.write("data/key", "-----BEGIN PRIVATE KEY-----\n");
    let obs = place.obs();
    let up = obs.sync_up(place.path("data"), "obs://bucket/in").dry_run(true);
    let summary = up.await.unwrap();
    assert_eq!(summary.transferred, Amount::new(1, 1));
    assert_eq!(summary.skipped.len(), 1);
    assert!(names(&place.path("obs/bucket")).is_empty());

    place.write("obs/bucket/in/b", "b");
    let down = obs.sync_down("obs://bucket/in", place.path("out"));
    assert_eq!(down.dry_run(true).await.unwrap().transferred.files, 1);
    assert!(!place.path("out").exists());
}

#[tokio::test]
async fn an_interrupted_write_leaves_no_part_of_a_file() {
    let place = Place::new();
    place.write("obs/bucket/in/a", "new");
    place.write("out/a", "old");
    // An incomplete download of another call exists.
    place.write("out/.a.modelarts-part", "garbage");
    let obs = place.obs();
    let out = place.path("out");
    obs.sync_down("obs://bucket/in", &out).await.unwrap();
    assert_eq!(tree(&out), [("a".to_owned(), b"new".to_vec())].into());
}
