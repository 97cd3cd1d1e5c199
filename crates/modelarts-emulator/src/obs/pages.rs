//! Pages of the list of objects, in the byte order of their keys. Entries of a directory are
//! compared with a slash after the name of a directory, because `a-b` comes before `a/b`.

use std::{
    fs::{self, Metadata},
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use s3s::{S3Error, S3Result};

use crate::{
    files::confined_dir::PART_PREFIX,
    obs::{
        records::{self, EMPTY_ETAG, Identity, unknown_etag},
        store::{ObjectStore, is_missing},
        transfer::io_error,
    },
};

const MAX_KEY: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) prefix: String,
    /// Keys with the same text up to the first delimiter after the prefix form one entry.
    pub(super) delimiter: Option<String>,
    /// Key or common prefix after which the page begins. Empty for the first page.
    pub(super) after: String,
    pub(super) max: usize,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) size: u64,
    pub(super) modified: SystemTime,
    pub(super) etag: String,
}

#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) entries: Vec<Entry>,
    pub(super) common_prefixes: Vec<String>,
    /// Last key or common prefix of the page, if more entries follow.
    pub(super) next: Option<String>,
}

pub(super) fn page(store: &ObjectStore, bucket: &str, selection: &Selection) -> S3Result<Page> {
    let _guard = store.lock.read();
    store.bucket(bucket)?;
    collect(store, bucket, selection)
}

/// Returns `true` if the bucket has at least one object. The caller must hold the lock.
pub(super) fn has_objects(store: &ObjectStore, bucket: &str) -> S3Result<bool> {
    let selection = Selection { max: 1, ..Selection::default() };
    let page = collect(store, bucket, &selection)?;
    Ok(!page.entries.is_empty())
}

fn collect(store: &ObjectStore, bucket: &str, selection: &Selection) -> S3Result<Page> {
    let mut walk = Walk::new(store, bucket, selection);
    if selection.max > 0 {
        walk.run().map_err(io_error)?;
    }
    walk.into_page()
}

/// Returns the part of a key up to the first delimiter after the prefix, if there is one.
pub(super) fn common_prefix<'a>(
    key: &'a str,
    prefix: &str,
    delimiter: Option<&str>,
) -> Option<&'a str> {
    let delimiter = delimiter?;
    let at = key.get(prefix.len()..)?.find(delimiter)?;
    key.get(..prefix.len() + at + delimiter.len())
}

struct Walk<'a> {
    store: &'a ObjectStore,
    bucket: &'a str,
    selection: &'a Selection,
    /// Keys of the page, with the metadata of their files. `None` for a directory marker.
    found: Vec<(String, Option<Metadata>)>,
    common_prefixes: Vec<String>,
    last: String,
    truncated: bool,
    /// Real paths of the current directory and of the directories through which it was reached.
    ancestors: Vec<PathBuf>,
}

impl<'a> Walk<'a> {
    fn new(store: &'a ObjectStore, bucket: &'a str, selection: &'a Selection) -> Self {
        Self {
            store,
            bucket,
            selection,
            found: Vec::new(),
            common_prefixes: Vec::new(),
            last: String::new(),
            truncated: false,
            ancestors: Vec::new(),
        }
    }

    /// Walks through the deepest directory that contains all keys with the prefix.
    fn run(&mut self) -> io::Result<()> {
        let prefix = &self.selection.prefix;
        let below = &prefix[..prefix.rfind('/').map_or(0, |at| at + 1)];
        let steps = below.strip_suffix('/').unwrap_or(below);
        let is_step = |step: &str| !matches!(step, "" | "." | "..") && !step.contains('\0');
        if !below.is_empty() && !steps.split('/').all(is_step) {
            return Ok(());
        }
        let mut relative = PathBuf::from(self.bucket);
        let mut path = self.resolve(&relative)?;
        for step in steps.split('/').filter(|step| !step.is_empty()) {
            relative.push(step);
            let Some(parent) = path else { return Ok(()) };
            self.ancestors.push(parent);
            path = self.resolve(&relative)?;
            // As in a list without the prefix, a link to one of its own parents is not followed.
            if path.as_ref().is_some_and(|path| self.is_circle(path)) {
                return Ok(());
            }
        }
        match path {
            Some(path) => self.visit(path, below).map(|_| ()),
            None => Ok(()),
        }
    }

