//! `Storage` of the jobs of a local run: their objects in OBS and the directories of their workers.
//! It stays until their outputs were delivered whole.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File, Metadata, TryLockError},
    io,
    path::{Path, PathBuf},
};

use modelarts_emulator::Emulator;
use modelarts_ext::Job;
use modelarts_obs::{ObsPath, Summary};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use walkdir::{DirEntry, WalkDir};

use crate::failure::Failure;

/// Directory of the storages, beside the outputs of the jobs.
pub(crate) const DIRECTORY: &str = ".storage";
/// Environment variable with another directory for the storages.
pub(crate) const VARIABLE: &str = "MODELARTS_LOCAL_DIR";
/// File that is locked while the jobs run. modelarts-obs leaves out directories with this file.
const LOCK: &str = ".modelarts-storage";
/// Prefix of files that the emulator was copying when it ended.
const PART_PREFIX: &str = ".copying-";

pub(crate) struct Storage {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl Storage {
    /// Creates the storage of a run in the directory `beside`, in which the outputs are delivered.
    pub(crate) fn create(beside: &Path, name: &str) -> Result<Self, Failure> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        // The check of the job reports a wrong name.
        let name = match name.len() <= 64 && name.bytes().all(is_plain) {
            true => name,
            false => "job",
        };
        let chosen = env::var_os(VARIABLE).filter(|directory| !directory.is_empty());
        let parent = chosen.map_or_else(|| beside.join(DIRECTORY), PathBuf::from);
        let create = || -> io::Result<Self> {
            let parent = std::path::absolute(&parent)?;
            fs::create_dir_all(&parent)?;
            let mut path = parent.join(name);
            // Another run with this name may not have delivered its outputs.
            let mut number = 1;
            while let Err(error) = fs::create_dir(&path) {
                if error.kind() != io::ErrorKind::AlreadyExists {
                    return Err(error);
                }
                if is_in_use(&path) {
                    let message = format!(
                        "--name {name}: it must be another one, because a job with this name runs \
                         in another `modelarts`"
                    );
                    return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
                }
                number += 1;
                path = parent.join(format!("{name}-{number}"));
            }
            fs::write(path.join(".gitignore"), "*\n")?;
            let lock = File::create(path.join(LOCK))?;
            // A file system without locks only loses the message that the job still runs.
            let _ = lock.try_lock();
            Ok(Self { path, _lock: lock })
        };
        let unusable = |place: &Path, error: io::Error| match error.kind() {
            io::ErrorKind::ResourceBusy => Failure::usage(error),
            _ => Failure::local(format_args!(
                "the files of the job cannot be kept in {}: {error}; it must be a writable \
                 directory: {VARIABLE} chooses one for the storage, --download one for the outputs",
                place.display()
            )),
        };
        test(beside).map_err(|error| unusable(beside, error))?;
        create().map_err(|error| unusable(&parent, error))
    }

    pub(crate) fn obs_root(&self) -> PathBuf {
        self.path.join("obs")
    }

    pub(crate) fn workers(&self) -> PathBuf {
        self.path.join("workers")
    }

    /// Returns where the outputs of a job are in this storage.
    pub(crate) fn outputs(&self, job: &Job, emulator: &Emulator) -> StoredOutputs {
        let directories = emulator.output_directories(job.id());
        let outputs = job.outputs().map(|(name, url)| {
            let path = url.parse::<ObsPath>().ok();
            let objects = path.map(|path| self.obs_root().join(path.bucket()).join(path.key()));
            let of_workers = directories.iter().filter(|(of, ..)| of == name);
            let workers = of_workers.map(|(_, worker, path)| (worker.clone(), path.clone()));
            let (name, objects) = (name.to_owned(), objects.unwrap_or_default());
            StoredOutput { name, objects, workers: workers.collect() }
        });
        StoredOutputs { storage: self.path.clone(), outputs: outputs.collect() }
    }
}

/// Tests that files can be written to a directory, which is created.
fn test(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    NamedTempFile::new_in(directory).map(drop)
}

/// Outputs of a job in a storage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredOutputs {
    pub(crate) storage: PathBuf,
    outputs: Vec<StoredOutput>,
}

/// Places of an output in a storage.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredOutput {
    name: String,
    /// Directory of its objects.
    objects: PathBuf,
    /// Directory of each worker, with that of the output, which has what could not be copied to OBS.
    workers: Vec<(PathBuf, PathBuf)>,
}

/// Output whose files are moved or copied.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) name: String,
    /// Directory in which the files were.
    pub(crate) source: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) summary: Summary,
    /// Paths of files that stay, with the reasons.
    pub(crate) failed: BTreeMap<PathBuf, String>,
}

