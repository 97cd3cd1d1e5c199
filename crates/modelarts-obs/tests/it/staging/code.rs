//! Tests of the staging of code.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use modelarts_ext::Client;
use modelarts_obs::{
    Staging, SyncEvent,
    staging::StagedDir,
    sync::{Amount, SkipReason},
};
use serde_json::{Value, json};

use super::offline;
use crate::sync::{Place, names, skipped, tree, write};

fn staging(place: &Place) -> Staging {
    staging_of(place, &offline(&[]))
}

fn staging_of(place: &Place, client: &Client) -> Staging {
    Staging::new(client).bucket("bucket").obs(place.obs())
}

/// Returns the hash in the address of staged code.
fn hash(staged: &StagedDir) -> String {
    let rest = staged.path.key().strip_prefix("modelarts/code/").unwrap();
    rest.split('/').next().unwrap().to_owned()
}

fn keys(place: &Place) -> Vec<String> {
    names(&place.path("obs/bucket"))
}

#[tokio::test]
async fn code_is_sent_once_with_a_manifest() {
    let place = Place::new();
    place.write("src/train.py", "print(1)\n");
    place.write("src/model/layers.py", "");
    let staging = staging(&place);
    let src = place.path("src");
    let staged = staging.code(&src).boot_file("train.py").await.unwrap();
    let hash = hash(&staged);
    assert!(hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()));
    let url = format!("obs://bucket/modelarts/code/{hash}/src/");
    assert_eq!(staged.url(), url);
    let total = Amount::new(2, 9);
    assert_eq!(staged.summary.transferred, total);
    let root = place.path(&format!("obs/bucket/modelarts/code/{hash}"));
    assert!(tree(&root.join("src")) == tree(&src));

    let manifest: Value =
        serde_json::from_slice(&fs::read(root.join("manifest.json")).unwrap()).unwrap();
    let file = |path: &str, size: u64, sha256: &str| {
        json!({
            "path": path, "size": size, "sha256": sha256, "executable": false
        })
    };
    assert_eq!(
        manifest["files"],
        json!([
            file(
                "model/layers.py",
                0,
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
            ),
            file("train.py", 9, "cc42155088fca5730758db72b2a5bca33112a941dfaa2d43098ec422ce4ea213"),
        ])
    );
    assert_eq!((&manifest["version"], &manifest["name"]), (&json!(1), &json!("src")));
    assert!(manifest["created"].as_str().unwrap().ends_with('Z'));
    assert!(manifest["host"].is_string() && manifest.get("git").is_none());

    // The second call only finds the manifest, so a changed object is not replaced.
    let object = root.join("src/train.py");
    fs::write(&object, "other").unwrap();
    let again = staging.code(&src).boot_file("train.py").await.unwrap();
    assert_eq!(again.path, staged.path);
    assert_eq!(again.summary.unchanged, total);
    assert_eq!(again.summary.transferred, Amount::default());
    assert_eq!(fs::read(&object).unwrap(), b"other");
    assert_eq!(keys(&place).len(), 3);
}

#[tokio::test]
async fn the_address_depends_on_paths_modes_and_contents_only() {
    let place = Place::new();
    let staging = staging(&place);
    let write = |directory: &str, contents: &str| {
        place.write(&format!("{directory}/train.py"), contents);
        place.write(&format!("{directory}/.gitignore"), "*.log\n");
        place.path(directory)
    };
    let staged = async |directory: &Path| hash(&staging.code(directory).await.unwrap());
    let first = staged(&write("a/src", "1")).await;
    // The path of the directory, the modification times and a file that is left out do not change
    // the address.
    let same = write("b/src", "1");
    place.write("b/src/run.log", "x");
    assert_eq!(staged(&same).await, first);
    let mut others = vec![first];
    others.push(staged(&write("c/src", "2")).await);
    others.push(staged(&write("d/code", "1")).await);
    let more = write("e/src", "1");
    place.write("e/src/more.py", "");
    others.push(staged(&more).await);
    let renamed = write("f/src", "1");
    fs::rename(renamed.join("train.py"), renamed.join("main.py")).unwrap();
    others.push(staged(&renamed).await);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let executable = write("g/src", "1");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(executable.join("train.py"), mode).unwrap();
        others.push(staged(&executable).await);
    }
    let count = others.len();
    others.sort();
    others.dedup();
    assert_eq!(others.len(), count);
}

