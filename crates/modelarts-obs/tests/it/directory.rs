//! Tests of a local directory that is used instead of OBS.

use futures::TryStreamExt;
use modelarts_obs::Obs;

use crate::support::{bucket_with, builder};

#[tokio::test]
async fn a_directory_has_objects_like_a_server() {
    let root = tempfile::tempdir().unwrap();
    let bucket = bucket_with(builder(), &format!("file://{}", root.path().display()));
    let missing = bucket.put("a", "").await.unwrap_err();
    assert_eq!(
        missing.to_string(),
        "writing obs://my-bucket/a: there is no such bucket (NoSuchBucket, HTTP 404); check the \
         name and the region of the bucket, or create it with Bucket::create"
    );
    let listed = bucket.list("").try_collect::<Vec<_>>().await;
    assert_eq!(listed.unwrap_err().code(), Some("NoSuchBucket"));
    assert_eq!(bucket.exists("a").await.unwrap_err().code(), Some("NoSuchBucket"));

    bucket.create().await.unwrap();
    bucket.create().await.unwrap();
    let deep = (1..=20).map(|step| step.to_string()).collect::<Vec<_>>();
    let deep = deep.join("/");
    for key in ["a b", "a+b", "ü", "a%2Fb", "empty", &deep] {
        let contents = if key == "empty" { "" } else { "contents" };
        bucket.put(key, contents).await.unwrap();
        assert_eq!(bucket.get(key).await.unwrap(), contents, "{key}");
        assert!(root.path().join("my-bucket").join(key).is_file(), "{key}");
        let found = bucket.head(key).await.unwrap();
        assert_eq!((found.key(), found.size()), (key, contents.len() as u64));
    }
    let mut listed: Vec<_> = bucket.list("").try_collect().await.unwrap();
    listed.sort_by(|a, b| a.key().cmp(b.key()));
    let keys: Vec<_> = listed.iter().map(|object| object.key()).collect();
    assert_eq!(keys, [deep.as_str(), "a b", "a%2Fb", "a+b", "empty", "ü"]);
    let below: Vec<_> = bucket.list("1/2").try_collect().await.unwrap();
    assert_eq!(below.len(), 1);
    let none: Vec<_> = bucket.list("none").try_collect().await.unwrap();
    assert_eq!(none.len(), 0);
    bucket.put("a b", "other").await.unwrap();
    assert_eq!(bucket.get("a b").await.unwrap(), "other");
    bucket.delete("a b").await.unwrap();
    bucket.delete("a b").await.unwrap();
    let error = bucket.get("a b").await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), "reading obs://my-bucket/a b: no such object");
    assert!(!bucket.exists("a b").await.unwrap());
}

#[tokio::test]
async fn errors_of_the_file_system_name_the_object() {
    let root = tempfile::tempdir().unwrap();
    let bucket = Obs::directory(root.path()).bucket("my-bucket").unwrap();
    bucket.create().await.unwrap();
    bucket.put("a", "file").await.unwrap();
    // In contrast to OBS, the key of an object cannot also be a directory of other keys.
    let error = bucket.put("a/b", "").await.unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("writing obs://my-bucket/a/b: "), "{message}");
    let error = bucket.put("a#1", "").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "writing obs://my-bucket/a#1: Filenames containing trailing '/#\\d+/' are not supported: \
         a#1"
    );
}