impl StoredOutputs {
    /// Moves or copies the outputs to directories with their names. A file that cannot be moved stays.
    pub(crate) fn deliver(&self, to: &Path, only: Option<&str>, moves: bool) -> Vec<Delivery> {
        let (of_objects, of_workers) = match moves {
            true => (How::Move, How::MoveNewer),
            false => (How::Copy, How::Copy),
        };
        let outputs = self.outputs.iter();
        let outputs = outputs.filter(|output| only.is_none_or(|only| only == output.name));
        let deliver = |StoredOutput { name, objects, workers }: &StoredOutput| {
            let mut delivery = Delivery::new(name, objects.clone(), to);
            delivery.transfer(objects, of_objects);
            for (worker, output) in workers {
                let mut entries = WalkDir::new(output).into_iter().flatten();
                // Only a copy follows links, so it comes before the files are moved.
                if entries.any(|entry| entry.path_is_symlink()) {
                    let copied = Emulator::copy_output(worker, output, &delivery.directory);
                    delivery.keep_error(Path::new(""), copied);
                }
                delivery.transfer(output, of_workers);
            }
            delivery
        };
        outputs.map(deliver).collect()
    }

    /// Deletes the outputs.
    pub(crate) fn remove(&self) -> io::Result<()> {
        let all = self.outputs.iter().flat_map(|output| {
            let of_workers = output.workers.iter().map(|(_, path)| path);
            std::iter::once(&output.objects).chain(of_workers)
        });
        for directory in all {
            match fs::remove_dir_all(directory) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns `true` if the program that runs the job has not ended.
    pub(crate) fn is_in_use(&self) -> bool {
        is_in_use(&self.storage)
    }
}

fn is_in_use(storage: &Path) -> bool {
    let lock = File::open(storage.join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Removes a storage, and the directory of storages if it is empty then.
pub(crate) fn remove(storage: &Path) -> io::Result<()> {
    match fs::remove_dir_all(storage) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if let Some(parent) = storage.parent().filter(|parent| parent.ends_with(DIRECTORY)) {
        // Other storages stay.
        let _ = fs::remove_dir(parent);
    }
    Ok(())
}

/// Returns the size of the files below a directory, in bytes.
pub(crate) fn size(directory: &Path) -> u64 {
    let files = WalkDir::new(directory).into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file());
    files.filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
}

/// Action for each file of a directory tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Move,
    /// Moves files that the target lacks or has in an older version, and leaves out links.
    MoveNewer,
    Copy,
}

impl Delivery {
    /// Creates a delivery to the directory below `to` with the name of the output.
    pub(crate) fn new(name: &str, source: PathBuf, to: &Path) -> Self {
        let (directory, name) = (to.join(name), name.to_owned());
        Self { name, source, directory, summary: Summary::default(), failed: BTreeMap::new() }
    }

    fn keep_error(&mut self, path: &Path, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed.insert(path.to_owned(), error.to_string());
        }
    }

    /// Moves or copies the files of a directory, one by one and whatever their names are. A directory
    /// that does not exist has no files.
    pub(crate) fn transfer(&mut self, from: &Path, how: How) {
        if let Err(error) = fs::create_dir_all(&self.directory) {
            return self.keep_error(Path::new(""), Err(error));
        }
        for entry in WalkDir::new(from) {
            let (path, result) = match &entry {
                Ok(entry) => (entry.path(), self.entry(entry, from, how)),
                Err(error) => {
                    let kind = error.io_error().map(io::Error::kind);
                    if error.depth() == 0 && kind == Some(io::ErrorKind::NotFound) {
                        continue;
                    }
                    (error.path().unwrap_or(from), Err(io::Error::other(error.to_string())))
                }
            };
            let below = path.strip_prefix(from).unwrap_or(path).to_owned();
            self.keep_error(&below, result);
        }
        if how != How::Copy {
            let directories = WalkDir::new(from).contents_first(true).into_iter().flatten();
            let directories = directories.filter(|entry| entry.file_type().is_dir());
            // A directory with files that were not moved stays.
            directories.for_each(|entry| drop(fs::remove_dir(entry.path())));
        }
    }

    fn entry(&mut self, entry: &DirEntry, from: &Path, how: How) -> io::Result<()> {
        let below = entry.path().strip_prefix(from).map_err(io::Error::other)?;
        let target = self.directory.join(below);
        let metadata = entry.metadata()?;
        let is_newer = |known: Metadata| {
            known.len() != metadata.len() || known.modified().ok() < metadata.modified().ok()
        };
        match how {
            How::MoveNewer if metadata.is_dir() => return Ok(()),
            _ if metadata.is_dir() => {
                return match fs::create_dir(&target) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                    _ if target.is_dir() => Ok(()),
                    _ => Err(io::ErrorKind::NotADirectory.into()),
                };
            }
            // The emulator ended while it copied the file.
            How::Move if entry.file_name().to_string_lossy().starts_with(PART_PREFIX) => {
                return Ok(());
            }
            How::Move => rename(entry.path(), &target)?,
            // A copy as the platform makes it has followed the links.
            _ if !metadata.is_file() => return Ok(()),
            How::MoveNewer if !fs::metadata(&target).map_or(true, is_newer) => return Ok(()),
            How::MoveNewer => {
                fs::create_dir_all(target.parent().unwrap_or(&self.directory))?;
                rename(entry.path(), &target)?;
            }
            How::Copy if is_same(entry.path(), &target)? => {
                self.summary.unchanged.files += 1;
                self.summary.unchanged.bytes += metadata.len();
                return Ok(());
            }
            How::Copy => copy(entry.path(), &target)?,
        }
        self.summary.transferred.files += 1;
        self.summary.transferred.bytes += metadata.len();
        Ok(())
    }
}

