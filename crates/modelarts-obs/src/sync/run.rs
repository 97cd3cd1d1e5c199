//! Uploads, downloads and copies of directories: both sides are listed, and then synchronized.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use modelarts_ext::Error;
use tokio::sync::OnceCell;

use crate::{
    address::{ObsPath, invalid},
    bucket::{Bucket, object_path},
    obs::Obs,
    sync::{
        download::Downloads,
        files::{self, Listing},
        limits::{Limits, blocking},
        listing::{local_source, local_target, remote_side, source_objects},
        plan::find_conflict,
        progress::Reporter,
        side::{Checksums, Side, find_object, list_objects},
        source::{Object, SourceItem},
        synchronization::{Options, Synchronization, Transfers},
        upload::Uploads,
    },
};

/// Source of an upload: a directory with excluded paths and, if they are known, its files, or a single
/// file. Objects are copied in place of the files with some paths.
type Upload = (PathBuf, Vec<String>, Option<Arc<Listing>>, BTreeMap<String, ObsPath>);

/// Uploads a directory or a single file to an address.
pub(crate) async fn up(
    obs: &Obs,
    (path, excluded, listing, copies): Upload,
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
                let listing = match listing {
                    Some(listing) => Arc::unwrap_or_clone(listing),
                    None => files::list(&root, options.gitignore, &excluded)?,
                };
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
        (name.clone(), SourceItem::File { path, stamp })
    };
    let mut items: BTreeMap<_, _> = listing.files.iter().map(file).collect();
    for (name, from) in copies {
        if let Some(item) = items.get_mut(&name) {
            let (bucket, path) = (obs.bucket(from.bucket())?, object_path(from.key())?);
            *item = SourceItem::Object(Object { bucket, path, size: item.size(), etag: None });
        }
    }
    let source = Side { items, checksums };
    let limits = Arc::new(Limits::new(options.transfers, obs.throttled()));
    let transfers = Transfers::Up(uploads(obs, bucket, address, &limits, reporter));
    let run = Synchronization {
        source,
        target,
        transfers,
        limits,
        reporter: Arc::clone(reporter),
        options: Options { delete: options.delete && is_dir, ..options },
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
    let mut source = remote_side(obs, &address, objects, reporter, true).await?;
    while let Some(name) = find_conflict(&source.items).map(str::to_owned) {
        let message = format!(
            "the object {address}/{name} cannot be a file, because there are objects below {name}/"
        );
        let advice = "rename the object, or read it with Bucket::get".to_owned();
        reporter.failed(&name, invalid(message).with_advice(Some(advice)));
        source.items.remove(&name);
    }
    let delete = options.delete && is_directory;
    let cache = obs.cache_dir().map(Path::to_owned);
    let list = {
        let (names, cache) = (source.items.keys().cloned().collect(), cache.clone());
        blocking(move || local_target(&directory, names, delete, options.dry_run, cache.as_deref()))
    };
    let (root, target, kept) = list.await?;
    let limits = Arc::new(Limits::new(options.transfers, obs.throttled()));
    let run = Synchronization {
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
    let limits = Arc::new(Limits::new(options.transfers, obs.throttled()));
    let run = Synchronization {
        source,
        target,
        transfers: Transfers::Up(uploads(obs, target_bucket, to, &limits, reporter)),
        limits,
        reporter: Arc::clone(reporter),
        options: Options { delete: options.delete && is_directory, ..options },
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
