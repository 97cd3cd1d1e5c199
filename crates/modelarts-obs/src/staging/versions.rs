//! Versions of data directories: their manifests, and the removal of versions.
//!
//! The manifest of a version is written last and deleted first, so that it makes the version
//! visible. The time of the last use of a version is that at which its manifest was written.

use std::{
    cmp::Reverse,
    collections::BTreeSet,
    env, fs,
    path::Path,
    time::{Duration, SystemTime},
};

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_ext::{Error, Job};
use serde::{Deserialize, Serialize};

use crate::{
    address::ObsPath,
    bucket::{Bucket, ObjectInfo, is_missing_object},
    staging::{
        HASH_DIGITS, LocalDir, Staging,
        data_address::{DataAddress, is_version},
        key_step,
        manifest::{File, TOOL, VERSION, rfc3339, to_json},
        readers,
    },
    sync::{digest::sha256, progress::Amount, side::list_objects},
};

/// Time after its last use during which a version is not removed, because a job may be about to
/// name it.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Time after which a use of a version is recorded again.
const RENEWED: Duration = Duration::from_secs(12 * 60 * 60);
/// Number of concurrent requests.
const CONCURRENT: usize = 16;

/// Origin and files of a version of a data directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    version: u32,
    created: Option<String>,
    tool: String,
    user: String,
    host: String,
    /// Local path of the directory.
    directory: String,
    pub(super) name: String,
    /// Workspaces, except the default one, whose jobs may name the version.
    workspaces: BTreeSet<String>,
    pub(super) files: Vec<DataFile>,
}

/// File of a data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DataFile {
    /// Path relative to the directory, with slashes.
    pub(super) path: String,
    pub(super) size: u64,
    pub(super) sha256: String,
}

impl From<File> for DataFile {
    fn from(File { path, size, sha256, .. }: File) -> Self {
        Self { path, size, sha256 }
    }
}

impl Manifest {
    pub(super) fn new(
        directory: &LocalDir,
        files: Vec<DataFile>,
        workspace: Option<String>,
        now: SystemTime,
    ) -> Self {
        Self {
            version: VERSION,
            created: rfc3339(now),
            tool: TOOL.to_owned(),
            user: user(),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            directory: directory.path.to_string_lossy().into_owned(),
            name: directory.name.clone(),
            workspaces: workspace.into_iter().collect(),
            files,
        }
    }
}

/// Version of a data directory in OBS.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DataVersion {
    /// Id, such as `v-0123456789abcdef`.
    pub id: String,
    /// Address of the objects. That of an unfinished version lacks the name of the directory.
    pub path: ObsPath,
    /// Local directory; `None` for an unfinished version.
    pub directory: Option<String>,
    /// Name of the local user.
    pub user: String,
    /// Name of the machine; `None` for an unfinished version.
    pub host: Option<String>,
    /// Number and size of the files.
    pub amount: Amount,
    /// Time of the last use by a submission, up to 12 hours early; for an unfinished version, the
    /// time of its newest object.
    pub used: SystemTime,
    /// `false` if the version is unfinished, because its upload was interrupted or is running.
    pub is_complete: bool,
    /// `true` if the version belongs to this user on this machine.
    pub is_own: bool,
    /// Address of the objects, without the name of the directory.
    root: ObsPath,
    manifest: Option<Manifest>,
}

/// Version that was removed, or is kept for a reason.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DataRemoval {
    /// The version.
    pub version: DataVersion,
    /// Reason to keep the version; `None` if it was removed, or would be in a dry run.
    pub kept: Option<String>,
}

impl Staging {
    /// Lists the versions of data directories of all users below the prefix, the last used first.
    ///
    /// # Errors
    /// Returns the errors of [`root`](Self::root) and of requests.
    pub async fn data_versions(&self) -> Result<Vec<DataVersion>, Error> {
        let root = self.root()?.join("data")?;
        let bucket = self.connect()?.bucket(root.bucket())?;
        let mut versions = Vec::new();
        for user in bucket.list_directory(root.key()).await?.0 {
            let mut places = stream::iter(bucket.list_directory(&user).await?.0)
                .map(async |place| Place::list(self, bucket.path(&place)?).await?.all().await)
                .buffered(CONCURRENT);
            while let Some(found) = places.try_next().await? {
                versions.extend(found);
            }
        }
        versions.sort_by_key(|version| Reverse(version.used));
        Ok(versions)
    }

    /// Returns the jobs that name each version, in the default workspace and in those workspaces
    /// for whose jobs the versions were staged.
    ///
    /// # Errors
    /// Returns an error if a list of jobs cannot be read whole.
    pub async fn data_readers(&self, versions: &[DataVersion]) -> Result<Vec<Vec<Job>>, Error> {
        readers_of(self, versions.iter(), true).await
    }

