//! Directory to which file access is confined. A path that leads outside, by `..`, as an absolute
//! path or through a link, is rejected. A copy can skip such links instead.
//!
//! Examples are the OBS root and the directories of the workers. Copies between them use [`copy`].
//!
//! The checks protect against accidents and untrusted data. They do not protect against the job
//! code itself, which runs as the same user and could replace a directory with a link at any time.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Read, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, PermissionsExt},
    },
    path::{Component, Path, PathBuf},
    time::Duration,
};

use tokio_util::sync::CancellationToken;
use walkdir::WalkDir;

/// Resolved directory that paths cannot leave.
#[derive(Clone, Debug)]
pub(crate) struct ConfinedDir {
    root: PathBuf,
    /// Mode of the directories created inside it.
    mode: u32,
}

/// Handling of links that lead outside, and of entries that are neither files nor directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnEscape {
    /// The copy fails with an error that names the entry.
    Refuse,
    /// The copy skips the entry and reports it.
    Skip,
}

impl ConfinedDir {
    /// Creates the directory `root` if it does not exist. Only the current user can access it.
    pub(crate) fn create(root: &Path) -> io::Result<Self> {
        let mode = 0o700;
        let mut directories = fs::DirBuilder::new();
        directories.recursive(true).mode(mode).create(root)?;
        Ok(Self {
            root: root.canonicalize()?,
            mode,
        })
    }

