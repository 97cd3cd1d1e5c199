//! Lists: order, pages, delimiters, encoding, and files that no client has stored.

use std::os::unix::fs::symlink;

use crate::obs::{ObsReply, ObsSite};

fn keys(reply: &ObsReply) -> Vec<String> {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.all("Key")
}

/// Returns keys and common prefixes of all pages of one entry, by the markers of both versions.
async fn pages(site: &ObsSite, query: &str) -> [Vec<String>; 2] {
    let mut both = [Vec::new(), Vec::new()];
    for (version, all) in both.iter_mut().enumerate() {
        let mut next = String::new();
        loop {
            let mut target = format!("/bucket?max-keys=1&{query}");
            match (version, next.as_str()) {
                (0, "") => {}
                (0, _) => target += &format!("&marker={}", next.replace('/', "%2F")),
                (_, "") => target += "&list-type=2",
                (..) => {
                    let token = next.replace('%', "%25");
                    target += &format!("&list-type=2&continuation-token={token}");
                }
            }
            let reply = site.get(&target).await;
            assert_eq!(reply.status, 200, "{}", reply.text());
            let rows = reply.text();
            let is_prefix = rows.contains("<CommonPrefixes>");
            let row = if is_prefix { reply.all("Prefix").pop().unwrap() } else { reply.one("Key") };
            if !row.is_empty() {
                all.push(row);
            }
            if reply.one("IsTruncated") == "false" {
                break;
            }
            next = match version {
                0 => reply.one("NextMarker"),
                _ => reply.one("NextContinuationToken"),
            };
        }
    }
    both
}

#[tokio::test]
async fn the_order_is_that_of_the_bytes_of_the_keys() {
    let site = ObsSite::start().await;
    // The name `a` comes before `a-b`, and the directory `a/` after it.
    let sorted = ["Z", "a-b", "a-b/c", "a/b", "a/b-c", "a/b/c", "a0", "b", "ä", "漢"];
    for name in sorted.iter().filter(|name| **name != "a-b" && **name != "a/b") {
        site.write(name, "x");
    }
    let expected: Vec<_> = sorted.into_iter().filter(|it| !["a-b", "a/b"].contains(it)).collect();
    assert_eq!(keys(&site.get("/bucket?list-type=2").await), expected);
    let encoded = ["Z", "a-b/c", "a/b-c", "a/b/c", "a0", "b", "%C3%A4", "%E6%BC%A2"];
    let both = pages(&site, "encoding-type=url").await;
    assert_eq!(both, [encoded, encoded]);
}

#[tokio::test]
async fn pages_with_a_delimiter_have_each_prefix_once() {
    let site = ObsSite::start().await;
    for name in ["a/1", "a/2", "a/x/3", "b", "c/1", "c/2", "d-1", "d-2"] {
        site.write(name, "x");
    }
    std::fs::create_dir_all(site.emulator.obs_root().join("bucket/empty/deep")).unwrap();
    let rows = ["a/", "b", "c/", "d-1", "d-2"];
    assert_eq!(pages(&site, "delimiter=%2F").await, [rows, rows]);
    let rows = ["a/1", "a/2", "a/x/"];
    assert_eq!(
        pages(&site, "delimiter=%2F&encoding-type=url").await,
        [["a/", "b", "c/", "d-1", "d-2"]; 2]
    );
    let reply = site.get("/bucket?delimiter=%2F&list-type=2&prefix=a%2F").await;
    assert_eq!(keys(&reply), rows[..2]);
    assert_eq!(reply.all("Prefix"), ["a/", "a/x/"]);
    assert_eq!(reply.one("KeyCount"), "3");
    let reply = site.get("/bucket?delimiter=-&list-type=2").await;
    assert_eq!(reply.all("Prefix").last().unwrap(), "d-");
    let reply = site.get("/bucket?list-type=2&start-after=a%2F2").await;
    assert_eq!(keys(&reply), ["a/x/3", "b", "c/1", "c/2", "d-1", "d-2"]);
    for query in ["prefix=a%2F%2F", "prefix=..%2F", "prefix=b%2F", "prefix=nothing", "max-keys=0"] {
        let reply = site.get(&format!("/bucket?{query}")).await;
        assert_eq!(keys(&reply), [""; 0], "{query}");
        assert_eq!(reply.one("IsTruncated"), "false", "{query}");
    }
}

