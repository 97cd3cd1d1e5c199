//! Bodies, headers and conditions: checksums, chunks with trailers, metadata, ETags.

use reqwest::Method;

use crate::obs::{ObsSite, noise};

/// MD5 of `hello`, in hexadecimal digits.
const MD5_OF_HELLO: &str = "5d41402abc4b2a76b9719d911017c592";

#[tokio::test]
async fn metadata_and_headers_are_returned_as_sent() {
    let data = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    let set =
        |builder: modelarts_emulator::Builder| builder.data_dir(data.path()).obs_root(root.path());
    let site = ObsSite::with(set).await;
    let headers = [
        ("content-type", "text/x; charset=utf-8"),
        ("content-encoding", "aws-chunked,gzip"),
        ("content-language", "de"),
        ("content-disposition", "attachment"),
        ("cache-control", "no-cache"),
        ("expires", "Wed, 21 Oct 2015 07:28:00 GMT"),
        ("x-amz-meta-colour", "blue"),
        ("x-amz-meta-sha256", "0123"),
    ];
    let stored = site.send(Method::PUT, "/bucket/k", &headers, b"hello").await;
    assert_eq!(stored.status, 200, "{}", stored.text());
    assert_eq!(stored.header("etag"), format!("\"{MD5_OF_HELLO}\""));
    let copied = [("x-amz-copy-source", "bucket/k")];
    let copied = site.send(Method::PUT, "/bucket/copy", &copied, b"").await;
    assert_eq!(copied.status, 200, "{}", copied.text());
    let replaced = [
        ("x-amz-copy-source", "/bucket/k"),
        ("x-amz-metadata-directive", "REPLACE"),
        ("x-amz-meta-colour", "red"),
    ];
    let replaced = site.send(Method::PUT, "/bucket/other", &replaced, b"").await;
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    // Records are kept in the data directory.
    site.emulator.shutdown().await;
    let site = ObsSite::with(set).await;
    for method in [Method::GET, Method::HEAD] {
        for key in ["k", "copy"] {
            let reply = site.send(method.clone(), &format!("/bucket/{key}"), &[], b"").await;
            assert_eq!(reply.header("content-length"), "5");
            assert_eq!(reply.header("etag"), format!("\"{MD5_OF_HELLO}\""));
            for (name, value) in &headers {
                let expected = value.trim_start_matches("aws-chunked,");
                assert_eq!(reply.header(name), expected, "{method} {key} {name}");
            }
        }
    }
    let other = site.get("/bucket/other").await;
    assert_eq!((other.header("x-amz-meta-colour"), other.header("x-amz-meta-sha256")), ("red", ""));
    assert_eq!(other.header("content-type"), "binary/octet-stream");
    let to_itself = [("x-amz-copy-source", "bucket/k")];
    let to_itself = site.send(Method::PUT, "/bucket/k", &to_itself, b"").await;
    to_itself.refused(400, "InvalidRequest");
}

#[tokio::test]
async fn declared_digests_are_compared() {
    let site = ObsSite::start().await;
    let right = [
        ("content-md5", "XUFAKrxLKna5cZ2REBfFkg=="),
        ("x-amz-checksum-crc32", "NhCmhg=="),
        ("x-amz-checksum-crc32c", "mnG7TA=="),
        ("x-amz-checksum-sha1", "qvTGHdzF6KLavt4PO0gs2a6pQ00="),
        ("x-amz-checksum-sha256", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="),
        (
            "x-amz-content-sha256",
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        ),
    ];
    let stored = site.send(Method::PUT, "/bucket/k", &right, b"hello").await;
    assert_eq!(stored.status, 200, "{}", stored.text());
    assert_eq!(stored.header("x-amz-checksum-crc32"), "NhCmhg==");
    for ((name, value), code) in right.into_iter().zip([
        "BadDigest",
        "BadDigest",
        "BadDigest",
        "BadDigest",
        "BadDigest",
        "XAmzContentSHA256Mismatch",
    ]) {
        let reply = site.send(Method::PUT, "/bucket/k", &[(name, value)], b"HELLO").await;
        assert_eq!(reply.error(), (400, code.to_owned()), "{name}");
    }
    let reply = site.send(Method::PUT, "/bucket/k", &[("content-md5", "short")], b"x").await;
    reply.refused(400, "InvalidDigest");
    assert_eq!(site.get("/bucket/k").await.text(), "hello");
}

#[tokio::test]
async fn chunks_with_a_trailer_are_decoded_and_checked() {
    let site = ObsSite::start().await;
    let content = noise(300_000);
    let send = async |crc32: &str| {
        let mut body = Vec::new();
        for chunk in content.chunks(131_072) {
            body.extend(format!("{:x}\r\n", chunk.len()).bytes());
            body.extend(chunk);
            body.extend(b"\r\n");
        }
        body.extend(format!("0\r\nx-amz-checksum-crc32:{crc32}\r\n\r\n").bytes());
        let headers = [
            ("content-encoding", "aws-chunked"),
            ("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"),
            ("x-amz-decoded-content-length", "300000"),
            ("x-amz-trailer", "x-amz-checksum-crc32"),
        ];
        site.send(Method::PUT, "/bucket/k", &headers, &body).await
    };
    let wrong = send("AAAAAA==").await;
    wrong.refused(400, "BadDigest");
    assert_eq!(site.get("/bucket/k").await.status, 404);
    let mut digest = s3s::crypto::Crc32::default();
    s3s::crypto::Checksum::update(&mut digest, &content);
    let digest = s3s::crypto::Checksum::finalize(digest);
    let crc32 = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, digest);
    let right = send(&crc32).await;
    assert_eq!(right.status, 200, "{}", right.text());
    let read = site.get("/bucket/k").await;
    assert!(read.body == content);
    assert_eq!(read.header("content-encoding"), "");
}

