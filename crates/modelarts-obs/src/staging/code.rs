//! Staging of a code directory at an address that depends on its contents.

use std::{
    collections::BTreeMap,
    fmt, fs,
    future::IntoFuture,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use modelarts_ext::{Error, jobs::create::CodeDir, validation::Report};

use crate::{
    address::{ObsPath, invalid},
    error,
    obs::Obs,
    staging::{
        HASH_DIGITS, LocalDir, OnProgress, StagedDir, Staging,
        manifest::{File, Manifest},
        report_unchanged, run,
    },
    sync::{
        digest::{Hasher, Stamp, hash_file, is_key_file},
        files::{self, Listing, LocalFile},
        limits::blocking,
        progress::{Amount, Progress, SkipReason, Skipped, Summary},
        side::Checksums,
        source::{SourceItem, changed},
    },
};

/// Name of the object that is written after all files of a code directory.
const MANIFEST: &str = "manifest.json";

/// Staging of a code directory. Awaiting it returns a [`StagedDir`].
#[must_use = "nothing is sent unless it is awaited"]
pub struct StageCode {
    staging: Staging,
    directory: PathBuf,
    boot_file: Option<String>,
    excluded: Vec<String>,
    dry_run: bool,
    on_progress: Arc<dyn Fn(&Progress) + Send + Sync>,
}

impl Staging {
    /// Uploads a code directory to an address that depends on its contents. If OBS already has the
    /// same code, the only request is a HEAD request for its manifest.
    ///
    /// The patterns of `.modelartsignore` apply, and if the directory itself has no such file,
    /// those of `.gitignore`. The module [`sync`](crate::sync) lists what is always left out.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     staging: modelarts_obs::Staging, job: modelarts_ext::CreateJob
    /// # ) -> Result<(), modelarts_ext::Error> {
    /// let code = staging.code("./src").boot_file("train.py").await?;
    /// let job = job.code_dir(code.url()).boot_file(format!("{}train.py", code.url()));
    /// println!("{}", job.submit().await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error before the upload if the directory does not exist or has no files, if the
    /// boot file is missing or left out, and if the directory exceeds a limit of the service: 1,000
    /// files, 5 GB, 32 levels. Files that are left out do not count. The upload returns the errors
    /// of [`Obs::sync_up`], and an error if the directory changes meanwhile.
    pub fn code(&self, directory: impl AsRef<Path>) -> StageCode {
        StageCode {
            staging: self.clone(),
            directory: directory.as_ref().to_owned(),
            boot_file: None,
            excluded: Vec::new(),
            dry_run: false,
            on_progress: Arc::new(|_| {}),
        }
    }
}

impl StageCode {
    /// Sets the script that a job starts, as a path in the directory, such as `train.py`. The path
    /// is checked before the upload.
    pub fn boot_file(mut self, path: impl Into<String>) -> Self {
        self.boot_file = Some(path.into());
        self
    }

    /// Leaves out a file or a directory, by its path in the code directory, with slashes. This
    /// setting is meant for data that is staged separately.
    pub fn exclude(mut self, path: impl Into<String>) -> Self {
        self.excluded.push(path.into());
        self
    }

    /// Reports the files that would be uploaded, and changes no objects. Default: `false`.
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
        let boot_file = self.boot_file.as_deref();
        let code = Code::read(&self.staging, &self.directory, boot_file, self.excluded).await?;
        for warning in code.report.clone().into_result("the code")? {
            tracing::warn!(%warning, "the code does not follow a recommendation");
        }
        code.send(&self.staging, self.dry_run, &*self.on_progress).await
    }
}

