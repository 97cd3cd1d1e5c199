//! Tests of the staging of data.

use std::fs;

use modelarts_ext::ErrorKind;
use modelarts_obs::sync::Amount;

use super::{ENDLESS, Site};
use crate::sync::{names, tree, write};

#[tokio::test]
async fn data_is_mirrored_at_an_address_of_its_own() {
    let site = Site::start().await;
    for file in ["one/data/a.csv", "one/data/b/c.csv", "two/data/a.csv"] {
        site.write(file, file);
    }
    // The patterns of `.gitignore` do not apply, because data is often ignored by git.
    site.write("one/data/.gitignore", "*.csv\n");
    let staging = site.staging();
    let one = site.path("one/data");
    let staged = staging.data(&one).await.unwrap();
    let key = staged.path.key().to_owned();
    let steps: Vec<_> = key.split('/').collect();
    assert_eq!((&steps[..2], steps[4]), (&["modelarts", "data"][..], "data"));
    assert_eq!((steps.len(), steps[3].len()), (5, 16));
    let objects = site.emulator.obs_root().join("bucket").join(&key);
    assert!(tree(&objects) == tree(&one));
    assert_eq!(staged.summary.transferred.files, 3);
    let other = staging.data(site.path("two/data")).await.unwrap();
    assert_ne!(other.path, staged.path);
    let searches = site.count("ListTrainingJobs");

    // Without changes, the service is not searched for jobs.
    let again = staging.data(&one).await.unwrap();
    assert_eq!(again.path, staged.path);
    assert_eq!(again.summary.transferred, Amount::default());
    assert_eq!(again.summary.unchanged.files, 3);
    assert_eq!(site.count("ListTrainingJobs"), searches);

    // One file gets other contents of the same size, and another file is deleted.
    write(&one.join("a.csv"), "ONE/DATA/A.CSV");
    fs::remove_dir_all(one.join("b")).unwrap();
    let planned = staging.data(&one).dry_run(true).await.unwrap();
    assert!(objects.join("b/c.csv").exists());
    let changed = staging.data(&one).await.unwrap();
    assert_eq!(planned.summary, changed.summary);
    assert_eq!(changed.summary.transferred.files, 1);
    assert_eq!(changed.summary.deleted, 1);
    assert!(tree(&objects) == tree(&one));
    assert_eq!(names(&objects), [".gitignore", "a.csv"]);
}

#[tokio::test]
async fn the_address_of_data_depends_on_project_machine_and_path() {
    let site = Site::start().await;
    let data = site.write("data/a.csv", "1");
    let staged = site.staging().data(&data).dry_run(true).await.unwrap();
    let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let host = gethostname::gethostname();
    let path = data.canonicalize().unwrap();
    let parts =
        [site.client.project_id(), machine.trim(), host.to_str().unwrap(), path.to_str().unwrap()];
    let digest = ring::digest::digest(&ring::digest::SHA256, parts.join("\0").as_bytes());
    let digits = digest.as_ref()[..8].iter().map(|byte| format!("{byte:02x}"));
    let expected = digits.collect::<String>();
    assert_eq!(staged.path.key().split('/').nth(3), Some(expected.as_str()));
}

#[tokio::test]
async fn data_that_an_active_job_reads_is_not_changed() {
    let site = Site::start().await;
    let data = site.write("data/a.csv", "1");
    let staging = site.staging();
    let staged = staging.data(&data).await.unwrap();
    site.emulator.put("bucket/code/train.py", ENDLESS).unwrap();
    let job = |name: &str, url: &str| {
        site.job(name)
            .code_dir("obs://bucket/code/")
            .boot_file("obs://bucket/code/train.py")
            .input("data_url", url)
    };
    // One job reads the staged data, and the other one reads other data.
    let above = staged.url().replace("/data/", "/");
    site.emulator.put("bucket/other/x", "").unwrap();
    let reader = job("reader", &staged.url()).submit().await.unwrap();
    let other = job("other", "obs://bucket/other/").submit().await.unwrap();
    assert_ne!(above, staged.url());

    // Without changes, a job that reads the data causes no error.
    staging.data(&data).await.unwrap();
    write(&data.join("a.csv"), "2");
    let objects = site.emulator.obs_root().join("bucket").join(staged.path.key());
    for dry_run in [true, false] {
        let error = staging.data(&data).dry_run(dry_run).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let mut expected = reader.clone();
        expected.refresh().await.unwrap();
        let text = error.to_string();
        let (message, phase) = text.split_once(&format!("{}): ", reader.id())).unwrap();
        assert_eq!(
            message,
            format!(
                "the data directory {} has changes, and its objects must not change while jobs \
                 read {}: reader (",
                data.canonicalize().unwrap().display(),
                staged.path
            )
        );
        assert!(
            phase
                .ends_with("; wait for the jobs, terminate them, or stage a copy of the directory"),
            "{text}"
        );
    }
    assert_eq!(fs::read(objects.join("a.csv")).unwrap(), b"1");

    reader.terminate().await.unwrap();
    site.ended(reader).await;
    let changed = staging.data(&data).await.unwrap();
    assert_eq!(changed.summary.transferred.files, 1);
    assert_eq!(fs::read(objects.join("a.csv")).unwrap(), b"2");
    other.terminate().await.unwrap();
    site.ended(other).await;
}

#[tokio::test]
async fn wrong_directories_are_refused() {
    let site = Site::start().await;
    let file = site.write("file.csv", "1");
    fs::create_dir_all(site.path("empty")).unwrap();
    let staging = site.staging();
    let refused = async |name: &str| {
        let error = staging.data(site.path(name)).await.unwrap_err();
        let root = site.path("").canonicalize().unwrap();
        error.to_string().replace(&format!("{}/", root.display()), "/")
    };
    assert!(file.is_file());
    assert_eq!(
        refused("none").await,
        "reading the data directory /none: No such file or directory (os error 2); check the path"
    );
    assert_eq!(
        refused("file.csv").await,
        "the data directory /file.csv must be a directory, and is a file; give the directory that \
         has the file"
    );
    assert_eq!(refused("empty").await, "the directory /empty must have files; check the path");
    assert_eq!(site.keys(), [""; 0]);
}
