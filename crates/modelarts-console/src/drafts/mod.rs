//! `Drafts`: files that users dropped on the form, until they are staged.

mod names;
#[cfg(test)]
mod tests;

pub(crate) use names::{CODE, INPUTS};

use std::{
    collections::BTreeMap,
    env, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::http::StatusCode;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use serde::Serialize;
use tempfile::{NamedTempFile, TempDir};
use tokio::{
    fs,
    io::{AsyncWriteExt, BufWriter},
};

use crate::{
    display,
    drafts::names::{check_path, check_slot},
    problem::Problem,
    temporary::{self, ProcessDirectory},
};

/// Number of hexadecimal digits of the id of a draft.
const ID_DIGITS: usize = 32;
/// Directories of completely received files, and of files that are being received.
const FILES: &str = "files";
const INCOMING: &str = "incoming";

/// Limits for the files of drafts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Maximum total size of the files of a draft, in bytes.
    pub(crate) bytes: u64,
    /// Maximum number of files of a draft.
    pub(crate) files: usize,
    /// Maximum number of drafts. A further draft replaces the least recently used draft.
    pub(crate) drafts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 5 << 30, files: 10_000, drafts: 16 }
    }
}

/// Drafts of all forms. A draft is created with its first file.
pub(crate) struct Drafts {
    limits: Limits,
    /// Parent directory of the drafts, or the reason why it does not exist.
    directory: Mutex<io::Result<ProcessDirectory>>,
    /// Drafts with their ids, the most recently used last.
    drafts: Mutex<Vec<(String, Arc<Draft>)>>,
}

/// Files of one form, in a temporary directory that is deleted with the draft.
pub(crate) struct Draft {
    limits: Limits,
    directory: TempDir,
    contents: Mutex<Contents>,
}

#[derive(Default)]
struct Contents {
    /// Files of each slot, with their sizes in bytes.
    slots: BTreeMap<String, BTreeMap<String, u64>>,
    /// Sum of the sizes of all files, including the received bytes of incomplete files.
    bytes: u64,
    /// `true` while the files are staged and must not change.
    is_locked: bool,
    progress: Option<Progress>,
}

/// Progress of staging.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Progress {
    /// Staged part: `code`, or the name of an input.
    pub(crate) part: String,
    /// Bytes of the part that are already at the target, and all bytes of the part.
    pub(crate) done: u64,
    pub(crate) total: u64,
}

/// Files of a slot.
#[derive(Clone, Debug)]
pub(crate) struct Dropped {
    /// The dropped directory, or a directory of the draft if single files were dropped.
    pub(crate) root: PathBuf,
    /// Name of the directory.
    pub(crate) name: String,
    /// Paths relative to the directory, with sizes in bytes.
    pub(crate) files: Vec<(String, u64)>,
}

impl Drafts {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            directory: Mutex::new(ProcessDirectory::create(&env::temp_dir())),
            drafts: Mutex::default(),
        }
    }

    /// Deletes the files of all drafts, including files in use. No more drafts can be created.
    pub(crate) fn close(&self) {
        *self.directory.lock() = Err(io::Error::other("the page has ended"));
    }

    /// Returns the draft with this id, and marks it as used. Returns `None` if it does not exist.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Draft>> {
        let mut drafts = self.drafts.lock();
        let position = drafts.iter().position(|(known, _)| known == id)?;
        let found = drafts.remove(position);
        let draft = Arc::clone(&found.1);
        drafts.push(found);
        Some(draft)
    }

    /// Returns the draft with this id. Creates it if it does not exist.
    pub(crate) fn open(&self, id: &str) -> Result<Arc<Draft>, Problem> {
        let is_id = id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(Problem::invalid(format!(
                "the id of the form must be {ID_DIGITS} hexadecimal digits; reload the page"
            )));
        }
        if let Some(draft) = self.get(id) {
            return Ok(draft);
        }
        let draft = self.create().map_err(local)?;
        Ok(self.insert(id, Arc::new(draft)))
    }

    fn create(&self) -> io::Result<Draft> {
        match &*self.directory.lock() {
            Ok(directory) => Draft::new(self.limits, directory.path()),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }

    /// Adds a draft, and returns it. If a concurrent request has added a draft with this id,
    /// returns that draft, because the first files of a form are sent concurrently.
    fn insert(&self, id: &str, draft: Arc<Draft>) -> Arc<Draft> {
        let mut drafts = self.drafts.lock();
        if let Some((_, known)) = drafts.iter().find(|(known, _)| known == id) {
            return Arc::clone(known);
        }
        let is_full = drafts.len() >= self.limits.drafts;
        let oldest = is_full.then(|| drafts.remove(0));
        drafts.push((id.to_owned(), Arc::clone(&draft)));
        // The directory of the oldest draft is deleted after the lock is released.
        drop(drafts);
        drop(oldest);
        draft
    }

    pub(crate) fn remove(&self, id: &str) {
        let removed = {
            let mut drafts = self.drafts.lock();
            let position = drafts.iter().position(|(known, _)| known == id);
            position.map(|position| drafts.remove(position))
        };
        // The directory of the draft is deleted after the lock is released.
        drop(removed);
    }
}