/// Renames a file, or copies and removes it on another file system.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy(from, to)?;
            fs::remove_file(from)
        }
        result => result,
    }
}

/// Replaces a file by a copy of another one, or leaves it as it is.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let directory = to.parent().unwrap_or(Path::new("."));
    let copy = tempfile::Builder::new().prefix(".modelarts-copy-").tempfile_in(directory)?;
    fs::copy(from, copy.path())?;
    copy.persist(to)?;
    Ok(())
}

/// Returns `true` if two files have the same contents.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    use io::{BufRead, BufReader};

    let Ok(known) = File::open(other) else {
        return Ok(false);
    };
    if fs::canonicalize(one)? == fs::canonicalize(other)? {
        return Ok(true);
    }
    let (mut one, mut other) = (BufReader::new(File::open(one)?), BufReader::new(known));
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let length = left.len().min(right.len());
        if left[..length] != right[..length] || left.is_empty() != right.is_empty() {
            return Ok(false);
        }
        if length == 0 {
            return Ok(true);
        }
        one.consume(length);
        other.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    use super::*;

    #[test]
    fn files_with_any_name_are_moved_and_what_cannot_be_moved_is_named() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        let mut delivery = Delivery::new("to", from.clone(), root.path());
        let long = vec!["d".repeat(250); 5].join("/");
        fs::create_dir_all(from.join(&long)).unwrap();
        fs::create_dir_all(to.join("taken")).unwrap();
        let names: [&[u8]; 6] =
            [b"caf\xe9.txt", b"a\nb", b"\x1b[31m", b"taken", b".copying-x", b"plain"];
        for name in names {
            fs::write(from.join(OsStr::from_bytes(name)), "1").unwrap();
        }
        fs::write(from.join(&long).join("model.pt"), "weights").unwrap();
        delivery.transfer(&from, How::Move);
        assert_eq!(delivery.summary.transferred.files, 5);
        let failed: Vec<_> = delivery.failed.keys().map(|path| path.to_str()).collect();
        assert_eq!(failed, [Some("taken")]);
        assert_eq!(fs::read(to.join(OsStr::from_bytes(names[0]))).unwrap(), b"1");
        assert_eq!(fs::read(to.join(&long).join("model.pt")).unwrap(), b"weights");
        assert!(!from.join("d".repeat(250)).exists());
        // The next call moves what could not be moved before.
        fs::remove_dir(to.join("taken")).unwrap();
        delivery.transfer(&from, How::Move);
        assert!(to.join("taken").is_file());
    }

    #[test]
    fn files_of_workers_that_are_newer_than_the_objects_are_moved() {
        let root = tempfile::tempdir().unwrap();
        let (worker, to) = (root.path().join("worker"), root.path().join("to"));
        fs::create_dir_all(worker.join("sub")).unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::write(worker.join("same"), "1").unwrap();
        fs::write(to.join("same"), "2").unwrap();
        fs::write(worker.join("longer"), "22").unwrap();
        fs::write(to.join("longer"), "1").unwrap();
        fs::write(worker.join("sub/missing"), "3").unwrap();
        std::os::unix::fs::symlink("same", worker.join("link")).unwrap();
        let mut delivery = Delivery::new("to", worker.clone(), root.path());
        delivery.transfer(&worker, How::MoveNewer);
        let read = |name: &str| fs::read_to_string(to.join(name)).unwrap();
        assert_eq!(["same", "longer", "sub/missing"].map(read), ["2", "22", "3"]);
        assert_eq!((delivery.summary.transferred.files, delivery.failed.len()), (2, 0));
        assert!(!to.join("link").exists());
    }

    #[test]
    fn a_copy_leaves_files_with_the_same_contents() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        for directory in [&from, &to] {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join("same"), "1").unwrap();
        }
        fs::write(from.join("other"), "12").unwrap();
        fs::write(to.join("other"), "1").unwrap();
        let mut delivery = Delivery::new("to", from.clone(), root.path());
        delivery.transfer(&from, How::Copy);
        let summary = &delivery.summary;
        assert_eq!((summary.transferred.files, summary.unchanged.files), (1, 1));
        assert_eq!(fs::read_to_string(to.join("other")).unwrap(), "12");
        assert!(from.join("other").exists());
    }
}
