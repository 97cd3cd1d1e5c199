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
    let reply = site.send(Method::POST, &target, &headers, b"").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.one("UploadId")
}

async fn part(site: &ObsSite, key: &str, id: &str, number: u32, content: &[u8]) -> String {
    let target = format!("/bucket/{key}?partNumber={number}&uploadId={id}");
    let reply = site.put(&target, content).await;
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
        site.post(&format!("/bucket/a/k?uploadId={id}"), &body).await
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
    assert_eq!(site.get("/bucket?list-type=2").await.all("Key"), [""; 0]);
    let reply = complete(&site, listed(&[(1, &one), (2, &two), (5, &five)])).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let object = site.get("/bucket/a/k").await;
    assert!(object.body == content);
    assert!(object.header("etag").ends_with("-3\""), "{}", object.header("etag"));
    assert_eq!(
        (object.header("content-type"), object.header("x-amz-meta-colour")),
        ("text/x", "blue")
    );
    let again = complete(&site, listed(&[(1, &one)])).await;
    again.refused(404, "NoSuchUpload");
}

#[tokio::test]
async fn an_upload_belongs_to_one_key_and_is_aborted_once() {
    let site = ObsSite::start().await;
    let id = begin(&site, "a").await;
    part(&site, "a", &id, 1, b"x").await;
    for (key, status) in [("b", 404), ("a", 204), ("a", 404)] {
        let target = format!("/bucket/{key}?uploadId={id}");
        assert_eq!(site.delete(&target).await.status, status, "{key}");
    }
}

#[tokio::test]
async fn operations_that_no_client_uses_are_not_implemented() {
    let site = ObsSite::start().await;
    let id = begin(&site, "a").await;
    for target in [
        "/bucket?uploads",
        "/bucket?versioning",
        "/bucket?location",
        &format!("/bucket/a?uploadId={id}"),
    ] {
        let reply = site.get(target).await;
        assert_eq!(reply.error(), (501, "NotImplemented".to_owned()), "{target}");
    }
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
    futures::join!(site.post(&target, &body), meanwhile).0
}

#[tokio::test]
async fn an_upload_that_ends_or_changes_while_it_is_completed_is_not_stored() {
    let data = tempfile::tempdir().unwrap();
    let site = ObsSite::with(|builder| builder.data_dir(data.path())).await;
    let id = begin(&site, "k").await;
    let replace = async || drop(part(&site, "k", &id, 1, b"other").await);
    let reply = complete_during(&site, data.path(), &id, replace).await;
    reply.refused(400, "InvalidPart");
    let abort = async || {
        let target = format!("/bucket/k?uploadId={id}");
        assert_eq!(site.delete(&target).await.status, 204);
    };
    let reply = complete_during(&site, data.path(), &id, abort).await;
    reply.refused(404, "NoSuchUpload");
    assert_eq!(site.get("/bucket/k").await.status, 404);
}

#[tokio::test]
async fn an_upload_without_its_directory_can_be_aborted() {
    let data = tempfile::tempdir().unwrap();
    let site = ObsSite::with(|builder| builder.data_dir(data.path())).await;
    let id = begin(&site, "k").await;
    std::fs::remove_dir(data.path().join("obs-uploads").join(&id)).unwrap();
    let target = format!("/bucket/k?uploadId={id}");
    let aborted = site.delete(&target).await;
    assert_eq!(aborted.status, 204, "{}", aborted.text());
    let completed = site.post(&target, &listed(&[(1, "x")])).await;
    completed.refused(404, "NoSuchUpload");
}
