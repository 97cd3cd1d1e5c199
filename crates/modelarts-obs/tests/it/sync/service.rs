//! Tests of synchronizations with the OBS of the emulator over HTTP: requests, retries and errors.

use std::{collections::BTreeMap, fs, time::Duration};

use bytes::Bytes;
use futures::TryStreamExt;
use modelarts_emulator::{
    Emulator,
    faults::{Fault, FaultRule},
};
use modelarts_ext::{Client, ClientBuilder, ErrorKind, RetryPolicy};
use modelarts_obs::{Bucket, DirectorySync, Obs, SyncEvent, sync::Amount};
use object_store::{
    aws::{AwsAuthorizer, AwsCredential},
    client::{HttpRequest, HttpRequestBody},
};

use super::{Place, bytes, names, tree};

pub(super) const MIB: usize = 1 << 20;

/// Emulator with the bucket `bucket`.
pub(super) struct Site {
    emulator: Emulator,
    client: Client,
    pub(super) place: Place,
    pub(super) obs: Obs,
    pub(super) bucket: Bucket,
}

impl Site {
    /// Starts the emulator, with a client without retries, which fails at the first fault.
    pub(super) async fn start() -> Self {
        Self::with_attempts(1).await
    }

    async fn with_attempts(max_attempts: u32) -> Self {
        let emulator = Emulator::start().await.unwrap();
        let place = Place::new();
        let mut retry = RetryPolicy::default();
        retry.max_attempts = max_attempts;
        retry.base = Duration::from_millis(1);
        retry.cap = Duration::from_millis(1);
        let client = ClientBuilder::from_vars(emulator.vars()).retry(retry).build().unwrap();
        let obs = Obs::new(&client).unwrap().with_cache_dir(place.path("cache"));
        let bucket = obs.bucket("bucket").unwrap();
        bucket.create().await.unwrap();
        Self { emulator, client, place, obs, bucket }
    }

    pub(super) fn up(&self) -> DirectorySync {
        self.obs.sync_up(self.place.path("data"), "obs://bucket/in")
    }

    pub(super) fn down(&self) -> DirectorySync {
        self.obs.sync_down("obs://bucket/in", self.place.path("out"))
    }

    pub(super) fn fault(&self, operation: &str, fault: Fault) {
        let rule = FaultRule::once(operation, fault);
        self.emulator.faults().add(rule).unwrap();
    }

    fn always(&self, operation: &str, fault: Fault) {
        let rule = FaultRule::always(operation, fault);
        self.emulator.faults().add(rule).unwrap();
    }

