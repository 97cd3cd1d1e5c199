//! Staging of a data directory, which has an address for each version of its contents.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::IntoFuture,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::{StreamExt, future::BoxFuture, stream};
use modelarts_ext::Error;

use crate::{
    address::ObsPath,
    obs::Obs,
    staging::{
        HASH_DIGITS, LocalDir, OnProgress, StagedDir, Staging,
        code::{hash_files, rewritten, without_keys},
        data_address::version_of,
        readers, report_unchanged, run,
        versions::{DataFile, DataVersion, Manifest, Place, place_hash, user},
    },
    sync::{
        DirectorySync,
        concurrency::Concurrency,
        digest::sha256,
        files::{self, Listing, LocalFile},
        limits::{Limits, blocking},
        progress::{Amount, Progress, SkipReason, Skipped, Summary, SyncEvent},
        side::list_objects,
        source::{Object, changed},
    },
};

/// Maximum number and size of the files of a directory whose changes make a new version by
/// themselves.
const MAX_FILES: u64 = 5_000;
const MAX_BYTES: u64 = 2_000_000_000;
/// Maximum number of versions with which a directory is compared.
const MAX_COMPARED: usize = 20;
/// Number of concurrent requests for checksums.
const CONCURRENT: usize = 16;

/// Handling of a data directory whose contents have no version in OBS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataVersioning {
    /// Makes a version of a directory of up to 5,000 files and 2 GB (2,000,000,000 bytes). A larger
    /// directory is not versioned.
    #[default]
    Auto,
    /// Makes a version of a directory of any size.
    New,
}

/// Staging of a data directory. Awaiting it returns a [`StagedDir`].
#[must_use = "nothing is sent unless it is awaited"]
pub struct StageData {
    staging: Staging,
    directory: PathBuf,
    versioning: DataVersioning,
    dry_run: bool,
    on_progress: Arc<dyn Fn(&Progress) + Send + Sync>,
}

impl Staging {
    /// Uploads a data directory as a version with an address of its own, which no later call
    /// changes. If a version has the contents of the directory, this version is the result. Files
    /// whose size, time and inode are those of an earlier call are not read.
    ///
    /// The other objects of a new version are copied from an earlier version inside OBS. Earlier
    /// versions of this directory that were not used for 24 hours and that no job names are
    /// removed. [`DataAddress`](crate::staging::DataAddress) finds the version in an address.
    ///
    /// A directory of more than 5,000 files or 2 GB is not versioned, unless
    /// [`version`](StageData::version) is set: it is mirrored at one address, that is, new and
    /// changed files are uploaded, and the objects of deleted files are deleted. Before such
    /// changes, this method searches the service for jobs that have not ended and that have an
    /// input or a volume at, above or below this address. The search sets no workspace, which means
    /// workspace `0` according to the reference (`openapi/SOURCES.md`, D-109). For a job that is
    /// staged by [`CreateJobExt::stage`](crate::CreateJobExt::stage), the workspace of the job is
    /// searched, too. A job that is submitted during the upload is not found.
    ///
    /// The addresses depend on the project, the user, the machine and the path. The host name
    /// identifies the machine, together with the id in `/etc/machine-id`, if this file exists.
    /// Machines with the same host name and id, such as containers of one image with a fixed host
    /// name, share the addresses of equal paths. For a directory that is not versioned, each then
    /// deletes the files of the others, unless each has its own [`prefix`](Staging::prefix).
    ///
    /// The patterns of `.modelartsignore` apply, and those of `.gitignore` do not. The module
    /// [`sync`](crate::sync) lists the files that are always left out.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     staging: modelarts_obs::Staging, job: modelarts_ext::CreateJob
    /// # ) -> Result<(), modelarts_ext::Error> {
    /// let data = staging.data("./images").await?;
    /// println!("{} files sent to {}", data.summary.transferred.files, data.path);
    /// let job = job.input("data_url", data.url());
    /// # drop(job);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error before the upload if the directory is missing or has no files, or if it is
    /// not versioned and has changes while such jobs exist. The upload returns the errors of
    /// [`sync_up`](crate::Obs::sync_up), and an error if the directory changes meanwhile.
    pub fn data(&self, directory: impl AsRef<Path>) -> StageData {
        StageData {
            staging: self.clone(),
            directory: directory.as_ref().to_owned(),
            versioning: DataVersioning::Auto,
            dry_run: false,
            on_progress: Arc::new(|_| {}),
        }
    }
}