    /// Removes versions of data directories. A version is kept if a job that has not ended names
    /// it, if it was used less than 24 hours ago, and if it belongs to another user or machine. A
    /// dry run only returns these reasons.
    ///
    /// The manifests are deleted first. Then the jobs are read once more, and a version that a job
    /// names by then gets its manifest back.
    ///
    /// # Errors
    /// Returns an error if a list of jobs cannot be read whole, in which case all versions are
    /// kept, and if a request fails.
    pub async fn remove_data(
        &self,
        versions: Vec<DataVersion>,
        dry_run: bool,
    ) -> Result<Vec<DataRemoval>, Error> {
        remove(self, versions, false, dry_run).await
    }

    /// Returns `true` if the version at an address exists, and unless this is a `dry_run`, records its
    /// use by a job in a workspace, so that it is not removed during the next hours. Returns `true`
    /// for data that is not versioned.
    ///
    /// # Errors
    /// Returns an error if the manifest cannot be read.
    pub async fn use_data(
        &self,
        address: &DataAddress,
        workspace: Option<&str>,
        dry_run: bool,
    ) -> Result<bool, Error> {
        let Some(id) = address.version() else {
            return Ok(true);
        };
        let place = Place::new(self, address.place.clone())?;
        let Some(version) = place.read(id).await? else {
            return Ok(false);
        };
        if !dry_run && let Err(error) = place.record_use(version, workspace).await {
            // The version may belong to another user.
            tracing::debug!(%error, id, "the use of the version was not recorded");
        }
        Ok(true)
    }
}

/// Address of all versions of a data directory, with the ids of the versions.
pub(super) struct Place {
    staging: Staging,
    pub(super) bucket: Bucket,
    pub(super) path: ObsPath,
    /// Ids and times of the manifests, newest first.
    pub(super) complete: Vec<(String, SystemTime)>,
    /// Ids of versions without a manifest.
    pub(super) unfinished: Vec<String>,
}

impl Place {
    fn new(staging: &Staging, path: ObsPath) -> Result<Self, Error> {
        let bucket = staging.connect()?.bucket(path.bucket())?;
        let (staging, complete, unfinished) = (staging.clone(), Vec::new(), Vec::new());
        Ok(Self { staging, bucket, path, complete, unfinished })
    }

    pub(super) async fn list(staging: &Staging, path: ObsPath) -> Result<Self, Error> {
        let mut place = Self::new(staging, path)?;
        let (directories, objects) = place.bucket.list_directory(place.path.key()).await?;
        for object in &objects {
            let name = object.key().rsplit('/').next().unwrap_or_default();
            if let Some(id) = name.strip_suffix(".json").filter(|id| is_version(id)) {
                place.complete.push((id.to_owned(), object.modified()));
            }
        }
        place.complete.sort_by_key(|(_, modified)| Reverse(*modified));
        let ids = directories.iter().filter_map(|key| key.trim_end_matches('/').rsplit('/').next());
        let is_complete = |id: &&str| place.complete.iter().any(|(complete, _)| complete == id);
        let ids = ids.filter(|id| is_version(id)).filter(|id| !is_complete(id));
        place.unfinished = ids.map(str::to_owned).collect();
        Ok(place)
    }

    fn manifest(&self, id: &str) -> Result<ObsPath, Error> {
        self.path.join(&format!("{id}.json"))
    }

    /// Reads a version. Returns `None` if it does not exist, or is of a later format.
    pub(super) async fn read(&self, id: &str) -> Result<Option<DataVersion>, Error> {
        let key = self.manifest(id)?;
        let (info, parts) = match self.bucket.get_stream(key.key()).await {
            Err(error) if is_missing_object(&error) => return Ok(None),
            read => read?,
        };
        let parts: Vec<_> = parts.try_collect().await?;
        let manifest = serde_json::from_slice::<Manifest>(&parts.concat()).ok();
        let Some(manifest) = manifest.filter(|manifest| manifest.version == VERSION) else {
            tracing::warn!(%key, "the manifest is not one of this version of the crate");
            return Ok(None);
        };
        let hash = place_hash(&self.staging, &self.bucket, Path::new(&manifest.directory));
        let version = self.version(id, manifest.files.iter().map(|file| file.size))?;
        Ok(Some(DataVersion {
            path: version.root.join(&manifest.name)?,
            directory: Some(manifest.directory.clone()),
            host: Some(manifest.host.clone()),
            used: info.modified(),
            is_complete: true,
            is_own: version.is_own && self.path.name() == Some(&hash),
            manifest: Some(manifest),
            ..version
        }))
    }

