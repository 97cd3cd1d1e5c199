//! Commit of a code directory, read from the files of its repository without running git.
//!
//! The index of git contains the size, the modification time and the checksum of each file at the
//! last checkout or `git add`. A directory is clean if its files match the index, and the index has
//! no changes since the last commit.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use ring::digest;
use serde::Serialize;

/// Size of an entry of the index before its path, in bytes, without the second word of flags in
/// version 3.
const ENTRY: usize = 62;
/// Bits of the file type in the mode of an entry.
const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
/// Flag of an entry with a second word of flags.
const EXTENDED: u32 = 0x4000;
/// Flag in the second word for a file that a sparse checkout omits.
const SKIP_WORKTREE: u32 = 0x4000;

/// Commit of a directory, and the state of the directory relative to the commit.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Revision {
    commit: String,
    /// `true` if the directory differs from the commit. `None` if the index cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    dirty: Option<bool>,
}

impl Revision {
    /// Finds the repository of a directory, and compares files with its index. `files` contains
    /// their paths in the directory, with `true` for executable files. Returns `None` outside a
    /// repository, and if `HEAD` has no commit. Blocks.
    pub(super) fn find(directory: &Path, files: &[(&str, bool)]) -> Option<Self> {
        let mut above = directory.ancestors();
        let (root, git) = above.find_map(|root| Some((root, git_dir(&root.join(".git"))?)))?;
        let dirty = || {
            let index = Index::parse(&fs::read(git.join("index")).ok()?)?;
            Some(index.differs(root, directory, files))
        };
        Some(Self { commit: head(&git)?, dirty: dirty() })
    }
}

/// Returns the git directory at a path `.git`. In a linked worktree or a submodule, `.git` is a
/// file that contains the path.
fn git_dir(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.is_dir() {
        return Some(dot_git.to_owned());
    }
    let text = fs::read_to_string(dot_git).ok()?;
    let path = text.strip_prefix("gitdir:")?.trim();
    Some(dot_git.parent()?.join(path))
}

/// Returns the id of the commit at `HEAD`, or `None` if there is none or it cannot be read.
fn head(git: &Path) -> Option<String> {
    let read = |path: PathBuf| Some(fs::read_to_string(path).ok()?.trim().to_owned());
    let is_id = |text: &String| {
        matches!(text.len(), 40 | 64) && text.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    let head = read(git.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref:").map(str::trim) else {
        return Some(head).filter(is_id);
    };
    // Linked worktrees share the branches of the main worktree.
    let shared = read(git.join("commondir")).map_or(git.to_owned(), |path| git.join(path));
    let packed = || {
        let packed = read(shared.join("packed-refs"))?;
        let refs = packed.lines().filter_map(|line| line.split_once(' '));
        let mut named = refs.filter(|(_, packed)| *packed == name);
        named.next().map(|(id, _)| id.to_owned())
    };
    read(shared.join(name)).or_else(packed).filter(is_id)
}

/// Index of a repository, with its entries by path.
struct Index {
    entries: BTreeMap<String, Entry>,
    /// `true` if the index has no changes since the last commit.
    is_committed: bool,
}

struct Entry {
    modified: (u32, u32),
    mode: u32,
    size: u32,
    /// Id of the blob: SHA-1 of a header and the contents.
    id: [u8; 20],
    /// `true` if a sparse checkout omits the file.
    is_sparse: bool,
}

impl Index {
    /// Parses an index of version 2 or 3 with SHA-1 and a cache tree; `None` for any other index.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| {
            let digits = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_be_bytes(digits))
        };
        if bytes.get(..4)? != b"DIRC" || !matches!(number(4)?, 2 | 3) {
            return None;
        }
        let mut entries = BTreeMap::new();
        let mut at = 12;
        for _ in 0..number(8)? {
            // The flags are the last two bytes before the path, or before the second word of flags.
            let is_extended = number(at + ENTRY - 4)? & EXTENDED != 0;
            let is_sparse = is_extended && number(at + ENTRY - 2)? & SKIP_WORKTREE != 0;
            let start = at + ENTRY + if is_extended { 2 } else { 0 };
            let rest = bytes.get(start..)?;
            let length = rest.iter().position(|byte| *byte == 0)?;
            let entry = Entry {
                modified: (number(at + 8)?, number(at + 12)?),
                mode: number(at + 24)?,
                size: number(at + 36)?,
                id: bytes.get(at + 40..at + 60)?.try_into().ok()?,
                is_sparse,
            };
            let path = String::from_utf8_lossy(&rest[..length]).into_owned();
            entries.insert(path, entry);
            // Entries are padded with 1 to 8 zero bytes to a multiple of 8.
            at += (start - at + length + 8) & !7;
        }
        Some(Self { entries, is_committed: is_committed(bytes.get(at..)?)? })
    }

    /// Returns `true` if files of the directory differ from the index or are not in it, if files of
    /// the index are missing, or if the index has changes since the last commit.
    fn differs(&self, root: &Path, directory: &Path, files: &[(&str, bool)]) -> bool {
        let prefix = directory.strip_prefix(root).unwrap_or(Path::new(""));
        let steps = prefix.iter().map(|step| step.to_string_lossy() + "/");
        let prefix: String = steps.collect();
        let changed = |(path, is_executable): &(&str, bool)| {
            let entry = self.entries.get(&format!("{prefix}{path}"));
            entry.is_none_or(|entry| entry.differs(&directory.join(path), *is_executable))
        };
        let in_directory = self.entries.range(prefix.clone()..);
        let mut in_directory = in_directory.take_while(|(path, _)| path.starts_with(&prefix));
        !self.is_committed
            || files.iter().any(changed)
            || in_directory.any(|(path, entry)| {
                let is_file = matches!(entry.mode & TYPE, REGULAR | LINK) && !entry.is_sparse;
                is_file && fs::symlink_metadata(root.join(path)).is_err()
            })
    }
}

