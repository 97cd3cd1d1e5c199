//! Objects, by the crate `object_store`: names, ranges, parts, copies and deletes.

use futures::{StreamExt, TryStreamExt};
use object_store::{
    GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutPayload, WriteMultipart, path::Path,
};

use crate::obs::{ObsSite, noise};

#[tokio::test]
async fn names_of_all_kinds_are_files_of_the_same_names() {
    let site = ObsSite::start().await;
    let store = site.store();
    let deep = vec!["level"; 20].join("/");
    let names =
        ["plain.txt", "a b+c", "ü/漢字/🎉", "100%2F", "a&b=c?d#e", "<x>'\"", "a.b/..c/d..", &deep];
    for name in names {
        let path = Path::parse(name).unwrap();
        store.put(&path, PutPayload::from(name.to_owned())).await.unwrap();
        let read = store.get(&path).await.unwrap().bytes().await.unwrap();
        assert_eq!(read, name.as_bytes(), "{name}");
        let file = site.emulator.obs_root().join("bucket").join(name);
        assert_eq!(std::fs::read_to_string(file).unwrap(), name);
    }
    let listed: Vec<_> = store.list(None).try_collect().await.unwrap();
    let listed: Vec<_> = listed.iter().map(|it| it.location.as_ref()).collect();
    let mut sorted = names;
    sorted.sort_unstable();
    assert_eq!(listed, sorted);
}

#[tokio::test]
async fn an_empty_object_and_a_range_of_a_large_one_are_exact() {
    let site = ObsSite::start().await;
    let store = site.store();
    let empty = Path::from("empty");
    store.put(&empty, PutPayload::new()).await.unwrap();
    let head = store.head(&empty).await.unwrap();
    assert_eq!(head.size, 0);
    assert_eq!(head.e_tag.as_deref(), Some("\"d41d8cd98f00b204e9800998ecf8427e\""));
    assert_eq!(store.get(&empty).await.unwrap().bytes().await.unwrap(), "");

    // The content spans several chunks of the emulator.
    let content = noise(3 << 20);
    let large = Path::from("large");
    store.put(&large, content.clone().into()).await.unwrap();
    assert_eq!(store.get(&large).await.unwrap().bytes().await.unwrap(), content);
    let end = content.len();
    for (range, bytes) in [
        (GetRange::Bounded(0..1), 0..1),
        (GetRange::Bounded(500_000..2_000_000), 500_000..2_000_000),
        (GetRange::Bounded(end as u64 - 1..end as u64 + 9), end - 1..end),
        (GetRange::Offset(end as u64 - 7), end - 7..end),
        (GetRange::Suffix(9), end - 9..end),
    ] {
        let options = GetOptions { range: Some(range.clone()), ..GetOptions::default() };
        let got = store.get_opts(&large, options).await.unwrap();
        assert_eq!(got.bytes().await.unwrap(), &content[bytes], "{range}");
    }
}

#[tokio::test]
async fn an_object_in_parts_is_whole_or_absent() {
    let site = ObsSite::start().await;
    let store = site.store();
    let content = noise(12 << 20);
    let path = Path::from("model/parts.bin");
    let upload = store.put_multipart(&path).await.unwrap();
    let mut writer = WriteMultipart::new_with_chunk_size(upload, 5 << 20);
    writer.write(&content);
    assert!(store.head(&path).await.is_err());
    let stored = writer.finish().await.unwrap();
    assert!(stored.e_tag.unwrap().ends_with("-3\""));
    assert_eq!(site.emulator.get("bucket/model/parts.bin").unwrap(), content);
    let aborted = Path::from("model/aborted.bin");
    let mut upload = store.put_multipart(&aborted).await.unwrap();
    upload.put_part(content.into()).await.unwrap();
    upload.abort().await.unwrap();
    assert!(store.head(&aborted).await.is_err());
    let left = std::fs::read_dir(site.emulator.data_dir().join("obs-uploads")).unwrap();
    assert_eq!(left.count(), 0);
}

#[tokio::test]
async fn copies_and_deletes_leave_no_directories() {
    let site = ObsSite::start().await;
    let store = site.store();
    let (from, to) = (Path::from("a/b/from"), Path::from("c/d/to"));
    store.put(&from, "content".into()).await.unwrap();
    store.copy(&from, &to).await.unwrap();
    assert_eq!(store.get(&to).await.unwrap().bytes().await.unwrap(), "content");
    let same = store.head(&from).await.unwrap().e_tag == store.head(&to).await.unwrap().e_tag;
    assert!(same);
    let all = futures::stream::iter([Ok(from), Ok(to), Ok(Path::from("never/there"))]);
    let deleted: Vec<_> = store.delete_stream(all.boxed()).collect().await;
    assert_eq!(deleted.len(), 3);
    assert!(deleted.iter().all(Result::is_ok), "{deleted:?}");
    // A directory without objects does not exist on OBS, and its name is free for an object.
    let left = std::fs::read_dir(site.emulator.obs_root().join("bucket")).unwrap();
    assert_eq!(left.count(), 0);
    store.put(&Path::from("a"), "file".into()).await.unwrap();
}

#[tokio::test]
async fn lists_have_all_of_2500_keys_in_their_order() {
    let site = ObsSite::start().await;
    let store = site.store();
    let names: Vec<String> = (0..2500).map(|n| format!("d{:02}/f{n:04}", n % 25)).collect();
    for name in &names {
        site.write(name, "x");
    }
    let listed: Vec<_> = store.list(None).try_collect().await.unwrap();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let listed: Vec<_> = listed.iter().map(|it| it.location.to_string()).collect();
    assert_eq!(listed, sorted);
    assert_eq!(site.emulator.requests()["obs.ListObjectsV2"].executed, 3);
    let top = store.list_with_delimiter(None).await.unwrap();
    assert_eq!((top.objects.len(), top.common_prefixes.len()), (0, 25));
    let one = store.list_with_delimiter(Some(&Path::from("d07"))).await.unwrap();
    assert_eq!((one.objects.len(), one.common_prefixes.len()), (100, 0));
}