#[tokio::test]
async fn names_are_encoded_if_the_request_says_so() {
    let site = ObsSite::start().await;
    site.write("a b+c/ü&<%2F", "x");
    let reply = site.get("/bucket?encoding-type=url&list-type=2&prefix=a%20b").await;
    assert_eq!(keys(&reply), ["a%20b%2Bc/%C3%BC%26%3C%252F"]);
    assert_eq!(reply.one("Prefix"), "a%20b");
    let reply = site.get("/bucket?list-type=2").await;
    assert_eq!(keys(&reply), ["a b+c/ü&amp;&lt;%2F"]);
}

#[tokio::test]
async fn a_directory_marker_is_an_empty_object() {
    let site = ObsSite::start().await;
    assert_eq!(site.get("/bucket/dir/").await.status, 404);
    let stored = site.put("/bucket/dir/", b"").await;
    assert_eq!(stored.status, 200, "{}", stored.text());
    assert!(site.emulator.obs_root().join("bucket/dir").is_dir());
    site.write("dir/file", "x");
    site.write("made/file", "x");
    let reply = site.get("/bucket?list-type=2").await;
    assert_eq!(keys(&reply), ["dir/", "dir/file", "made/file"]);
    assert_eq!(reply.all("Size"), ["0", "1", "1"]);
    assert_eq!(site.get("/bucket/dir/").await.status, 200);
    // Directories that no client has stored are no objects.
    assert_eq!(site.get("/bucket/made/").await.status, 404);
    assert_eq!(site.delete("/bucket/dir/file").await.status, 204);
    let reply = site.get("/bucket?list-type=2").await;
    assert_eq!(keys(&reply), ["dir/", "made/file"]);
    assert_eq!(site.delete("/bucket/dir/").await.status, 204);
    assert!(!site.emulator.obs_root().join("bucket/dir").exists());
}

#[tokio::test]
async fn links_out_of_the_root_and_pipes_are_no_objects() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let site = ObsSite::start().await;
    site.write("real/file", "inside");
    let bucket = site.emulator.obs_root().join("bucket");
    symlink(outside.path(), bucket.join("door")).unwrap();
    symlink(outside.path().join("secret"), bucket.join("key")).unwrap();
    symlink(&bucket, bucket.join("real/loop")).unwrap();
    symlink(bucket.join("real/file"), bucket.join("same")).unwrap();
    let (mode, pipe) = (rustix::fs::Mode::RUSR, rustix::fs::FileType::Fifo);
    rustix::fs::mknodat(rustix::fs::CWD, bucket.join("pipe"), pipe, mode, 0).unwrap();
    let reply = site.get("/bucket?list-type=2").await;
    assert_eq!(keys(&reply), ["real/file", "same"]);
    assert_eq!(site.get("/bucket/pipe").await.status, 404);
    assert_eq!(site.get("/bucket/same").await.text(), "inside");
    for key in ["door/secret", "key"] {
        let reply = site.get(&format!("/bucket/{key}")).await;
        assert_eq!(reply.error(), (403, "AccessDenied".to_owned()), "{key}");
    }
    let reply = site.put("/bucket/door/new", b"x").await;
    reply.refused(400, "InvalidArgument");
    // A link at the place of an object is replaced.
    assert_eq!(site.put("/bucket/key", b"own").await.status, 200);
    let secret = std::fs::read_to_string(outside.path().join("secret")).unwrap();
    assert_eq!(
        (secret.as_str(), std::fs::read_dir(outside.path()).unwrap().count()),
        ("secret", 1)
    );
}

#[tokio::test]
async fn links_in_a_circle_are_followed_once() {
    let site = ObsSite::start().await;
    site.write("a/file", "a");
    site.write("b/file", "b");
    let bucket = site.emulator.obs_root().join("bucket");
    for (link, target) in [("a/1", "../b"), ("a/2", "../b"), ("b/1", "../a"), ("b/2", "../a")] {
        symlink(target, bucket.join(link)).unwrap();
    }
    let all = ["a/1/file", "a/2/file", "a/file", "b/1/file", "b/2/file", "b/file"];
    assert_eq!(keys(&site.get("/bucket?list-type=2").await), all);
    // The same keys exist for a client that lists each directory.
    for (prefix, expected) in [("a/1/", &all[..1]), ("a/1/1/", &[]), ("b/", &all[3..])] {
        let prefix = prefix.replace('/', "%2F");
        let reply = site.get(&format!("/bucket?list-type=2&prefix={prefix}")).await;
        assert_eq!(keys(&reply), expected, "{prefix}");
    }
    let reply = site.get("/bucket?list-type=2&delimiter=%2F&prefix=a%2F1%2F").await;
    assert_eq!(
        (keys(&reply), reply.all("Prefix")),
        (vec!["a/1/file".to_owned()], vec!["a/1/".to_owned()])
    );
}