impl StageData {
    /// Sets the handling of a directory that is too large to be versioned by itself.
    pub fn version(mut self, versioning: DataVersioning) -> Self {
        self.versioning = versioning;
        self
    }

    /// Reports the files that would be uploaded and deleted, and changes no objects. Default:
    /// `false`.
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Sets a function that receives the progress, with the same items as
    /// [`DirectorySync::stream`](crate::DirectorySync::stream).
    pub fn on_progress(mut self, function: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Arc::new(function);
        self
    }

    async fn send(self) -> Result<StagedDir, Error> {
        let data = Data::find(&self.staging, &self.directory, self.versioning).await?;
        let changes = data.compare(&self.staging, None, self.dry_run).await?;
        data.send(&self.staging, changes, self.dry_run, &*self.on_progress).await
    }
}

impl IntoFuture for StageData {
    type Output = Result<StagedDir, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl fmt::Debug for StageData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageData").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// Data directory with the address of its versions.
pub(super) struct Data {
    directory: LocalDir,
    versioning: DataVersioning,
    place: ObsPath,
    /// Address of a new version in a dry run, which stands for any address.
    pub(super) path: ObsPath,
}

/// Result of the comparison of a data directory with its objects.
pub(super) struct Changes {
    /// Address of the directory.
    pub(super) path: ObsPath,
    step: Step,
}

/// Step that brings a data directory to OBS.
enum Step {
    /// The directory is not versioned. The objects at its address change.
    Mirror(Summary),
    /// A version has the contents of the directory.
    Reuse(Box<DataVersion>, Summary),
    Create(Box<NewVersion>),
}

/// Version that does not exist yet.
struct NewVersion {
    id: String,
    place: Place,
    /// Workspace of the job that uses the version.
    workspace: Option<String>,
    listing: Arc<Listing>,
    /// Addresses of objects with the contents of files.
    copies: BTreeMap<String, ObsPath>,
}

impl Data {
    /// Finds a data directory, and computes its address. No request is sent.
    pub(super) async fn find(
        staging: &Staging,
        directory: &Path,
        versioning: DataVersioning,
    ) -> Result<Self, Error> {
        let root = staging.root()?;
        let directory = LocalDir::find(directory, "data").await?;
        let bucket = staging.connect()?.bucket(root.bucket())?;
        let hash = place_hash(staging, &bucket, &directory.path);
        let place = root.join(&format!("data/{}/{hash}", user()))?;
        let path = place.join(&version_of(&"0".repeat(HASH_DIGITS)))?.join(&directory.name)?;
        Ok(Self { directory, versioning, place, path })
    }

    /// Compares the directory with its versions, or with its objects if it is not versioned. Unless
    /// this is a `dry_run`, records the use of a version with the same contents.
    ///
    /// # Errors
    /// Returns an error if the directory has no files, or if it is not versioned, has changes, and
    /// jobs that have not ended read the objects.
    pub(super) async fn compare(
        &self,
        staging: &Staging,
        workspace: Option<&str>,
        dry_run: bool,
    ) -> Result<Changes, Error> {
        let (obs, root) = (staging.connect()?, self.directory.path.clone());
        let listing = blocking(move || files::list(&root, false, &[])).await?;
        let all = amount(listing.files.values());
        let is_large = all.files > MAX_FILES || all.bytes > MAX_BYTES;
        if is_large && self.versioning == DataVersioning::Auto {
            return self.compare_mirror(staging, workspace).await;
        }
        let listing = blocking(move || without_keys(listing)).await?;
        if listing.files.is_empty() {
            // The synchronization returns the error.
            return self.compare_mirror(staging, workspace).await;
        }
        let place = Place::list(staging, self.place.clone()).await?;
        let (mut base, mut hashed) = (None, None);
        for (id, _) in place.complete.iter().take(MAX_COMPARED) {
            let Some(version) = place.read(id).await? else {
                continue;
            };
            let sizes = listing.files.iter().map(|(path, file)| (path, file.stamp.size));
            let has_sizes = version.files().iter().map(|file| (&file.path, file.size)).eq(sizes);
            if has_sizes && hashed.is_none() {
                hashed = Some(self.hash(&obs, &listing.files).await?);
            }
            if has_sizes && hashed.as_deref() == Some(version.files()) {
                if !dry_run {
                    place.record_use(version.clone(), workspace).await?;
                }
                if place.existing(&version).await?.len() == listing.files.len() {
                    let skipped = listing.skipped;
                    let summary =
                        Summary { unchanged: version.amount, skipped, ..Summary::default() };
                    let path = version.path.clone();
                    return Ok(Changes { path, step: Step::Reuse(Box::new(version), summary) });
                }
                tracing::warn!(id, "the version lacks objects, so it is not used");
            }
            base.get_or_insert(version);
        }
        let copies = self.copies(&obs, &place, base, &listing).await?;
        let id = match (dry_run, place.bucket.store().has_metadata()) {
            (true, _) => version_of(&"0".repeat(HASH_DIGITS)),
            (false, true) => version_of(&format!("{:016x}", fastrand::u64(..))),
            // A local directory is the storage of one run. Another run must find the same address
            // for the same contents.
            (false, false) => {
                let files = match hashed {
                    Some(files) => files,
                    None => self.hash(&obs, &listing.files).await?,
                };
                let lines = files.iter().map(|file| format!("{}\0{}\n", file.path, file.sha256));
                version_of(&sha256(lines.collect::<String>().as_bytes()))
            }
        };
        let path = self.place.join(&id)?.join(&self.directory.name)?;
        let workspace = workspace.map(str::to_owned);
        let listing = Arc::new(listing);
        let new = NewVersion { id, place, workspace, listing, copies };
        Ok(Changes { path, step: Step::Create(Box::new(new)) })
    }