    /// Opens an existing directory, to copy from it.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { root, mode: 0o700 })
    }

    /// Uses the mode that the umask of the process permits for new directories. The mode of the
    /// root already restricts access to them.
    pub(crate) fn with_umask_mode(self) -> Self {
        Self {
            mode: 0o777,
            ..self
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the real path of `relative`, which must exist inside the root.
    pub(crate) fn resolve(&self, relative: &Path) -> io::Result<PathBuf> {
        let resolved = self.root.join(names_only(relative)?).canonicalize()?;
        self.check_inside(resolved, relative)
    }

    /// Returns the directory `relative`, and creates it if it does not exist. Each component is
    /// checked before the next one.
    pub(crate) fn directory(&self, relative: &Path) -> io::Result<PathBuf> {
        let mut path = self.root.clone();
        for part in names_only(relative)?.components() {
            path = self.make_directory(&path, part.as_os_str(), relative)?;
        }
        Ok(path)
    }

    /// Writes the file `relative`, and creates its directory if it does not exist. Readers see
    /// either the whole old file or the whole new one; a link at the path is replaced.
    pub(crate) fn write(&self, relative: &Path, contents: &[u8]) -> io::Result<()> {
        let directory = self.directory(relative.parent().unwrap_or(Path::new("")))?;
        let target = directory.join(relative.file_name().unwrap_or(OsStr::new("file")));
        if target.is_dir() {
            return Err(path_error(relative, "is a directory"));
        }
        // The umask of the process applies, as it does to new directories.
        let mut file = tempfile::Builder::new()
            .prefix(PART_PREFIX)
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(&directory)?;
        file.write_all(contents)?;
        file.persist(target).map_err(|error| error.error)?;
        Ok(())
    }

    /// Returns the directory `name` in `parent`, and creates it if it does not exist. `parent` is
    /// already resolved and inside the root, so that only `name` may be a link.
    fn make_directory(&self, parent: &Path, name: &OsStr, requested: &Path) -> io::Result<PathBuf> {
        let mut path = parent.join(name);
        match fs::DirBuilder::new().mode(self.mode).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        if fs::symlink_metadata(&path)?.is_symlink() {
            path = self.check_inside(path.canonicalize()?, requested)?;
        }
        if path.is_dir() {
            Ok(path)
        } else {
            Err(path_error(requested, "exists and is not a directory"))
        }
    }

    fn check_inside(&self, resolved: PathBuf, requested: &Path) -> io::Result<PathBuf> {
        if resolved.starts_with(&self.root) {
            Ok(resolved)
        } else {
            Err(path_error(
                requested,
                "is a link that leads out of its root directory",
            ))
        }
    }
}

/// Copies the file or the directory tree `from_path` into the directory `to_path`, and returns the
/// skipped entries.
///
/// Existing files are replaced. The copy follows links inside `from`, and replaces links in `to`.
/// It skips incomplete files of an interrupted earlier copy, which it recognises by their names.
///
/// # Errors
/// Returns an error if an entry cannot be read, written or copied, or if `interrupt` is cancelled.
/// Files that have already been copied are kept.
pub(crate) fn copy(
    (from, from_path): (&ConfinedDir, &Path),
    (to, to_path): (&ConfinedDir, &Path),
    on_escape: OnEscape,
    interrupt: &CancellationToken,
) -> io::Result<Vec<String>> {
    let source = from.resolve(from_path)?;
    let single = !source.is_dir();
    let mut left_out = Vec::new();
    let mut leave_out = |error: io::Error| match on_escape {
        OnEscape::Refuse => Err(error),
        OnEscape::Skip => {
            left_out.push(error.to_string());
            Ok(())
        }
    };
    // Stack of the resolved target directories on the path to the current entry.
    let mut directories = vec![to.directory(to_path)?];
    let mut walk = WalkDir::new(&source)
        .follow_links(true)
        .sort_by_file_name()
        .into_iter();
    while let Some(entry) = walk.next() {
        check_interrupt(interrupt)?;
        let entry = match entry {
            Ok(entry) => entry,
            // Such errors result from a dangling symbolic link, a cycle of links, or an unreadable
            // directory.
            Err(error) if error.depth() > 0 => {
                leave_out(io::Error::other(error.to_string()))?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let below = match entry.path().strip_prefix(&source) {
            Ok(below) if single && below.as_os_str().is_empty() => {
                Path::new(source.file_name().unwrap_or(OsStr::new("file")))
            }
            Ok(below) => below,
            Err(error) => return Err(io::Error::other(error)),
        };
        // An entry of a directory inside the root is inside as well, unless it is a link.
        let leads_out =
            entry.path_is_symlink() && !entry.path().canonicalize()?.starts_with(&from.root);
        let objection = if leads_out {
            Some("is a link that leads out of its root directory")
        } else if !(entry.file_type().is_dir() || entry.file_type().is_file()) {
            Some("is neither a file nor a directory")
        } else {
            None
        };
        if let Some(objection) = objection {
            if entry.file_type().is_dir() {
                walk.skip_current_dir();
            }
            leave_out(path_error(below, objection))?;
            continue;
        }
        directories.truncate(entry.depth().max(1));
        let (Some(parent), Some(name)) = (directories.last(), below.file_name()) else {
            // The entry is the root itself, which exists already.
            continue;
        };
        let is_part = name.as_bytes().starts_with(PART_PREFIX.as_bytes());
        if entry.file_type().is_file() && is_part {
            continue;
        }
        if entry.file_type().is_dir() {
            let directory = to.make_directory(parent, name, &to_path.join(below))?;
            directories.push(directory);
        } else {
            copy_file(entry.path(), parent, &parent.join(name), interrupt)?;
        }
    }
    Ok(left_out)
}

fn check_interrupt(interrupt: &CancellationToken) -> io::Result<()> {
    if interrupt.is_cancelled() {
        return Err(io::Error::other("the copy was interrupted"));
    }
    Ok(())
}

/// Prefix of the names of files that are being copied.
pub(crate) const PART_PREFIX: &str = ".copying-";
/// Number of bytes copied between two checks of the interrupt; copying them takes a tenth of a
/// second on a slow disk.
const COPY_CHUNK: u64 = 8 << 20;
/// Minimum age at which a modification time is unique: any later change results in a later time.
const MIN_STABLE_AGE: Duration = Duration::from_secs(2);

/// Copies a file, unless its copy is up to date. Readers see either the whole old file or the whole
/// new one.
///
/// The copy receives the modification time of its source, so that the next copy recognises an
/// unchanged file. The time is not transferred if the source is so new that it may change again
/// within the same tick of the file system.
fn copy_file(
    from: &Path,
    directory: &Path,
    target: &Path,
    interrupt: &CancellationToken,
) -> io::Result<()> {
    let source = fs::metadata(from)?;
    let changed = source.modified()?;
    let there = fs::symlink_metadata(target)
        .ok()
        .filter(fs::Metadata::is_file);
    if let Some(there) = there
        && there.len() == source.len()
        && there.modified()? == changed
    {
        return Ok(());
    }
    // The temporary file is removed if a later step fails.
    let mut copy = tempfile::Builder::new()
        .prefix(PART_PREFIX)
        .tempfile_in(directory)?;
    let mut file = fs::File::open(from)?;
    while io::copy(&mut (&mut file).take(COPY_CHUNK), copy.as_file_mut())? > 0 {
        check_interrupt(interrupt)?;
    }
    copy.as_file().set_permissions(source.permissions())?;
    if changed.elapsed().is_ok_and(|age| age >= MIN_STABLE_AGE) {
        copy.as_file().set_modified(changed)?;
    }
    copy.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// Returns `path` without trailing slashes and dots, or an error if it contains components other
/// than names.
fn names_only(path: &Path) -> io::Result<PathBuf> {
    path.components()
        .filter(|part| !matches!(part, Component::CurDir))
        .map(|part| match part {
            Component::Normal(name) => Ok(name),
            _ => Err(path_error(path, "leads out of its root directory")),
        })
        .collect()
}

fn path_error(path: &Path, message: &str) -> io::Error {
    io::Error::other(format!("'{}' {message}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::time::SystemTime;

    use super::*;

    struct Place {
        _temp: tempfile::TempDir,
        outside: PathBuf,
        inside: ConfinedDir,
        target: ConfinedDir,
    }

    fn place() -> Place {
        let temp = tempfile::tempdir().unwrap();
        let outside = temp.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        let inside = ConfinedDir::create(&temp.path().join("inside")).unwrap();
        let target = ConfinedDir::create(&temp.path().join("target")).unwrap();
        Place {
            _temp: temp,
            outside,
            inside,
            target,
        }
    }

    fn copy(
        from: (&ConfinedDir, &Path),
        to: (&ConfinedDir, &Path),
        on_escape: OnEscape,
    ) -> io::Result<Vec<String>> {
        super::copy(from, to, on_escape, &CancellationToken::new())
    }

    fn refused<T: std::fmt::Debug>(result: io::Result<T>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn dots_and_absolute_paths_do_not_lead_out() {
        let place = place();
        for path in ["../outside/secret", "a/../../outside", "/etc/passwd"] {
            let path = Path::new(path);
            assert!(
                refused(place.inside.resolve(path)).ends_with("leads out of its root directory")
            );
            assert!(
                refused(place.inside.directory(path)).ends_with("leads out of its root directory")
            );
        }
        assert!(
            place
                .inside
                .directory(Path::new("a/./b/"))
                .unwrap()
                .ends_with("inside/a/b")
        );
    }

    #[test]
    fn links_do_not_lead_out_when_reading() {
        let place = place();
        let bucket = place.inside.directory(Path::new("bucket")).unwrap();
        symlink(&place.outside, bucket.join("door")).unwrap();
        let read = place.inside.resolve(Path::new("bucket/door/secret"));
        assert_eq!(
            refused(read),
            "'bucket/door/secret' is a link that leads out of its root directory"
        );
        let from = (&place.inside, Path::new("bucket"));
        let to = (&place.target, Path::new("copy"));
        assert_eq!(
            refused(copy(from, to, OnEscape::Refuse)),
            "'door' is a link that leads out of its root directory"
        );
        assert_eq!(
            copy(from, to, OnEscape::Skip).unwrap(),
            ["'door' is a link that leads out of its root directory"]
        );
        assert!(!place.target.root().join("copy/door").exists());
    }

    #[test]
    fn links_do_not_lead_out_when_writing() {
        let place = place();
        fs::write(place.inside.root().join("file"), "new").unwrap();
        symlink(&place.outside, place.target.root().join("door")).unwrap();
        let from = (&place.inside, Path::new(""));
        assert_eq!(
            refused(copy(
                from,
                (&place.target, Path::new("door")),
                OnEscape::Refuse
            )),
            "'door' is a link that leads out of its root directory"
        );
        // A link at the path of the file is replaced, and its target is not changed.
        symlink(
            place.outside.join("secret"),
            place.target.root().join("file"),
        )
        .unwrap();
        copy(from, (&place.target, Path::new("")), OnEscape::Refuse).unwrap();
        assert_eq!(
            fs::read_to_string(place.outside.join("secret")).unwrap(),
            "secret"
        );
        assert_eq!(
            fs::read_to_string(place.target.root().join("file")).unwrap(),
            "new"
        );
    }

    #[test]
    fn trees_and_single_files_are_copied() {
        let place = place();
        let deep = place.inside.directory(Path::new("data/a/b")).unwrap();
        fs::write(deep.join("x"), "1").unwrap();
        symlink(deep.join("x"), deep.join("same")).unwrap();
        copy(
            (&place.inside, Path::new("data")),
            (&place.target, Path::new("in")),
            OnEscape::Refuse,
        )
        .unwrap();
        assert_eq!(
            fs::read_to_string(place.target.root().join("in/a/b/same")).unwrap(),
            "1"
        );
        copy(
            (&place.inside, Path::new("data/a/b/x")),
            (&place.target, Path::new("one")),
            OnEscape::Refuse,
        )
        .unwrap();
        assert_eq!(
            fs::read_to_string(place.target.root().join("one/x")).unwrap(),
            "1"
        );
    }

    /// Incomplete files of an interrupted copy are skipped.
    #[test]
    fn parts_of_files_that_an_interrupted_copy_has_left_are_not_copied() {
        let place = place();
        let deep = place.inside.directory(Path::new("data/deep")).unwrap();
        for name in ["x", ".copying-", ".copying-a1b2c3", ".copying.txt"] {
            fs::write(deep.join(name), name).unwrap();
            fs::write(deep.parent().unwrap().join(name), name).unwrap();
        }
        let left_out = copy(
            (&place.inside, Path::new("data")),
            (&place.target, Path::new("in")),
            OnEscape::Refuse,
        );
        assert_eq!(left_out.unwrap(), [""; 0]);
        let target = place.target.root().join("in");
        let copied = WalkDir::new(&target).min_depth(1).sort_by_file_name();
        let copied: Vec<PathBuf> = copied
            .into_iter()
            .map(|entry| entry.unwrap().path().strip_prefix(&target).unwrap().into())
            .collect();
        let expected = [".copying.txt", "deep", "deep/.copying.txt", "deep/x", "x"];
        assert_eq!(copied, expected.map(PathBuf::from));
    }

    /// An unchanged file is not copied again; a file that may have changed is copied.
    #[test]
    fn only_changes_are_copied() {
        let place = place();
        let source = place.inside.root().join("x");
        let target = place.target.root().join("x");
        let copy_all = || {
            let root = Path::new("");
            copy(
                (&place.inside, root),
                (&place.target, root),
                OnEscape::Refuse,
            )
            .unwrap();
        };
        let write = |content: &str, age: Duration| {
            fs::write(&source, content).unwrap();
            let file = fs::File::options().append(true).open(&source).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        };
        // A new copy of a file has another inode.
        let inode = || fs::metadata(&target).unwrap().ino();
        write("one", Duration::from_secs(60));
        copy_all();
        let first = inode();
        copy_all();
        assert_eq!(inode(), first);
        write("two", Duration::from_secs(30));
        copy_all();
        assert_eq!(fs::read_to_string(&target).unwrap(), "two");
        // The target was changed by another writer.
        fs::write(&target, "six").unwrap();
        copy_all();
        assert_eq!(fs::read_to_string(&target).unwrap(), "two");
        // The file is so new that a later change may result in the same time.
        write("new", Duration::ZERO);
        copy_all();
        let changed = fs::metadata(&source).unwrap().modified().unwrap();
        fs::write(&source, "now").unwrap();
        let file = fs::File::options().append(true).open(&source).unwrap();
        file.set_modified(changed).unwrap();
        copy_all();
        assert_eq!(fs::read_to_string(&target).unwrap(), "now");
        let left: Vec<_> = fs::read_dir(place.target.root()).unwrap().collect();
        assert_eq!(left.len(), 1);
    }

    /// Copies a sparse file of 8 GB, and interrupts the copy.
    #[test]
    fn an_interrupted_copy_leaves_nothing() {
        let place = place();
        let root = Path::new("");
        let big = fs::File::create(place.inside.root().join("big")).unwrap();
        big.set_len(8 << 30).unwrap();
        let target = place.target.root();
        let entries = || fs::read_dir(target).unwrap().flatten();
        let interrupt = CancellationToken::new();
        let error = std::thread::scope(|scope| {
            let copying = scope.spawn(|| {
                let (from, to) = ((&place.inside, root), (&place.target, root));
                super::copy(from, to, OnEscape::Refuse, &interrupt)
            });
            let begun = |entry: fs::DirEntry| entry.metadata().is_ok_and(|there| there.len() > 0);
            while !entries().any(begun) {
                assert!(!copying.is_finished());
                std::thread::yield_now();
            }
            interrupt.cancel();
            refused(copying.join().unwrap())
        });
        assert_eq!(error, "the copy was interrupted");
        assert_eq!(entries().count(), 0);
        // The copy also stops at an interrupt between two files.
        fs::remove_file(place.inside.root().join("big")).unwrap();
        fs::write(place.inside.root().join("small"), "1").unwrap();
        let (from, to) = ((&place.inside, root), (&place.target, root));
        let stopped = super::copy(from, to, OnEscape::Refuse, &interrupt);
        assert_eq!(refused(stopped), "the copy was interrupted");
        assert_eq!(entries().count(), 0);
    }

    #[test]
    fn deep_trees_are_copied_as_they_are() {
        let place = place();
        let deep: PathBuf = std::iter::repeat_n("d", 600).collect();
        for (below, content) in [("", "1"), ("side", "2"), ("side/side", "3")] {
            let directory = place.inside.directory(&deep.join(below)).unwrap();
            fs::write(directory.join("x"), content).unwrap();
        }
        // This file sorts after the deepest entry.
        fs::write(place.inside.root().join("z"), "4").unwrap();
        let root = Path::new("");
        for _ in 0..2 {
            let (from, to) = ((&place.inside, root), (&place.target, Path::new("in")));
            copy(from, to, OnEscape::Refuse).unwrap();
        }
        let copied = place.target.root().join("in");
        let read = |below: &str| fs::read_to_string(copied.join(&deep).join(below)).unwrap();
        assert_eq!(
            [read("x"), read("side/x"), read("side/side/x")],
            ["1", "2", "3"]
        );
        assert_eq!(fs::read_to_string(copied.join("z")).unwrap(), "4");
        let all = WalkDir::new(&copied).min_depth(1).into_iter().count();
        assert_eq!(all, 600 + 2 + 4);
    }

    #[test]
    fn a_copy_has_the_permissions_of_its_source() {
        use std::os::unix::fs::PermissionsExt;
        let place = place();
        let source = place.inside.root().join("x");
        fs::write(&source, "1").unwrap();
        for mode in [0o755, 0o444] {
            fs::set_permissions(&source, fs::Permissions::from_mode(mode)).unwrap();
            fs::remove_file(place.target.root().join("x")).ok();
            let root = Path::new("");
            copy(
                (&place.inside, root),
                (&place.target, root),
                OnEscape::Refuse,
            )
            .unwrap();
            let copied = fs::metadata(place.target.root().join("x")).unwrap();
            assert_eq!(copied.permissions().mode() & 0o777, mode);
        }
    }
}
