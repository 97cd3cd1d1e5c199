//! Directory that paths cannot leave by `..`, as an absolute path or through a link. The checks
//! protect against accidents and untrusted data, not against the code of jobs, which runs as the
//! same user.

use std::{
    ffi::{OsStr, OsString},
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

/// Maximum number of links on the way to a file, as on Linux.
const MAX_LINKS: u32 = 40;

#[derive(Clone, Debug)]
pub(crate) struct ConfinedDir {
    root: PathBuf,
    /// Mode of directories that are created below the root.
    mode: u32,
}

/// Handling of links out of the root, and of entries that are neither files nor directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnEscape {
    Refuse,
    Skip,
}

impl ConfinedDir {
    /// Creates the directory `root` for the current user only, if it does not exist.
    pub(crate) fn create(root: &Path) -> io::Result<Self> {
        let mode = 0o700;
        let mut directories = fs::DirBuilder::new();
        directories.recursive(true).mode(mode).create(root)?;
        Ok(Self { root: root.canonicalize()?, mode })
    }

    /// Opens an existing directory, to copy from it.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { root, mode: 0o700 })
    }

    /// Lets the umask determine the mode of new directories; the root already restricts access.
    pub(crate) fn with_umask_mode(self) -> Self {
        Self { mode: 0o777, ..self }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the real path of `relative`, which must exist inside the root.
    pub(crate) fn resolve(&self, relative: &Path) -> io::Result<PathBuf> {
        let resolved = self.root.join(names_only(relative)?).canonicalize()?;
        self.check_inside(resolved, relative)
    }

    /// Returns the directory `relative`, created if necessary. Each component must be in the root.
    pub(crate) fn directory(&self, relative: &Path) -> io::Result<PathBuf> {
        let mut path = self.root.clone();
        for part in names_only(relative)?.components() {
            path = self.make_directory(&path, part.as_os_str(), relative)?;
        }
        Ok(path)
    }

    /// Writes a file atomically. A link to a file at the path is replaced, not followed.
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

    /// Returns or creates the directory `name` in `parent`, which is resolved and inside the root.
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

    /// Returns where the path of a link leads if `/` is this directory, as in the container of a
    /// worker. Returns `None` if no absolute link is on the way, or nothing is there.
    fn find_in_container(&self, link: &Path) -> Option<PathBuf> {
        let steps = |path: &Path| -> Vec<OsString> {
            let named = |part: Component<'_>| {
                let is_step = matches!(part, Component::Normal(_) | Component::ParentDir);
                is_step.then(|| part.as_os_str().to_owned())
            };
            path.components().rev().filter_map(named).collect()
        };
        let mut rest = steps(link.strip_prefix(&self.root).ok()?);
        let (mut path, mut links, mut has_absolute) = (self.root.clone(), 0, false);
        while let Some(step) = rest.pop() {
            if step == ".." {
                if path != self.root {
                    path.pop();
                }
                continue;
            }
            path.push(step);
            if let Ok(target) = fs::read_link(&path) {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                path.pop();
                if target.is_absolute() {
                    path.clone_from(&self.root);
                    has_absolute = true;
                }
                rest.extend(steps(&target));
            }
        }
        (has_absolute && path.exists()).then_some(path)
    }

    fn check_inside(&self, resolved: PathBuf, requested: &Path) -> io::Result<PathBuf> {
        if resolved.starts_with(&self.root) {
            Ok(resolved)
        } else {
            Err(path_error(requested, "is a link that leads out of its root directory"))
        }
    }
}