    /// Compares a directory that is not versioned with its objects, and changes nothing.
    async fn compare_mirror(
        &self,
        staging: &Staging,
        workspace: Option<&str>,
    ) -> Result<Changes, Error> {
        let path = self.place.join(&self.directory.name)?;
        let summary = self.sync(staging, &path)?.delete(true).dry_run(true).await?;
        if has_changes(&summary) {
            let directory = &self.directory.path;
            readers::require_none(&staging.client, workspace, &path, directory).await?;
        }
        Ok(Changes { path, step: Step::Mirror(summary) })
    }

    /// Returns the files with their checksums from the cache, or computes the checksums.
    async fn hash(
        &self,
        obs: &Obs,
        files: &BTreeMap<String, LocalFile>,
    ) -> Result<Vec<DataFile>, Error> {
        let (obs, root, mut files) = (obs.clone(), self.directory.path.clone(), files.clone());
        let hashed = blocking(move || hash_files(&obs, &root, &mut files)).await?;
        Ok(hashed.into_iter().map(DataFile::from).collect())
    }

    /// Finds objects with the contents of files, in the version `base` and in unfinished versions,
    /// whose uploads were interrupted.
    async fn copies(
        &self,
        obs: &Obs,
        place: &Place,
        base: Option<DataVersion>,
        listing: &Listing,
    ) -> Result<BTreeMap<String, ObsPath>, Error> {
        let mut sources = BTreeMap::new();
        if !place.bucket.store().has_metadata() {
            return Ok(BTreeMap::new());
        }
        let sizes: BTreeSet<u64> = listing.files.values().map(|file| file.stamp.size).collect();
        let limits = Limits::new(Concurrency::default(), obs.throttled());
        for id in &place.unfinished {
            let root = self.place.join(id)?.join(&self.directory.name)?;
            let mut objects = list_objects(&place.bucket, &root).await?;
            objects.retain(|_, object| sizes.contains(&object.size));
            let read = async |(name, object): (String, Object)| {
                let sha256 = object.sha256(&limits).await.ok().flatten();
                Some(((sha256?, object.size), root.join(&name).ok()?))
            };
            let read = stream::iter(objects).map(read).buffered(CONCURRENT);
            sources.extend(read.filter_map(async |read| read).collect::<Vec<_>>().await);
        }
        if let Some(base) = base {
            for file in place.existing(&base).await? {
                let path = base.path.join(&file.path)?;
                sources.insert((file.sha256.clone(), file.size), path);
            }
        }
        // Files of other sizes are read once, by the upload.
        let sizes: BTreeSet<u64> = sources.keys().map(|(_, size)| *size).collect();
        let mut same = listing.files.clone();
        same.retain(|_, file| sizes.contains(&file.stamp.size));
        let files = self.hash(obs, &same).await?;
        let copy =
            |file: DataFile| Some((file.path, sources.get(&(file.sha256, file.size))?.clone()));
        Ok(files.into_iter().filter_map(copy).collect())
    }

