//! Temporary directories that only the user of the program can read.

use std::{
    env,
    fs::{self, File},
    io,
    path::Path,
};

use tempfile::TempDir;

/// Prefix of the names of process directories.
const PREFIX: &str = "modelarts-console-";
/// Name of the lock file in a process directory. The process holds the lock as long as it runs.
const LOCK: &str = "lock";

/// Creates a directory with a name prefix, which is deleted when the value is dropped. Only this
/// user can read it: all users share the parent directory, but logs and code are private.
pub(crate) fn directory(prefix: &str) -> io::Result<TempDir> {
    directory_in(&env::temp_dir(), prefix)
}

/// Creates such a directory in `parent`.
pub(crate) fn directory_in(parent: &Path, prefix: &str) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    {
        use std::{fs::Permissions, os::unix::fs::PermissionsExt};
        builder.permissions(Permissions::from_mode(0o700));
    }
    builder.tempdir_in(parent)
}

/// A directory that is deleted when the value is dropped. If the process is killed,
/// [`remove_abandoned`] in a later process deletes it.
pub(crate) struct ProcessDirectory {
    directory: TempDir,
    /// Lock that the operating system releases when the process ends in any way.
    _lock: File,
}

impl ProcessDirectory {
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        let directory = directory_in(parent, PREFIX)?;
        let unnamed = directory.path().join("new");
        let lock = File::create_new(&unnamed)?;
        lock.lock()?;
        // The file gets its name only after it is locked, so it never appears unlocked.
        fs::rename(unnamed, directory.path().join(LOCK))?;
        Ok(Self { directory, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Deletes the directories of processes that were killed.
pub(crate) fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let lock = entry.path().join(LOCK);
        // Another user may have created a pipe with this name. Opening the pipe would block.
        let is_file = lock.symlink_metadata().is_ok_and(|lock| lock.is_file());
        if entry.file_name().to_string_lossy().starts_with(PREFIX)
            && is_file
            && let Ok(lock) = File::open(lock)
            && lock.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn other_users_cannot_read_a_directory() {
        use std::os::unix::fs::PermissionsExt;

        let directory = directory("modelarts-test-").unwrap();
        let mode = directory.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn directories_of_other_processes_are_deleted_unless_they_run() {
        let parent = directory("modelarts-test-").unwrap();
        let [own, running, killed] =
            [0; 3].map(|_| ProcessDirectory::create(parent.path()).unwrap());
        let other = directory_in(parent.path(), PREFIX).unwrap();
        fs::write(running.path().join("file"), "").unwrap();
        fs::write(killed.path().join("file"), "").unwrap();
        let ProcessDirectory { directory, _lock } = killed;
        drop(_lock);
        let left = directory.keep();
        remove_abandoned(parent.path());
        assert!(!left.exists());
        assert!(own.path().exists() && other.path().exists());
        assert!(running.path().join("file").exists());
        let path = running.path().to_owned();
        drop(running);
        assert!(!path.exists());
    }
}
