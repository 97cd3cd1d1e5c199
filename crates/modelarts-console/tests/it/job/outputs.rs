//! Files in the outputs of a job.

use serde_json::{Value, json};

use crate::{
    job::{assert_has, described, seed_one},
    support::Fixture,
};

/// Starts a page with a job that has these files in its output.
async fn with_files(files: &[(&str, &[u8])]) -> (Fixture, String) {
    let fixture = Fixture::start().await;
    let job = json!({"job": described("with-outputs"), "phase": "Completed"});
    let id = seed_one(&fixture, job).await;
    for (path, contents) in files {
        let file = fixture.emulator.obs_root().join("bucket/out").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, contents).unwrap();
    }
    (fixture, id)
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

#[tokio::test]
async fn files_are_listed_shown_and_downloaded() {
    let (fixture, id) = with_files(&[
        ("model/weights.bin", &[0; 3000]),
        ("metrics.json", b"{\"accuracy\": 0.9, \"note\": \"<b>\"}\n"),
        ("plot one.png", PNG),
    ])
    .await;
    let page = fixture.page(&format!("/jobs/{id}/outputs")).await;
    let file = |path: &str| format!("/jobs/{id}/outputs/file?output=train_url&#38;path={path}");
    assert_has(
        &page,
        &[
            "<code>obs://bucket/out</code>: 4 files, 2.97 KiB",
            "<code>model/</code> <span class=\"muted\">1 file, 2.93 KiB</span></th></tr>",
            "weights.bin</th><td role=\"cell\" class=\"number\">2.93 KiB</td>",
            &format!("href=\"{}\" download", file("model%2Fweights.bin")),
            &format!(
                "/jobs/{id}/outputs?output=train_url&#38;path=plot+one.png\">plot one.png</a>"
            ),
        ],
    );
    let shown = format!("/jobs/{id}/outputs?output=train_url&path=metrics.json");
    let shown = fixture.page(&shown).await;
    assert_has(&shown, &["{&#34;accuracy&#34;: 0.9, &#34;note&#34;: &#34;&#60;b&#62;&#34;}</pre>"]);
    let image =
        fixture.page(&format!("/jobs/{id}/outputs?output=train_url&path=plot+one.png")).await;
    assert_has(&image, &[&format!("<img src=\"{}&amp;view=1\"", file("plot+one.png"))]);

    let read = async |query: &str| {
        let path = format!("/jobs/{id}/outputs/file?output=train_url&{query}");
        fixture.request("GET", &path).send().await.unwrap()
    };
    let weights = read("path=model/weights.bin&view=1").await;
    assert_eq!(weights.headers()["content-type"], "application/octet-stream");
    assert_eq!(weights.headers()["content-disposition"], "attachment; filename=\"weights.bin\"");
    assert_eq!(weights.bytes().await.unwrap(), vec![0; 3000]);
    let image = read("path=plot+one.png&view=1").await;
    assert_eq!(image.headers()["content-type"], "image/png");
    assert_eq!(image.headers()["x-content-type-options"], "nosniff");
    assert_eq!(image.bytes().await.unwrap(), PNG);
    for (query, status) in [
        ("path=absent", 404),
        ("path=../code/train.py", 400),
        ("path=a//b", 400),
        ("", 400),
        ("output=other&path=metrics.json", 200),
    ] {
        assert_eq!(read(query).await.status(), status, "{query}");
    }
    let other = format!("/jobs/{id}/outputs/file?output=other&path=metrics.json");
    assert_eq!(fixture.request("GET", &other).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn an_output_without_files_and_a_missing_bucket_are_told_apart() {
    let (fixture, id) = with_files(&[]).await;
    let page = async || fixture.page(&format!("/jobs/{id}/outputs")).await;
    let out = fixture.emulator.obs_root().join("bucket/out");
    std::fs::remove_dir_all(&out).unwrap();
    assert_has(&page().await, &["<p class=\"empty\">No files. The code must write them"]);
    std::fs::remove_dir_all(fixture.emulator.obs_root().join("bucket")).unwrap();
    let missing = page().await;
    assert_has(&missing, &["<p class=\"error\" role=\"alert\">listing obs://bucket/out: "]);
    assert!(!missing.contains("No files."), "{missing}");
}

#[tokio::test]
async fn a_long_text_is_cut_and_what_is_no_text_is_not_shown() {
    let long = "x".repeat(100_000);
    let (fixture, id) = with_files(&[("long.txt", long.as_bytes()), ("binary.txt", b"a\0b")]).await;
    let show = async |path: &str| {
        fixture.page(&format!("/jobs/{id}/outputs?output=train_url&path={path}")).await
    };
    let page = show("long.txt").await;
    assert_has(&page, &["The file continues; the download has all of it."]);
    assert_eq!(page.matches('x').count() / 65_536, 1);
    assert_has(&show("binary.txt").await, &["This file is not a text."]);
}

#[tokio::test]
async fn the_form_chooses_addresses_in_obs() {
    let (fixture, _) = with_files(&[("a/b.txt", b"123"), ("c.py", b"")]).await;
    let browse = async |query: &str| {
        let path = format!("/create/objects?{query}");
        let response = fixture.request("GET", &path).header("accept", "application/json");
        let response = response.send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let (_, out) = browse("address=obs://bucket/out/").await;
    assert_eq!(
        out,
        json!({
            "address": "obs://bucket/out/", "parent": "obs://bucket/", "has_more": false,
            "directories": [{"name": "a", "address": "obs://bucket/out/a/"}],
            "files": [
                {"name": "c.py", "address": "obs://bucket/out/c.py", "size": "0 B"},
                {"name": "none", "address": "obs://bucket/out/none", "size": "2 B"},
            ],
        })
    );
    let (_, bucket) = browse("address=/bucket").await;
    assert_eq!((&bucket["parent"], &bucket["address"]), (&json!(null), &json!("obs://bucket/")));
    let (status, refused) = browse("address=nothing").await;
    assert_eq!(status, 422, "{refused}");
}