    /// Returns a version without a manifest, whose files have these sizes.
    fn version(&self, id: &str, sizes: impl Iterator<Item = u64>) -> Result<DataVersion, Error> {
        let root = self.path.join(id)?;
        let user_step = self.path.key().rsplit('/').nth(1).unwrap_or_default();
        let mut amount = Amount::default();
        sizes.for_each(|size| amount.add(size));
        Ok(DataVersion {
            id: id.to_owned(),
            path: root.clone(),
            directory: None,
            user: user_step.to_owned(),
            host: None,
            amount,
            used: self.now(),
            is_complete: false,
            is_own: user_step == user(),
            root,
            manifest: None,
        })
    }

    /// Reads a version without a manifest.
    async fn read_unfinished(&self, id: &str) -> Result<DataVersion, Error> {
        let root = self.path.join(id)?;
        let objects: Vec<_> = self.bucket.list(root.key()).try_collect().await?;
        let version = self.version(id, objects.iter().map(ObjectInfo::size))?;
        let used = objects.iter().map(ObjectInfo::modified).max().unwrap_or(version.used);
        Ok(DataVersion { used, ..version })
    }

    /// Reads all versions.
    async fn all(&self) -> Result<Vec<DataVersion>, Error> {
        let ids = self.complete.iter().map(|(id, _)| id);
        let read = stream::iter(ids).map(|id| self.read(id)).buffered(CONCURRENT);
        let mut versions: Vec<_> = read.try_filter_map(async |read| Ok(read)).try_collect().await?;
        // All versions of a place belong to one machine.
        let is_other = versions.iter().any(|version| !version.is_own);
        for id in &self.unfinished {
            let version = self.read_unfinished(id).await?;
            versions.push(DataVersion { is_own: version.is_own && !is_other, ..version });
        }
        Ok(versions)
    }

    /// Returns the files of a version whose objects exist. A rule of the bucket may have deleted
    /// others.
    pub(super) async fn existing<'a>(
        &self,
        version: &'a DataVersion,
    ) -> Result<Vec<&'a DataFile>, Error> {
        let objects = list_objects(&self.bucket, &version.path).await?;
        let exists =
            |file: &&DataFile| objects.get(&file.path).is_some_and(|it| it.size == file.size);
        Ok(version.files().iter().filter(exists).collect())
    }

    pub(super) async fn write(&self, id: &str, manifest: &Manifest) -> Result<(), Error> {
        self.bucket.put(self.manifest(id)?.key(), to_json(manifest)?).await
    }

    /// Writes the manifest again if its time is too old, or its workspaces lack that of a job.
    pub(super) async fn record_use(
        &self,
        version: DataVersion,
        workspace: Option<&str>,
    ) -> Result<(), Error> {
        let is_recent = is_younger(version.used, RENEWED, self.now());
        let Some(mut manifest) = version.manifest else {
            return Ok(());
        };
        let is_new = workspace.is_some_and(|id| manifest.workspaces.insert(id.to_owned()));
        match is_recent && !is_new {
            true => Ok(()),
            false => self.write(&version.id, &manifest).await,
        }
    }

    /// Removes the versions that were not used for 24 hours and that no job names.
    pub(super) async fn remove_unused(&self) -> Result<(), Error> {
        let (mut old, now) = (Vec::new(), self.now());
        for (id, _) in self.complete.iter().filter(|(_, used)| !is_younger(*used, KEPT, now)) {
            old.extend(self.read(id).await?);
        }
        for id in &self.unfinished {
            old.push(self.read_unfinished(id).await?);
        }
        old.retain(|version| !is_younger(version.used, KEPT, now));
        remove(&self.staging, old, true, false).await.map(drop)
    }

    fn now(&self) -> SystemTime {
        self.staging.client.provider_context().clock.now()
    }
}

impl DataVersion {
    pub(super) fn files(&self) -> &[DataFile] {
        self.manifest.as_ref().map_or(&[], |manifest| &manifest.files)
    }

    fn place(&self, staging: &Staging) -> Result<Place, Error> {
        let place = self.root.key().rsplit_once('/').map_or("", |(place, _)| place);
        Place::new(staging, ObsPath::new(self.root.bucket(), place)?)
    }

    /// Returns the reason to keep the version without regard to jobs.
    fn reason_to_keep(&self, now: SystemTime) -> Option<String> {
        let host = self.host.as_deref().unwrap_or("another machine");
        match (self.is_own, is_younger(self.used, KEPT, now)) {
            (false, _) => Some(format!("it belongs to {} on {host}", self.user)),
            (_, true) => Some("it was used less than 24 hours ago".to_owned()),
            _ => None,
        }
    }
}

