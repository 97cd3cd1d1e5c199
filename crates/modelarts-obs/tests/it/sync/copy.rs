//! Tests of copies within OBS.

use std::fs;

use super::{Place, bytes, tree};

#[tokio::test]
async fn objects_are_copied_within_a_bucket_and_between_buckets() {
    let place = Place::new();
    fs::create_dir_all(place.path("obs/other")).unwrap();
    place.write("obs/bucket/in/a", "a");
    place.write("obs/bucket/in/d/large", bytes((16 << 20) + 1));
    let from = place.path("obs/bucket/in");
    let obs = place.obs();
    for to in ["obs://bucket/out", "obs://other"] {
        let summary = obs.copy("obs://bucket/in", to).await.unwrap();
        assert_eq!(summary.transferred.files, 2);
        let summary = obs.copy("obs://bucket/in", to).await.unwrap();
        assert_eq!(summary.unchanged.files, 2);
    }
    assert!(tree(&place.path("obs/bucket/out")) == tree(&from));
    assert!(tree(&place.path("obs/other")) == tree(&from));

    // A later change of the original does not change the copy.
    fs::write(from.join("a"), "b").unwrap();
    assert_eq!(fs::read(place.path("obs/bucket/out/a")).unwrap(), b"a");

    place.write("obs/other/old", "");
    let copy = obs.copy("obs://bucket/in", "obs://other").delete(true);
    let summary = copy.await.unwrap();
    assert_eq!((summary.transferred.files, summary.deleted), (1, 1));
    assert!(tree(&place.path("obs/other")) == tree(&from));
}

#[tokio::test]
async fn addresses_that_contain_each_other_are_refused() {
    let place = Place::new();
    place.write("obs/bucket/in/a", "a");
    let obs = place.obs();
    for (from, to) in [
        ("obs://bucket/in", "obs://bucket/in/copy"),
        ("obs://bucket/in", "obs://bucket"),
        ("obs://bucket/in", "obs://bucket/in/"),
    ] {
        let error = obs.copy(from, to).await.unwrap_err().to_string();
        let expected = "must not contain each other; choose another address";
        assert!(error.ends_with(expected), "{error}");
    }
}
