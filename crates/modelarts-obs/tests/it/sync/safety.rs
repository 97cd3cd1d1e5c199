//! Files and objects that a synchronization must not touch, or must not take for damaged.

use std::fs;

use modelarts_obs::Obs;

use super::{Place, bytes, names, tree};
use crate::{
    fake_server::{FakeServer, reply},
    support::{builder, object},
};

/// The entity tag of an object that OBS encrypted has the form of an MD5, and is none of the
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
            object("contents")
                .with("x-amz-server-side-encryption", "aws:kms")
                .with("etag", ETAG)
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
