//! Tests of the requests that staging sends, counted by the emulator with OBS over HTTP.

use std::collections::BTreeMap;

use modelarts_obs::{CreateJobExt, JobExt, Staging};

use super::{SCRIPT, Site};

/// Returns the number of requests to OBS by operation.
fn requests(site: &Site) -> BTreeMap<String, u64> {
    let requests = site.emulator.requests();
    let to_obs =
        requests.iter().filter(|(name, count)| name.starts_with("obs.") && count.received > 0);
    to_obs.map(|(name, count)| ((*name).to_string(), count.received)).collect()
}

#[tokio::test]
async fn the_second_submit_of_the_same_code_sends_one_head() {
    let site = Site::start().await;
    let src = site.write("src/train.py", SCRIPT);
    site.write("src/lib/util.py", "1");
    let data = site.write("data/rows.csv", "1\n2\n");
    // The address comes from the variables of the emulator.
    let obs = modelarts_obs::Obs::new(&site.client).unwrap();
    assert_eq!(obs.address(), site.emulator.obs_url());
    let obs = obs.with_cache_dir(site.path("cache"));
    let staging = Staging::new(&site.client).bucket("bucket").obs(obs.clone());
    let job = |name: &str| {
        site.job(name)
            .stage(&staging)
            .code(&src, "train.py")
            .data("data_url", &data)
            .output("train_url")
    };
    let first = job("first").submit().await.unwrap();
    let sent = requests(&site);
    // The requests upload two files of code and one of data, each with a manifest.
    assert_eq!(sent["obs.PutObject"], 5);
    let second = job("second").submit().await.unwrap();
    let mut after = requests(&site);
    for (name, before) in &sent {
        *after.get_mut(name).unwrap() -= before;
    }
    after.retain(|_, count| *count > 0);
    // The requests are a HEAD of the manifest of the code, lists of the versions of the data and
    // of the objects of one, and its manifest.
    let expected = [("obs.GetObject", 1), ("obs.HeadObject", 1), ("obs.ListObjectsV2", 2)];
    let expected = expected.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(after, BTreeMap::from(expected));

    let code = staging.code(&src).await.unwrap();
    assert_eq!(code.summary.unchanged.files, 2);
    assert_eq!(requests(&site)["obs.HeadObject"], sent["obs.HeadObject"] + 2);

    for job in [first, second] {
        let job = site.ended(job).await;
        let out = site.path(job.name());
        job.download_outputs(&out).obs(obs.clone()).await.unwrap();
        let count = std::fs::read(out.join("train_url/count.txt"));
        assert_eq!(count.unwrap(), b"2");
    }
}

#[tokio::test]
async fn a_bucket_that_does_not_exist_is_named() {
    let site = Site::start().await;
    let src = site.write("src/train.py", "1");
    let staging = Staging::new(&site.client).bucket("no-such-bucket");
    for error in [staging.code(&src).await.unwrap_err(), staging.data(&src).await.unwrap_err()] {
        let text = error.to_string();
        assert_eq!(error.code(), Some("NoSuchBucket"), "{text}");
        assert!(text.contains("no-such-bucket") && text.contains("Bucket::create"), "{text}");
    }
}
