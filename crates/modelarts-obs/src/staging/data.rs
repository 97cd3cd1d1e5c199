//! Staging of a data directory at an address by its user, machine and path.

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
    staging::{HASH_DIGITS, LocalDir, OnProgress, StagedDir, Staging, key_step, readers, run},
    sync::{
        DirectorySync,
        digest::sha256,
        progress::{Progress, Summary},
    },
};

/// Staging of a data directory. Await it for its [`StagedDir`].
#[must_use = "nothing is sent unless it is awaited"]
pub struct StageData {
    staging: Staging,
    directory: PathBuf,
    dry_run: bool,
    on_progress: Arc<dyn Fn(&Progress) + Send + Sync>,
}

impl Staging {
    /// Mirrors a data directory at an address that depends on user, machine and path: sends what
    /// changed, and deletes what is gone.
    ///
    /// The machine is its host name, and its id in `/etc/machine-id` if it has one. The id of the
    /// project of the client counts as well. Machines that are equal in all of these, such as
    /// containers of one image with a fixed host name, share an address, and each deletes the files
    /// of the others. Give each a [`prefix`](Staging::prefix) of its own.
    ///
    /// The patterns of `.modelartsignore` apply, those of `.gitignore` do not.
    /// [`sync`](crate::sync) has the list of what is always left out.
    ///
    /// If something changed, the service is searched for jobs that have not ended and whose inputs
    /// or volumes are this directory, one above or one below. The search covers the workspace `0`,
    /// and the workspace of a job that is staged by
    /// [`CreateJobExt::stage`](crate::CreateJobExt::stage). A job that another user submits during
    /// the upload is not found.
    ///
    /// # Errors
    /// Before anything is sent: a directory that does not exist or has no files, and jobs that read
    /// the data. Errors of [`Obs::sync_up`](crate::Obs::sync_up).
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
    /// Reports what would be sent and deleted, and changes nothing. Default: `false`.
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
        data.send(&self.staging, changes, self.dry_run, &*self.on_progress)
            .await
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
        f.debug_struct("StageData")
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// A data directory that has an address.
pub(super) struct Data {
    directory: LocalDir,
    pub(super) path: ObsPath,
}

/// Differences of a data directory from its objects.
pub(super) struct Changes(Summary);

impl Changes {
    fn is_empty(&self) -> bool {
        self.0.transferred.files == 0 && self.0.deleted == 0
    }
}

impl Data {
    /// Finds a data directory. Nothing is sent.
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
        Ok(Self {
            path: path.join(&directory.name)?,
            directory,
        })
    }

    /// Compares the directory with its objects. Nothing is sent.
    ///
    /// # Errors
    /// Returns an error if there are changes, and jobs that have not ended read the objects.
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

    /// Sends and deletes what changed.
    pub(super) async fn send(
        self,
        staging: &Staging,
        changes: Changes,
        dry_run: bool,
        on_progress: OnProgress<'_>,
    ) -> Result<StagedDir, Error> {
        let sync = self.sync(staging)?.dry_run(dry_run);
        let summary = match changes.is_empty() {
            true => changes.0,
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

/// Returns the id of this machine, which distinguishes machines of one name; empty outside of Linux.
fn machine_id() -> String {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    id.trim().to_owned()
}

/// Returns the name of the user of this machine, as one step of a key.
fn user() -> String {
    let names = ["USER", "LOGNAME", "USERNAME"];
    let name = names.iter().find_map(|name| env::var(name).ok());
    key_step(name.as_deref().unwrap_or_default())
}