    /// Returns the number of requests by operation.
    pub(super) fn requests(&self) -> BTreeMap<&'static str, u64> {
        let requests = self.emulator.requests().into_iter();
        let received = requests.map(|(name, count)| (name, count.received));
        received.filter(|(name, count)| name.starts_with("obs.") && *count > 0).collect()
    }

    /// Returns the number of requests by operation since `before`.
    pub(super) fn requests_since(
        &self,
        before: &BTreeMap<&'static str, u64>,
    ) -> Vec<(&'static str, u64)> {
        let since = |(name, count): (&'static str, u64)| {
            (name, count - before.get(name).copied().unwrap_or_default())
        };
        let requests = self.requests().into_iter().map(since);
        requests.filter(|(_, count)| *count > 0).collect()
    }

    pub(super) async fn contents(&self, key: &str) -> Vec<u8> {
        self.bucket.get(key).await.unwrap().to_vec()
    }

    /// Writes an object whose key ends with a slash.
    pub(super) async fn put_marker(&self, key: &str) {
        self.put_signed(key, &[], Bytes::new()).await;
    }

    /// Writes an object with these headers, as another tool does.
    pub(super) async fn put_signed(
        &self,
        key: &str,
        headers: &[(&'static str, &str)],
        body: Bytes,
    ) {
        let keys = AwsCredential {
            key_id: self.emulator.access_key().to_owned(),
            secret_key: self.emulator.secret_key().to_owned(),
            token: None,
        };
        let mut request = HttpRequest::new(HttpRequestBody::from(body.clone()));
        *request.method_mut() = http::Method::PUT;
        let url = format!("{}/bucket/{key}", self.emulator.obs_url());
        *request.uri_mut() = url.parse().unwrap();
        for (name, value) in headers {
            let value = value.parse().unwrap();
            request.headers_mut().insert(*name, value);
        }
        let authorizer = AwsAuthorizer::new(&keys, "s3", "us-east-1");
        authorizer.try_authorize(&mut request, None).unwrap();
        let context = self.client.provider_context();
        let client = context.client_for(&url.parse().unwrap()).unwrap();
        let put = client.put(url).headers(request.headers().clone());
        let response = put.body(body).send().await.unwrap();
        assert_eq!(response.status(), 200);
    }
}

#[tokio::test]
async fn a_directory_is_the_same_after_the_way_up_and_down() {
    let site = Site::start().await;
    let deep = format!("{}file", "d/".repeat(20));
    for (name, contents) in [
        ("empty", Vec::new()),
        ("a b+ü%2F.txt", b"blank".to_vec()),
        (".hidden", b"h".to_vec()),
        (&deep, b"deep".to_vec()),
        ("large", bytes(17 * MIB)),
    ] {
        site.place.write(&format!("data/{name}"), contents);
    }
    let sent = site.up().await.unwrap();
    assert_eq!(sent.transferred.files, 5);
    let requests = site.requests();
    assert_eq!(requests["obs.ListObjectsV2"], 1);
    assert_eq!(requests["obs.CreateMultipartUpload"], 1);
    assert_eq!(requests["obs.UploadPart"], 3);
    assert_eq!(requests["obs.CompleteMultipartUpload"], 1);
    assert!(!requests.contains_key("obs.HeadObject"));
    let info = site.bucket.head("in/.hidden").await.unwrap();
    assert_eq!(
        info.sha256(),
        Some("aaa9402664f1a41f40ebbc52c9993eb66aeb366602958fdfaa283b71e64db123")
    );
    let before = site.requests();
    let received = site.down().await.unwrap();
    assert_eq!(received, sent);
    assert!(tree(&site.place.path("out")) == tree(&site.place.path("data")));
    assert_eq!(site.requests_since(&before), [("obs.GetObject", 7), ("obs.ListObjectsV2", 1)]);
}

#[tokio::test]
async fn unchanged_files_cost_one_request_for_the_list() {
    let site = Site::start().await;
    for number in 0..30 {
        site.place.write(&format!("data/{number}"), format!("file {number}"));
    }
    let all = site.up().await.unwrap().transferred;
    for sync in [site.up(), site.up(), site.up().delete(true)] {
        let before = site.requests();
        let summary = sync.await.unwrap();
        assert_eq!(summary.unchanged, all);
        assert_eq!(site.requests_since(&before), [("obs.ListObjectsV2", 1)]);
    }
    site.down().await.unwrap();
    let before = site.requests();
    assert_eq!(site.down().await.unwrap().unchanged, all);
    assert_eq!(site.requests_since(&before), [("obs.ListObjectsV2", 1)]);

    // With another cache, the checksums of the objects are read once.
    let obs = site.obs.clone().with_cache_dir(site.place.path("other"));
    let up = || obs.sync_up(site.place.path("data"), "obs://bucket/in");
    for expected in
        [vec![("obs.HeadObject", 30), ("obs.ListObjectsV2", 1)], vec![("obs.ListObjectsV2", 1)]]
    {
        let before = site.requests();
        assert_eq!(up().await.unwrap().unchanged, all);
        assert_eq!(site.requests_since(&before), expected);
    }
}

#[tokio::test]
async fn a_list_takes_one_request_per_thousand_objects() {
    let site = Site::start().await;
    site.place.write("data/a", "a");
    let root = site.emulator.obs_root().join("bucket/in");
    fs::create_dir_all(root.join("d")).unwrap();
    for number in 0..2_500 {
        fs::write(root.join(format!("d/{number}")), "1").unwrap();
    }
    let before = site.requests();
    let summary = site.up().delete(true).dry_run(true).await.unwrap();
    assert_eq!((summary.transferred.files, summary.deleted), (1, 2_500));
    assert_eq!(site.requests_since(&before), [("obs.ListObjectsV2", 3)]);
}

#[tokio::test]
async fn objects_of_other_tools_are_compared_by_their_md5() {
    let site = Site::start().await;
    site.place.write("data/same", "same");
    site.place.write("data/other", "other");
    site.bucket.put("in/same", "same").await.unwrap();
    site.bucket.put("in/other", "rehto").await.unwrap();
    let summary = site.up().await.unwrap();
    assert_eq!(summary.unchanged, Amount::new(1, 4));
    assert_eq!(summary.transferred, Amount::new(1, 5));
    assert_eq!(site.bucket.head("in/same").await.unwrap().sha256(), None);

    site.bucket.put("in/same", "emas").await.unwrap();
    site.place.write("out/same", "emas");
    site.place.write("out/other", "OTHER");
    let summary = site.down().await.unwrap();
    assert_eq!((summary.unchanged.files, summary.transferred.files), (1, 1));
}

#[tokio::test]
async fn small_faults_are_retried() {
    let site = Site::with_attempts(3).await;
    site.place.write("data/a", "a");
    site.place.write("data/large", bytes(17 * MIB));
    site.fault("obs.ListObjectsV2", Fault::status(503));
    site.fault("obs.PutObject", Fault::status(500));
    site.fault("obs.CreateMultipartUpload", Fault::status(503));
    site.fault("obs.UploadPart", Fault::Reset);
    site.fault("obs.UploadPart", Fault::LostAnswer);
    site.fault("obs.GetObject", Fault::status(503));
    site.fault("obs.GetObject", Fault::ResetMidBody);
    assert_eq!(site.up().await.unwrap().transferred.files, 2);
    assert_eq!(site.down().await.unwrap().transferred.files, 2);
    assert!(tree(&site.place.path("out")) == tree(&site.place.path("data")));
    assert!(site.emulator.faults().list().is_empty());
}

#[tokio::test]
async fn an_upload_continues_after_an_error() {
    let site = Site::start().await;
    site.place.write("data/large", bytes(25 * MIB));
    site.place.write("data/small", "s");
    site.fault("obs.UploadPart", Fault::error(503, "SlowDown", "too fast"));
    let error = site.up().await.unwrap_err().to_string();
    assert!(
        error.starts_with("writing obs://bucket/in/large: too fast (SlowDown, HTTP 503"),
        "{error}"
    );
    assert!(!site.bucket.exists("in/large").await.unwrap());
    let before = site.requests();
    let done = before["obs.UploadPart"] - 1;
    let summary = site.up().await.unwrap();
    assert_eq!(summary.transferred.files + summary.unchanged.files, 2);
    let since = BTreeMap::from_iter(site.requests_since(&before));
    assert_eq!(since["obs.UploadPart"], 4 - done);
    assert_eq!(site.requests()["obs.CreateMultipartUpload"], 1);
    assert!(site.contents("in/large").await == bytes(25 * MIB));
}

#[tokio::test]
async fn an_upload_continues_after_its_stream_was_dropped() {
    let site = Site::start().await;
    site.place.write("data/large", bytes(24 * MIB));
    let mut events = site.up().stream();
    loop {
        let event = events.try_next().await.unwrap().unwrap().event;
        if matches!(event, SyncEvent::Advanced { .. }) {
            break;
        }
    }
    drop(events);
    let mut events = site.up().stream();
    let mut resumed = None;
    while let Some(progress) = events.try_next().await.unwrap() {
        if let SyncEvent::Advanced { bytes, .. } = progress.event {
            resumed.get_or_insert(bytes);
        }
    }
    // The first event of the second upload reports the parts of the first upload.
    assert!(resumed.unwrap() >= 8 * MIB as u64, "{resumed:?}");
    assert_eq!(site.requests()["obs.CreateMultipartUpload"], 1);
    assert_eq!(site.requests()["obs.CompleteMultipartUpload"], 1);
    assert!(site.contents("in/large").await == bytes(24 * MIB));
}

#[tokio::test]
async fn an_upload_starts_anew_if_it_is_gone_or_the_file_changed() {
    let site = Site::start().await;
    let fail = async || {
        site.fault("obs.CompleteMultipartUpload", Fault::status(503));
        site.up().await.unwrap_err();
    };
    site.place.write("data/large", bytes(17 * MIB));
    fail().await;
    site.fault("obs.CompleteMultipartUpload", Fault::error(404, "NoSuchUpload", "gone"));
    let summary = site.up().await.unwrap();
    assert_eq!(summary.transferred.files, 1);
    assert_eq!(site.requests()["obs.CreateMultipartUpload"], 2);
    assert!(site.contents("in/large").await == bytes(17 * MIB));

    let mut other = bytes(18 * MIB);
    site.place.write("data/large", &other);
    fail().await;
    other[0] = 1;
    site.place.write("data/large", &other);
    site.up().await.unwrap();
    assert_eq!(site.requests()["obs.AbortMultipartUpload"], 1);
    assert_eq!(site.requests()["obs.CreateMultipartUpload"], 4);
    assert!(site.contents("in/large").await == other);
}

#[tokio::test]
async fn a_lost_response_to_the_last_request_is_no_error() {
    let site = Site::with_attempts(3).await;
    site.place.write("data/large", bytes(16 * MIB));
    site.fault("obs.CompleteMultipartUpload", Fault::LostAnswer);
    let summary = site.up().await.unwrap();
    assert_eq!(summary.transferred.files, 1);
    assert_eq!(site.requests()["obs.CreateMultipartUpload"], 1);
    assert!(site.contents("in/large").await == bytes(16 * MIB));
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_sent_is_an_error() {
    let site = Site::start().await;
    let file = site.place.write("data/large", bytes(41 * MIB));
    let mut events = site.up().transfers(1).stream();
    let error = loop {
        match events.try_next().await {
            Ok(Some(progress)) => {
                if matches!(progress.event, SyncEvent::Advanced { .. }) {
                    let mut contents = bytes(41 * MIB);
                    contents[40 * MIB] = 1;
                    super::write(&file, contents);
                }
            }
            Ok(None) => panic!("the change was not noticed"),
            Err(error) => break error,
        }
    };
    let file = file.canonicalize().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "the file {} must not change while it is sent, and did; call again when nothing \
             writes the file any more",
            file.display()
        )
    );
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(!site.bucket.exists("in/large").await.unwrap());
    assert_eq!(site.requests()["obs.AbortMultipartUpload"], 1);
    site.up().await.unwrap();
    assert!(site.contents("in/large").await == fs::read(file).unwrap());
}

