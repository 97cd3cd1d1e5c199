//! Tests of the staging of data.

use std::fs;

use modelarts_ext::ErrorKind;
use modelarts_obs::{Obs, ObsPath, staging::DataVersioning, sync::Amount};

use super::{ENDLESS, Site};
use crate::sync::{names, tree, write};

#[tokio::test]
async fn each_version_of_data_has_an_address_of_its_own() {
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
    assert_eq!((&steps[..2], steps[5]), (&["modelarts", "data"][..], "data"));
    assert_eq!((steps.len(), steps[3].len()), (6, 16));
    assert_eq!((staged.version.as_deref(), staged.is_new_version), (Some(steps[4]), true));
    let objects = |path: &ObsPath| site.emulator.obs_root().join("bucket").join(path.key());
    let first = tree(&one);
    assert!(tree(&objects(&staged.path)) == first);
    assert_eq!(staged.summary.transferred.files, 3);
    let other = staging.data(site.path("two/data")).await.unwrap();
    assert_ne!(other.path, staged.path);

    let again = staging.data(&one).await.unwrap();
    assert_eq!((&again.path, again.is_new_version), (&staged.path, false));
    assert_eq!(again.summary.transferred, Amount::default());
    assert_eq!(again.summary.unchanged.files, 3);

    // One file gets other contents of the same size, and another file is deleted.
    write(&one.join("a.csv"), "ONE/DATA/A.CSV");
    fs::remove_dir_all(one.join("b")).unwrap();
    let planned = staging.data(&one).dry_run(true).await.unwrap();
    assert_eq!(planned.version.as_deref(), Some("v-0000000000000000"));
    let changed = staging.data(&one).await.unwrap();
    assert_ne!(changed.path, staged.path);
    assert!(tree(&objects(&staged.path)) == first);
    assert!(tree(&objects(&changed.path)) == tree(&one));
    assert_eq!(names(&objects(&changed.path)), [".gitignore", "a.csv"]);
    // The service is not searched for jobs.
    assert_eq!(site.count("ListTrainingJobs"), 0);
    // A local directory is the storage of one run, and the same contents have the same address in
    // the storage of the next run.
    fs::remove_dir_all(site.emulator.obs_root().join("bucket/modelarts")).unwrap();
    assert_eq!(staging.data(&one).await.unwrap().path, changed.path);
}

#[tokio::test]
async fn the_address_of_data_depends_on_project_machine_and_path() {
    let site = Site::start().await;
    let data = site.write("data/a.csv", "1");
    let obs = Obs::new(&site.client).unwrap().with_cache_dir(site.path("cache"));
    let staged = site.staging().obs(obs).data(&data).dry_run(true).await.unwrap();
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
async fn data_that_is_not_versioned_is_not_changed_while_a_job_reads_it() {
    let site = Site::start().await;
    let data = site.write("data/a.csv", "1");
    // The directory is too large to be versioned by itself.
    for number in 0..5_000 {
        fs::write(data.join(format!("{number}")), "").unwrap();
    }
    let staging = site.staging();
    let planned = async || staging.data(&data).dry_run(true).await;
    let staged = planned().await.unwrap();
    assert_eq!((staged.version.as_deref(), staged.is_new_version), (None, false));
    assert_eq!(staged.path.key().split('/').count(), 5);
    let object = format!("bucket/{}/a.csv", staged.path.key());
    site.emulator.put(&object, "0").unwrap();
    site.emulator.put("bucket/code/train.py", ENDLESS).unwrap();
    let job = site.job("reader").code_dir("obs://bucket/code/");
    let job = job.boot_file("obs://bucket/code/train.py").input("data_url", staged.url());
    let mut reader = job.submit().await.unwrap();
    for dry_run in [true, false] {
        let error = staging.data(&data).dry_run(dry_run).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        reader.refresh().await.unwrap();
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
    assert_eq!(site.emulator.get(&object).unwrap(), b"0");
    // A new version does not change the objects.
    let new = staging.data(&data).version(DataVersioning::New).dry_run(true).await.unwrap();
    assert!(new.is_new_version && new.summary.transferred.files == 5_001);

    reader.terminate().await.unwrap();
    site.ended(reader).await;
    assert_eq!(planned().await.unwrap().summary, staged.summary);
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
