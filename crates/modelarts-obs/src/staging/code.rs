//! Staging of a code directory at an address that depends on its contents.

use std::{
    collections::BTreeMap,
    fmt, fs,
    future::IntoFuture,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use modelarts_ext::{CreateJob, Error, jobs::create::CodeDir, validation::Report};

use crate::{
    address::{ObsPath, invalid},
    error,
    obs::Obs,
    staging::{
        HASH_DIGITS, LocalDir, OnProgress, StagedDir, Staging,
        manifest::{File, Manifest},
        report_unchanged, run, url,
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
    /// those of `.gitignore`. The module [`sync`](crate::sync) lists what is always left out;
    /// `nohup.out` and `*.log` at the top of the directory are left out, too, unless a line `!NAME`
    /// of `.modelartsignore` applies to them.
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
    /// of [`Obs::sync_up`], and an error if a file is rewritten twice meanwhile. A file that becomes
    /// longer is sent with the size that it had at first.
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
        match code.send(&self.staging, self.dry_run, &*self.on_progress).await? {
            Sent::Whole(sent) => Ok(sent),
            Sent::Rewritten(_) => {
                let code = code.read_again(&self.staging).await?;
                code.send(&self.staging, self.dry_run, &*self.on_progress).await?.whole()
            }
        }
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
    listing: Arc<Listing>,
    /// Paths in the directory that are excluded.
    excluded: Vec<String>,
    /// Script that a job starts, as a path in the directory.
    boot_file: Option<String>,
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
            let mut listing = list(&directory.path, &excluded)?;
            if let Some(boot_file) = &boot_file {
                require_sent(&directory.path, boot_file, &listing.skipped)?;
            }
            let files = listing.files.iter();
            let sizes = files.map(|(path, file)| (path.as_str(), file.stamp.size));
            let report = CodeDir::from_files(sizes).check(boot_file.as_deref());
            // The files of a directory that exceeds a limit are not read, because they may be very
            // large.
            let files = match report.is_ok() {
                true => hash_files(&obs, &directory.path, &mut listing.files)?,
                false => Vec::new(),
            };
            let parent = root.join(&format!("code/{}", hash(&directory.name, &files)))?;
            Ok(Self {
                path: parent.join(&directory.name)?,
                manifest: parent.join(MANIFEST)?,
                directory,
                files,
                listing: Arc::new(listing),
                excluded,
                boot_file,
                report,
            })
        })
        .await
    }

    /// Reads the directory again, because a file was rewritten.
    pub(super) async fn read_again(&self, staging: &Staging) -> Result<Self, Error> {
        let excluded = self.excluded.clone();
        Self::read(staging, &self.directory.path, self.boot_file.as_deref(), excluded).await
    }

    /// Sets the address of the code of a job, and its script in the directory.
    pub(super) fn set_address(&self, job: CreateJob) -> CreateJob {
        let job = job.code_dir(url(&self.path));
        match &self.boot_file {
            Some(boot_file) => job.boot_file(format!("{}/{boot_file}", self.path)),
            None => job,
        }
    }

    /// Uploads the files that OBS does not have, and then the manifest. Returns
    /// [`Sent::Rewritten`] if a file was rewritten since the directory was read.
    pub(super) async fn send(
        &self,
        staging: &Staging,
        dry_run: bool,
        on_progress: OnProgress<'_>,
    ) -> Result<Sent, Error> {
        let obs = staging.connect()?;
        let bucket = obs.bucket(self.path.bucket())?;
        let path = self.path.clone();
        if bucket.exists(self.manifest.key()).await? {
            let summary = self.unchanged();
            report_unchanged(&summary, on_progress);
            return Ok(Sent::Whole(StagedDir::new(path, summary)));
        }
        let sync = obs
            .sync_up(&self.directory.path, self.path.to_string())
            .listing(Arc::clone(&self.listing))
            // Deletes the files that an earlier call uploaded before the directory changed.
            .delete(true)
            .dry_run(dry_run);
        let sent = run(sync, on_progress).await;
        if dry_run {
            return Ok(Sent::Whole(StagedDir::new(path, sent?)));
        }
        let (files, listing) = (self.files.clone(), Arc::clone(&self.listing));
        let rewritten = blocking(move || Ok(rewritten(&files, &listing))).await?;
        if let Some(file) = rewritten {
            return Ok(Sent::Rewritten(changed(&file)));
        }
        let summary = sent?;
        let context = staging.client.provider_context();
        let (directory, now) = (self.directory.clone(), context.clock.now());
        let files = self.files.clone();
        let manifest = blocking(move || Manifest::new(directory, files, now).to_json());
        bucket.put(self.manifest.key(), manifest.await?).await?;
        Ok(Sent::Whole(StagedDir::new(path, summary)))
    }

    /// Returns the summary for code that OBS already has.
    fn unchanged(&self) -> Summary {
        let unchanged = Amount {
            files: self.files.len() as u64,
            bytes: self.files.iter().map(|file| file.size).sum(),
        };
        Summary { unchanged, skipped: self.listing.skipped.clone(), ..Summary::default() }
    }
}

/// Result of sending a code directory.
pub(super) enum Sent {
    Whole(StagedDir),
    /// A file was rewritten since the directory was read, so nothing may use what was sent.
    Rewritten(Error),
}

impl Sent {
    /// Returns the directory, or an error that names the rewritten file.
    pub(super) fn whole(self) -> Result<StagedDir, Error> {
        match self {
            Self::Whole(sent) => Ok(sent),
            Self::Rewritten(error) => Err(error),
        }
    }
}