#[tokio::test]
async fn a_small_file_that_changes_before_it_is_sent_is_an_error() {
    let site = Site::start().await;
    let file = site.place.write("data/small", "before");
    let mut events = site.up().stream();
    let error = loop {
        match events.try_next().await {
            // The runtime has one thread, so the file is not read before the change.
            Ok(Some(progress)) if progress.event == SyncEvent::Planned => {
                super::write(&file, "after!");
            }
            Ok(Some(_)) => {}
            Ok(None) => panic!("the change was not noticed"),
            Err(error) => break error.to_string(),
        }
    };
    let file = file.canonicalize().unwrap();
    let expected = format!("the file {} must not change while it is sent", file.display());
    assert!(error.starts_with(&expected), "{error}");
    assert!(!site.requests().contains_key("obs.PutObject"));
}

#[tokio::test]
async fn a_missing_permission_to_write_is_found_before_a_large_upload() {
    let site = Site::start().await;
    site.place.write("data/large", bytes(16 * MIB));
    let denied = Fault::error(403, "AccessDenied", "Access Denied");
    site.always("obs.PutObject", denied);
    let error = site.up().await.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(403), Some("AccessDenied")));
    let error = error.to_string();
    let expected = "writing obs://bucket/in/.modelarts-write-test: Access Denied (AccessDenied, ";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.contains("check that the policies"), "{error}");
    assert!(!site.requests().contains_key("obs.CreateMultipartUpload"));

    site.emulator.faults().clear();
    site.up().await.unwrap();
    let keys: Vec<_> = site.bucket.list("").try_collect().await.unwrap();
    assert_eq!(keys.len(), 1);
    assert_eq!(keys[0].key(), "in/large");
}