#[tokio::test]
async fn conditions_select_what_is_read_and_written() {
    let site = ObsSite::start().await;
    site.put("/bucket/k", b"hello").await;
    let quoted = format!("\"{MD5_OF_HELLO}\"");
    let (past, future) = ("Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2099 07:28:00 GMT");
    for (name, value, status) in [
        ("if-match", quoted.as_str(), 200),
        ("if-match", "\"other\"", 412),
        ("if-none-match", "\"other\"", 200),
        ("if-none-match", &quoted, 304),
        ("if-modified-since", past, 200),
        ("if-modified-since", future, 304),
        ("if-unmodified-since", future, 200),
        ("if-unmodified-since", past, 412),
        ("range", "bytes=1-3", 206),
        ("range", "bytes=9-", 416),
    ] {
        let reply = site.send(Method::GET, "/bucket/k", &[(name, value)], b"").await;
        assert_eq!(reply.status.as_u16(), status, "{name}: {value}: {}", reply.text());
        match status {
            304 => assert_eq!((reply.header("etag"), reply.text().as_str()), (quoted.as_str(), "")),
            206 => {
                let range = (reply.header("content-range"), reply.text());
                assert_eq!(range, ("bytes 1-3/5", "ell".to_owned()));
            }
            _ => {}
        }
    }
    site.put("/bucket/empty", b"").await;
    let last = [("range", "bytes=-1")];
    let empty = site.send(Method::GET, "/bucket/empty", &last, b"").await;
    empty.refused(416, "InvalidRange");
    for (key, name, value, status) in [
        ("k", "if-none-match", "*", 412),
        ("new", "if-none-match", "*", 200),
        ("new", "if-match", "\"other\"", 412),
        ("none", "if-match", "*", 412),
        ("k", "if-match", &quoted, 200),
    ] {
        let target = format!("/bucket/{key}");
        let reply = site.send(Method::PUT, &target, &[(name, value)], b"new").await;
        assert_eq!(reply.status.as_u16(), status, "{key} {name}: {value}");
    }
    assert_eq!(site.get("/bucket/k").await.text(), "new");
    assert_eq!(site.get("/bucket/none").await.status, 404);
}

#[tokio::test]
async fn an_aborted_body_leaves_nothing() {
    let site = ObsSite::start().await;
    site.put("/bucket/k", b"earlier").await;
    let parts = futures::stream::iter([
        Ok(vec![b'x'; 1 << 20]),
        Err(std::io::Error::other("the client fails")),
    ]);
    let request = site.request(Method::PUT, "/bucket/k", &[], b"");
    let request = request.header("content-length", 2 << 20).body(reqwest::Body::wrap_stream(parts));
    assert!(request.send().await.is_err());
    assert_eq!(site.get("/bucket/k").await.text(), "earlier");
    // The emulator notices the end of the connection later.
    let incoming = site.emulator.data_dir().join("obs-uploads");
    while std::fs::read_dir(&incoming).unwrap().count() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_final_response_to_a_request_that_expects_100_continue_ends_the_connection() {
    let site = ObsSite::start().await;
    let expects = [("expect", "100-continue")];
    let put = async |target: &str, body: &[u8]| {
        let reply = site.send(Method::PUT, target, &expects, body).await;
        (reply.status.as_u16(), reply.header("connection").to_owned())
    };
    // Without a body, the server cannot send `100 Continue` first.
    assert_eq!(put("/bucket/empty", b"").await, (200, "close".to_owned()));
    assert_eq!(put("/bucket/full", b"x").await, (200, String::new()));
    assert_eq!(put("/none/full", b"x").await, (404, "close".to_owned()));
    let plain = site.put("/bucket/empty", b"").await;
    assert_eq!(plain.header("connection"), "");
}
