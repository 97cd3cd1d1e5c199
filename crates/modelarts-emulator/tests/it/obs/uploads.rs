//! Uploads in parts, request by request.

use std::{fs::OpenOptions, io::Write, path::Path};

use reqwest::Method;

use crate::obs::{ObsReply, ObsSite, noise};

const PART: usize = 100 << 10;

fn listed(parts: &[(u32, &str)]) -> String {
    let parts = parts.iter().map(|(number, etag)| {
        format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
    });
    let parts: String = parts.collect();
    format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>")
}

async fn begin(site: &ObsSite, key: &str) -> String {
    let headers = [("x-amz-meta-colour", "blue"), ("content-type", "text/x")];
    let target = format!("/bucket/{key}?uploads");
    let reply = site.client.send(Method::POST, &target, &headers, b"").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.one("UploadId")
}

async fn part(site: &ObsSite, key: &str, id: &str, number: u32, content: &[u8]) -> String {
    let target = format!("/bucket/{key}?partNumber={number}&uploadId={id}");
    let reply = site.client.put(&target, content).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.header("etag").to_owned()
}

#[tokio::test]
async fn only_the_listed_parts_in_their_order_are_joined() {
    let data = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    let set =
        |builder: modelarts_emulator::Builder| builder.data_dir(data.path()).obs_root(root.path());
    let site = ObsSite::with(set).await;
    let content = noise(3 * PART);
    let id = begin(&site, "a/k").await;
    let two = part(&site, "a/k", &id, 2, &content[PART..2 * PART]).await;
    let small = part(&site, "a/k", &id, 1, b"small").await;
    let five = part(&site, "a/k", &id, 5, &content[2 * PART..]).await;
    let complete = async |site: &ObsSite, body: String| {
        site.client
            .post(&format!("/bucket/a/k?uploadId={id}"), &body)
            .await
    };
    for (body, code) in [
        (listed(&[(2, &two), (1, &small)]), "InvalidPartOrder"),
        (listed(&[(2, &two), (2, &two)]), "InvalidPartOrder"),
        (listed(&[(1, &two)]), "InvalidPart"),
        (listed(&[(3, &two)]), "InvalidPart"),
        (listed(&[(1, &small), (2, &two)]), "EntityTooSmall"),
        (listed(&[]), "MalformedXML"),
    ] {
        let reply = complete(&site, body.clone()).await;
        assert_eq!(reply.error(), (400, code.to_owned()), "{body}");
    }
    // The upload outlives the emulator.
    site.emulator.shutdown().await;
    let site = ObsSite::with(set).await;
    // A part with the number of an earlier one replaces it.
    let one = part(&site, "a/k", &id, 1, &content[..PART]).await;
    let parts = site
        .client
        .get(&format!("/bucket/a/k?max-parts=2&uploadId={id}"))
        .await;
    assert_eq!(parts.all("PartNumber"), ["1", "2"]);
    assert_eq!(
        (parts.one("IsTruncated"), parts.one("NextPartNumberMarker")),
        ("true".into(), "2".into())
    );
    let parts = site
        .client
        .get(&format!("/bucket/a/k?part-number-marker=2&uploadId={id}"))
        .await;
    assert_eq!(
        (parts.all("PartNumber"), parts.one("Size")),
        (vec!["5".to_owned()], PART.to_string())
    );
    assert_eq!(
        site.client.get("/bucket?list-type=2").await.all("Key"),
        [""; 0]
    );
    let reply = complete(&site, listed(&[(1, &one), (2, &two), (5, &five)])).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let object = site.client.get("/bucket/a/k").await;
    assert!(object.body == content);
    assert!(
        object.header("etag").ends_with("-3\""),
        "{}",
        object.header("etag")
    );
    assert_eq!(
        (
            object.header("content-type"),
            object.header("x-amz-meta-colour")
        ),
        ("text/x", "blue")
    );
    let again = complete(&site, listed(&[(1, &one)])).await;
    assert_eq!(again.error(), (404, "NoSuchUpload".to_owned()));
}