#[tokio::test]
async fn a_missing_bucket_and_a_bucket_of_another_region_are_named() {
    let site = Site::start().await;
    site.place.write("data/a", "a");
    let up = site.obs.sync_up(site.place.path("data"), "obs://missing/in");
    let error = up.await.unwrap_err();
    assert_eq!(error.code(), Some("NoSuchBucket"));
    let error = error.to_string();
    assert!(error.starts_with("listing obs://missing/in: "), "{error}");
    assert!(error.contains("create it with Bucket::create"), "{error}");

    let moved = Fault::error(301, "PermanentRedirect", "use another endpoint");
    site.fault("obs.ListObjectsV2", moved);
    let error = site.up().await.unwrap_err().to_string();
    assert!(
        error.starts_with("listing obs://bucket/in: use another endpoint (PermanentRedirect"),
        "{error}"
    );
    assert!(
        error.ends_with(
            "set the region of the bucket (MODELARTS_REGION), or use a bucket of the \
                         region of the job"
        ),
        "{error}"
    );
    assert!(!site.requests().contains_key("obs.PutObject"));
}

#[tokio::test]
async fn a_download_continues_after_its_stream_was_dropped() {
    let site = Site::start().await;
    site.place.write("data/large", bytes(24 * MIB));
    site.up().await.unwrap();
    let mut events = site.down().transfers(1).stream();
    loop {
        let event = events.try_next().await.unwrap().unwrap().event;
        if matches!(event, SyncEvent::Advanced { .. }) {
            break;
        }
    }
    drop(events);
    assert_eq!(names(&site.place.path("out")), [".large.modelarts-part"]);
    let before = site.requests();
    site.down().await.unwrap();
    let since = BTreeMap::from_iter(site.requests_since(&before));
    assert!((1..3).contains(&since["obs.GetObject"]), "{since:?}");
    assert_eq!(names(&site.place.path("out")), ["large"]);
    assert!(tree(&site.place.path("out")) == tree(&site.place.path("data")));
}