/// Copies a file or a directory tree into a directory, and returns a message per skipped entry.
/// Follows links in `from`, replaces files and links in `to`, and omits incomplete files of an
/// earlier copy. With [`OnEscape::Skip`], `from` is the directory of a worker, so an absolute link
/// leads where the code in its container finds it.
pub(crate) fn copy(
    (from, from_path): (&ConfinedDir, &Path),
    (to, to_path): (&ConfinedDir, &Path),
    on_escape: OnEscape,
    interrupt: &CancellationToken,
) -> io::Result<Vec<String>> {
    let source = from.resolve(from_path)?;
    let mut left_out = Vec::new();
    let mut leave_out = |error: io::Error| match on_escape {
        OnEscape::Refuse => Err(error),
        OnEscape::Skip => {
            left_out.push(error.to_string());
            Ok(())
        }
    };
    let mut trees = vec![Tree { source, target: to_path.to_owned(), above: Vec::new() }];
    while let Some(tree) = trees.pop() {
        let source = &tree.source;
        let single = !source.is_dir();
        // Stack of the resolved target directories on the path to the current entry.
        let mut directories = vec![to.directory(&tree.target)?];
        let mut walk = WalkDir::new(source).follow_links(true).sort_by_file_name().into_iter();
        while let Some(entry) = walk.next() {
            check_interrupt(interrupt)?;
            let (path, depth, is_link) = match &entry {
                Ok(entry) => (entry.path(), entry.depth(), entry.path_is_symlink()),
                Err(error) => (error.path().unwrap_or(source), error.depth(), true),
            };
            let below = match path.strip_prefix(source) {
                Ok(below) if single && below.as_os_str().is_empty() => {
                    Path::new(source.file_name().unwrap_or(OsStr::new("file"))).to_owned()
                }
                Ok(below) => below.to_owned(),
                Err(error) => return Err(io::Error::other(error)),
            };
            let in_container = (is_link && depth > 0 && on_escape == OnEscape::Skip)
                .then(|| from.find_in_container(path))
                .flatten();
            let is_dir = entry.as_ref().is_ok_and(|entry| entry.file_type().is_dir());
            if is_dir && in_container.is_some() {
                walk.skip_current_dir();
            }
            directories.truncate(depth.max(1));
            if let (Some(found), Some(parent), Some(name)) =
                (&in_container, directories.last(), below.file_name())
            {
                let target = tree.target.join(&below);
                match tree.at_link(found, target) {
                    _ if found.is_file() => {
                        copy_file(found, parent, &parent.join(name), interrupt)?;
                    }
                    Some(tree) if found.is_dir() => trees.push(tree),
                    Some(_) => leave_out(path_error(&below, "is neither a file nor a directory"))?,
                    None => {
                        leave_out(path_error(&below, "is a link to a directory that contains it"))?;
                    }
                }
                continue;
            }
            let entry = match entry {
                Ok(entry) => entry,
                // A dangling link, a cycle of links, or an unreadable directory.
                Err(error) if error.depth() > 0 => {
                    leave_out(io::Error::other(error.to_string()))?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            // An entry of a directory inside the root is inside as well, unless it is a link.
            let leads_out = is_link && !entry.path().canonicalize()?.starts_with(&from.root);
            let objection = if leads_out {
                Some("is a link that leads out of its root directory")
            } else if !(is_dir || entry.file_type().is_file()) {
                Some("is neither a file nor a directory")
            } else {
                None
            };
            if let Some(objection) = objection {
                if is_dir {
                    walk.skip_current_dir();
                }
                leave_out(path_error(&below, objection))?;
                continue;
            }
            let (Some(parent), Some(name)) = (directories.last(), below.file_name()) else {
                // The entry is the root itself, which exists already.
                continue;
            };
            let is_part = name.as_bytes().starts_with(PART_PREFIX.as_bytes());
            if entry.file_type().is_file() && is_part {
                continue;
            }
            if is_dir {
                let directory = to.make_directory(parent, name, &tree.target.join(&below))?;
                directories.push(directory);
            } else {
                copy_file(entry.path(), parent, &parent.join(name), interrupt)?;
            }
        }
    }
    Ok(left_out)
}

/// Directory tree, or a file, that is copied.
struct Tree {
    source: PathBuf,
    /// Path in the target.
    target: PathBuf,
    /// Sources of the trees whose links led to this one.
    above: Vec<PathBuf>,
}

impl Tree {
    /// Returns the tree at a link in this tree, or `None` if it contains this one.
    fn at_link(&self, source: &Path, target: PathBuf) -> Option<Self> {
        let mut above = self.above.clone();
        above.push(self.source.clone());
        let contains = above.iter().any(|tree| tree.starts_with(source));
        (!contains).then(|| Self { source: source.to_owned(), target, above })
    }
}

fn check_interrupt(interrupt: &CancellationToken) -> io::Result<()> {
    if interrupt.is_cancelled() {
        return Err(io::Error::other("the copy was interrupted"));
    }
    Ok(())
}

/// Prefix of the names of files that are being copied.
pub(crate) const PART_PREFIX: &str = ".copying-";
/// Number of bytes between two checks for an interrupt: a tenth of a second on a slow disk.
const COPY_CHUNK: u64 = 8 << 20;
/// Minimum age of a modification time at which any later change results in a later time.
const MIN_STABLE_AGE: Duration = Duration::from_secs(2);

/// Copies a file, unless its copy is up to date. The copy gets the modification time of its source,
/// unless the source is so new that it may change again within the same tick.
fn copy_file(
    from: &Path,
    directory: &Path,
    target: &Path,
    interrupt: &CancellationToken,
) -> io::Result<()> {
    let source = fs::metadata(from)?;
    let changed = source.modified()?;
    let there = fs::symlink_metadata(target).ok().filter(fs::Metadata::is_file);
    if let Some(there) = there
        && there.len() == source.len()
        && there.modified()? == changed
    {
        return Ok(());
    }
    // The temporary file is removed if a later step fails.
    let mut copy = tempfile::Builder::new().prefix(PART_PREFIX).tempfile_in(directory)?;
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

/// Returns `path` without `.` components, or an error if another component is not a name.
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
mod tests;
