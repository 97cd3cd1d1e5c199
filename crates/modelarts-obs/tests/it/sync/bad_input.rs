//! Tests of invalid input: messages that name the file and the rule.

use std::fs;

use modelarts_ext::ErrorKind;

use super::{Place, names};

#[tokio::test]
async fn a_directory_without_files_is_refused() {
    let place = Place::new();
    fs::create_dir_all(place.path("empty")).unwrap();
    let obs = place.obs();
    let root = place.path("empty").canonicalize().unwrap();
    place.write("obs/bucket/in/old", "");
    let up = || obs.sync_up(place.path("empty"), "obs://bucket/in").delete(true);
    let error = up().await.unwrap_err();
    let message = format!("the directory {} must have files", root.display());
    assert_eq!(error.to_string(), format!("{message}; check the path"));
    place.write("empty/.env", "");
    let error = up().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{message}; 1 of its entries are left out; check the ignore files")
    );
    assert_eq!(names(&place.path("obs/bucket")), ["in/old"]);
}

#[tokio::test]
async fn a_path_that_does_not_exist_is_named() {
    let place = Place::new();
    let path = place.path("missing");
    let error = place.obs().sync_up(&path, "obs://bucket/in").await.unwrap_err();
    let message = format!("reading {}: No such file", path.display());
    assert!(error.to_string().starts_with(&message), "{error}");
    assert_eq!(
        error.advice(),
        Some("the path must name a directory or a file that exists and can be read")
    );
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn a_file_of_credentials_is_not_sent() {
    let place = Place::new();
    let path = place.write(".env", "SECRET=1");
    let error = place.obs().sync_up(&path, "obs://bucket/in").await.unwrap_err();
    let path = path.canonicalize().unwrap();
    assert_eq!(
        error.to_string(),
        format!("the file {} is not sent: may hold credentials", path.display())
    );
}

#[tokio::test]
async fn a_bucket_that_does_not_exist_is_named() {
    let place = Place::new();
    place.write("data/a", "a");
    let obs = place.obs();
    let errors = [
        obs.sync_up(place.path("data"), "obs://missing/in").await,
        obs.sync_down("obs://missing/in", place.path("out")).await,
        obs.copy("obs://missing/in", "obs://bucket/in").await,
    ];
    for error in errors {
        let error = error.unwrap_err();
        assert_eq!(
            error.to_string(),
            "listing obs://missing/in: there is no such bucket (NoSuchBucket, HTTP 404); check the \
             name and the region of the bucket, or create it with Bucket::create"
        );
    }
    assert!(!place.path("out").exists());
}

#[tokio::test]
async fn an_address_without_objects_is_named() {
    let place = Place::new();
    let obs = place.obs();
    let error = obs.sync_down("obs://bucket/missing", place.path("out")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no object at obs://bucket/missing or below it; check the address; the names of \
         objects are case-sensitive"
    );
    assert!(error.is_not_found());
    let error = obs.sync_down("bucket/in", place.path("out")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the OBS path \"bucket/in\" must begin with obs://, such as obs://bucket/code/"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn names_that_are_no_keys_are_refused() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    let place = Place::new();
    let obs = place.obs();
    let up = |name: &str| obs.sync_up(place.path(name), "obs://bucket/in");
    place.write("control/a\tb", "");
    let error = up("control").await.unwrap_err().to_string();
    assert_eq!(error, "the key \"a\\tb\" must not contain control characters");

    fs::create_dir_all(place.path("bytes")).unwrap();
    fs::write(place.path("bytes").join(OsStr::from_bytes(b"a\xff")), "").unwrap();
    let error = up("bytes").await.unwrap_err();
    let path = place.path("bytes").canonicalize().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "the name of the file {}/a\u{fffd} must be valid UTF-8, because it becomes a key in \
             OBS; rename it, or leave it out with a line in .modelartsignore",
            path.display()
        )
    );

    place.write("long/file", "");
    let long = format!("obs://bucket/{}", "x/".repeat(511));
    let error = obs.sync_up(place.path("long"), long).await.unwrap_err();
    let error = error.to_string();
    assert!(error.ends_with("must have at most 1,024 bytes in UTF-8"), "{error}");
    assert!(error.contains("x/file"), "{error}");
    assert!(names(&place.path("obs/bucket")).is_empty());
}

#[tokio::test]
async fn a_file_in_the_way_of_a_directory_is_named() {
    let place = Place::new();
    place.write("obs/bucket/in/a/b", "1");
    place.write("obs/bucket/in/c", "1");
    let obs = place.obs();
    let out = place.path("out");
    place.write("out/a", "file");
    let root = out.canonicalize().unwrap();
    let error = obs.sync_down("obs://bucket/in", &out).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the directory a needs {}/a, which is a file; remove it, or choose another directory",
            root.display()
        )
    );

    fs::remove_file(out.join("a")).unwrap();
    let _ = fs::remove_file(out.join("c"));
    fs::create_dir(out.join("c")).unwrap();
    let error = obs.sync_down("obs://bucket/in", &out).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the object c cannot be written, because {}/c is a directory; remove it, or \
             choose another directory",
            root.display()
        )
    );
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_is_written_through_a_link_that_leads_out() {
    use std::os::unix::fs::symlink;

    let place = Place::new();
    place.write("obs/bucket/in/d/a", "new");
    place.write("obs/bucket/in/file", "new");
    let victim = place.write("outside/a", "old");
    let out = place.path("out");
    fs::create_dir_all(&out).unwrap();
    symlink(place.path("outside"), out.join("d")).unwrap();
    let obs = place.obs();
    let down = || obs.sync_down("obs://bucket/in", &out);
    let error = down().await.unwrap_err();
    let root = place.path("").canonicalize().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "the link {0}/out/d leads to {0}/outside, outside of {0}/out, so nothing is written \
             through it; remove the link, or choose another directory",
            root.display()
        )
    );
    assert_eq!(fs::read(&victim).unwrap(), b"old");

    // A link at the path of a file or of its incomplete download is replaced, and not followed.
    fs::remove_file(out.join("d")).unwrap();
    let _ = fs::remove_file(out.join("file"));
    symlink(&victim, out.join("file")).unwrap();
    symlink(&victim, out.join(".file.modelarts-part")).unwrap();
    assert_eq!(down().await.unwrap().unchanged.files, 0);
    assert_eq!(fs::read(&victim).unwrap(), b"old");
    assert_eq!(fs::read(out.join("file")).unwrap(), b"new");
    assert!(!out.join("file").is_symlink());
}