impl Entry {
    fn differs(&self, path: &Path, is_executable: bool) -> bool {
        let Ok(metadata) = fs::symlink_metadata(path) else {
            return true;
        };
        let is_regular = self.mode & TYPE == REGULAR;
        if metadata.is_file() != is_regular
            || is_regular && cfg!(unix) && is_executable != (self.mode & 0o111 != 0)
        {
            return true;
        }
        let modified = metadata.modified().ok();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let same_time = modified.is_some_and(|time| {
            let seconds = time.as_secs() & u64::from(u32::MAX);
            (seconds, time.subsec_nanos()) == (u64::from(self.modified.0), self.modified.1)
        });
        if same_time && metadata.len() & u64::from(u32::MAX) == u64::from(self.size) {
            return false;
        }
        let contents = match is_regular {
            true => fs::read(path).ok(),
            false => fs::read_link(path)
                .ok()
                .map(|target| target.to_string_lossy().into_owned().into_bytes()),
        };
        contents.is_none_or(|contents| {
            let mut hash = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
            hash.update(format!("blob {}\0", contents.len()).as_bytes());
            hash.update(&contents);
            hash.finish().as_ref() != self.id
        })
    }
}

/// Returns `true` if the cache tree of an index has a valid root. `git add` invalidates it, and a
/// commit restores it. Returns `None` for a split index and an index without a cache tree.
fn is_committed(mut extensions: &[u8]) -> Option<bool> {
    loop {
        let (name, rest) = extensions.split_at_checked(4)?;
        let (size, rest) = rest.split_at_checked(4)?;
        // A split index, whose entries are in another file.
        if name == b"link" {
            return None;
        }
        let size = u32::from_be_bytes(size.try_into().ok()?);
        let (data, rest) = rest.split_at_checked(usize::try_from(size).ok()?)?;
        if name == b"TREE" {
            // The root has an empty path and the number of its entries, or -1 if it is not valid.
            return Some(!data.starts_with(b"\0-1 "));
        }
        extensions = rest;
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

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
        let files: Vec<_> = files.iter().map(|path| (*path, false)).collect();
        Revision::find(&directory.canonicalize().unwrap(), &files)
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
    fn an_index_that_cannot_be_read_leaves_the_commit() {
        let repository = Repository::new();
        let index = repository.0.path().join(".git/index");
        let bytes = fs::read(&index).unwrap();
        for end in 0..bytes.len() {
            // No prefix of an index causes a panic.
            let _ = Index::parse(&bytes[..end]);
        }
        repository.git(&["update-index", "--index-version", "4"]);
        let revision = repository.revision(&FILES).unwrap();
        assert_eq!((revision.commit.len(), revision.dirty), (40, None));
        let outside = tempfile::tempdir().unwrap();
        assert_eq!(super::Revision::find(outside.path(), &[]), None);
    }
}
