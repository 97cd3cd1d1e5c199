//! Tests of versions of data on OBS over HTTP, and of their removal.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use modelarts_emulator::{
    Emulator, Timing,
    faults::{Fault, FaultRule},
};
use modelarts_ext::{Client, ClientBuilder, Credentials, Job, api::BoxFuture, clock::Clock};
use modelarts_obs::{
    CreateJobExt, Obs, Staging,
    staging::{DataRemoval, DataVersion, StagedDir},
};
use tempfile::TempDir;

use crate::sync::{tree, write};

/// A clock of the client that can be set forward. That of OBS stays, so that objects age.
#[derive(Clone, Debug, Default)]
struct LaterClock(Arc<AtomicU64>);

impl LaterClock {
    fn advance(&self, hours: u64) {
        self.0.fetch_add(hours * 3_600, Ordering::Relaxed);
    }
}

impl Clock for LaterClock {
    fn now(&self) -> SystemTime {
        SystemTime::now() + Duration::from_secs(self.0.load(Ordering::Relaxed))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }

    fn requires_tokio(&self) -> bool {
        true
    }
}

struct Place {
    emulator: Emulator,
    client: Client,
    staging: Staging,
    clock: LaterClock,
    root: TempDir,
}

impl Place {
    async fn start() -> Self {
        let emulator = Emulator::builder().timing(Timing::instant()).token("TOKEN");
        let emulator = emulator.start().await.unwrap();
        fs::create_dir_all(emulator.obs_root().join("bucket")).unwrap();
        let root = tempfile::tempdir().unwrap();
        let builder = || ClientBuilder::from_vars(emulator.vars());
        let clock = LaterClock::default();
        let client = builder().credentials(Credentials::token("TOKEN")).clock(clock.clone());
        let client = client.build().unwrap();
        let obs = Obs::new(&builder().build().unwrap()).unwrap();
        let staging = Staging::new(&client).bucket("bucket");
        let staging = staging.obs(obs.with_cache_dir(root.path().join("cache")));
        Self { emulator, client, staging, clock, root }
    }

    fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    fn write(&self, name: &str, contents: &str) {
        write(&self.data().join(name), contents);
    }

    async fn stage(&self) -> StagedDir {
        self.staging.data(self.data()).await.unwrap()
    }

    /// Writes a file, and stages the version with it.
    async fn change(&self, contents: &str) -> StagedDir {
        self.write("changing.csv", contents);
        let staged = self.stage().await;
        assert!(staged.is_new_version);
        staged
    }

    fn local(&self, key: &str) -> PathBuf {
        self.emulator.obs_root().join("bucket").join(key)
    }

    fn objects(&self, staged: &StagedDir) -> BTreeMap<String, Vec<u8>> {
        match self.local(staged.path.key()) {
            path if path.exists() => tree(&path),
            _ => BTreeMap::new(),
        }
    }

    fn has_manifest(&self, staged: &StagedDir) -> bool {
        let version = staged.path.key().rsplit_once('/').unwrap().0;
        self.local(&format!("{version}.json")).exists()
    }

    /// Submits a job that reads a version, and runs until it is terminated.
    async fn job(&self, name: &str, data: &StagedDir) -> Job {
        self.emulator.put("bucket/code/train.py", super::ENDLESS).unwrap();
        let job = self.client.training_jobs().create(name).preset_image("PyTorch", "pytorch_1.8.0");
        let job = job.flavor("modelarts.vm.cpu.2u").code_dir("obs://bucket/code/");
        let job = job.boot_file("obs://bucket/code/train.py").input("data_url", data.url());
        job.submit().await.unwrap()
    }

    async fn end(&self, job: &Job) {
        job.terminate().await.unwrap();
        self.emulator.wait_until_settled(job.id()).await;
    }

    /// Returns the numbers of requests since the last call, by operation.
    fn requests(&self, before: &mut BTreeMap<String, u64>) -> BTreeMap<String, u64> {
        let now = self.emulator.requests();
        let now: BTreeMap<_, _> =
            now.iter().map(|(name, count)| ((*name).to_string(), count.received)).collect();
        let earlier = std::mem::replace(before, now.clone());
        let since = now.into_iter().map(|(name, count)| {
            let known = earlier.get(&name).copied().unwrap_or_default();
            (name, count - known)
        });
        since.filter(|(_, count)| *count > 0).collect()
    }

    async fn remove(&self, dry_run: bool) -> Vec<DataRemoval> {
        let versions = self.staging.data_versions().await.unwrap();
        self.staging.remove_data(versions, dry_run).await.unwrap()
    }
}

fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn ids(versions: &[DataVersion]) -> Vec<&str> {
    versions.iter().map(|version| version.id.as_str()).collect()
}

fn touch(path: &Path) {
    let later = SystemTime::now() - Duration::from_secs(5);
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(later).unwrap();
}

#[tokio::test]
async fn unchanged_data_is_kept_changes_are_sent_and_the_rest_is_copied() {
    let place = Place::start().await;
    for (name, contents) in [("a.csv", "1"), ("b/c.csv", "22"), ("b/d.csv", "333")] {
        place.write(name, contents);
    }
    let mut seen = BTreeMap::new();
    let first = place.stage().await;
    let old = place.objects(&first);
    place.requests(&mut seen);
    // The same contents need no requests but reads.
    touch(&place.data().join("a.csv"));
    let again = place.stage().await;
    assert_eq!((&again.path, again.is_new_version), (&first.path, false));
    let reads = [("obs.GetObject", 1), ("obs.ListObjectsV2", 2)];
    assert_eq!(place.requests(&mut seen), counts(&reads));

    // One file changes, one is renamed, one stays.
    place.write("a.csv", "9");
    fs::rename(place.data().join("b/d.csv"), place.data().join("e.csv")).unwrap();
    let planned = place.staging.data(place.data()).dry_run(true).await.unwrap();
    place.requests(&mut seen);
    let second = place.stage().await;
    assert_ne!(second.path, first.path);
    assert_eq!(second.summary, planned.summary);
    let (sent, copied) = (second.summary.transferred, second.summary.unchanged);
    assert_eq!(((sent.files, sent.bytes), (copied.files, copied.bytes)), ((1, 1), (2, 5)));
    let since = place.requests(&mut seen);
    assert_eq!((since["obs.CopyObject"], since["obs.PutObject"]), (2, 2), "{since:?}");
    assert!(!since.contains_key("ListTrainingJobs"));
    assert!(place.objects(&second) == tree(&place.data()) && place.objects(&first) == old);

    // A reverted directory finds its old version.
    fs::rename(place.data().join("e.csv"), place.data().join("b/d.csv")).unwrap();
    place.write("a.csv", "1");
    let reverted = place.stage().await;
    assert_eq!((reverted.path, reverted.is_new_version), (first.path, false));
    let versions = place.staging.data_versions().await.unwrap();
    assert_eq!(versions.len(), 2);
    assert!(versions.iter().all(|it| it.is_own && it.is_complete && it.amount.files == 3));
}

#[tokio::test]
async fn a_running_job_does_not_prevent_a_new_version_and_keeps_its_own() {
    let place = Place::start().await;
    let first = place.change("1").await;
    let job = place.job("reader", &first).await;
    let second = place.change("2").await;
    place.clock.advance(25);
    // The second version is named by no job, and old enough.
    let third = place.change("3").await;
    assert!(place.has_manifest(&first) && !place.objects(&first).is_empty());
    assert!(!place.has_manifest(&second) && place.objects(&second).is_empty());
    let versions = place.staging.data_versions().await.unwrap();
    let jobs = place.staging.data_readers(&versions).await.unwrap();
    let of = |staged: &StagedDir| {
        ids(&versions).iter().position(|id| staged.version.as_deref() == Some(*id))
    };
    assert_eq!(jobs[of(&first).unwrap()][0].id(), job.id());
    assert!(jobs[of(&third).unwrap()].is_empty());
    // A job that has ended still names what it ran on.
    place.end(&job).await;
    place.clock.advance(25);
    place.change("4").await;
    assert!(place.has_manifest(&first) && !place.has_manifest(&third));
}

#[tokio::test]
async fn a_young_version_is_kept_and_so_is_any_while_the_jobs_cannot_be_read() {
    let place = Place::start().await;
    let first = place.change("1").await;
    place.clock.advance(23);
    // The use of a version is recorded, so that it is young again.
    assert_eq!(place.stage().await.path, first.path);
    let second = place.change("2").await;
    assert!(place.has_manifest(&first));
    place.clock.advance(25);
    let fault = Fault::error(403, "ModelArts.0001", "no");
    place.emulator.faults().add(FaultRule::always("ListTrainingJobs", fault)).unwrap();
    let third = place.change("3").await;
    assert!([&first, &second, &third].into_iter().all(|staged| place.has_manifest(staged)));
    let versions = place.staging.data_versions().await.unwrap();
    assert!(place.staging.remove_data(versions, false).await.is_err());
    assert!([&first, &second, &third].into_iter().all(|staged| place.has_manifest(staged)));
}

