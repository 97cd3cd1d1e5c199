//! Steps of a synchronization: listing, comparing, transferring and deleting.

use std::{
    collections::{BTreeMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use modelarts_ext::{Error, ErrorKind};
use tokio::sync::OnceCell;

use crate::{
    address::{ObsPath, invalid},
    bucket::{Bucket, is_missing_object},
    error,
    obs::Obs,
    sync::{
        cache::FileRecord,
        digest::{Stamp, is_key_file},
        download::{Downloads, Received},
        files::{self, Listing},
        limits::{Limits, blocking, run_all},
        plan::{Action, find_conflict, plan, remove_markers},
        progress::{Amount, Reporter, SkipReason},
        side::{Checksums, Side, find_object, list_objects},
        source::{Object, Source},
        target,
        upload::{Sent, Uploads},
    },
};

/// Settings of a synchronization.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) delete: bool,
    pub(crate) dry_run: bool,
    pub(crate) gitignore: bool,
    pub(crate) transfers: usize,
}

/// State of a synchronization after both sides were listed.
struct Run {
    source: Side,
    target: Side,
    transfers: Transfers,
    limits: Arc<Limits>,
    reporter: Arc<Reporter>,
    options: Options,
    /// `true` if the source is a single file or object, and not a directory.
    is_single: bool,
}

/// Transfers to the target.
enum Transfers {
    Up(Arc<Uploads>),
    Down(Downloads),
}

/// Uploads a directory, without the excluded paths, or a single file to an address.
pub(crate) async fn up(
    obs: &Obs,
    (path, excluded): (PathBuf, Vec<String>),
    address: ObsPath,
    options: Options,
    reporter: &Arc<Reporter>,
) -> Result<(), Error> {
    let bucket = obs.bucket(address.bucket())?;
    let (root, is_dir) = blocking(move || local_source(&path)).await?;
    let list = {
        let (root, cache) = (root.clone(), obs.cache_dir().map(Path::to_owned));
        blocking(move || match is_dir {
            true => {
                let listing = files::list(&root, options.gitignore, &excluded)?;
                Ok((listing, Checksums::of_directory(cache.as_deref(), &root)))
            }
            false => {
                let directory = root.parent().unwrap_or(&root);
                let checksums = Checksums::of_directory(cache.as_deref(), directory);
                Ok((files::single(&root)?, checksums))
            }
        })
    };
    let (listing, checksums) = list.await?;
    for skipped in &listing.skipped {
        reporter.skipped(&skipped.path, skipped.reason.clone(), None);
    }
    if listing.files.is_empty() {
        let message = format!("the directory {} must have files", root.display());
        let advice = match listing.skipped.len() {
            0 => "check the path".to_owned(),
            count => format!("{count} of its entries are left out; check the ignore files"),
        };
        return Err(invalid(message).with_advice(Some(advice)));
    }
    for name in listing.files.keys() {
        address.join(name)?;
    }
    let existing = match listing.files.keys().next() {
        Some(name) if !is_dir => {
            let object = find_object(&bucket, &address.join(name)?).await?;
            let named = object.map(|object| (name.clone(), object));
            named.into_iter().collect()
        }
        _ => list_objects(&bucket, &address).await?,
    };
    let target = remote_side(obs, &address, existing, reporter, false).await?;
    let file = |(name, file): (&String, &files::LocalFile)| {
        let (path, stamp) = (file.path.clone(), file.stamp);
        (name.clone(), Source::File { path, stamp })
    };
    let source = Side {
        items: listing.files.iter().map(file).collect(),
        checksums,
    };
    let limits = Arc::new(Limits::new(options.transfers));
    let transfers = Transfers::Up(uploads(obs, bucket, address, &limits, reporter));
    let run = Run {
        source,
        target,
        transfers,
        limits,
        reporter: Arc::clone(reporter),
        options: Options {
            delete: options.delete && is_dir,
            ..options
        },
        is_single: !is_dir,
    };
    // Files that are left out exist at the source, so their objects are kept.
    run.run(move |name| !listing.leaves_out(name)).await
}

/// Downloads the objects below an address to a directory.
pub(crate) async fn down(
    obs: &Obs,
    address: ObsPath,
    directory: PathBuf,
    options: Options,
    reporter: &Arc<Reporter>,
) -> Result<(), Error> {
    let bucket = obs.bucket(address.bucket())?;
    let (objects, is_directory) = source_objects(&bucket, &address).await?;
    let source = remote_side(obs, &address, objects, reporter, true).await?;
    if let Some(name) = find_conflict(&source.items) {
        let message = format!(
            "the object {address}/{name} cannot be a file, because there are objects below {name}/"
        );
        return Err(invalid(message).with_advice(Some(
            "rename the object, or read it with Bucket::get".to_owned(),
        )));
    }
    let delete = options.delete && is_directory;
    let cache = obs.cache_dir().map(Path::to_owned);
    let list = {
        let (names, cache) = (source.items.keys().cloned().collect(), cache.clone());
        blocking(move || local_target(&directory, names, delete, options.dry_run, cache.as_deref()))
    };
    let (root, target, kept) = list.await?;
    let limits = Arc::new(Limits::new(options.transfers));
    let run = Run {
        source,
        target,
        transfers: Transfers::Down(Downloads {
            root,
            address: obs.address(),
            cache,
            limits: Arc::clone(&limits),
            reporter: Arc::clone(reporter),
        }),
        limits,
        reporter: Arc::clone(reporter),
        options: Options { delete, ..options },
        is_single: !is_directory,
    };
    run.run(move |name| !kept.leaves_out(name)).await
}

/// Copies the objects below an address to another address.
pub(crate) async fn copy(
    obs: &Obs,
    from: ObsPath,
    to: ObsPath,
    options: Options,
    reporter: &Arc<Reporter>,
) -> Result<(), Error> {
    if from.contains(&to) || to.contains(&from) {
        let message = format!("{from} and {to} must not contain each other");
        return Err(invalid(message).with_advice(Some("choose another address".to_owned())));
    }
    let (bucket, target_bucket) = (obs.bucket(from.bucket())?, obs.bucket(to.bucket())?);
    let (objects, is_directory) = source_objects(&bucket, &from).await?;
    for name in objects.keys() {
        to.join(name)?;
    }
    let existing = match objects.keys().next() {
        Some(name) if !is_directory => {
            let object = find_object(&target_bucket, &to.join(name)?).await?;
            let named = object.map(|object| (name.clone(), object));
            named.into_iter().collect()
        }
        _ => list_objects(&target_bucket, &to).await?,
    };
    let source = remote_side(obs, &from, objects, reporter, true).await?;
    let target = remote_side(obs, &to, existing, reporter, false).await?;
    let limits = Arc::new(Limits::new(options.transfers));
    let run = Run {
        source,
        target,
        transfers: Transfers::Up(uploads(obs, target_bucket, to, &limits, reporter)),
        limits,
        reporter: Arc::clone(reporter),
        options: Options {
            delete: options.delete && is_directory,
            ..options
        },
        is_single: !is_directory,
    };
    run.run(|_| true).await
}

fn uploads(
    obs: &Obs,
    bucket: Bucket,
    prefix: ObsPath,
    limits: &Arc<Limits>,
    reporter: &Arc<Reporter>,
) -> Arc<Uploads> {
    Arc::new(Uploads {
        bucket,
        prefix,
        address: obs.address(),
        cache: obs.cache_dir().map(Path::to_owned),
        limits: Arc::clone(limits),
        reporter: Arc::clone(reporter),
        writable: OnceCell::new(),
    })
}

impl Run {
    /// Transfers the changed files. If deletion is requested, deletes the files that only the
    /// target has, if `is_surplus` returns `true` for them.
    async fn run(self, is_surplus: impl Fn(&str) -> bool) -> Result<(), Error> {
        let (actions, mut surplus) = plan(&self.source.listed(), &self.target.listed());
        let mut total = Amount::default();
        for item in self.source.items.values() {
            total.add(item.size());
        }
        self.reporter.planned(total);
        let run = Arc::new(self);
        let transfer = |(name, action): (String, Action)| {
            let run = Arc::clone(&run);
            async move { run.item(&name, action).await }
        };
        // Files that are unchanged according to the cache need no task.
        let (unchanged, rest): (Vec<_>, Vec<_>) = actions
            .into_iter()
            .partition(|(_, action)| *action == Action::Unchanged);
        for (name, _) in unchanged {
            let size = run.source.items.get(&name).map_or(0, Source::size);
            run.reporter.unchanged(&name, size);
        }
        let mut result = run_all(run.options.transfers, rest.into_iter().map(transfer)).await;
        if result.is_ok() && run.options.delete {
            surplus.retain(|name| is_surplus(name));
            result = Self::delete_all(&run, surplus).await;
        }
        // For a single file, the other files of the directory were not listed, so their checksums
        // are kept.
        if result.is_ok() && !run.is_single {
            let exists = |name: &str| run.source.items.contains_key(name);
            run.source.checksums.retain(exists);
            run.target
                .checksums
                .retain(|name| exists(name) || run.target.items.contains_key(name));
        }
        // Dropping the last reference saves the cache.
        blocking(move || {
            drop(run);
            Ok(())
        })
        .await?;
        result
    }

    async fn delete_all(run: &Arc<Self>, surplus: Vec<String>) -> Result<(), Error> {
        let checked = Arc::clone(run);
        let surplus = blocking(move || Ok(checked.without_other_paths(surplus))).await?;
        let delete = |name: String| {
            let run = Arc::clone(run);
            async move { run.delete(&name).await }
        };
        run_all(run.options.transfers, surplus.into_iter().map(delete)).await
    }

    /// Removes the names that denote a file of another name that the source has: through a link to
    /// a directory, or on a file system that ignores case. Blocks.
    fn without_other_paths(&self, mut surplus: Vec<String>) -> Vec<String> {
        if let Transfers::Down(downloads) = &self.transfers
            && !surplus.is_empty()
        {
            let identity = |name: &String| target::identity(&downloads.root.join(name));
            let kept: HashSet<_> = self.source.items.keys().filter_map(identity).collect();
            surplus.retain(|name| identity(name).is_none_or(|file| !kept.contains(&file)));
        }
        surplus
    }

    async fn item(&self, name: &str, action: Action) -> Result<(), Error> {
        let Some(source) = self.source.items.get(name) else {
            return Ok(());
        };
        if action == Action::Compare {
            let is_same = match self.is_same(name, source).await {
                // An object that stands for a directory is not found, because its key ends with a
                // slash, which the crate object_store removes.
                Err(error) if is_missing_object(&error) => false,
                is_same => is_same?,
            };
            if is_same {
                self.reporter.unchanged(name, source.size());
                return Ok(());
            }
        }
        if self.options.dry_run {
            return self.pretend(name, source).await;
        }
        match (&self.transfers, source) {
            (Transfers::Down(downloads), Source::Object(object)) => {
                self.receive(name, object, downloads).await
            }
            (Transfers::Up(uploads), source) => self.send(name, source, uploads).await,
            (Transfers::Down(_), Source::File { .. }) => Ok(()),
        }
    }

    async fn send(&self, name: &str, source: &Source, uploads: &Arc<Uploads>) -> Result<(), Error> {
        let known = self.source.checksums.find(name, source);
        let sent = match uploads.send(name, source, known).await {
            // An object that stands for a directory is not found, because its key ends with a
            // slash, which the crate object_store removes.
            Err(error) if is_empty_object(source) && is_missing_object(&error) => {
                self.reporter
                    .skipped(name, SkipReason::DirectoryMarker, Some(0));
                return Ok(());
            }
            sent => sent?,
        };
        match sent {
            Sent::PrivateKey => {
                let planned = Some(source.size());
                self.reporter.skipped(name, SkipReason::PrivateKey, planned);
            }
            Sent::Object { sha256, etag } => {
                if let Some(sha256) = sha256 {
                    self.source.checksums.store(name, source, &sha256);
                    self.target.checksums.store_object(name, etag, sha256);
                }
            }
        }
        Ok(())
    }

    async fn receive(
        &self,
        name: &str,
        object: &Object,
        downloads: &Downloads,
    ) -> Result<(), Error> {
        match downloads.receive(name, object).await? {
            Received::Directory => {
                self.reporter
                    .skipped(name, SkipReason::DirectoryMarker, Some(object.size));
            }
            Received::File { stamp, sha256 } => {
                let source = &self.source.items[name];
                self.source.checksums.store(name, source, &sha256);
                if let Some(stamp) = stamp {
                    let record = FileRecord { stamp, sha256 };
                    self.target.checksums.store_file(name, record);
                }
            }
        }
        Ok(())
    }

    /// Reports the result of a transfer for a dry run.
    async fn pretend(&self, name: &str, source: &Source) -> Result<(), Error> {
        let size = source.size();
        if let Source::File { path, .. } = source {
            let path = path.clone();
            let is_key = blocking(move || {
                is_key_file(&path, size).map_err(|failure| error::local("reading", &path, &failure))
            });
            if is_key.await? {
                self.reporter
                    .skipped(name, SkipReason::PrivateKey, Some(size));
                return Ok(());
            }
        }
        self.reporter.transferred(name, size, 0);
        Ok(())
    }

    /// Returns `true` if the target has the same contents. The sizes must be equal.
    async fn is_same(&self, name: &str, source: &Source) -> Result<bool, Error> {
        let Some(target) = self.target.items.get(name) else {
            return Ok(false);
        };
        let mut sides = [(source, &self.source), (target, &self.target)];
        // The object comes first: its checksum needs only a request, and the checksum of a file
        // needs reading the file.
        if matches!(source, Source::File { .. }) {
            sides.reverse();
        }
        let [(first, first_side), (second, second_side)] = sides;
        let Some(expected) = self.checksum(name, first, first_side).await? else {
            let Source::Object(object) = first else {
                return Ok(false);
            };
            return second.matches_etag(object.etag.as_deref()).await;
        };
        let found = self.checksum(name, second, second_side).await?;
        Ok(found == Some(expected))
    }

    /// Returns the checksum of a file or an object. A checksum that is not in the cache is stored
    /// there.
    async fn checksum(
        &self,
        name: &str,
        item: &Source,
        side: &Side,
    ) -> Result<Option<String>, Error> {
        if let Some(known) = side.checksums.find(name, item) {
            return Ok(Some(known));
        }
        let sha256 = item.sha256(&self.limits).await?;
        if let Some(sha256) = &sha256 {
            side.checksums.store(name, item, sha256);
        }
        Ok(sha256)
    }

    /// Returns `true` if an empty object of the target stands for a directory. The crate
    /// `object_store` removes the slash from its key in lists, so no object with the listed key
    /// exists.
    async fn is_marker(&self, name: &str, uploads: &Uploads) -> Result<bool, Error> {
        let has_markers = uploads.bucket.store().has_metadata();
        if !has_markers || !self.target.items.get(name).is_some_and(is_empty_object) {
            return Ok(false);
        }
        let key = uploads.prefix.join(name)?;
        let _permit = self.limits.request().await;
        Ok(!uploads.bucket.exists(key.key()).await?)
    }

    async fn delete(&self, name: &str) -> Result<(), Error> {
        if let Transfers::Up(uploads) = &self.transfers
            && self.is_marker(name, uploads).await?
        {
            return Ok(());
        }
        if !self.options.dry_run {
            match &self.transfers {
                Transfers::Up(uploads) => {
                    let key = uploads.prefix.join(name)?;
                    let _permit = self.limits.request().await;
                    uploads.bucket.delete(key.key()).await?;
                }
                Transfers::Down(downloads) => {
                    let (root, name) = (downloads.root.clone(), name.to_owned());
                    blocking(move || target::delete_file(&root, &name)).await?;
                }
            }
        }
        self.reporter.deleted(name);
        Ok(())
    }
}

fn is_empty_object(item: &Source) -> bool {
    matches!(item, Source::Object(object) if object.size == 0)
}

/// Returns the canonical path of a directory or a file, and `true` for a directory.
fn local_source(path: &Path) -> Result<(PathBuf, bool), Error> {
    let failed = |failure: &io::Error| {
        error::local("reading", path, failure).with_advice(Some(
            "the path must name a directory or a file that exists and can be read".to_owned(),
        ))
    };
    let root = fs::canonicalize(path).map_err(|failure| failed(&failure))?;
    let metadata = fs::metadata(&root).map_err(|failure| failed(&failure))?;
    Ok((root, metadata.is_dir()))
}

/// Returns the objects below an address and `true`, or the object at the address and `false`.
async fn source_objects(
    bucket: &Bucket,
    address: &ObsPath,
) -> Result<(BTreeMap<String, Object>, bool), Error> {
    let objects = list_objects(bucket, address).await?;
    if !objects.is_empty() {
        return Ok((objects, true));
    }
    let object = find_object(bucket, address).await?;
    let (Some(object), Some(name)) = (object, address.name()) else {
        let message = format!("there is no object at {address} or below it");
        let advice = "check the address; the names of objects are case-sensitive".to_owned();
        return Err(Error::new(ErrorKind::NotFound, message).with_advice(Some(advice)));
    };
    Ok((BTreeMap::from([(name.to_owned(), object)]), false))
}

/// Creates the source or the target from listed objects. Objects that stand for directories are
/// left out, and reported if `report` is set.
async fn remote_side(
    obs: &Obs,
    address: &ObsPath,
    mut objects: BTreeMap<String, Object>,
    reporter: &Reporter,
    report: bool,
) -> Result<Side, Error> {
    for marker in remove_markers(&mut objects, |object| object.size) {
        if report {
            reporter.skipped(&marker, SkipReason::DirectoryMarker, None);
        }
    }
    let (cache, service) = (obs.cache_dir().map(Path::to_owned), obs.address());
    let address = address.clone();
    let open = blocking(move || Ok(Checksums::of_objects(cache.as_deref(), &service, &address)));
    let items = objects.into_iter();
    Ok(Side {
        items: items
            .map(|(name, object)| (name, Source::Object(object)))
            .collect(),
        checksums: open.await?,
    })
}

/// Returns the local directory of a download, its files, and the files that are never deleted.
/// Blocks.
fn local_target(
    directory: &Path,
    names: Vec<String>,
    delete: bool,
    dry_run: bool,
    cache: Option<&Path>,
) -> Result<(PathBuf, Side, Listing), Error> {
    for name in &names {
        target::check_name(directory, name)?;
    }
    let failed = |failure: &io::Error| {
        error::local("writing", directory, failure).with_advice(Some(
            "the path must name a directory that can be written".to_owned(),
        ))
    };
    if dry_run && !directory.exists() {
        let side = Side {
            items: BTreeMap::new(),
            checksums: Checksums::of_directory(None, directory),
        };
        return Ok((directory.to_owned(), side, Listing::default()));
    }
    fs::create_dir_all(directory).map_err(|failure| failed(&failure))?;
    let root = fs::canonicalize(directory).map_err(|failure| failed(&failure))?;
    let mut items = BTreeMap::new();
    for name in names {
        let path = root.join(&name);
        if let Ok(metadata) = fs::symlink_metadata(&path)
            && metadata.is_file()
        {
            let stamp = Stamp::new(&metadata);
            items.insert(name, Source::File { path, stamp });
        }
    }
    let mut kept = Listing::default();
    if delete {
        kept = files::list_for_deletion(&root)?;
        for (name, file) in std::mem::take(&mut kept.files) {
            let (path, stamp) = (file.path, file.stamp);
            items.entry(name).or_insert(Source::File { path, stamp });
        }
    }
    let checksums = Checksums::of_directory(cache, &root);
    Ok((root, Side { items, checksums }, kept))
}
