//! Staging of a data directory at an address that depends on the project, the user, the machine and
//! the path.

use std::{
    env, fmt, fs,
    future::IntoFuture,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use modelarts_ext::Error;

use crate::{
    address::ObsPath,
    staging::{
        HASH_DIGITS, LocalDir, OnProgress, StagedDir, Staging, key_step, readers, report_unchanged,
        run,
    },
    sync::{
        DirectorySync,
        digest::sha256,
        progress::{Progress, Summary},
    },
};

/// Staging of a data directory. Awaiting it returns a [`StagedDir`].
#[must_use = "nothing is sent unless it is awaited"]
pub struct StageData {
    staging: Staging,
    directory: PathBuf,
    dry_run: bool,
    on_progress: Arc<dyn Fn(&Progress) + Send + Sync>,
}

impl Staging {
    /// Mirrors a data directory at an address that depends on the project, the user, the machine
    /// and the path. Uploads new and changed files, and deletes the objects of deleted files.
    ///
    /// The host name identifies the machine, together with the id in `/etc/machine-id`, if this
    /// file exists. Machines with the same host name and id, such as containers of one image with a
    /// fixed host name, share the addresses of equal paths. Each then deletes the files of the
    /// others, unless each has its own [`prefix`](Staging::prefix).
    ///
    /// The patterns of `.modelartsignore` apply, and those of `.gitignore` do not. The module
    /// [`sync`](crate::sync) lists the files that are always left out.
    ///
    /// If the directory has changes, this method searches the service for jobs that have not ended
    /// and that have an input or a volume at, above or below this address. The search sets no
    /// workspace, which means workspace `0` according to the reference (`openapi/SOURCES.md`,
    /// D-109). For a job that is staged by [`CreateJobExt::stage`](crate::CreateJobExt::stage), the
    /// workspace of the job is searched, too. A job that is submitted during the upload is not
    /// found.
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
    /// Returns an error before the upload if the directory is missing, has no files, or has changes
    /// while such jobs exist. The upload returns the errors of [`sync_up`](crate::Obs::sync_up).
    pub fn data(&self, directory: impl AsRef<Path>) -> StageData {
        StageData {
            staging: self.clone(),
            directory: directory.as_ref().to_owned(),
            dry_run: false,
            on_progress: Arc::new(|_| {}),
        }
    }
}

impl StageData {
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
        let data = Data::find(&self.staging, &self.directory).await?;
        let changes = data.compare(&self.staging, None).await?;
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

/// Data directory with its address.
pub(super) struct Data {
    directory: LocalDir,
    pub(super) path: ObsPath,
}

/// Differences between a data directory and its objects.
pub(super) struct Changes(Summary);

impl Changes {
    fn is_empty(&self) -> bool {
        self.0.transferred.files == 0 && self.0.deleted == 0
    }
}

impl Data {
    /// Finds a data directory, and computes its address. No request is sent.
    pub(super) async fn find(staging: &Staging, directory: &Path) -> Result<Self, Error> {
        let root = staging.root()?;
        let directory = LocalDir::find(directory, "data").await?;
        let host = gethostname::gethostname();
        let place = format!(
            "{}\0{}\0{}\0{}",
            staging.client.project_id(),
            machine_id(),
            host.to_string_lossy(),
            directory.path.to_string_lossy()
        );
        let hash = &sha256(place.as_bytes())[..HASH_DIGITS];
        let path = root.join(&format!("data/{}/{hash}", user()))?;
        Ok(Self { path: path.join(&directory.name)?, directory })
    }

    /// Compares the directory with its objects, and changes nothing.
    ///
    /// # Errors
    /// Returns an error if changes exist and jobs that have not ended read the objects.
    pub(super) async fn compare(
        &self,
        staging: &Staging,
        workspace: Option<&str>,
    ) -> Result<Changes, Error> {
        let changes = Changes(self.sync(staging)?.dry_run(true).await?);
        if !changes.is_empty() {
            let directory = &self.directory.path;
            readers::require_none(&staging.client, workspace, &self.path, directory).await?;
        }
        Ok(changes)
    }

    /// Uploads new and changed files, and deletes the objects of deleted files.
    pub(super) async fn send(
        self,
        staging: &Staging,
        changes: Changes,
        dry_run: bool,
        on_progress: OnProgress<'_>,
    ) -> Result<StagedDir, Error> {
        let sync = self.sync(staging)?.dry_run(dry_run);
        let summary = match changes.is_empty() {
            true => {
                report_unchanged(&changes.0, on_progress);
                changes.0
            }
            false => run(sync, on_progress).await?,
        };
        let path = self.path;
        Ok(StagedDir { path, summary })
    }

    fn sync(&self, staging: &Staging) -> Result<DirectorySync, Error> {
        let obs = staging.connect()?;
        let sync = obs.sync_up(&self.directory.path, self.path.to_string());
        Ok(sync.delete(true))
    }
}

/// Returns the id of this machine, which distinguishes machines with the same host name. Returns an
/// empty string if `/etc/machine-id` cannot be read.
fn machine_id() -> String {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    id.trim().to_owned()
}

/// Returns the name of the local user as one segment of a key, or `unnamed` if it is unknown.
fn user() -> String {
    let names = ["USER", "LOGNAME", "USERNAME"];
    let name = names.iter().find_map(|name| env::var(name).ok());
    key_step(name.as_deref().unwrap_or_default())
}