impl IntoFuture for StageCode {
    type Output = Result<StagedDir, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl fmt::Debug for StageCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageCode").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// Code directory with its files and its address.
pub(super) struct Code {
    directory: LocalDir,
    files: Vec<File>,
    stamps: BTreeMap<String, Stamp>,
    skipped: Vec<Skipped>,
    /// Paths in the directory that are excluded.
    excluded: Vec<String>,
    /// Address of the files.
    pub(super) path: ObsPath,
    manifest: ObsPath,
    /// Violations of limits of the service, and warnings.
    pub(super) report: Report,
}

impl Code {
    /// Reads a code directory, and computes its address. No request is sent.
    pub(super) async fn read(
        staging: &Staging,
        directory: &Path,
        boot_file: Option<&str>,
        excluded: Vec<String>,
    ) -> Result<Self, Error> {
        let (root, obs) = (staging.root()?, staging.connect()?);
        let directory = LocalDir::find(directory, "code").await?;
        let boot_file = boot_file.map(str::to_owned);
        blocking(move || {
            let (listing, skipped) = list(&directory.path, &excluded)?;
            if let Some(boot_file) = &boot_file {
                require_sent(&directory.path, boot_file, &skipped)?;
            }
            let sizes = listing.iter().map(|(path, file)| (path.as_str(), file.stamp.size));
            let report = CodeDir::from_files(sizes).check(boot_file.as_deref());
            // The files of a directory that exceeds a limit are not read, because they may be very
            // large.
            let files = match report.is_ok() {
                true => hash_files(&obs, &directory.path, &listing)?,
                false => Vec::new(),
            };
            let parent = root.join(&format!("code/{}", hash(&directory.name, &files)))?;
            let stamps = listing.into_iter().map(|(path, file)| (path, file.stamp));
            Ok(Self {
                path: parent.join(&directory.name)?,
                manifest: parent.join(MANIFEST)?,
                stamps: stamps.collect(),
                directory,
                files,
                skipped,
                excluded,
                report,
            })
        })
        .await
    }

    /// Uploads the files that OBS does not have, and then the manifest.
    pub(super) async fn send(
        self,
        staging: &Staging,
        dry_run: bool,
        on_progress: OnProgress<'_>,
    ) -> Result<StagedDir, Error> {
        let obs = staging.connect()?;
        let bucket = obs.bucket(self.path.bucket())?;
        if bucket.exists(self.manifest.key()).await? {
            let summary = self.unchanged();
            report_unchanged(&summary, on_progress);
            let path = self.path;
            return Ok(StagedDir::new(path, summary));
        }
        let mut sync = obs.sync_up(&self.directory.path, self.path.to_string());
        for path in &self.excluded {
            sync = sync.exclude(path);
        }
        let sync = sync
            .gitignore(true)
            // Deletes the files that an earlier call uploaded before the directory changed.
            .delete(true)
            .dry_run(dry_run);
        let summary = run(sync, on_progress).await?;
        if !dry_run {
            let name = self.directory.path.clone();
            let (stamps, excluded) = (self.stamps, self.excluded);
            blocking(move || require_unchanged(&name, &excluded, &stamps)).await?;
            let context = staging.client.provider_context();
            let (directory, now) = (self.directory, context.clock.now());
            let files = self.files;
            let manifest = blocking(move || Manifest::new(directory, files, now).to_json());
            bucket.put(self.manifest.key(), manifest.await?).await?;
        }
        let path = self.path;
        Ok(StagedDir::new(path, summary))
    }

