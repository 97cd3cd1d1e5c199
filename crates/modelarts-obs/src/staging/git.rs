//! Commit of a code directory, as the program `git` reports it.

use std::{
    collections::HashSet,
    path::Path,
    process::{Command, Stdio},
};

use serde::Serialize;

/// Commit of a directory, and the state of the directory relative to the commit.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Revision {
    commit: String,
    /// `true` if the directory differs from the commit. `None` if git cannot compare them.
    #[serde(skip_serializing_if = "Option::is_none")]
    dirty: Option<bool>,
}

impl Revision {
    /// Finds the repository of a directory, and compares `files` with its current commit. `files`
    /// are paths relative to the directory. Returns `None` outside of a repository, before the
    /// first commit, and if git is not installed or does not trust the repository. Blocks.
    pub(super) fn find(directory: &Path, files: &[&str]) -> Option<Self> {
        let commit = run_git(directory, &["rev-parse", "--verify", "HEAD^{commit}"])?;
        Some(Self { commit: commit.trim().to_owned(), dirty: is_dirty(directory, files) })
    }
}

/// Returns `true` if one of the files differs from the commit or is not in it, or if a file of the
/// commit was deleted. Changes of files that are not in `files` do not count.
fn is_dirty(directory: &Path, files: &[&str]) -> Option<bool> {
    let committed = run_git(directory, &["ls-tree", "-r", "-z", "--name-only", "HEAD"])?;
    let changed = ["diff", "--name-only", "--relative", "--no-renames", "-z", "HEAD", "--", "."];
    let changed = run_git(directory, &changed)?;
    let committed: HashSet<&str> = committed.split_terminator('\0').collect();
    let files: HashSet<&str> = files.iter().copied().collect();
    let is_deleted = |path: &str| directory.join(path).symlink_metadata().is_err();
    let mut changed = changed.split_terminator('\0');
    Some(
        !files.is_subset(&committed)
            || changed.any(|path| files.contains(path) || is_deleted(path)),
    )
}

/// Returns the output of git. `None` if git fails. Reads only: starts no monitor of the file system
/// and does not write the index. Variables that a hook of another repository sets are not used.
fn run_git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(["--no-optional-locks", "-c", "core.fsmonitor=false", "-C"])
        .arg(directory)
        .args(arguments)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new() -> Self {
            let repository = Self(tempfile::tempdir().unwrap());
            repository.git(&["init", "--quiet", "--initial-branch=main"]);
            repository.write("src/train.py", "1");
            repository.write("src/lib/a.py", "2");
            repository.write("README", "3");
            repository.git(&["add", "."]);
            repository.git(&["commit", "--quiet", "--message=first"]);
            repository
        }

        fn git(&self, arguments: &[&str]) -> String {
            let output = Command::new("git")
                .args(["-c", "user.name=a", "-c", "user.email=a@b"])
                .args(arguments)
                .current_dir(self.0.path())
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_SYSTEM", "/dev/null")
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        }

        fn write(&self, path: &str, contents: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }

        fn revision(&self, files: &[&str]) -> Option<Revision> {
            revision(&self.0.path().join("src"), files)
        }
    }

    fn revision(directory: &Path, files: &[&str]) -> Option<Revision> {
        Revision::find(directory, files)
    }

    const FILES: [&str; 2] = ["lib/a.py", "train.py"];

    #[test]
    fn a_commit_and_changes_since_it_are_found() {
        let repository = Repository::new();
        let commit = repository.git(&["rev-parse", "HEAD"]);
        let expect = |dirty: bool| {
            let commit = commit.clone();
            let dirty = Some(dirty);
            Some(Revision { commit, dirty })
        };
        assert_eq!(repository.revision(&FILES), expect(false));

        // A new modification time, a change outside of the directory and a file that is left out
        // are no differences.
        repository.write("src/train.py", "1");
        repository.write("README", "4");
        assert_eq!(repository.revision(&FILES[1..]), expect(false));
        repository.git(&["checkout", "--quiet", "README"]);
        // An untracked file is a difference.
        assert_eq!(repository.revision(&["lib/a.py", "new.py", "train.py"]), expect(true));
        // Other contents of the same size are a difference, also after they are staged.
        repository.write("src/train.py", "5");
        assert_eq!(repository.revision(&FILES), expect(true));
        repository.git(&["add", "."]);
        assert_eq!(repository.revision(&FILES), expect(true));
        repository.git(&["reset", "--quiet", "--hard"]);
        assert_eq!(repository.revision(&FILES), expect(false));
        // A deleted file is a difference.
        fs::remove_file(repository.0.path().join("src/lib/a.py")).unwrap();
        assert_eq!(repository.revision(&FILES[1..]), expect(true));
        repository.git(&["reset", "--quiet", "--hard"]);

        // References may be packed into one file, and a commit may be checked out without a branch.
        repository.git(&["pack-refs", "--all"]);
        assert_eq!(repository.revision(&FILES), expect(false));
        repository.git(&["checkout", "--quiet", "--detach"]);
        assert_eq!(repository.revision(&FILES), expect(false));
        // A linked work tree is found as well.
        let other = repository.0.path().join("other");
        repository.git(&["worktree", "add", "--quiet", "-b", "side", "other"]);
        assert_eq!(revision(&other.join("src"), &FILES), expect(false));
    }

    #[test]
    fn an_index_without_changes_may_differ_from_the_commit() {
        let repository = Repository::new();
        repository.write("src/train.py", "5");
        repository.git(&["commit", "--quiet", "--all", "--message=second"]);
        repository.git(&["reset", "--quiet", "--soft", "HEAD^"]);
        let commit = repository.git(&["rev-parse", "HEAD"]);
        let expected = Revision { commit, dirty: Some(true) };
        assert_eq!(repository.revision(&FILES), Some(expected));
    }

    #[test]
    fn without_a_commit_there_is_no_revision() {
        let outside = tempfile::tempdir().unwrap();
        assert_eq!(revision(outside.path(), &[]), None);
        let repository = Repository(outside);
        repository.git(&["init", "--quiet"]);
        assert_eq!(revision(repository.0.path(), &[]), None);
    }
}
