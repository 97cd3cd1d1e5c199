//! Listing of the source and the target of a synchronization.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use modelarts_ext::{Error, ErrorKind};

use crate::{
    address::ObsPath,
    bucket::Bucket,
    error,
    obs::Obs,
    sync::{
        digest::Stamp,
        files::{self, Listing},
        limits::blocking,
        plan::remove_markers,
        progress::{Reporter, SkipReason},
        side::{Checksums, Side, find_object, list_objects},
        source::{Object, SourceItem},
        target,
    },
};

/// Returns the canonical path of a directory or a file, and `true` for a directory.
pub(crate) fn local_source(path: &Path) -> Result<(PathBuf, bool), Error> {
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
pub(crate) async fn source_objects(
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
pub(crate) async fn remote_side(
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
        items: items.map(|(name, object)| (name, SourceItem::Object(object))).collect(),
        checksums: open.await?,
    })
}

/// Returns the canonical path of the directory of a download, the files that the download may
/// replace or delete, and the paths that are never deleted. Blocks.
pub(crate) fn local_target(
    directory: &Path,
    names: Vec<String>,
    delete: bool,
    dry_run: bool,
    cache: Option<&Path>,
) -> Result<(PathBuf, Side, Listing), Error> {
    let failed = |failure: &io::Error| {
        error::local("writing", directory, failure)
            .with_advice(Some("the path must name a directory that can be written".to_owned()))
    };
    if dry_run && !directory.exists() {
        let side =
            Side { items: BTreeMap::new(), checksums: Checksums::of_directory(None, directory) };
        return Ok((directory.to_owned(), side, Listing::default()));
    }
    fs::create_dir_all(directory).map_err(|failure| failed(&failure))?;
    let root = fs::canonicalize(directory).map_err(|failure| failed(&failure))?;
    let mut items = BTreeMap::new();
    for name in names {
        let path = root.join(&name);
        // A name that cannot be that of a file is reported when the object is received.
        if target::check_name(&root, &name).is_ok()
            && let Ok(metadata) = fs::symlink_metadata(&path)
            && metadata.is_file()
        {
            let stamp = Stamp::new(&metadata);
            items.insert(name, SourceItem::File { path, stamp });
        }
    }
    let mut kept = Listing::default();
    if delete {
        kept = files::list_for_deletion(&root)?;
        for (name, file) in std::mem::take(&mut kept.files) {
            let (path, stamp) = (file.path, file.stamp);
            items.entry(name).or_insert(SourceItem::File { path, stamp });
        }
    }
    let checksums = Checksums::of_directory(cache, &root);
    Ok((root, Side { items, checksums }, kept))
}