/// Returns the files and directories of a code directory that are not sent, with the reasons.
///
/// # Errors
/// Returns an error if the directory cannot be read, or has no files to send.
pub fn left_out(directory: impl AsRef<Path>) -> Result<Vec<Skipped>, Error> {
    let directory = directory.as_ref();
    let real = fs::canonicalize(directory)
        .map_err(|failure| error::local("reading the code directory", directory, &failure))?;
    Ok(list(&real, &[])?.skipped)
}

/// Lists the files of the code, and the files that are left out. Blocks.
fn list(root: &Path, excluded: &[String]) -> Result<Listing, Error> {
    let Listing { files, skipped } = without_keys(files::list_code(root, excluded)?)?;
    if files.is_empty() {
        let message = format!("the code directory {} must have files", root.display());
        let advice = match skipped.len() {
            0 => "check the path".to_owned(),
            count => format!("{count} of its entries are left out; check the ignore files"),
        };
        return Err(invalid(message).with_advice(Some(advice)));
    }
    Ok(Listing { files, skipped })
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

/// Returns the files with their checksums from the cache, or computes the checksums. A file that is
/// rewritten meanwhile is read again once. Blocks.
pub(super) fn hash_files(
    obs: &Obs,
    root: &Path,
    listing: &mut BTreeMap<String, LocalFile>,
) -> Result<Vec<File>, Error> {
    let checksums = Checksums::of_directory(obs.cache_dir(), root);
    let file = |(path, file): (&String, &mut LocalFile)| {
        let source = SourceItem::File { path: file.path.clone(), stamp: file.stamp };
        let sha256 = match checksums.find(path, &source) {
            Some(sha256) => sha256,
            None => {
                let failed = |failure| error::local("reading", &file.path, &failure);
                let read = match checksum(file).map_err(failed)? {
                    Some(sha256) => Some(sha256),
                    None => {
                        file.stamp = Stamp::read(&file.path).map_err(failed)?;
                        checksum(file).map_err(failed)?
                    }
                };
                let sha256 = read.ok_or_else(|| changed(&file.path))?;
                let source = SourceItem::File { path: file.path.clone(), stamp: file.stamp };
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
    listing.iter_mut().map(file).collect()
}

/// Reads a file up to its listed size and computes its checksum. Returns `None` if the file was
/// rewritten. Blocks.
fn checksum(file: &LocalFile) -> io::Result<Option<String>> {
    let checksums = hash_file(&file.path, file.stamp.size, false)?;
    let now = Stamp::read(&file.path)?;
    let is_usable = now == file.stamp || now.has_grown(&file.stamp);
    Ok(is_usable.then_some(checksums.sha256))
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

/// Returns the path of a file that was rewritten or deleted after it was read, if there is one. A
/// file that has become longer still begins with what was sent. Blocks.
pub(super) fn rewritten(files: &[File], listing: &Listing) -> Option<PathBuf> {
    let is_same = |known: &&File| {
        let Some(file) = listing.files.get(&known.path) else {
            return true;
        };
        match Stamp::read(&file.path) {
            Ok(now) if now == file.stamp => true,
            Ok(now) if now.has_grown(&file.stamp) => {
                checksum(file).is_ok_and(|sha256| sha256.as_ref() == Some(&known.sha256))
            }
            _ => false,
        }
    };
    let other = files.iter().find(|file| !is_same(file))?;
    listing.files.get(&other.path).map(|file| file.path.clone())
}

#[cfg(test)]
mod tests {
    use modelarts_ext::{Client, Credentials};

    use super::*;

    /// Reads the code of a directory with a file, changes the file, and sends the code. Returns the
    /// result, and the contents that were sent.
    async fn sent_after(change: impl FnOnce(&Path)) -> (Sent, String) {
        let root = tempfile::tempdir().unwrap();
        let (directory, bucket) = (root.path().join("src"), root.path().join("obs/bucket"));
        fs::create_dir_all(&directory).unwrap();
        fs::create_dir_all(&bucket).unwrap();
        let file = directory.join("train.txt");
        fs::write(&file, "first").unwrap();
        let client = Client::builder().endpoint("http://127.0.0.1:1").project_id("p");
        let client = client.credentials(Credentials::token("t")).build().unwrap();
        let obs = Obs::directory(root.path().join("obs")).with_cache_dir(root.path().join("cache"));
        let staging = Staging::new(&client).bucket("bucket").prefix("p").obs(obs);
        let code = Code::read(&staging, &directory, None, Vec::new()).await.unwrap();
        change(&file);
        let sent = code.send(&staging, false, &|_| {}).await.unwrap();
        let object = root.path().join("obs").join(code.path.bucket()).join(code.path.key());
        (sent, fs::read_to_string(object.join("train.txt")).unwrap_or_default())
    }

    #[tokio::test]
    async fn a_file_that_became_longer_is_sent_with_its_listed_size_and_named() {
        let (sent, contents) = sent_after(|file| fs::write(file, "first second").unwrap()).await;
        assert_eq!(sent.whole().unwrap().summary.grown, ["train.txt"]);
        assert_eq!(contents, "first");
    }

    #[tokio::test]
    async fn a_file_that_was_rewritten_is_found() {
        for contents in ["FIRST", "1", "FIRST second"] {
            let (sent, _) = sent_after(|file| fs::write(file, contents).unwrap()).await;
            let error = sent.whole().unwrap_err().to_string();
            assert!(error.contains("train.txt must not change while it is sent"), "{error}");
        }
    }
}
