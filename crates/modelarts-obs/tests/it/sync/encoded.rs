//! Objects that are stored with a `Content-Encoding`, with the emulator's OBS over HTTP.

use std::{collections::BTreeMap, fs};

use bytes::Bytes;

use super::{
    service::{MIB, Site},
    tree,
};

/// The gzip member of 64 rows `1,2`.
const MEMBER: [u8; 27] = [
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x33, 0xd4, 0x31, 0xe2, 0x32, 0x1c,
    0xc1, 0x18, 0x00, 0xd7, 0xe9, 0x63, 0x21, 0x00, 0x01, 0x00, 0x00,
];

#[tokio::test]
async fn encoded_objects_are_received_as_they_are_stored() {
    let site = Site::start().await;
    // A sequence of members is valid gzip. The large object is received in ranges.
    let large = MEMBER.repeat(17 * MIB / MEMBER.len());
    let stored = BTreeMap::from([
        ("empty.gz".to_owned(), Vec::new()),
        ("large.gz".to_owned(), large),
        ("rows.csv.gz".to_owned(), MEMBER.to_vec()),
    ]);
    for (name, contents) in &stored {
        let key = format!("in/{name}");
        let contents = Bytes::from(contents.clone());
        let headers = [("content-encoding", "gzip"), ("content-type", "text/csv")];
        site.put_signed(&key, &headers, contents.clone()).await;
        assert!(site.bucket.get(&key).await.unwrap() == contents, "{key}");
        let size = site.bucket.head(&key).await.unwrap().size();
        assert_eq!(size, contents.len() as u64, "{key}");
    }
    let summary = site.down().await.unwrap();
    assert_eq!(summary.transferred.files, 3);
    let out = site.place.path("out");
    assert!(tree(&out) == stored);
    assert_eq!(site.down().await.unwrap().unchanged.files, 3);

    // Between two buckets, the contents pass through this machine.
    site.obs.bucket("other").unwrap().create().await.unwrap();
    let copy = site.obs.copy("obs://bucket/in", "obs://other/in");
    assert_eq!(copy.await.unwrap().transferred.files, 3);
    fs::remove_dir_all(&out).unwrap();
    site.obs.sync_down("obs://other/in", &out).await.unwrap();
    assert!(tree(&out) == stored);
}