#[tokio::test]
async fn files_that_are_left_out_are_named() {
    let place = Place::new();
    place.write("src/train.py", "1");
    place.write("src/.gitignore", "data/\n");
    place.write("src/data/rows.csv", "1");
    place.write("src/.env", "PASSWORD=1");
    place.write("src/key.txt", "-----BEGIN PRIVATE KEY-----\nMII\n");
    let staging = staging(&place);
    let staged = staging.code(place.path("src")).await.unwrap();
    let left_out = [
        (".env", SkipReason::Credentials),
        (
            "data",
            SkipReason::Ignored { pattern: "data/".to_owned(), file: ".gitignore".to_owned() },
        ),
        ("key.txt", SkipReason::PrivateKey),
    ];
    assert_eq!(skipped(&staged.summary), left_out);
    let again = staging.code(place.path("src")).await.unwrap();
    assert_eq!(skipped(&again.summary), left_out);
    let directory = place.path("obs").join("bucket").join(staged.path.key());
    assert_eq!(names(&directory), [".gitignore", "train.py"]);

    place.write("src/.modelartsignore", "*.md\n");
    let staged = staging.code(place.path("src")).await.unwrap();
    let directory = place.path("obs").join("bucket").join(staged.path.key());
    assert_eq!(names(&directory), [".gitignore", ".modelartsignore", "data/rows.csv", "train.py"]);
}

#[tokio::test]
async fn wrong_directories_and_boot_files_are_refused_before_anything_is_sent() {
    let place = Place::new();
    let src = place.write("src/train.py", "1");
    let src = src.parent().unwrap();
    place.write("src/.gitignore", "gen/\n");
    place.write("src/gen/main.py", "1");
    place.write("left-out/.env", "1");
    fs::create_dir_all(place.path("empty")).unwrap();
    let staging = staging(&place);
    let refused = async |directory: &Path, boot_file: Option<&str>| {
        let mut code = staging.code(directory);
        if let Some(boot_file) = boot_file {
            code = code.boot_file(boot_file);
        }
        let error = code.await.unwrap_err().to_string();
        error.replace(&place.path("").display().to_string(), "/")
    };
    let none = place.path("none");
    assert_eq!(
        refused(&none, None).await,
        "reading the code directory /none: No such file or directory (os error 2); check the path"
    );
    assert_eq!(
        refused(&src.join("train.py"), None).await,
        "the code directory /src/train.py must be a directory, and is a file; give the directory \
         that has the file"
    );
    assert_eq!(
        refused(&place.path("empty"), None).await,
        "the code directory /empty must have files; check the path"
    );
    assert_eq!(
        refused(&place.path("left-out"), None).await,
        "the code directory /left-out must have files; 1 of its entries are left out; check the \
         ignore files"
    );
    assert_eq!(
        refused(src, Some("main.py")).await,
        "the code breaks a rule, so nothing was sent: algorithm.boot_file = \"main.py\": must \
         exist in the code directory (ModelArts.2758); did you mean train.py? Otherwise correct \
         its \
         name, or put it into the directory"
    );
    assert_eq!(
        refused(src, Some("gen/main.py")).await,
        "the boot file gen/main.py must be sent, and gen is left out: the pattern gen/ of \
         .gitignore matches; change the ignore file, or write a .modelartsignore, which replaces \
         .gitignore"
    );
    assert_eq!(keys(&place), [""; 0]);
}