impl Draft {
    fn new(limits: Limits, parent: &Path) -> io::Result<Self> {
        let directory = temporary::directory_in(parent, "draft-")?;
        std::fs::create_dir(directory.path().join(FILES))?;
        std::fs::create_dir(directory.path().join(INCOMING))?;
        Ok(Self { limits, directory, contents: Mutex::default() })
    }

    /// Receives a file. The file appears in its slot when it is complete; an incomplete file is
    /// deleted. `declared` is the `Content-Length` of the request.
    pub(crate) async fn receive<E>(
        &self,
        slot: &str,
        path: &str,
        declared: Option<u64>,
        mut body: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<(), Problem> {
        check_slot(slot)?;
        check_path(path)?;
        self.admit(declared.unwrap_or_default())?;
        let incoming = self.directory.path().join(INCOMING);
        let file = NamedTempFile::new_in(incoming).map_err(local)?;
        let opened = fs::File::from_std(file.reopen().map_err(local)?);
        let mut writer = BufWriter::with_capacity(1 << 18, opened);
        let mut reserved = Reserved { draft: self, bytes: 0 };
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|_| {
                Problem::invalid(format!("the upload of {path} broke off, and was discarded"))
                    .with_advice("drop the file again")
            })?;
            reserved.add(chunk.len() as u64)?;
            writer.write_all(&chunk).await.map_err(local)?;
        }
        writer.flush().await.map_err(local)?;
        self.complete(slot, path, file, reserved)
    }

    /// Moves a completely received file into its slot.
    fn complete(
        &self,
        slot: &str,
        path: &str,
        file: NamedTempFile,
        mut reserved: Reserved<'_>,
    ) -> Result<(), Problem> {
        let target = self.slot_directory(slot).join(path);
        let mut contents = self.contents.lock();
        if contents.is_locked {
            return Err(locked());
        }
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(|error| conflicting(path, &error))?;
        }
        file.persist(&target).map_err(|error| conflicting(path, &error.error))?;
        let files = contents.slots.entry(slot.to_owned()).or_default();
        let replaced = files.insert(path.to_owned(), reserved.bytes);
        contents.bytes -= replaced.unwrap_or_default();
        // The bytes now count as part of the slot.
        reserved.bytes = 0;
        Ok(())
    }

    /// Returns an error if the file would exceed a limit, or if the files are locked.
    fn admit(&self, declared: u64) -> Result<(), Problem> {
        let contents = self.contents.lock();
        if contents.is_locked {
            return Err(locked());
        }
        let files: usize = contents.slots.values().map(BTreeMap::len).sum();
        if files >= self.limits.files {
            return Err(too_large(format!("a form takes at most {} files", self.limits.files)));
        }
        match contents.bytes.checked_add(declared) {
            Some(bytes) if bytes <= self.limits.bytes => Ok(()),
            _ => Err(self.too_many_bytes()),
        }
    }

    fn too_many_bytes(&self) -> Problem {
        let most = display::bytes(self.limits.bytes);
        too_large(format!("a form takes at most {most} of files"))
    }

    /// Deletes the files of a slot. Returns an error if they are locked.
    pub(crate) fn clear(&self, slot: &str) -> Result<(), Problem> {
        check_slot(slot)?;
        let mut contents = self.contents.lock();
        if contents.is_locked {
            return Err(locked());
        }
        if let Some(files) = contents.slots.remove(slot) {
            contents.bytes -= files.values().sum::<u64>();
            std::fs::remove_dir_all(self.directory.path().join(FILES).join(slot)).map_err(local)?;
        }
        Ok(())
    }

    /// Returns the number and the total size of the files of each slot.
    pub(crate) fn summary(&self) -> BTreeMap<String, (usize, u64)> {
        let contents = self.contents.lock();
        let slots = contents.slots.iter();
        slots.map(|(slot, files)| (slot.clone(), (files.len(), files.values().sum()))).collect()
    }

    /// Returns the files of a slot; `None` if the slot is empty.
    ///
    /// If the slot contains only one directory, this directory is the root of the files.
    pub(crate) fn dropped(&self, slot: &str) -> Option<Dropped> {
        let contents = self.contents.lock();
        let files = contents.slots.get(slot)?;
        let first = files.keys().next()?.split_once('/').map(|(name, _)| name);
        let only = first.filter(|name| {
            let mut paths = files.keys();
            paths.all(|path| path.split_once('/').is_some_and(|(step, _)| step == *name))
        });
        let directory = self.slot_directory(slot);
        let Some(name) = only else {
            let name = directory.file_name()?.to_str()?.to_owned();
            let files = files.iter().map(|(path, size)| (path.clone(), *size));
            return Some(Dropped { root: directory, name, files: files.collect() });
        };
        let inside = |path: &str| path.get(name.len() + 1..).unwrap_or_default().to_owned();
        Some(Dropped {
            root: directory.join(name),
            name: name.to_owned(),
            files: files.iter().map(|(path, size)| (inside(path), *size)).collect(),
        })
    }

    /// Locks the files until the returned lock is dropped. Returns an error if they are locked.
    pub(crate) fn lock(self: &Arc<Self>) -> Result<Lock, Problem> {
        let mut contents = self.contents.lock();
        if std::mem::replace(&mut contents.is_locked, true) {
            return Err(locked());
        }
        contents.progress = None;
        Ok(Lock(Arc::clone(self)))
    }

    pub(crate) fn set_progress(&self, progress: Progress) {
        self.contents.lock().progress = Some(progress);
    }

    /// Returns the progress of staging; `None` before the first report and after the end.
    pub(crate) fn progress(&self) -> Option<Progress> {
        self.contents.lock().progress.clone()
    }

    /// Returns the directory of a slot. Its name is also used in OBS if single files were dropped.
    fn slot_directory(&self, slot: &str) -> PathBuf {
        let name = if slot == CODE { CODE } else { "data" };
        self.directory.path().join(FILES).join(slot).join(name)
    }

    #[cfg(test)]
    fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Lock that prevents changes of the files of a draft.