    /// Uploads new and changed files.
    pub(super) async fn send(
        self,
        staging: &Staging,
        changes: Changes,
        dry_run: bool,
        on_progress: OnProgress<'_>,
    ) -> Result<StagedDir, Error> {
        let path = changes.path;
        match changes.step {
            Step::Mirror(summary) => {
                let summary = match has_changes(&summary) {
                    true => {
                        let sync = self.sync(staging, &path)?.delete(true).dry_run(dry_run);
                        run(sync, on_progress).await?
                    }
                    false => {
                        report_unchanged(&summary, on_progress);
                        summary
                    }
                };
                Ok(StagedDir::new(path, summary))
            }
            Step::Reuse(version, summary) => {
                report_unchanged(&summary, on_progress);
                let staged = StagedDir::new(path, summary);
                Ok(StagedDir { version: Some(version.id), ..staged })
            }
            Step::Create(new) => {
                let sync = self.sync(staging, &path)?.copies(new.copies.clone()).dry_run(dry_run);
                let sync = sync.listing(Arc::clone(&new.listing));
                let summary = new.run(sync, on_progress).await?;
                let id = new.id.clone();
                if !dry_run {
                    self.complete(staging, *new).await?;
                }
                let staged = StagedDir::new(path, summary);
                Ok(StagedDir { version: Some(id), is_new_version: true, ..staged })
            }
        }
    }

    /// Writes the manifest of a new version, whose files must not have changed since they were
    /// listed. Then removes old versions.
    async fn complete(&self, staging: &Staging, new: NewVersion) -> Result<(), Error> {
        let NewVersion { id, place, workspace, listing, .. } = new;
        let (obs, root) = (staging.connect()?, self.directory.path.clone());
        let files = blocking(move || {
            let files = hash_files(&obs, &root, &mut listing.files.clone())?;
            match rewritten(&files, &listing) {
                None => Ok(files),
                Some(file) => Err(changed(&file)),
            }
        });
        let files = files.await?.into_iter().map(DataFile::from).collect();
        let now = staging.client.provider_context().clock.now();
        let manifest = Manifest::new(&self.directory, files, workspace, now);
        place.write(&id, &manifest).await?;
        if place.bucket.store().has_metadata()
            && let Err(error) = place.remove_unused().await
        {
            tracing::warn!(%error, "old versions of the data were not removed");
        }
        Ok(())
    }

    fn sync(&self, staging: &Staging, path: &ObsPath) -> Result<DirectorySync, Error> {
        Ok(staging.connect()?.sync_up(&self.directory.path, path.to_string()))
    }
}

impl NewVersion {
    /// Runs the upload. Objects that OBS copies count as unchanged.
    async fn run(
        &self,
        sync: DirectorySync,
        on_progress: OnProgress<'_>,
    ) -> Result<Summary, Error> {
        let copied = self.copies.keys().filter_map(|path| self.listing.files.get(path));
        let copied = amount(copied);
        let adjust = |summary: &mut Summary| {
            summary.transferred.files -= copied.files;
            summary.transferred.bytes -= copied.bytes;
            summary.unchanged.files += copied.files;
            summary.unchanged.bytes += copied.bytes;
        };
        let report = |progress: &Progress| {
            let mut progress = progress.clone();
            match &mut progress.event {
                SyncEvent::Transferred { path, .. } if self.copies.contains_key(path) => {
                    let (path, reason) = (path.clone(), SkipReason::Unchanged);
                    progress.event = SyncEvent::Skipped(Skipped { path, reason });
                }
                SyncEvent::Finished(summary) => adjust(summary),
                _ => {}
            }
            on_progress(&progress);
        };
        let mut summary = run(sync, &report).await?;
        adjust(&mut summary);
        Ok(summary)
    }
}

fn has_changes(summary: &Summary) -> bool {
    summary.transferred.files > 0 || summary.deleted > 0
}

fn amount<'a>(files: impl Iterator<Item = &'a LocalFile>) -> Amount {
    files.fold(Amount::default(), |mut amount, file| {
        amount.add(file.stamp.size);
        amount
    })
}