    /// Returns the summary for code that OBS already has.
    fn unchanged(&self) -> Summary {
        let unchanged = Amount {
            files: self.files.len() as u64,
            bytes: self.files.iter().map(|file| file.size).sum(),
        };
        Summary { unchanged, skipped: self.skipped.clone(), ..Summary::default() }
    }
}

/// Lists the files of the code, and the files that are left out. Blocks.
fn list(
    root: &Path,
    excluded: &[String],
) -> Result<(BTreeMap<String, LocalFile>, Vec<Skipped>), Error> {
    let listing = without_keys(files::list(root, true, excluded)?)?;
    let (files, skipped) = (listing.files, listing.skipped);
    if files.is_empty() {
        let message = format!("the code directory {} must have files", root.display());
        let advice = match skipped.len() {
            0 => "check the path".to_owned(),
            count => format!("{count} of its entries are left out; check the ignore files"),
        };
        return Err(invalid(message).with_advice(Some(advice)));
    }
    Ok((files, skipped))
}

/// Leaves out the files whose contents are a private key. Blocks.
pub(super) fn without_keys(mut listing: Listing) -> Result<Listing, Error> {
    let mut keys = Vec::new();
    for (path, file) in &listing.files {
        let is_key = is_key_file(&file.path, file.stamp.size);
        if is_key.map_err(|failure| error::local("reading", &file.path, &failure))? {
            keys.push(path.clone());
        }
    }
    for path in keys {
        listing.files.remove(&path);
        let reason = SkipReason::PrivateKey;
        listing.skipped.push(Skipped { path, reason });
    }
    listing.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(listing)
}

/// Checks that the boot file is not among the files that are left out.
fn require_sent(root: &Path, boot_file: &str, skipped: &[Skipped]) -> Result<(), Error> {
    let contains = |skipped: &&Skipped| {
        let rest = boot_file.strip_prefix(&skipped.path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match skipped.iter().find(contains) {
        Some(skipped) if root.join(boot_file).is_file() => Err(invalid(format!(
            "the boot file {boot_file} must be sent, and {} is left out: {}",
            skipped.path, skipped.reason
        ))
        .with_advice(Some(
            "change the ignore file, or write a .modelartsignore, which replaces .gitignore"
                .to_owned(),
        ))),
        _ => Ok(()),
    }
}

/// Returns the files with their checksums from the cache, or computes the checksums. Blocks.
pub(super) fn hash_files(
    obs: &Obs,
    root: &Path,
    listing: &BTreeMap<String, LocalFile>,
) -> Result<Vec<File>, Error> {
    let checksums = Checksums::of_directory(obs.cache_dir(), root);
    let file = |(path, file): (&String, &LocalFile)| {
        let source = SourceItem::File { path: file.path.clone(), stamp: file.stamp };
        let sha256 = match checksums.find(path, &source) {
            Some(sha256) => sha256,
            None => {
                let sha256 = checksum(file)?;
                checksums.store(path, &source, &sha256);
                sha256
            }
        };
        let metadata = fs::metadata(&file.path)
            .map_err(|failure| error::local("reading", &file.path, &failure))?;
        Ok(File {
            path: path.clone(),
            size: file.stamp.size,
            sha256,
            executable: is_executable(&metadata),
        })
    };
    listing.iter().map(file).collect()
}

/// Reads a file and computes its checksum. Blocks.
fn checksum(file: &LocalFile) -> Result<String, Error> {
    let hash = || Ok((hash_file(&file.path, false)?, Stamp::read(&file.path)?));
    match hash() {
        Ok((checksums, now)) if now == file.stamp => Ok(checksums.sha256),
        Ok(_) => Err(changed(&file.path)),
        Err(failure) => Err(error::local("reading", &file.path, &failure)),
    }
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}

/// Returns the first 16 digits of a SHA-256 over paths, executable bits and contents. The paths
/// begin with the name of the directory, because the name is the last segment of the address.
fn hash(name: &str, files: &[File]) -> String {
    let mut hasher = Hasher::new(false);
    for file in files {
        let mode = if file.executable { 'x' } else { '-' };
        // The separator is NUL, which no path contains.
        let line = format!("{name}/{}\0{mode}{}\n", file.path, file.sha256);
        hasher.update(line.as_bytes());
    }
    let mut hash = hasher.finish().sha256;
    hash.truncate(HASH_DIGITS);
    hash
}

/// Checks that the directory still has the files from which its address was computed. Blocks.
fn require_unchanged(
    root: &Path,
    excluded: &[String],
    stamps: &BTreeMap<String, Stamp>,
) -> Result<(), Error> {
    let (files, _) = list(root, excluded)?;
    require_same(root, &files, stamps)
}

/// Checks that files still have their stamps, and that none was added or removed.
pub(super) fn require_same(
    root: &Path,
    files: &BTreeMap<String, LocalFile>,
    stamps: &BTreeMap<String, Stamp>,
) -> Result<(), Error> {
    let mut other = files
        .iter()
        .filter(|(path, file)| stamps.get(*path) != Some(&file.stamp))
        .map(|(path, _)| path)
        .chain(stamps.keys().filter(|path| !files.contains_key(*path)));
    match other.next() {
        None => Ok(()),
        Some(path) => Err(changed(&root.join(path))),
    }
}
