//! Temporary directories that only the user of the program can read.

use std::{
    env,
    fs::{self, File},
    io,
    path::Path,
};

use tempfile::TempDir;

/// Beginning of the names of the directories of processes.
const PREFIX: &str = "modelarts-console-";
/// File in such a directory. Its process locks it as long as it runs.
const LOCK: &str = "lock";

/// Creates a directory whose name begins with a prefix, and which is deleted with the value. Logs
/// and code are private, and the directory of temporary files is shared by all users.
pub(crate) fn directory(prefix: &str) -> io::Result<TempDir> {
    directory_in(&env::temp_dir(), prefix)
}

/// Creates such a directory in another one.
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

/// A directory that is deleted when the value is dropped, or after a kill of the process by
/// [`remove_abandoned`] of a later one.
pub(crate) struct ProcessDirectory {
    directory: TempDir,
    /// The system releases the lock when the process ends in any way.
    _lock: File,
}

impl ProcessDirectory {
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        let directory = directory_in(parent, PREFIX)?;
        let unnamed = directory.path().join("new");
        let lock = File::create_new(&unnamed)?;
        lock.lock()?;
        // Under its name, the file is never without its lock.
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
        // Another user may have made a pipe, whose opening would wait.
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
