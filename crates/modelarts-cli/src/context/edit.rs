//! `ConfigEdit`: changes to the file of the contexts that keep the comments and the order.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use modelarts_ext::client::contexts::Contexts;
use tempfile::NamedTempFile;
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use crate::failure::Failure;

const CONTEXTS: &str = "context";
const CURRENT: &str = "current";

/// The file of the contexts, with changes that are not yet written.
pub(crate) struct ConfigEdit {
    path: PathBuf,
    document: DocumentMut,
    /// Lock of the file. It is held from before the file is read until after the file is written.
    _lock: Option<File>,
}

impl ConfigEdit {
    /// Waits for changes of other processes, and reads the file. A missing file counts as empty.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        // The file may be a symbolic link into a repository of settings.
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let lock = lock(path).map_err(|error| {
            let path = path.display();
            Failure::local(format_args!("cannot lock the contexts in {path}: {error}"))
        })?;
        let text = Contexts::read_text(path).map_err(Failure::usage)?;
        // All values are checked, so that an invalid file is never changed.
        Contexts::parse(path, &text).map_err(Failure::usage)?;
        let document = text
            .parse()
            .map_err(|error| Failure::usage(format_args!("{}: {error}", path.display())))?;
        Ok(Self { path: path.to_owned(), document, _lock: lock })
    }

    /// Sets a setting of a context. Creates the context if it does not exist.
    pub(crate) fn set(&mut self, context: &str, field: &str, value: &str) -> Result<(), Failure> {
        replace(self.context(context)?, field, value);
        Ok(())
    }

    pub(crate) fn unset(&mut self, context: &str, field: &str) -> Result<(), Failure> {
        self.context(context)?.remove(field);
        Ok(())
    }

    /// Sets the current context. An empty name selects none, and keeps the comments of the field.
    pub(crate) fn set_current(&mut self, name: &str) {
        let root = self.document.as_table_mut();
        if !name.is_empty() || root.contains_key(CURRENT) {
            replace(root, CURRENT, name);
        }
    }

    /// Removes a context and the comment above it. A comment that a blank line separates from the
    /// context belongs to the file, and stays.
    pub(crate) fn remove(&mut self, name: &str) {
        let Some(contexts) = self.contexts_mut() else {
            return;
        };
        let removed = contexts.remove(name).and_then(|item| item.into_table().ok());
        let Some(removed) = removed else {
            return;
        };
        let prefix = removed.decor().prefix().and_then(|prefix| prefix.as_str());
        let Some((kept, _)) = prefix.and_then(|prefix| prefix.rsplit_once("\n\n")) else {
            return;
        };
        let kept = format!("{kept}\n");
        if kept.trim().is_empty() {
            return;
        }
        let tables = contexts.iter_mut().filter_map(|(_, item)| item.as_table_mut());
        let next = tables
            .filter(|table| table.position() > removed.position())
            .min_by_key(|table| table.position());
        match next {
            Some(next) => {
                let own = next.decor().prefix().and_then(|prefix| prefix.as_str());
                let prefix = format!("{kept}{}", own.unwrap_or_default());
                next.decor_mut().set_prefix(prefix);
            }
            None => {
                let own = self.document.trailing().as_str().unwrap_or_default();
                let trailing = format!("{kept}{own}");
                self.document.set_trailing(trailing);
            }
        }
    }

    /// Writes the file. Readers see either the complete old file or the complete new file.
    pub(crate) fn save(self) -> Result<(), Failure> {
        let text = self.document.to_string();
        Contexts::parse(&self.path, &text).map_err(Failure::usage)?;
        let path = &self.path;
        let written = || -> io::Result<()> {
            let mut file = NamedTempFile::new_in(parent(path))?;
            if let Ok(metadata) = fs::metadata(path) {
                file.as_file().set_permissions(metadata.permissions())?;
            }
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            Ok(())
        };
        written().map_err(|error| {
            Failure::local(format_args!("cannot write the contexts to {}: {error}", path.display()))
        })
    }

    fn contexts_mut(&mut self) -> Option<&mut dyn TableLike> {
        self.document.get_mut(CONTEXTS)?.as_table_like_mut()
    }

    /// Returns the table of a context. Creates the table if it does not exist.
    fn context(&mut self, name: &str) -> Result<&mut dyn TableLike, Failure> {
        let wrong = || Failure::usage("context must be a table");
        let is_empty =
            self.document.is_empty() && self.document.trailing().as_str().is_none_or(str::is_empty);
        let contexts = self.document.entry(CONTEXTS).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let contexts = contexts.as_table_like_mut().ok_or_else(wrong)?;
        if !contexts.contains_key(name) {
            let mut table = Table::new();
            if !is_empty {
                table.decor_mut().set_prefix("\n");
            }
            contexts.insert(name, Item::Table(table));
        }
        let context = contexts.get_mut(name).and_then(Item::as_table_like_mut);
        context.ok_or_else(wrong)
    }
}

fn parent(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Locks the file against changes by other processes. The lock is held on a second file, because
/// the file itself is replaced. Returns `None` on a file system without locks.
fn lock(path: &Path) -> io::Result<Option<File>> {
    fs::create_dir_all(parent(path))?;
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = File::create(name)?;
    match file.lock() {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        locked => locked.map(|()| Some(file)),
    }
}

/// Sets a value, and keeps the comment after the value.
fn replace(table: &mut dyn TableLike, name: &str, value: &str) {
    let mut new = Value::from(value);
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(old) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        None => {
            table.insert(name, Item::Value(new));
        }
    }
}