pub(crate) struct Lock(Arc<Draft>);

impl Drop for Lock {
    fn drop(&mut self) {
        let mut contents = self.0.contents.lock();
        contents.is_locked = false;
        contents.progress = None;
    }
}

/// Bytes reserved for a file that is being received. Dropping this value releases them.
struct Reserved<'a> {
    draft: &'a Draft,
    bytes: u64,
}

impl Reserved<'_> {
    fn add(&mut self, bytes: u64) -> Result<(), Problem> {
        let mut contents = self.draft.contents.lock();
        if contents.bytes + bytes > self.draft.limits.bytes {
            return Err(self.draft.too_many_bytes());
        }
        contents.bytes += bytes;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.draft.contents.lock().bytes -= self.bytes;
        }
    }
}

fn too_large(message: String) -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "Too many files", message).with_advice(
        "send them with `modelarts sync`, and enter their address in OBS; `modelarts submit` sends \
         code and data without a copy",
    )
}

fn locked() -> Problem {
    Problem::new(
        StatusCode::CONFLICT,
        "Not possible now",
        "the files of this form are being sent to OBS",
    )
    .with_advice("wait until the job is created")
}

/// Reports a name that is both a file and a directory as an error of the user.
fn conflicting(path: &str, error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::DirectoryNotEmpty => {
            Problem::invalid(format!("{path} must not be the name of a file and of a directory"))
                .with_advice("remove the files, and drop them again")
        }
        _ => local(error),
    }
}

fn local(error: impl std::borrow::Borrow<io::Error>) -> Problem {
    let error = error.borrow();
    Problem::new(
        StatusCode::INSUFFICIENT_STORAGE,
        "The file was not stored",
        format!("the machine of this page cannot store the file: {error}"),
    )
    .with_advice("free space in its temporary directory, or enter an address in OBS")
}