#[tokio::test]
async fn removal_keeps_what_is_used_young_or_of_another_machine() {
    let place = Place::start().await;
    let used = place.change("1").await;
    let ended = place.change("2").await;
    let other = place.change("3").await;
    let (running, done) = (place.job("running", &used).await, place.job("done", &ended).await);
    place.end(&done).await;
    let kept = |rows: &[DataRemoval], staged: &StagedDir| {
        let row = rows.iter().find(|row| Some(&row.version.id) == staged.version.as_ref());
        row.unwrap().kept.clone()
    };
    let rows = place.remove(false).await;
    let young = Some("it was used less than 24 hours ago".to_owned());
    assert!(rows.len() == 3 && rows.iter().all(|row| row.kept == young), "{rows:?}");

    place.clock.advance(25);
    // The manifest of another machine has another path, so that the place is not its own.
    let manifest = place.local(other.path.key().rsplit_once('/').unwrap().0).with_extension("json");
    let text = fs::read_to_string(&manifest).unwrap();
    let foreign = text.replace("/data\",", "/elsewhere\",");
    assert_ne!(foreign, text);
    place
        .emulator
        .put(manifest.strip_prefix(place.emulator.obs_root()).unwrap().to_str().unwrap(), foreign)
        .unwrap();
    for dry_run in [true, false] {
        let rows = place.remove(dry_run).await;
        assert!(kept(&rows, &used).unwrap().contains(running.id()), "{rows:?}");
        assert!(kept(&rows, &other).unwrap().starts_with("it belongs to "), "{rows:?}");
        assert_eq!(kept(&rows, &ended), None);
        assert_eq!(place.has_manifest(&ended), dry_run);
        assert_eq!(place.objects(&ended).is_empty(), !dry_run);
        assert!(place.has_manifest(&used) && place.has_manifest(&other));
    }
}

#[tokio::test]
async fn an_unfinished_version_is_invisible_continued_and_swept_after_a_day() {
    let place = Place::start().await;
    for (name, contents) in [("a.csv", "1"), ("b.csv", "22")] {
        place.write(name, contents);
    }
    // The upload ends before its last object, as if it was killed.
    let fault = Fault::error(403, "AccessDenied", "no");
    place.emulator.faults().add(FaultRule::once("obs.PutObject", fault)).unwrap();
    assert!(place.staging.data(place.data()).await.is_err());
    let versions = place.staging.data_versions().await.unwrap();
    assert_eq!((versions.len(), versions[0].is_complete), (1, false));
    let staged = place.stage().await;
    assert!(staged.is_new_version && staged.version.as_deref() != Some(&versions[0].id));
    assert_eq!(staged.summary.unchanged.files, versions[0].amount.files);
    assert!(place.objects(&staged) == tree(&place.data()));
    let kept = place.remove(false).await;
    assert!(kept.iter().all(|row| row.kept.is_some()), "{kept:?}");
    place.clock.advance(25);
    let second = place.change("3").await;
    let left = place.staging.data_versions().await.unwrap();
    assert_eq!(ids(&left), [second.version.as_deref().unwrap()]);
}

#[tokio::test]
async fn a_version_that_lacks_objects_is_made_again() {
    let place = Place::start().await;
    place.write("a.csv", "1");
    let first = place.change("22").await;
    let bucket = place.staging.connect().unwrap().bucket("bucket").unwrap();
    bucket.delete(&format!("{}/a.csv", first.path.key())).await.unwrap();
    let second = place.stage().await;
    assert_ne!(second.path, first.path);
    assert_eq!((second.summary.transferred.files, second.summary.unchanged.files), (1, 1));
}

#[tokio::test]
async fn a_job_gets_the_address_of_its_version() {
    let place = Place::start().await;
    place.write("a.csv", "1");
    let job = || {
        let job =
            place.client.training_jobs().create("job").preset_image("PyTorch", "pytorch_1.8.0");
        job.flavor("modelarts.vm.cpu.2u").stage(&place.staging).data("data_url", place.data())
    };
    let command = |job: modelarts_obs::staging::StageJob| job.configure(|job| job.command("true"));
    let first = command(job()).upload().await.unwrap();
    let again = command(job()).upload().await.unwrap();
    let (one, two) = (&first.data[0].1, &again.data[0].1);
    assert_eq!((&one.path, two.is_new_version), (&two.path, false));
    let url = &first.job.body()["algorithm"]["inputs"][0]["remote"]["obs"]["obs_url"];
    assert_eq!(*url, one.url());
}
