//! Objects that a test writes to the emulator's OBS and reads from it.

use std::{
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
};

use modelarts_emulator::Emulator;
use serde_json::json;

use crate::support::Site;

#[tokio::test]
async fn a_job_reads_the_objects_that_were_put_and_its_output_is_read_back() {
    let site = Site::start().await;
    let emulator = &site.emulator;
    let local = tempfile::tempdir().unwrap();
    fs::create_dir(local.path().join("parts")).unwrap();
    fs::write(local.path().join("parts/a"), "from a directory").unwrap();
    emulator.put_dir(local.path(), "obs://bucket/data/").unwrap();
    emulator.put("/bucket/data/b", b"bytes\0").unwrap();
    emulator
        .put(
            "bucket/code/train.py",
            "import sys\n\
             given = dict(it[2:].split('=') for it in sys.argv[1:])\n\
             read = lambda name: open(given['data_url'] + name, 'rb').read()\n\
             with open(given['train_url'] + '/out', 'wb') as out:\n    \
                 out.write(read('/parts/a') + read('/b'))\n",
        )
        .unwrap();
    let mut job = site.script("objects", "");
    job["algorithm"]["code_dir"] = json!("obs://bucket/code/");
    job["algorithm"]["boot_file"] = json!("obs://bucket/code/train.py");
    let obs = |path: &str| json!({"obs": {"obs_url": path}});
    job["algorithm"]["inputs"] = json!([{"name": "data_url", "remote": obs("/bucket/data/")}]);
    job["algorithm"]["outputs"] = json!([{"name": "train_url", "remote": obs("/bucket/out/")}]);
    let id = site.run(&job).await;
    assert_eq!(site.phase(&id).await, "Completed", "{}", site.log(&id).await);
    let out = emulator.get("bucket/out/out").unwrap();
    assert_eq!(out, b"from a directorybytes\0");
}

#[tokio::test]
async fn an_object_is_replaced_and_gets_the_usual_mode() {
    let emulator = Emulator::start().await.unwrap();
    emulator.put("bucket/a//b", "first").unwrap();
    emulator.put("bucket/a/b", "second").unwrap();
    assert_eq!(emulator.get("obs://bucket/a/b").unwrap(), b"second");
    let directory = emulator.obs_root().join("bucket/a");
    let names: Vec<_> = fs::read_dir(&directory).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    // The mode is that of any file that this process creates.
    fs::write(directory.join("own"), "").unwrap();
    let mode = |name: &str| fs::metadata(directory.join(name)).unwrap().permissions().mode();
    assert_eq!(mode("b"), mode("own"));
}

#[tokio::test]
async fn paths_that_name_no_object_are_refused() {
    let emulator = Emulator::start().await.unwrap();
    emulator.put("bucket/directory/object", "").unwrap();
    for (path, rule) in [
        ("bucket", "it must name an object, such as bucket/code/train.py"),
        ("bucket/a/", "it must name an object, such as bucket/code/train.py"),
        ("", "it names no bucket"),
        ("obs:///a", "it names no bucket"),
        ("bucket/../../a", "the steps . and .. are not allowed"),
        ("../a", "the steps . and .. are not allowed"),
        ("https://bucket/a", "it must start with obs:// or /"),
        ("bucket/a\0", "control characters are not allowed"),
    ] {
        let put = emulator.put(path, "").unwrap_err();
        assert_eq!(put.kind(), io::ErrorKind::InvalidInput, "{path}");
        assert_eq!(put.to_string(), format!("cannot put the object {path:?}: {rule}"));
        let get = emulator.get(path).unwrap_err();
        assert_eq!(get.kind(), io::ErrorKind::InvalidInput, "{path}");
        assert_eq!(get.to_string(), format!("cannot get the object {path:?}: {rule}"));
    }
    assert_eq!(
        emulator.put("bucket/directory", "").unwrap_err().to_string(),
        "cannot put the object \"bucket/directory\": 'bucket/directory' is a directory"
    );
    let missing = emulator.get("bucket/none").unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    assert_eq!(
        missing.to_string(),
        "cannot get the object \"bucket/none\": No such file or directory (os error 2)"
    );
    let local = emulator.obs_root().join("none");
    assert_eq!(
        emulator.put_dir(&local, "bucket/").unwrap_err().to_string(),
        format!(
            "cannot put the directory {}: No such file or directory (os error 2)",
            local.display()
        )
    );
    let file = emulator.obs_root().join("bucket/directory/object");
    let error = emulator.put_dir(file, "bucket/").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    let error = emulator.put_dir(emulator.obs_root(), "../a").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

#[tokio::test]
async fn links_do_not_lead_out_of_the_obs_root() {
    let emulator = Emulator::start().await.unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    emulator.put("bucket/a", "").unwrap();
    symlink(outside.path(), emulator.obs_root().join("bucket/door")).unwrap();
    let leads_out = "is a link that leads out of its root directory";
    for error in [
        emulator.put("bucket/door/a", "").unwrap_err(),
        emulator.get("bucket/door/secret").unwrap_err(),
        emulator.put_dir(emulator.obs_root(), "other/").unwrap_err(),
    ] {
        assert!(error.to_string().ends_with(leads_out), "{error}");
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}