#[tokio::test]
async fn unfinished_uploads_are_listed_until_they_are_aborted() {
    let site = ObsSite::start().await;
    let mut ids = Vec::new();
    for key in ["a/1", "a/2", "b", "b"] {
        ids.push(begin(&site, key).await);
    }
    let all = site.client.get("/bucket?uploads").await;
    assert_eq!(all.all("Key"), ["a/1", "a/2", "b", "b"]);
    let first = site
        .client
        .get("/bucket?delimiter=%2F&max-uploads=2&uploads")
        .await;
    assert_eq!(
        (first.all("Key"), first.all("Prefix")),
        (vec!["b".to_owned()], vec!["a/".to_owned()])
    );
    assert_eq!(
        (first.one("IsTruncated"), first.one("NextKeyMarker")),
        ("true".into(), "b".into())
    );
    let marker = first.one("NextUploadIdMarker");
    let rest = format!("/bucket?delimiter=%2F&key-marker=b&upload-id-marker={marker}&uploads");
    let rest = site.client.get(&rest).await;
    assert_eq!(
        (rest.all("Key"), rest.one("IsTruncated")),
        (vec!["b".to_owned()], "false".to_owned())
    );
    let prefix = site.client.get("/bucket?prefix=a%2F2&uploads").await;
    assert_eq!(prefix.all("UploadId"), [ids[1].clone()]);
    part(&site, "a/1", &ids[0], 1, b"x").await;
    // An id belongs to one key.
    let wrong = site
        .client
        .delete(&format!("/bucket/a/2?uploadId={}", ids[0]))
        .await;
    assert_eq!(wrong.error(), (404, "NoSuchUpload".to_owned()));
    for (key, id) in ["a/1", "a/2", "b", "b"].iter().zip(&ids) {
        assert_eq!(
            site.client
                .delete(&format!("/bucket/{key}?uploadId={id}"))
                .await
                .status,
            204
        );
    }
    assert_eq!(site.client.get("/bucket?uploads").await.all("Key"), [""; 0]);
}

#[tokio::test]
async fn a_part_can_be_a_range_of_an_object() {
    let site = ObsSite::start().await;
    let content = noise(2 * PART);
    site.write("source", &content);
    let id = begin(&site, "k").await;
    let mut etags = Vec::new();
    for (number, range) in [(1, "bytes=102400-204799"), (2, "bytes=0-9")] {
        let headers = [
            ("x-amz-copy-source", "bucket/source"),
            ("x-amz-copy-source-range", range),
        ];
        let target = format!("/bucket/k?partNumber={number}&uploadId={id}");
        let reply = site.client.send(Method::PUT, &target, &headers, b"").await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        etags.push(reply.one("ETag"));
    }
    let body = listed(&[(1, &etags[0]), (2, &etags[1])]);
    let reply = site
        .client
        .post(&format!("/bucket/k?uploadId={id}"), &body)
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let joined = [&content[PART..], &content[..10]].concat();
    assert!(site.client.get("/bucket/k").await.body == joined);
}

/// Completes an upload while its parts change: a pipe in the place of its first part holds the
/// completion until `change` has ended. Returns the response to the completion.
async fn complete_during(
    site: &ObsSite,
    data: &Path,
    id: &str,
    change: impl AsyncFnOnce(),
) -> ObsReply {
    let etag = part(site, "k", id, 1, b"first").await;
    let pipe = data.join("obs-uploads").join(id).join("1");
    std::fs::remove_file(&pipe).unwrap();
    let (mode, kind) = (rustix::fs::Mode::RWXU, rustix::fs::FileType::Fifo);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
    let (target, body) = (format!("/bucket/k?uploadId={id}"), listed(&[(1, &etag)]));
    let meanwhile = async {
        // The pipe opens when the completion reads it.
        let open = move || OpenOptions::new().write(true).open(pipe).unwrap();
        let mut pipe = tokio::task::spawn_blocking(open).await.unwrap();
        change().await;
        pipe.write_all(b"first").unwrap();
    };
    futures::join!(site.client.post(&target, &body), meanwhile).0
}

#[tokio::test]
async fn an_upload_that_ends_or_changes_while_it_is_completed_is_not_stored() {
    let data = tempfile::tempdir().unwrap();
    let site = ObsSite::with(|builder| builder.data_dir(data.path())).await;
    let id = begin(&site, "k").await;
    let replace = async || drop(part(&site, "k", &id, 1, b"other").await);
    let reply = complete_during(&site, data.path(), &id, replace).await;
    assert_eq!(reply.error(), (400, "InvalidPart".to_owned()));
    let abort = async || {
        let target = format!("/bucket/k?uploadId={id}");
        assert_eq!(site.client.delete(&target).await.status, 204);
    };
    let reply = complete_during(&site, data.path(), &id, abort).await;
    assert_eq!(reply.error(), (404, "NoSuchUpload".to_owned()));
    assert_eq!(site.client.get("/bucket/k").await.status, 404);
}

#[tokio::test]
async fn an_upload_without_its_directory_can_be_aborted() {
    let data = tempfile::tempdir().unwrap();
    let site = ObsSite::with(|builder| builder.data_dir(data.path())).await;
    let id = begin(&site, "k").await;
    std::fs::remove_dir(data.path().join("obs-uploads").join(&id)).unwrap();
    let target = format!("/bucket/k?uploadId={id}");
    let aborted = site.client.delete(&target).await;
    assert_eq!(aborted.status, 204, "{}", aborted.text());
    let completed = site.client.post(&target, &listed(&[(1, "x")])).await;
    assert_eq!(completed.error(), (404, "NoSuchUpload".to_owned()));
}