    fn resolve(&self, relative: &Path) -> io::Result<Option<PathBuf>> {
        match self.store.root.resolve(relative) {
            Ok(path) => Ok(path.is_dir().then_some(path)),
            Err(error) if is_missing(&error) => Ok(None),
            // The path has a link that leads out of the root, or a name that is too long.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Other | io::ErrorKind::InvalidFilename
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns `true` if a real path is one of `ancestors`, or contains one of them.
    fn is_circle(&self, real: &Path) -> bool {
        self.ancestors.iter().any(|it| it.starts_with(real))
    }

    /// Adds the keys in a directory, whose own key is `below`. Breaks when the page is full.
    fn visit(&mut self, directory: PathBuf, below: &str) -> io::Result<ControlFlow<()>> {
        self.ancestors.push(directory.clone());
        let flow = self.visit_entries(&directory, below);
        self.ancestors.pop();
        flow
    }

    fn visit_entries(&mut self, directory: &Path, below: &str) -> io::Result<ControlFlow<()>> {
        let Selection { prefix, delimiter, after, .. } = self.selection;
        if !below.is_empty()
            && below > after.as_str()
            && below.starts_with(prefix)
            && self.is_marker(directory, below)?
            && self.add(below.to_owned(), None).is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        for name in self.names(directory, below)? {
            let key = format!("{below}{name}");
            let path = directory.join(name.trim_end_matches('/'));
            let is_directory = name.ends_with('/');
            let flow = if let Some(common) = common_prefix(&key, prefix, delimiter.as_deref()) {
                let common = common.to_owned();
                let counted = common == *after || self.common_prefixes.last() == Some(&common);
                if counted || (is_directory && !self.has_objects(&path, &key, &common)?) {
                    continue;
                }
                self.add_common_prefix(common)
            } else if is_directory {
                match path.canonicalize() {
                    Ok(path) => self.visit(path, &key)?,
                    Err(_) => continue,
                }
            } else {
                match fs::metadata(&path) {
                    Ok(metadata) => self.add(key, Some(metadata)),
                    // The file was deleted after the directory was read.
                    Err(_) => continue,
                }
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the names that may lead to keys of the page, in order, with a slash for directories.
    fn names(&self, directory: &Path, below: &str) -> io::Result<Vec<String>> {
        let Selection { prefix, after, .. } = self.selection;
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        let mut key = below.to_owned();
        for entry in entries {
            let entry = entry?;
            // A name that is not valid UTF-8 cannot be a key.
            let Ok(mut name) = entry.file_name().into_string() else {
                continue;
            };
            let Some(is_directory) = self.is_directory(&entry) else {
                continue;
            };
            if !is_directory && name.starts_with(PART_PREFIX) {
                continue;
            }
            if is_directory {
                name.push('/');
            }
            key.truncate(below.len());
            key.push_str(&name);
            // The keys in a directory follow the key of the directory.
            let follows = key > *after || (is_directory && after.starts_with(&key));
            let selected = key.starts_with(prefix) || (is_directory && prefix.starts_with(&key));
            if follows && selected && key.len() <= MAX_KEY {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns `None` for special files, and for links that are broken, circular or leave the root.
    fn is_directory(&self, entry: &fs::DirEntry) -> Option<bool> {
        let kind = entry.file_type().ok()?;
        if kind.is_symlink() {
            let real = entry.path().canonicalize().ok()?;
            let leads_out = !real.starts_with(self.store.root.root());
            if leads_out || self.is_circle(&real) {
                return None;
            }
            let metadata = fs::metadata(real).ok()?;
            return (metadata.is_dir() || metadata.is_file()).then(|| metadata.is_dir());
        }
        (kind.is_dir() || kind.is_file()).then(|| kind.is_dir())
    }

    /// Returns `true` if a directory contains a key with this prefix after the start of the page.
    fn has_objects(&self, directory: &Path, below: &str, prefix: &str) -> io::Result<bool> {
        let after = self.selection.after.clone();
        let selection = Selection { prefix: prefix.to_owned(), delimiter: None, after, max: 1 };
        let mut walk = Walk::new(self.store, self.bucket, &selection);
        walk.ancestors.clone_from(&self.ancestors);
        if let Ok(directory) = directory.canonicalize() {
            let _ = walk.visit(directory, below)?;
        }
        Ok(!walk.found.is_empty())
    }

    fn is_marker(&self, directory: &Path, key: &str) -> io::Result<bool> {
        let record =
            self.store.database.read(|connection| records::find_etag(connection, self.bucket, key));
        let Some((identity, _)) = record.map_err(io::Error::other)? else {
            return Ok(false);
        };
        let metadata = fs::metadata(directory);
        Ok(metadata.is_ok_and(|metadata| Identity::of(&metadata).inode == identity.inode))
    }

    fn add(&mut self, key: String, metadata: Option<Metadata>) -> ControlFlow<()> {
        self.count(&key)?;
        self.found.push((key, metadata));
        ControlFlow::Continue(())
    }

    fn add_common_prefix(&mut self, prefix: String) -> ControlFlow<()> {
        self.count(&prefix)?;
        self.common_prefixes.push(prefix);
        ControlFlow::Continue(())
    }

    /// Counts an entry of the page. Breaks if the page is already full, so another page follows.
    fn count(&mut self, next: &str) -> ControlFlow<()> {
        if self.found.len() + self.common_prefixes.len() == self.selection.max {
            self.truncated = true;
            return ControlFlow::Break(());
        }
        next.clone_into(&mut self.last);
        ControlFlow::Continue(())
    }

    fn into_page(self) -> S3Result<Page> {
        let Self { store, bucket, .. } = self;
        let entries = store.database.read(|connection| {
            let found = self.found.into_iter();
            let entries = found.map(|(key, metadata)| {
                let record = records::find_etag(connection, bucket, &key)?;
                let Some(metadata) = metadata else {
                    let nanos = record.map_or(0, |(identity, _)| identity.modified);
                    let nanos = u64::try_from(nanos).unwrap_or_default();
                    return Ok(Entry {
                        key,
                        size: 0,
                        modified: SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos),
                        etag: EMPTY_ETAG.to_owned(),
                    });
                };
                let identity = Identity::of(&metadata);
                let record = record.filter(|(known, _)| *known == identity);
                Ok(Entry {
                    key,
                    size: metadata.len(),
                    modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    etag: record.map_or_else(|| unknown_etag(identity), |(_, etag)| etag),
                })
            });
            entries.collect::<rusqlite::Result<Vec<_>>>()
        });
        Ok(Page {
            entries: entries.map_err(S3Error::internal_error)?,
            common_prefixes: self.common_prefixes,
            next: self.truncated.then_some(self.last),
        })
    }
}