#[tokio::test]
async fn limits_count_what_is_sent_and_hold_before_anything_is_sent() {
    let place = Place::new();
    let src = place.path("src");
    fs::create_dir_all(src.join("many")).unwrap();
    for number in 0..=1000 {
        fs::write(src.join(format!("many/{number}.py")), "").unwrap();
    }
    let staging = staging(&place);
    let error = staging.code(&src).await.unwrap_err();
    assert_eq!(error.violations()[0].code(), Some("ModelArts.2759"));
    fs::create_dir_all(src.join("deep").join("d/".repeat(33))).unwrap();
    let large = fs::File::create(src.join("large")).unwrap();
    large.set_len((5 << 30) + 1).unwrap();
    fs::write(src.join(format!("deep/{}f.py", "d/".repeat(33))), "").unwrap();
    let error = staging.code(&src).await.unwrap_err();
    let codes: Vec<_> = error.violations().iter().map(|found| found.code()).collect();
    assert_eq!(codes, ["ModelArts.2761", "ModelArts.2759", "ModelArts.2760"].map(Some));
    assert_eq!(keys(&place), [""; 0]);
    // Files that are left out do not count.
    fs::write(src.join(".modelartsignore"), "deep\nlarge\nmany/1*\n").unwrap();
    let staged = staging.code(&src).dry_run(true).await.unwrap();
    assert_eq!(staged.summary.transferred.files, 1001 - 112 + 1);
    assert_eq!(keys(&place), [""; 0]);
}

#[tokio::test]
async fn a_call_after_an_interrupted_one_sends_the_rest() {
    let place = Place::new();
    place.write("src/a.py", "1");
    place.write("src/b.py", "22");
    let staging = staging(&place);
    let src = place.path("src");
    let planned = staging.code(&src).dry_run(true).await.unwrap();
    assert_eq!(planned.summary.transferred, Amount::new(2, 3));
    assert_eq!(keys(&place), [""; 0]);
    let staged = staging.code(&src).await.unwrap();
    assert_eq!(staged.path, planned.path);

    // Without the manifest, the code is not complete. A file is missing, and another one remains
    // from a directory that changed meanwhile.
    let root = place.path("obs/bucket/modelarts/code").join(hash(&staged));
    fs::remove_file(root.join("manifest.json")).unwrap();
    fs::remove_file(root.join("src/a.py")).unwrap();
    write(&root.join("src/c.py"), "3");
    let again = staging.code(&src).await.unwrap();
    assert_eq!(again.path, staged.path);
    let summary = again.summary;
    assert_eq!(summary.transferred, Amount::new(1, 1));
    assert_eq!(summary.unchanged, Amount::new(1, 2));
    assert_eq!(summary.deleted, 1);
    assert_eq!(names(&root), ["manifest.json", "src/a.py", "src/b.py"]);
}

#[tokio::test]
async fn code_that_changes_while_it_is_sent_gets_no_manifest() {
    let place = Place::new();
    place.write("src/a.py", "1");
    let (staging, src) = (staging(&place), place.path("src"));
    let changed = src.join("a.py");
    let code = staging.code(&src).on_progress(move |progress| {
        if matches!(progress.event, SyncEvent::Finished(_)) {
            write(&changed, "2");
        }
    });
    let error = code.await.unwrap_err().to_string();
    let path = src.canonicalize().unwrap().join("a.py");
    assert_eq!(
        error,
        format!(
            "the file {} must not change while it is sent, and did; call again when nothing \
             writes the file any more",
            path.display()
        )
    );
    assert!(keys(&place).iter().all(|key| !key.ends_with("manifest.json")));
    let staged = staging.code(&src).await.unwrap();
    let sent = place.path("obs/bucket").join(staged.path.key());
    assert_eq!(fs::read(sent.join("a.py")).unwrap(), b"2");
}

#[tokio::test]
async fn progress_ends_with_the_summary_also_for_known_code() {
    let place = Place::new();
    place.write("src/a.py", "12");
    let (staging, src) = (staging(&place), place.path("src"));
    for is_known in [false, true] {
        let events = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&events);
        let code = staging
            .code(&src)
            .on_progress(move |progress| seen.lock().unwrap().push(progress.clone()));
        let staged = code.await.unwrap();
        let events = events.lock().unwrap();
        let last = events.last().unwrap();
        assert_eq!(last.event, SyncEvent::Finished(staged.summary));
        assert_eq!(last.done, Amount::new(1, 2));
        assert_eq!(last.total, last.done);
        assert_eq!(events.len() == 1, is_known);
    }
}
