//! `Synchronization`: comparison of two sides, transfers and deletions.

use std::{collections::HashSet, sync::Arc};

use modelarts_ext::{Error, ErrorKind};

use crate::{
    bucket::is_missing_object,
    error,
    sync::{
        cache::FileRecord,
        concurrency::Concurrency,
        digest::is_key_file,
        download::{Downloads, Received},
        limits::{Limits, blocking},
        plan::{Action, plan},
        progress::{Amount, Reporter, SkipReason},
        side::Side,
        source::{Object, SourceItem},
        target,
        upload::{Sent, Uploads},
    },
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) delete: bool,
    pub(crate) dry_run: bool,
    pub(crate) gitignore: bool,
    pub(crate) transfers: Concurrency,
}

/// State of a synchronization after both sides were listed.
pub(super) struct Synchronization {
    pub(super) source: Side,
    pub(super) target: Side,
    pub(super) transfers: Transfers,
    pub(super) limits: Arc<Limits>,
    pub(super) reporter: Arc<Reporter>,
    pub(super) options: Options,
    /// `true` if the source is a single file or object, and not a directory.
    pub(super) is_single: bool,
}

/// Transfers to the target: uploads and copies, or downloads.
pub(super) enum Transfers {
    Up(Arc<Uploads>),
    Down(Downloads),
}

impl Synchronization {
    /// Transfers the changed files. If deletion is requested, deletes the files that only the
    /// target has and for which `is_surplus` returns `true`.
    pub(super) async fn run(self, is_surplus: impl Fn(&str) -> bool) -> Result<(), Error> {
        let (actions, mut surplus) = plan(&self.source.listed(), &self.target.listed());
        let mut total = Amount::default();
        for item in self.source.items.values() {
            total.add(item.size());
        }
        self.reporter.planned(total);
        let run = Arc::new(self);
        let transfer = |(name, action): (String, Action)| {
            let run = Arc::clone(&run);
            async move {
                match run.item(&name, action).await {
                    Err(error) if run.is_of_item(&error) => {
                        run.reporter.failed(&name, error);
                        Ok(())
                    }
                    result => result,
                }
            }
        };
        // Files that are unchanged according to the cache need no task.
        let (unchanged, rest): (Vec<_>, Vec<_>) =
            actions.into_iter().partition(|(_, action)| *action == Action::Unchanged);
        for (name, _) in unchanged {
            let size = run.source.items.get(&name).map_or(0, SourceItem::size);
            run.reporter.unchanged(&name, size);
        }
        let transfers = rest.into_iter().map(transfer);
        let mut result = run.limits.run_all(run.options.transfers, transfers).await;
        if result.is_ok() && run.options.delete && !run.reporter.has_failures() {
            surplus.retain(|name| is_surplus(name));
            result = Self::delete_all(&run, surplus).await;
        }
        // For a single file, the other files of the directory were not listed, so their checksums
        // are kept.
        if result.is_ok() && !run.is_single {
            let exists = |name: &str| run.source.items.contains_key(name);
            run.source.checksums.retain(exists);
            run.target.checksums.retain(|name| exists(name) || run.target.items.contains_key(name));
        }
        // Dropping the last reference saves the cache.
        blocking(move || {
            drop(run);
            Ok(())
        })
        .await?;
        result
    }

    /// Returns `true` if an error concerns one file or object, so that others can be transferred.
    fn is_of_item(&self, error: &Error) -> bool {
        let is_download = matches!(self.transfers, Transfers::Down(_));
        match error.kind() {
            ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::Unexpected => true,
            ErrorKind::Service if error.status() == Some(403) => {
                // Keys that may not read one object, such as an archived one, may read others.
                is_download && error.code().is_none_or(|code| code.contains("ObjectState"))
            }
            ErrorKind::Service => is_missing_object(error),
            _ => false,
        }
    }

    async fn delete_all(run: &Arc<Self>, surplus: Vec<String>) -> Result<(), Error> {
        let checked = Arc::clone(run);
        let surplus = blocking(move || Ok(checked.without_other_paths(surplus))).await?;
        let delete = |name: String| {
            let run = Arc::clone(run);
            async move { run.delete(&name).await }
        };
        run.limits.run_all(run.options.transfers, surplus.into_iter().map(delete)).await
    }

    /// Removes names that denote the same local file as a name of the source: through a link to a
    /// directory, or on a file system that ignores case. Blocks.
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
            (Transfers::Down(downloads), SourceItem::Object(object)) => {
                self.receive(name, object, downloads).await
            }
            (Transfers::Up(uploads), source) => self.send(name, source, uploads).await,
            (Transfers::Down(_), SourceItem::File { .. }) => Ok(()),
        }
    }

    async fn send(
        &self,
        name: &str,
        source: &SourceItem,
        uploads: &Arc<Uploads>,
    ) -> Result<(), Error> {
        let known = self.source.checksums.find(name, source);
        let sent = match uploads.send(name, source, known).await {
            // An object that stands for a directory is not found, because its key ends with a
            // slash, which the crate object_store removes.
            Err(error) if is_empty_object(source) && is_missing_object(&error) => {
                self.reporter.skipped(name, SkipReason::DirectoryMarker, Some(0));
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
                if source.has_grown() {
                    self.reporter.grown(name);
                }
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
                self.reporter.skipped(name, SkipReason::DirectoryMarker, Some(object.size));
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

    /// Reports the result that a transfer would have, in a dry run.
    async fn pretend(&self, name: &str, source: &SourceItem) -> Result<(), Error> {
        let size = source.size();
        if let SourceItem::File { path, .. } = source {
            let path = path.clone();
            let is_key = blocking(move || {
                is_key_file(&path, size).map_err(|failure| error::local("reading", &path, &failure))
            });
            if is_key.await? {
                self.reporter.skipped(name, SkipReason::PrivateKey, Some(size));
                return Ok(());
            }
        }
        self.reporter.transferred(name, size, 0);
        Ok(())
    }

    /// Returns `true` if the target has the same contents. The sizes must be equal.
    async fn is_same(&self, name: &str, source: &SourceItem) -> Result<bool, Error> {
        let Some(target) = self.target.items.get(name) else {
            return Ok(false);
        };
        let mut sides = [(source, &self.source), (target, &self.target)];
        // The object comes first: its checksum needs only a request, and the checksum of a file
        // needs reading the file.
        if matches!(source, SourceItem::File { .. }) {
            sides.reverse();
        }
        let [(first, first_side), (second, second_side)] = sides;
        let Some(expected) = self.checksum(name, first, first_side).await? else {
            let SourceItem::Object(object) = first else {
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
        item: &SourceItem,
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

fn is_empty_object(item: &SourceItem) -> bool {
    matches!(item, SourceItem::Object(object) if object.size == 0)
}