async fn readers_of(
    staging: &Staging,
    versions: impl Iterator<Item = &DataVersion> + Clone,
    with_ended: bool,
) -> Result<Vec<Vec<Job>>, Error> {
    let manifests = versions.clone().filter_map(|version| version.manifest.as_ref());
    let workspaces = manifests.flat_map(|manifest| manifest.workspaces.iter().map(String::as_str));
    let workspaces: BTreeSet<_> = workspaces.collect();
    let paths: Vec<_> = versions.map(|version| &version.root).collect();
    match paths.is_empty() {
        true => Ok(Vec::new()),
        false => readers::of(&staging.client, workspaces, &paths, with_ended).await,
    }
}

/// Keeps the versions that jobs name. Without `with_ended`, only those of jobs that have not ended.
async fn keep_read(
    staging: &Staging,
    rows: &mut [DataRemoval],
    with_ended: bool,
) -> Result<(), Error> {
    let mut removable: Vec<_> = rows.iter_mut().filter(|row| row.kept.is_none()).collect();
    let versions = removable.iter().map(|row| &row.version);
    let found = readers_of(staging, versions, with_ended).await?;
    for (row, jobs) in removable.iter_mut().zip(found) {
        row.kept = jobs.first().map(|job| format!("the job {job} names it"));
    }
    Ok(())
}

/// Removes versions, except those that must be kept. With `with_ended`, a job that has ended keeps
/// the versions that it names.
async fn remove(
    staging: &Staging,
    versions: Vec<DataVersion>,
    with_ended: bool,
    dry_run: bool,
) -> Result<Vec<DataRemoval>, Error> {
    let now = staging.client.provider_context().clock.now();
    let row = |version: DataVersion| DataRemoval { kept: version.reason_to_keep(now), version };
    let mut rows: Vec<_> = versions.into_iter().map(row).collect();
    keep_read(staging, &mut rows, with_ended).await?;
    if dry_run {
        return Ok(rows);
    }
    let mut hidden = Vec::new();
    let result = async {
        for row in rows.iter_mut().filter(|row| row.kept.is_none() && row.version.is_complete) {
            let place = row.version.place(staging)?;
            // A submission may have used the version since it was read.
            let Some(latest) = place.read(&row.version.id).await? else {
                continue;
            };
            row.kept = latest.reason_to_keep(now);
            if row.kept.is_none() {
                place.bucket.delete(place.manifest(&latest.id)?.key()).await?;
                hidden.push(latest);
            }
        }
        keep_read(staging, &mut rows, with_ended).await
    };
    let result = result.await;
    let mut restored = Ok(());
    for version in &hidden {
        let is_kept = |row: &&DataRemoval| row.kept.is_some() && row.version.root == version.root;
        if (result.is_err() || rows.iter().any(|row| is_kept(&row)))
            && let Some(manifest) = &version.manifest
        {
            let written = async { version.place(staging)?.write(&version.id, manifest).await };
            // The others get their manifests back, too.
            restored = restored.and(written.await);
        }
    }
    result?;
    restored?;
    for row in rows.iter_mut().filter(|row| row.kept.is_none()) {
        let place = row.version.place(staging)?;
        if place.bucket.exists(place.manifest(&row.version.id)?.key()).await? {
            row.kept = Some("a submission has used it meanwhile".to_owned());
            continue;
        }
        let objects = place.bucket.list(row.version.root.key());
        let delete = async |object: ObjectInfo| place.bucket.delete(object.key()).await;
        objects.try_for_each_concurrent(CONCURRENT, delete).await?;
    }
    Ok(rows)
}

fn is_younger(time: SystemTime, age: Duration, now: SystemTime) -> bool {
    now.duration_since(time).is_ok_and(|passed| passed < age) || time > now
}

/// Returns the segment of an address that depends on the project, this machine and a path. In a
/// local directory, it does not depend on the project, which is a new one in each run.
pub(super) fn place_hash(staging: &Staging, bucket: &Bucket, directory: &Path) -> String {
    let host = gethostname::gethostname();
    let project = match bucket.store().has_metadata() {
        true => staging.client.project_id(),
        false => "",
    };
    let place = format!(
        "{project}\0{}\0{}\0{}",
        machine_id(),
        host.to_string_lossy(),
        directory.to_string_lossy()
    );
    sha256(place.as_bytes())[..HASH_DIGITS].to_owned()
}

/// Returns the id of this machine, which distinguishes machines with the same host name. Returns an
/// empty string if `/etc/machine-id` cannot be read.
fn machine_id() -> String {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    id.trim().to_owned()
}

/// Returns the name of the local user as one segment of a key, or `unnamed` if it is unknown.
pub(super) fn user() -> String {
    let names = ["USER", "LOGNAME", "USERNAME"];
    let name = names.iter().find_map(|name| env::var(name).ok());
    key_step(name.as_deref().unwrap_or_default())
}