#[tokio::test]
async fn an_object_that_changes_while_it_is_received_is_an_error() {
    let site = Site::start().await;
    for (name, size) in [("small", 10), ("large", 17 * MIB)] {
        let out = site.place.path("out");
        site.bucket.put("in/object", bytes(size)).await.unwrap();
        let mut events = site.down().stream();
        let error = loop {
            match events.try_next().await {
                // The runtime has one thread, so no request is sent before the change.
                Ok(Some(progress)) if progress.event == SyncEvent::Planned => {
                    let path = site.emulator.obs_root().join("bucket/in/object");
                    super::write(&path, vec![1; size]);
                }
                Ok(Some(_)) => {}
                Ok(None) => panic!("the change of {name} was not noticed"),
                Err(error) => break error.to_string(),
            }
        };
        assert_eq!(
            error,
            "reading obs://bucket/in/object: the object changed meanwhile; call again when \
             nothing writes the object any more"
        );
        assert!(!out.join("object").exists());
        site.down().await.unwrap();
        assert!(fs::read(out.join("object")).unwrap() == vec![1; size]);
        fs::remove_file(out.join("object")).unwrap();
    }
}

#[tokio::test]
async fn a_download_starts_anew_if_the_object_changed() {
    let site = Site::start().await;
    site.place.write("data/large", bytes(17 * MIB));
    site.up().await.unwrap();
    let mut events = site.down().transfers(1).stream();
    loop {
        let event = events.try_next().await.unwrap().unwrap().event;
        if matches!(event, SyncEvent::Advanced { .. }) {
            break;
        }
    }
    drop(events);
    site.place.write("data/large", vec![7; 17 * MIB]);
    site.up().await.unwrap();
    site.down().await.unwrap();
    assert!(tree(&site.place.path("out")) == tree(&site.place.path("data")));
}

#[tokio::test]
async fn wrong_contents_are_an_error() {
    let site = Site::start().await;
    let mut cases = 0;
    for size in [10, 17 * MIB] {
        site.place.write("data/file", bytes(size));
        site.up().await.unwrap();
        // The contents change without a change of size and modification time.
        let path = site.emulator.obs_root().join("bucket/in/file");
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, vec![1; size]).unwrap();
        super::set_modified(&path, modified);
        let info = site.bucket.head("in/file").await.unwrap();
        let expected = info.sha256().unwrap().to_owned();
        for _ in 0..2 {
            let error = site.down().await.unwrap_err().to_string();
            let message = format!(
                "reading obs://bucket/in/file: the SHA-256 of the contents must be {expected} and \
                 is "
            );
            assert!(error.starts_with(&message), "{error}");
            assert!(names(&site.place.path("out")).is_empty());
            cases += 1;
        }
    }
    assert_eq!(cases, 4);
}

#[tokio::test]
async fn objects_that_stand_for_directories_become_directories() {
    let site = Site::start().await;
    site.bucket.put("in/dir/a", "a").await.unwrap();
    site.bucket.put("in/empty-file", "").await.unwrap();
    for marker in ["in/", "in/dir/", "in/alone/"] {
        site.put_marker(marker).await;
    }
    let summary = site.down().delete(true).await.unwrap();
    let out = site.place.path("out");
    assert_eq!(names(&out), ["dir/a", "empty-file"]);
    assert!(out.join("dir").is_dir());
    assert_eq!(summary.transferred.files, 2);
}

#[tokio::test]
async fn copies_within_a_bucket_do_not_pass_through_this_machine() {
    let site = Site::start().await;
    site.place.write("data/a b", "a");
    site.place.write("data/large", bytes(17 * MIB));
    site.up().await.unwrap();
    let copy = |to: &str| site.obs.copy("obs://bucket/in", to);
    let before = site.requests();
    assert_eq!(copy("obs://bucket/out").await.unwrap().transferred.files, 2);
    assert_eq!(site.requests_since(&before), [("obs.CopyObject", 2), ("obs.ListObjectsV2", 2)]);
    let (from, to) =
        (site.bucket.head("in/large").await.unwrap(), site.bucket.head("out/large").await.unwrap());
    assert!(from.sha256().is_some());
    assert_eq!(from.sha256(), to.sha256());
    assert_eq!(copy("obs://bucket/out").await.unwrap().unchanged.files, 2);

    let other = site.obs.bucket("other").unwrap();
    other.create().await.unwrap();
    assert_eq!(copy("obs://other").await.unwrap().transferred.files, 2);
    assert!(other.get("large").await.unwrap() == site.contents("in/large").await);
    assert_eq!(other.head("large").await.unwrap().sha256(), from.sha256());
    assert_eq!(copy("obs://other").await.unwrap().unchanged.files, 2);
}
